"""Is a GPUDrive or an old Nocturne JSON read as documented, and is anything else refused with a reason?"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from gpudrive_documents import EDGE, document_of, read, refusal
from json_writer import FRAMES, SENTINEL, car, light, old_document, road, small_document
from kinds import kind_counts
from samples import sample

from drive_env import Batch, SceneError
from drive_env.scenes import load_scene, save_scene
from drive_env.scenes.readers.gpudrive.roads import MAP_ELEMENTS
from drive_env.scenes.scene import OBJECT_KINDS, ROAD_KINDS
from drive_env.scenes.sizes import TYPICAL_M


# ---- fields ----


def test_every_field_of_a_file_is_read():
    scene = read(small_document())
    objects, roads, origin_m = scene.objects, scene.roads, scene.origin_m
    assert (scene.name, scene.source, scene.generated) == ("written", "folder/written.json", False)
    assert (scene.dt_s, scene.scenario_id, scene.sdc) == (0.1, "5ca1ab1e", 0)
    assert (scene.tracks_to_predict, scene.objects_of_interest) == ((2,), (2, 0))
    assert objects.id.tolist() == [70, 71, 72]
    assert kind_counts(objects.kind, OBJECT_KINDS) == {"vehicle": 2, "pedestrian": 1}
    assert kind_counts(roads.kind, ROAD_KINDS) == {
        "lane": 2, "line": 1, "edge": 1, "stop_sign": 1, "crosswalk": 1, "speed_bump": 1, "driveway": 1}
    assert objects.valid.T.tolist() == [[True] * FRAMES, [False, True, True, False], [True] * FRAMES]
    assert objects.marked_expert.tolist() == [False, True, False]
    assert (objects.length_m[0], objects.width_m[0], objects.height_m[0]) == (4.5, 2.0, 1.5)
    assert objects.x_m[3, 0] + origin_m[0] == pytest.approx(8000.6, abs=1e-3)
    assert objects.y_m[0, 2] + origin_m[1] == pytest.approx(-5006.0, abs=1e-3)
    assert objects.goal_m[1] + origin_m == pytest.approx([8040.0, -5001.75], abs=1e-3)
    assert objects.vx_mps[:, 2].tolist() == [1.0] * FRAMES
    assert np.array_equal(objects.z_m, np.where(objects.valid, np.float32(9.5), 0))
    assert (objects.goal_z_m == 9.5).all() and (roads.z_m == 9.5).all()
    assert roads.id.tolist() == [4, 5, 6, 8, 9, 10, 11, 12]
    assert np.diff(roads.start).tolist() == [3, 2, 2, 2, 1, 3, 2, 2]
    assert roads.x_m[7] + origin_m[0] == pytest.approx(7990.0, abs=1e-3)
    assert scene.lanes.after(0).tolist() == [1]
    assert scene.report.dropped == {}


def test_invalid_frames_are_zero_not_the_sentinel():
    objects = read(small_document()).objects
    for name in ("x_m", "y_m", "z_m", "heading_rad", "vx_mps", "vy_mps"):
        assert not getattr(objects, name)[~objects.valid].any()


def test_valid_is_trusted_and_the_sentinel_is_not():
    here = car(x=SENTINEL, y=SENTINEL, speed=0.0)
    gone = car(x=SENTINEL + 5.0, y=SENTINEL, valid=(True, False, False, False))
    gone["position"][1] = {"x": SENTINEL, "y": SENTINEL + 7.0}
    scene = read(document_of(here, gone, roads=[]))
    assert scene.objects.valid.sum(axis=0).tolist() == [FRAMES, 1]
    assert any("position of invalid ones" in note and note.endswith(f": {FRAMES}") for note in scene.report.notes)


def test_an_object_that_is_never_valid_is_dropped_and_references_follow():
    never = car(valid=(False,) * FRAMES, width=0.0, length=0.0, height=0.0)
    scene = read({
        "objects": [{**never, "id": 8}, car(id=9), car(x=20.0, id=10)], "roads": [EDGE],
        "metadata": {"sdc_track_index": 2, "objects_of_interest": [8, 10, 10, 99],
                     "tracks_to_predict": [{"track_index": 1, "difficulty": 2}, {"track_index": 0},
                                           {"track_index": 1}]}})
    assert scene.objects.id.tolist() == [9, 10]
    assert (scene.sdc, scene.tracks_to_predict, scene.objects_of_interest) == (1, (0,), (1,))
    assert scene.report.dropped == {
        "objects valid at no frame": 1, "objects_of_interest that are repeated": 1,
        "objects_of_interest that are the id of no object": 1, "objects_of_interest valid at no frame": 1,
        "tracks_to_predict that are repeated": 1, "tracks_to_predict of objects valid at no frame": 1,
        "difficulties of tracks_to_predict": 1}


def test_a_recording_vehicle_that_is_never_valid_is_unknown_and_counted():
    scene = read(document_of(car(), car(valid=(False,) * FRAMES), metadata={"sdc_track_index": 1}))
    assert scene.sdc == -1
    assert scene.report.dropped["sdc_track_index, of an object valid at no frame"] == 1


def test_missing_fields_are_imputed_and_reported():
    bare = car(valid=(True, True, True, False))
    for name in ("height", "goalPosition", "mark_as_expert"):
        del bare[name]
    walker = car("pedestrian", y=3.0)
    del walker["height"], walker["goalPosition"]["z"]
    scene = read(document_of(bare, walker))
    assert scene.objects.goal_m[0] + scene.origin_m == pytest.approx([0.4, 0.0], abs=1e-6)
    assert scene.objects.goal_z_m.tolist() == [9.5, 9.5]
    assert scene.objects.height_m.tolist() == [1.5, np.float32(1.7)]
    imputed = scene.report.imputed
    assert imputed["goals: the last valid position"] == 1
    assert imputed["heights, by the kind of object"] == 2
    assert imputed["mark_as_expert false, absent from the file"] == 1
    assert any(reason.startswith("dt_s") for reason in imputed)
    assert scene.sdc == -1 and any("no metadata" in note for note in scene.report.notes)


def test_other_and_unset_objects_are_kept_as_other():
    scene = read(document_of(car("other"), car("unset", x=9.0), car("cyclist", x=20.0)))
    assert scene.objects.kind.tolist() == [4, 4, 3]
    assert scene.report.imputed["kind other of objects whose type is unset"] == 1


def test_a_file_without_ids_gets_indices_as_ids():
    entries = [car(), car(x=9.0)]
    for entry in entries:
        del entry["id"]
    scene = read({"objects": entries, "roads": [{"geometry": EDGE["geometry"], "type": "lane"}],
                  "metadata": {"objects_of_interest": [1]}})
    assert (scene.objects.id.tolist(), scene.roads.id.tolist()) == ([0, 1], [0])
    assert scene.objects_of_interest == ()


def test_type_decides_over_map_element_id_and_a_disagreement_is_counted():
    points = [(0.0, 0.0), (1.0, 0.0)]
    only_element = road("lane", 15, points)
    del only_element["type"]
    scene = read(document_of(car(), roads=[road("lane", 15, points), road("driveway", -1, points), only_element]))
    assert [ROAD_KINDS[kind] for kind in scene.roads.kind] == ["lane", "driveway", "edge"]
    assert scene.report.dropped == {"map_element_id of an edge on a lane": 1}
    assert scene.report.imputed["types of roads, from map_element_id"] == 1


@pytest.mark.parametrize("element", [element for element, kind in MAP_ELEMENTS.items() if kind])
def test_every_map_element_agrees_with_a_type(element):
    kinds = {"line": "road_line", "edge": "road_edge"}
    kind = MAP_ELEMENTS[element]
    points = [(0.0, 0.0), (1.0, 0.0)]
    scene = read(document_of(car(), roads=[road(kinds.get(kind, kind), element, points)]))
    assert ROAD_KINDS[int(scene.roads.kind[0])] == kind
    assert scene.report.dropped == {}


def test_the_point_of_a_stop_sign_may_be_no_list():
    sign = {"geometry": {"x": 5.0, "y": 6.0}, "type": "stop_sign"}
    roads = read(document_of(car(), roads=[sign])).roads
    assert (len(roads.x_m), roads.kind.tolist()) == (1, [5])


def test_lights_unknown_fields_and_empty_roads_are_counted():
    lights = {"205": {"state": ["stop"], "x": [1.0], "y": [2.0], "time_index": [0]}}
    scene = read(document_of({**car(), "colour": "red"}, {**car(x=9.0), "colour": "blue"},
                             roads=[EDGE, road("lane", 1, [])], tl_states=lights, fog=True))
    assert scene.report.dropped == {
        "roads without points": 1, "traffic lights of no lane of the file, or without states": 1,
        "fields of the file that are not read, named 'fog'": 1,
        "fields of objects that are not read, named 'colour'": 2}


def test_lights_are_logs_of_their_lanes_with_stop_lines_across_them():
    document = small_document()
    document["tl_states"] = {"4": light("go", "caution", frames=[1, 3]), "5": light("arrow_stop", x=8022.0, y=-5001.0),
                             "6": light("stop"), "99": light("stop")}
    scene = read(document)
    controls = scene.traffic_controls
    assert controls.kind.tolist() == [1, 1]
    assert controls.lane.tolist() == [0, 1] and controls.start.tolist() == [0, 1, 2]
    assert controls.state.tolist() == [[0, 1], [3, 0], [0, 0], [2, 0]]
    # Both lanes head east: the left end is to the north. The stop point is the middle.
    file_m = controls.line_m + np.tile(scene.origin_m, 2)
    assert file_m.tolist() == [[8002.0, -5000.0, 8002.0, -5003.5], [8022.0, -4999.25, 8022.0, -5002.75]]
    # Neither a road edge nor a missing lane has a light.
    assert scene.report.dropped["traffic lights of no lane of the file, or without states"] == 2


@pytest.mark.parametrize(("word", "shown"), [
    ("unknown", 0), ("stop", 1), ("caution", 2), ("go", 3), ("arrow_stop", 1), ("arrow_caution", 2), ("arrow_go", 3),
    ("flashing_stop", 0), ("flashing_caution", 0)])
def test_every_word_of_a_light_is_a_state(word, shown):
    document = small_document()
    document["tl_states"] = {"4": light(word)}
    assert read(document).traffic_controls.state[0, 0] == shown


def test_a_stop_line_is_at_right_angles_to_the_nearest_segment_of_a_bent_lane():
    bent = road("lane", 2, [(0.0, 0.0), (10.0, 0.0), (10.0, 20.0)], id=3)
    scene = read(document_of(car(), roads=[bent], tl_states={"3": light("go", x=10.5, y=12.0)}))
    # North-bound there: left is west, right is east.
    file_m = scene.traffic_controls.line_m[0] + np.tile(scene.origin_m, 2)
    np.testing.assert_allclose(file_m, [8.75, 12.0, 12.25, 12.0], atol=1e-6)


def test_many_unknown_fields_do_not_fill_the_report():
    document = document_of({**car(), **{f"f{i:04}": 0 for i in range(3000)}})
    assert "named 'f0000', 'f0001', 'f0002', 'f0003', 'f0004' and 2995 more: 3000" in str(read(document).report)


# ---- headings ----


def old_form(*objects):
    """The document without metadata, ids and heights."""
    bare = json.loads(json.dumps(document_of(*objects)))
    for entry in (*bare["objects"], *bare["roads"]):
        del entry["id"]
        for point in entry.get("position", entry.get("geometry")):
            del point["z"]
    return bare


NEWER = {
    "metadata": lambda document: document.update(metadata={}),
    "an object's id": lambda document: [entry.update(id=index) for index, entry in enumerate(document["objects"])],
    "a road's id": lambda document: document["roads"][0].update(id=7),
    "an object's height": lambda document: document["objects"][0]["position"][0].update(z=0.0),
    "a road's height": lambda document: document["roads"][0]["geometry"][1].update(z=0.0)}


@pytest.mark.parametrize("newer", NEWER.values(), ids=NEWER)
@pytest.mark.parametrize("speed", [0.0, 9.0])
def test_headings_that_are_not_wrapped_are_radians_in_every_newer_file(newer, speed):
    """Whether or not the vehicles move; without what is newer, the same headings are degrees, or damaged."""
    turned_rad = 10.2
    document = old_form(car(heading=turned_rad, speed=speed))
    newer(document)
    scene = read(document)
    assert scene.objects.heading_rad[:, 0] == pytest.approx([turned_rad - 4 * math.pi] * FRAMES, abs=1e-6)
    assert f"headings beyond a full turn, wrapped as radians: {FRAMES} of {FRAMES}" in scene.report.notes


def test_headings_beyond_a_full_turn_that_do_not_fit_the_velocities_as_radians_are_noted():
    scene = read(document_of(car(heading=math.radians(30.0), speed=9.0, id=1)))
    assert not any("headings" in note for note in scene.report.notes)
    document = document_of(car(heading=math.radians(30.0), speed=9.0))
    document["objects"][0]["heading"] = [30.0] * FRAMES
    assert any(note.endswith("; the velocities of the vehicles agree better with headings in degrees")
               for note in read(document).report.notes)


def test_an_old_file_plays_the_same_traffic():
    new, old = read(small_document()), read(old_document())
    for name in ("kind", "valid", "x_m", "y_m", "vx_mps", "goal_m", "length_m", "width_m"):
        assert np.array_equal(getattr(old.objects, name), getattr(new.objects, name)), name
    assert old.objects.heading_rad == pytest.approx(new.objects.heading_rad, abs=1e-6)
    assert np.array_equal(old.roads.x_m, new.roads.x_m)
    assert np.array_equal(old.roads.kind, new.roads.kind)
    assert (old.sdc, old.tracks_to_predict, old.scenario_id) == (-1, (), "")
    assert any("headings are degrees: 10 of 10" in note for note in old.report.notes)


@pytest.mark.parametrize(("degrees", "expected"), [
    (-209.93, 150.07), (180.0, -180.0), (-180.0, -180.0), (359.0, -1.0), (5.0, 5.0), (700.0, -20.0)])
def test_degrees_of_any_turn_are_wrapped_to_minus_pi_and_pi(degrees, expected):
    scene = read(old_form(car(speed=0.0, heading=90.0), car(x=9.0, speed=0.0, heading=degrees)))
    assert np.degrees(scene.objects.heading_rad[0, 1]) == pytest.approx(expected, abs=1e-4)
    assert scene.objects.heading_rad[0, 0] == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("heading", [math.pi, -math.pi, 6.2, -6.2])
def test_headings_within_a_full_turn_are_radians(heading):
    scene = read(old_form(car(heading=heading)))
    assert "headings are read as radians: none is beyond a full turn" in scene.report.notes
    assert math.cos(scene.objects.heading_rad[0, 0] - heading) == pytest.approx(1.0)
    assert abs(scene.objects.heading_rad[0, 0]) <= np.float32(math.pi)


def test_invalid_headings_do_not_make_degrees():
    # The second frame is invalid.
    scene = read(document_of(car(heading=1.0), car(x=9.0, heading=1.0, valid=(True, False, False, False))))
    assert scene.objects.heading_rad[0].tolist() == [1.0, 1.0]


def test_a_damaged_heading_does_not_make_radians_degrees():
    document = old_form(car(heading=2.0, speed=9.0), car(x=40.0, heading=-1.0, speed=9.0))
    document["objects"][0]["heading"][2] = 7.0
    assert refusal(document) == (
        "objects[0].heading[2] is 7, beyond a full turn in radians; the velocities of the vehicles agree with headings "
        "in radians, not in degrees")


# ---- what public files have ----


@pytest.mark.parametrize("kind", ["vehicle", "pedestrian", "cyclist", "other", "unset"])
@pytest.mark.parametrize("absent", [0, 0.0, -1])
def test_a_size_that_was_written_at_a_frame_without_the_object_is_that_of_its_kind(kind, absent):
    for name in ("length", "width", "height"):
        scene = read(document_of(car(x=20.0), car(kind, **{name: absent})))
        objects = scene.objects
        assert getattr(objects, f"{name}_m")[0] == {"length": 4.5, "width": 2.0, "height": 1.5}[name]
        typical_m = TYPICAL_M[name]["other" if kind == "unset" else kind]
        assert getattr(objects, f"{name}_m")[1] == np.float32(typical_m)
        assert scene.report.imputed[f"{name}s, by the kind of object"] == 1


def test_typical_sizes_are_near_those_of_real_objects():
    """No kind is wider than long or larger than a bus, and the other kind is no smaller than a vehicle."""
    assert all(TYPICAL_M["width"][kind] < TYPICAL_M["length"][kind] for kind in OBJECT_KINDS.values())
    scenes = [load_scene(sample(f"gpudrive/{name}")).objects for name in REAL]
    for name, typical in TYPICAL_M.items():
        for code in (1, 2):
            sizes_m = np.concatenate([getattr(objects, f"{name}_m")[objects.kind == code] for objects in scenes])
            assert typical[OBJECT_KINDS[code]] == pytest.approx(np.median(sizes_m), rel=0.2)


def test_a_vehicle_wider_than_long_is_noted_and_a_walker_is_not():
    scene = read(document_of(car(valid=(False,) * FRAMES), car("pedestrian", width=0.9, length=0.5),
                             car(width=2.0, length=2.0, x=9.0), car(width=4.5, length=2.0, x=20.0),
                             car(width=3.5, length=0, x=30.0)))
    noted = [note for note in scene.report.notes if "wider" in note]
    assert noted == ["vehicles wider than long: 1, the first of them objects[3], 4.5 m wide and 2 m long"]


@pytest.mark.parametrize(("given", "text"), [
    (77, "77"), (-3, "-3"), (2**64 - 1, "18446744073709551615"), ("0077", "0077"), (None, "")])
def test_a_scenario_id_may_be_a_whole_number(given, text):
    assert read(document_of(car(), scenario_id=given)).scenario_id == text


@pytest.mark.parametrize("name", [5, None, ["a"], {}])
def test_a_name_that_nothing_reads_refuses_nothing(name):
    assert read(document_of(car(), name=name)).name == "written"


@pytest.mark.parametrize("element", [4, 21, -2, 2.0, None, True, "lane", []])
def test_a_map_element_id_of_no_known_kind_beside_a_type_is_dropped(element):
    scene = read(document_of(car(), roads=[road("road_edge", element, [(0.0, 0.0), (1.0, 0.0)])]))
    assert [ROAD_KINDS[kind] for kind in scene.roads.kind] == ["edge"]
    assert scene.report.dropped == {"map_element_id of no known kind, beside a type": 1}


@pytest.mark.parametrize("word", ["river", None, 7, []])
def test_a_type_that_is_not_known_beside_a_map_element_id_is_dropped(word):
    scene = read(document_of(car(), roads=[road(word, 15, [(0.0, 0.0), (1.0, 0.0)])]))
    assert [ROAD_KINDS[kind] for kind in scene.roads.kind] == ["edge"]
    assert scene.report.dropped == {"types of roads that are not known, beside a map_element_id": 1}
    assert scene.report.imputed["types of roads, from map_element_id"] == 1


@pytest.mark.parametrize("index", [2, -1, 10**15])
def test_indices_outside_the_objects_are_dropped(index):
    scene = read(document_of(car(), car(x=9.0), metadata={
        "sdc_track_index": index, "tracks_to_predict": [{"track_index": at} for at in (index, 1, index)]}))
    assert (scene.sdc, scene.tracks_to_predict) == (-1, (1,))
    assert scene.report.dropped == {"sdc_track_index outside the objects of the file": 1,
                                    "tracks_to_predict outside the objects of the file": 2}


def test_difficulties_of_any_number_are_dropped():
    scene = read(document_of(car(), metadata={"tracks_to_predict": [{"track_index": 0, "difficulty": 5}]}))
    assert scene.tracks_to_predict == (0,)
    assert scene.report.dropped == {"difficulties of tracks_to_predict": 1}


def test_states_of_lights_outside_the_log_are_dropped():
    document = small_document()
    document["tl_states"] = {"4": light("go", "stop", "caution", frames=[0, FRAMES, -1])}
    scene = read(document)
    assert scene.traffic_controls.state[:, 0].tolist() == [3, 0, 0, 0]
    assert scene.report.dropped == {"states of traffic lights outside the frames of the log": 2}


@pytest.mark.parametrize("longer", [0, 1, 2])
@pytest.mark.parametrize("names", [("position", "heading", "velocity", "valid"), ("valid",), ("position",)])
def test_a_track_one_frame_longer_is_cut(longer, names):
    whole, document = read(small_document()), small_document()
    for name in names:
        document["objects"][longer][name].append(document["objects"][longer][name][-1])
    scene = read(document)
    assert scene.report.dropped == {"last frames of tracks that are one frame longer than the others": 1}
    for name, values in vars(whole.objects).items():
        assert np.array_equal(getattr(scene.objects, name), values, equal_nan=values.dtype.kind == "f"), name


def test_of_two_tracks_the_longer_is_cut_wherever_it_is():
    short, long = car(), car(x=9.0, valid=(True,) * (FRAMES + 1))
    for pair in ((short, long), (long, short)):
        assert read(document_of(*pair)).objects.frame_count == FRAMES


# ---- maps ----


MAP_ROADS = [road("lane", 2, [(900_000.0, -5.0), (900_040.0, -5.0)], id=3),
             road("lane", 2, [(900_040.0, -5.0), (900_080.0, -5.0)], id=4)]


@pytest.mark.parametrize("document", [{"roads": MAP_ROADS}, {"objects": [], "roads": MAP_ROADS, "metadata": {
    "sdc_track_index": -1}}, {"roads": MAP_ROADS, "tl_states": {
        "3": light("go", x=900_040.0)}}],
    ids=["roads", "whole", "light"])
def test_a_map_without_objects_is_a_scene(document, tmp_path):
    scene = read(document)
    assert (scene.objects.count, scene.objects.frame_count, scene.roads.count) == (0, 1, 2)
    assert scene.origin_m.tolist() == [900_040.0, -5.0]
    assert scene.roads.x_m.tolist() == [-40.0, 0.0, 0.0, 40.0]
    assert scene.lanes.after(0).tolist() == [1]
    assert "the file has no objects: it is a map alone" in scene.report.notes
    assert not any("headings" in note for note in scene.report.notes)
    save_scene(scene, tmp_path / "map.drv")
    assert load_scene(tmp_path / "map.drv").roads.id.tolist() == [3, 4]
    with pytest.raises(SceneError, match=r"has no object that could drive .*: it has no objects"):
        Batch(scene)


def test_the_origin_of_a_map_ignores_points_that_no_map_has():
    far = [*MAP_ROADS, road("road_edge", 15, [(900_000.0, -5.0), (1e300, -5.0)])]
    assert refusal({"roads": far}).startswith("roads[2].geometry[1].x is 1e+300 m from the scene's origin")


def test_objects_that_are_never_valid_leave_a_map():
    scene = read(document_of(car(valid=(False,) * FRAMES), roads=MAP_ROADS))
    assert (scene.objects.count, scene.origin_m.tolist()) == (0, [900_040.0, -5.0])
    assert scene.report.dropped == {"objects valid at no frame": 1}


# ---- real files ----

REAL = ("test.json", "tfrecord-00000-of-01000_325.json")


@pytest.fixture(params=REAL)
def real_scene(request):
    return load_scene(sample(f"gpudrive/{request.param}"))


def test_test_json_agrees_with_an_independent_reader():
    scene = load_scene(sample("gpudrive/test.json"))
    objects, origin_m = scene.objects, scene.origin_m
    assert objects.valid.shape == (91, 25)
    assert kind_counts(objects.kind, OBJECT_KINDS) == {"vehicle": 23, "pedestrian": 2}
    assert (scene.roads.count, len(scene.roads.x_m)) == (118, 10_201)
    assert scene.scenario_id == "1c365f15b70ebdbf"
    assert (scene.sdc, objects.id[scene.sdc]) == (24, 1847)
    assert objects.x_m[0, 24] + origin_m[0] == pytest.approx(4361.2899732251, abs=1e-5)
    assert objects.y_m[0, 24] + origin_m[1] == pytest.approx(717.5341420164394, abs=1e-5)
    assert objects.valid.sum() == 1586
    x_m = objects.x_m[objects.valid].astype(np.float64) + origin_m[0]
    assert x_m.sum() == pytest.approx(6916575.1775509035, abs=0.01)
    assert scene.tracks_to_predict == (7, 24)
    assert objects.id[list(scene.objects_of_interest)].tolist() == [1847, 1415]
    assert objects.goal_m[0] + origin_m == pytest.approx([4339.291015625, 709.6715087890625], abs=1e-5)


def test_325_agrees_with_an_independent_reader():
    scene = load_scene(sample("gpudrive/tfrecord-00000-of-01000_325.json"))
    objects, origin_m = scene.objects, scene.origin_m
    assert objects.valid.shape == (91, 62)
    assert kind_counts(objects.kind, OBJECT_KINDS) == {"vehicle": 54, "pedestrian": 8}
    assert kind_counts(scene.roads.kind, ROAD_KINDS) == {
        "lane": 61, "driveway": 53, "edge": 17, "line": 16, "stop_sign": 6, "crosswalk": 4}
    assert len(scene.roads.x_m) == 10_527
    assert scene.scenario_id == "ef3a8f65142f41ac"
    assert (scene.sdc, objects.id[scene.sdc]) == (61, 271)
    assert objects.x_m[0, 61] + origin_m[0] == pytest.approx(-8332.289400536749, abs=1e-5)
    assert objects.y_m[0, 61] + origin_m[1] == pytest.approx(8102.584852449147, abs=1e-5)
    assert objects.heading_rad[0, 61] == pytest.approx(2.708714485, abs=1e-7)
    assert objects.valid.sum() == 3751
    x_m = objects.x_m[objects.valid].astype(np.float64) + origin_m[0]
    assert x_m.sum() == pytest.approx(-31345820.930998053, abs=0.05)
    assert (scene.tracks_to_predict, scene.objects_of_interest) == ((3, 32, 1), ())
    assert objects.marked_expert.sum() == 1


def test_only_time_lane_graph_and_stop_lines_of_a_real_file_are_imputed(real_scene):
    reasons = [reason.partition(" ")[0] for reason in real_scene.report.imputed]
    assert reasons == ["dt_s", "lane", "stop"]
    assert real_scene.report.dropped == {}


def test_real_vehicles_face_the_direction_of_their_velocity(real_scene):
    objects = real_scene.objects
    moving = objects.valid & (np.hypot(objects.vx_mps, objects.vy_mps) > 2) & (objects.kind == 1)
    way_rad = np.arctan2(objects.vy_mps, objects.vx_mps)
    assert moving.sum() > 100
    assert np.cos(objects.heading_rad - way_rad)[moving].min() > 0.9
