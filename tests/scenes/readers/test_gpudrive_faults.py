"""Is a fault of a GPUDrive JSON named with its place and value?"""

from __future__ import annotations

import pytest
from gpudrive_documents import HUGE, edited, refusal
from json_writer import json_bytes, light, old_document

from drive_env.errors import SceneError
from drive_env.scenes import load_scene

LIGHT = light("stop")


@pytest.mark.parametrize(("edits", "words"), [
    ([("objects", {})], "objects is an object; it must be an array"),
    ([("objects", []), ("roads", [])], "objects and roads have 0 entries; one of them must have at least 1"),
    ([("objects", ...), ("roads", [])], "objects and roads have 0 entries"),
    ([("objects", [{}] * 65536)], "objects has 65536 entries; it must have 0 to 65535"),
    ([("roads", None)], "roads is null; it must be an array"),
    ([("scenario_id", ["a"])], "scenario_id is an array; it must be a string or a whole number"),
    ([("scenario_id", 1.5)], "scenario_id is 1.5; it must be a string or a whole number"),
    ([("scenario_id", True)], "scenario_id is true; it must be a string or a whole number"),
    ([("tl_states", "red")], "tl_states is 'red'; it must be an object"),
    ([("tl_states", {"4": []})], "tl_states['4'] is an array; it must be an object"),
    ([("tl_states", {"4": {"state": []}})], "tl_states['4'] has no 'x'"),
    ([("tl_states", {"4": {**LIGHT, "x": []}})], "tl_states['4'].x has 0 entries; it must have 1, as state"),
    ([("tl_states", {"4": {**LIGHT, "state": ["blue"]}})],
     "tl_states['4'].state[0] is 'blue'; it must be one of unknown, stop"),
    ([("tl_states", {"4": {**LIGHT, "time_index": [1.0]}})],
     "tl_states['4'].time_index[0] is 1.0; it must be a whole number"),
    ([("tl_states", {"4": {**LIGHT, "y": [None]}})], "tl_states['4'].y[0] is null; it must be a number"),
    ([("tl_states", {"4": {**LIGHT, "x": [1e9]}})], "tl_states['4'].x[0] is"),
    ([("metadata", [])], "metadata is an array; it must be an object"),
    ([("scenario_id", "\x1b[31m")], "scenario_id holds the control character U+001B at 0; only tab and line feed"),
    ([("scenario_id", "1c\ud800")], "scenario_id holds U+D800 at 2, which is half of a character"),
    ([("objects", 1, 7)], "objects[1] is 7; it must be an object"),
    ([("objects", 1, "position", ...)], "objects[1] has no 'position'"),
    ([("objects", 1, "position", {"x": [], "y": []})], "objects[1].position is an object; it must be an array"),
    ([("objects", number, "position", []) for number in range(3)],
     "objects[0].position has 0 entries; it must have 1 to 1000000"),
    ([("objects", 0, "position", [])],
     "objects[0].position has 0 entries; it must have 4, as most tracks, or 5, of which the last is dropped"),
    ([("objects", 1, "heading", [0.0] * 6)], "objects[1].heading has 6 entries; it must have 4, as most tracks, or 5"),
    ([("objects", 1, "valid", [True] * 3)], "objects[1].valid has 3 entries; it must have 4, as most tracks, or 5"),
    ([("objects", 2, "position", 3, "x", ...)], "objects[2].position[3] has no 'x'"),
    ([("objects", 2, "position", 3, None)], "objects[2].position[3] is null; it must be an object"),
    ([("objects", 2, "position", 3, "x", "8000")], "objects[2].position[3].x is '8000'; it must be a number"),
    ([("objects", 2, "position", 3, "y", True)], "objects[2].position[3].y is true; it must be a number"),
    ([("objects", 2, "position", 3, "z", "up")], "objects[2].position[3].z is 'up'; it must be a number"),
    ([("objects", 2, "position", 3, "x", 1e308)],
     "objects[2].position[3].x is 1e+308; where valid it must be -1e+09 to 1e+09"),
    ([("objects", 2, "position", 3, "y", -HUGE)], "objects[2].position[3].y is -1e+30"),
    ([("objects", 2, "position", 3, "x", 10**400)], "objects[2].position[3].x is inf; it must be finite"),
    ([("objects", 2, "position", 3, "x", 1e6)], "objects[2].position[3].x is 892796 m from the scene's origin"),
    ([("objects", 0, "heading", 0, -50.25)], "objects[0].heading[0] is -50.25; where valid it must be -50 to 50, in "
     "radians, as in every file with metadata, ids or heights"),
    ([("objects", 0, "heading", 1, [])], "objects[0].heading[1] is an array; it must be a number"),
    ([("objects", 1, "velocity", 1, "x", 201)], "objects[1].velocity[1].x is 201; where valid it must be -200 to 200"),
    ([("objects", 1, "velocity", 2, {"x": 150, "y": -150})],
     "objects[1].velocity[2] is a speed of 212.132; where valid it must be at most 200"),
    ([("objects", 1, "velocity", 0, {"x": 150})], "objects[1].velocity[0] has no 'y'"),
    ([("objects", 1, "valid", 3, 1)], "objects[1].valid[3] is 1; it must be true or false"),
    ([("objects", 0, "width", ...)], "objects[0] has no 'width'"),
    ([("objects", 0, "width", 0.009)], "objects[0].width is 0.009; it must be 0.01 to 200"),
    ([("objects", 0, "width", -0.5)], "objects[0].width is -0.5; it must be 0.01 to 200"),
    ([("objects", 0, "length", 200.5)], "objects[0].length is 200.5; it must be 0.01 to 200"),
    ([("objects", 0, "height", -1e308)], "objects[0].height is -1e+308"),
    ([("objects", 0, "height", "tall")], "objects[0].height is 'tall'; it must be a number"),
    ([("objects", 0, "goalPosition", [1, 2])], "objects[0].goalPosition is an array; it must be an object"),
    ([("objects", 0, "goalPosition", "y", ...)], "objects[0].goalPosition has no 'y'"),
    ([("objects", 0, "goalPosition", "y", 1e308)], "objects[0].goalPosition.y is 1e+308 m from the scene's origin"),
    ([("objects", 0, "type", ...)], "objects[0] has no 'type'"),
    ([("objects", 0, "type", "tram")],
     "objects[0].type is 'tram'; it must be one of vehicle, pedestrian, cyclist, other, unset"),
    ([("objects", 0, "type", [])], "objects[0].type is an array; it must be one of"),
    ([("objects", 0, "id", ...)], "objects[0] has no 'id'"),
    ([("objects", 0, "id", 1.5)], "objects[0].id is 1.5; it must be a whole number from -9223372036854775808 to"),
    ([("objects", 0, "id", 2**63)], "objects[0].id is 9223372036854775808"),
    ([("objects", 0, "id", True)], "objects[0].id is true"),
    ([("objects", 2, "id", 70)], "objects[2].id is 70, as is objects[0].id; each must be unique"),
    ([("objects", 0, "mark_as_expert", 0)], "objects[0].mark_as_expert is 0; it must be true or false"),
    ([("roads", 3, "lane")], "roads[3] is 'lane'; it must be an object"),
    ([("roads", 3, "type", "river"), ("roads", 3, "map_element_id", ...)],
     "roads[3].type is 'river'; it must be one of lane, road_line"),
    ([("roads", 3, "type", None), ("roads", 3, "map_element_id", -1)], "roads[3].type is null"),
    ([("roads", 3, "type", []), ("roads", 3, "map_element_id", 99)], "roads[3].type is an array"),
    ([("roads", 3, "type", ...), ("roads", 3, "map_element_id", 4)],
     "roads[3].map_element_id is 4; without a type it must be 0 to 3 or 5 to 20"),
    ([("roads", 3, "type", ...), ("roads", 3, "map_element_id", 2.0)], "roads[3].map_element_id is 2.0"),
    ([("roads", 3, "map_element_id", -1), ("roads", 3, "type", ...)], "roads[3] has no 'type'"),
    ([("roads", 3, "id", "7")], "roads[3].id is '7'; it must be a whole number"),
    ([("roads", 3, "geometry", ...)], "roads[3] has no 'geometry'"),
    ([("roads", 3, "geometry", 7)], "roads[3].geometry is 7; it must be an array"),
    ([("roads", 1, "geometry", 1, [1, 2])], "roads[1].geometry[1] is an array; it must be an object"),
    ([("roads", 1, "geometry", 1, "x", ...)], "roads[1].geometry[1] has no 'x'"),
    ([("roads", 1, "geometry", 1, "y", 1e308)], "roads[1].geometry[1].y is 1e+308 m from the scene's origin"),
    ([("roads", 1, "geometry", 1, "z", False)], "roads[1].geometry[1].z is false; it must be a number"),
    ([("metadata", "sdc_track_index", "0")], "metadata.sdc_track_index is '0'; it must be a whole number"),
    ([("metadata", "tracks_to_predict", 0, 2)], "metadata.tracks_to_predict[0] is 2; it must be an object"),
    ([("metadata", "tracks_to_predict", 0, {})], "metadata.tracks_to_predict[0] has no 'track_index'"),
    ([("metadata", "tracks_to_predict", 0, "track_index", 1.0)], "metadata.tracks_to_predict[0].track_index is 1.0"),
    ([("metadata", "tracks_to_predict", 0, "difficulty", "1")], "difficulty is '1'; it must be a whole number from"),
    ([("metadata", "objects_of_interest", {})], "metadata.objects_of_interest is an object; it must be an array"),
    ([("metadata", "objects_of_interest", 1, "70")], "metadata.objects_of_interest[1] is '70'"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_a_fault_is_named_with_its_place_and_value(edits, words):
    assert words in refusal(edited(*edits))


def test_a_heading_of_an_old_file_beyond_two_turns_is_named():
    document = edited(("objects", 0, "heading", 0, 1e9), document=old_document())
    assert refusal(document) == "objects[0].heading[0] is 1e+09; where valid it must be -720 to 720"


def test_a_fault_of_a_file_names_the_file(tmp_path):
    path = tmp_path / "broken"
    path.write_bytes(json_bytes(edited(("objects", 2, "position", 3, "x", "8000"))))
    with pytest.raises(SceneError) as caught:
        load_scene(path)
    assert str(caught.value) == (f"{path}: read as GPUDrive and Nocturne JSON: objects[2].position[3].x is '8000'; "
                                 "it must be a number")
