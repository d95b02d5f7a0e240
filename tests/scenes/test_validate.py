"""Does the validator accept valid scenes and name the fault of each broken one?"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from drv_writer import full_scene, listed_scene, raised_scene
from small_scene import changed, roads_of, small_scene

from drive_env.errors import SceneError
from drive_env.scenes import LaneGraph
from drive_env.scenes.validate import SQUARE_SEGMENT_LIMIT, validate_scene


def f4(*values):
    return np.array(values, np.float32)


def i4(*values):
    return np.array(values, np.int32)


def track(first, second):
    return np.array([[first], [second]], np.float32)


BROKEN = {
    "name is an int": {"name": 3},
    "generated is a str": {"generated": "no"},
    "report is a NoneType": {"report": None},
    "dt_s is 0": {"dt_s": 0},
    "dt_s is nan": {"dt_s": float("nan")},
    "dt_s is 2.5; it must be a number from 0.0001 to 2": {"dt_s": 2.5},
    "dt_s is True": {"dt_s": True},
    "origin_m is float32": {"origin_m": f4(0, 0)},
    "origin_m is [inf, 0.0]": {"origin_m": np.array([np.inf, 0.0])},
    "sdc is 1": {"sdc": 1},
    "sdc is -2": {"sdc": -2},
    "tracks_to_predict holds 1": {"tracks_to_predict": (0, 1)},
    "tracks_to_predict is a list": {"tracks_to_predict": [0]},
    "objects_of_interest holds -1": {"objects_of_interest": (0, -1)},
    "objects_of_interest is a NoneType": {"objects_of_interest": None},
    "scenario_id is an int": {"scenario_id": 5},
    "objects.id is int32": {"objects": {"id": i4(0)}},
    "objects.kind[0] is 5; it must be one of 1 vehicle": {"objects": {"kind": np.array([5], np.uint8)}},
    "objects.kind[0] is 0": {"objects": {"kind": np.zeros(1, np.uint8)}},
    "objects.length_m[0] is 0; it must be from 0.01 to 200": {"objects": {"length_m": f4(0)}},
    "objects.width_m[0] is nan": {"objects": {"width_m": f4(np.nan)}},
    "objects.height_m[0] is 201": {"objects": {"height_m": f4(201)}},
    "objects.length_m has shape (2,)": {"objects": {"length_m": f4(1, 1)}},
    "objects.goal_m[0, 1] is inf": {"objects": {"goal_m": np.array([[0, np.inf]], np.float32)}},
    "objects.goal_m has shape (2,); it must have shape (1, 2)": {"objects": {"goal_m": f4(0, 0)}},
    "objects.valid is a NoneType; it must be an ndarray": {"objects": {"valid": None}},
    "objects.valid is uint8": {"objects": {"valid": np.ones((2, 1), np.uint8)}},
    "0 frames": {"objects": {name: np.zeros((0, 1), kind) for name, kind in (
        ("valid", bool), ("x_m", "f4"), ("y_m", "f4"), ("heading_rad", "f4"), ("vx_mps", "f4"),
        ("vy_mps", "f4"))}},
    "objects.x_m is a list": {"objects": {"x_m": [[5.0], [5.0]]}},
    "objects.x_m is float64": {"objects": {"x_m": np.zeros((2, 1))}},
    "objects.x_m has shape (1, 2)": {"objects": {"x_m": f4(5, 5)[None]}},
    "objects.x_m[1, 0] is nan": {"objects": {"x_m": track(5, np.nan)}},
    "objects.y_m[0, 0] is 50001; it must be from -50000 to 50000": {"objects": {"y_m": track(50_001, 0)}},
    "objects.heading_rad[0, 0] is 90": {"objects": {"heading_rad": track(90, 0)}},
    "objects.vx_mps[0, 0] is 201": {"objects": {"vx_mps": track(201, 0)}},
    "are a speed of 212": {"objects": {"vx_mps": track(0, 150), "vy_mps": track(0, -150)}},
    "objects.x_m[1, 0] is 5 where valid is False": {"objects": {"valid": np.array([[True], [False]])}},
    "roads.kind[1] is 9": {"roads": {"kind": np.array([1, 9, 3], np.uint8)}},
    "roads.start is int64": {"roads": {"start": np.array([0, 2, 4, 7])}},
    "roads.start has shape (3,)": {"roads": {"start": i4(0, 2, 7)}},
    "roads.start runs from 1 to 7; it must run from 0 to 7": {"roads": {"start": i4(1, 2, 4, 7)}},
    "roads.start runs from 0 to 6": {"roads": {"start": i4(0, 2, 4, 6)}},
    "roads.start[2] is 2 after 2; it must be at least 1 above": {"roads": {"start": i4(0, 2, 2, 7)}},
    "roads.start[2] is 1 after 4": {"roads": {"start": i4(0, 4, 1, 7)}},
    "roads.x_m[0] is inf": {"roads": {"x_m": f4(np.inf, 0, 0, 0, 0, 0, 0)}},
    "roads.y_m has shape (6,)": {"roads": {"y_m": f4(0, 0, 0, 0, 0, 0)}},
    "roads.width_m[2] is -1": {"roads": {"width_m": f4(0, 0, -1)}},
    "roads.speed_limit_mps[0] is 500": {"roads": {"speed_limit_mps": f4(500, 0, 0)}},
    "roads.z_m[1] is 50001; it must be from -50000 to 50000":
        {"roads": {"z_m": np.array([0, 50001, 0, 0, 0, 0, 0], np.float32)}},
    "objects.z_m is float64; it must be float32": {"objects": {"z_m": np.ones((2, 1))}},
    "objects.goal_z_m has shape (2,); it must have shape (1)": {"objects": {"goal_z_m": np.ones(2, np.float32)}},
    "objects.goal_heading_rad[0] is 4; it must be from -3.1415927410125732 to 3.1415927410125732, or nan":
        {"objects": {"goal_heading_rad": f4(4)}},
    "objects.goal_heading_rad[0] is inf": {"objects": {"goal_heading_rad": f4(np.inf)}},
    "objects.goal_heading_rad has shape (2,); it must have shape (1)": {"objects": {"goal_heading_rad": f4(0, np.nan)}},
    "objects.goal_heading_rad is float64": {"objects": {"goal_heading_rad": np.zeros(1)}},
    "lanes.start runs from 0 to 2": {"lanes": {"start": i4(0, 1, 1, 2)}},
    "lanes.start[2] is 0 after 1": {"lanes": {"start": i4(0, 1, 0, 1)}},
    "lanes.successor[0] is 3; it must be from 0 to 2": {"lanes": {"successor": i4(3)}},
    "lanes.successor[0] is -1": {"lanes": {"successor": i4(-1)}},
    "lanes.successor[0] is road 2 of kind edge; it must be a lane": {"lanes": {"successor": i4(2)}},
    "lanes.successor[0] is road 0, the lane itself; it must be another lane": {"lanes": {"successor": i4(0)}},
    "road 2 is of kind edge and has successors": {"lanes": {"start": i4(0, 0, 0, 1)}},
}


BROKEN_CONTROLS = {
    "traffic_controls is a str; it must be a TrafficControls": "none",
    "traffic_controls.kind is a NoneType; it must be an ndarray": {"kind": None},
    "traffic_controls.kind is int32; it must be uint8": {"kind": i4(1, 1, 2)},
    "traffic_controls.kind[1] is 4; it must be one of 1 light, 2 stop, 3 yield":
        {"kind": np.array([1, 4, 2], np.uint8)},
    "traffic_controls.line_m has shape (3, 2); it must have shape (3, 4)": {"line_m": np.zeros((3, 2), np.float32)},
    "traffic_controls.line_m[0, 0] is nan": {"line_m": np.full((3, 4), np.nan, np.float32)},
    "traffic_controls.start runs from 0 to 2; it must run from 0 to 3": {"start": i4(0, 1, 2, 2)},
    "traffic_controls.start[2] is 0 after 1": {"start": i4(0, 1, 0, 3)},
    "traffic_controls.lane[1] is 4; it must be from 0 to 3": {"lane": i4(0, 4, 2)},
    "traffic_controls.lane[2] is road 1 of kind edge; it must be a lane": {"lane": i4(0, 0, 1)},
    "traffic_controls.state has shape (4, 3); it must have shape (5, 3)": {"state": np.zeros((4, 3), np.uint8)},
    "traffic_controls.state[0, 0] is 4; it must be one of 0 off, 1 red": {"state": np.full((5, 3), 4, np.uint8)},
    "traffic_controls.phase_start runs from 0 to 2": {"phase_start": i4(0, 0, 2, 2)},
    "traffic_controls.phase_state[0] is 7": {"phase_state": np.array([7, 2, 1], np.uint8)},
    "traffic_controls.phase_s[2] is 0; it must be from 0.01 to 3600": {"phase_s": f4(6, 3, 0)},
    "traffic_controls.phase_s has shape (2,)": {"phase_s": f4(6, 3)},
    "traffic_controls.offset_s[0] is -1; it must be from 0 to 3600": {"offset_s": f4(-1, 0, 0)},
    "traffic_controls.junction[2] is 3; it must be from -1 to 2": {"junction": i4(0, 0, 3)},
}


BROKEN_SCRIPTS = {
    "scripts is a str; it must be a Scripts": "none",
    "scripts.object is int64; it must be int32": {"object": np.array([0, 2])},
    "scripts.object[1] is 3; it must be from 0 to 2": {"object": i4(0, 3)},
    "scripts.object[1] is 0 after 0; objects must ascend": {"object": i4(0, 0)},
    "scripts.group has shape (3,); it must have shape (2)": {"group": i4(0, 1, 1)},
    "scripts.group[0] is 2; it must be from 0 to 1": {"group": i4(2, 0)},
    "scripts.option[1] is -1; it must be from 0 to 1": {"option": i4(0, -1)},
    "scripts.line_m[0, 0] is nan": {"line_m": np.full((2, 4), np.nan, np.float32)},
}


BROKEN_LISTS = {
    "goal_lists is a str; it must be a GoalLists": "none",
    "goal_lists.object is int64; it must be int32": {"object": np.array([0, 0, 2])},
    "goal_lists.object[2] is 3; it must be from 0 to 2": {"object": i4(0, 0, 3)},
    "goal_lists.object[1] is 0 after 2; objects must not descend": {"object": i4(2, 0, 2)},
    "goal_lists.goal_m has shape (3,); it must have shape (3, 2)": {"goal_m": f4(1, 2, 3)},
    "goal_lists.goal_m[2, 1] is inf; it must be from -50000 to 50000":
        {"goal_m": np.array([[0, 0], [0, 0], [0, np.inf]], np.float32)},
    "goal_lists.goal_z_m[0] is nan": {"goal_z_m": f4(np.nan, 0, 0)},
    "goal_lists.goal_heading_rad[1] is -4; it must be from -3.1415927410125732 to 3.1415927410125732, or nan":
        {"goal_heading_rad": f4(np.nan, -4, np.nan)},
    "goal_lists.goal_heading_rad has shape (2,)": {"goal_heading_rad": f4(1, 2)},
    "goal_lists.repeating is a list": {"repeating": [2]},
    "goal_lists.repeating[0] is 3; it must be from 0 to 2": {"repeating": i4(3)},
    "goal_lists.repeating[1] is 2 after 2; objects must ascend": {"repeating": i4(2, 2)},
    "goal_lists.repeating[0] is 1; it must be an object in goal_lists.object": {"repeating": i4(1, 2)},
}


@pytest.mark.parametrize(("part", "words"), [
    *(("goal_lists", words) for words in BROKEN_LISTS),
    *(("traffic_controls", words) for words in BROKEN_CONTROLS), *(("scripts", words) for words in BROKEN_SCRIPTS)])
def test_a_broken_part_is_refused_with_the_value_and_the_range(part, words):
    scene = listed_scene() if part == "goal_lists" else raised_scene()
    changes = (BROKEN_CONTROLS | BROKEN_SCRIPTS | BROKEN_LISTS)[words]
    broken = dataclasses.replace(getattr(scene, part), **changes) if isinstance(changes, dict) else changes
    with pytest.raises(SceneError) as caught:
        validate_scene(dataclasses.replace(scene, **{part: broken}))
    assert words in str(caught.value)


def test_a_scene_without_controls_may_get_other_objects():
    """`state` has one row per frame, also where it has no columns."""
    scene, longer = changed(small_scene(), traffic_controls=None), full_scene().objects
    assert validate_scene(dataclasses.replace(scene, objects=longer)).traffic_controls.state.shape == (5, 0)


def test_a_valid_scene_is_returned_unchanged():
    scene = small_scene()
    assert validate_scene(scene) is scene


@pytest.mark.parametrize("changes", [
    {"dt_s": 2.0}, {"dt_s": 1}, {"sdc": 0, "tracks_to_predict": (0,), "objects_of_interest": (0,)},
    {"objects": {"heading_rad": track(np.pi, -np.pi)}},
    {"objects": {"x_m": track(50_000, -50_000), "length_m": f4(200), "width_m": f4(0.01)}},
    {"roads": {"start": i4(0, 1, 2, 7)}},
])
def test_the_bounds_of_every_range_are_allowed(changes):
    validate_scene(changed(small_scene(), **changes))


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_scene_is_refused_with_the_value_and_the_range(words):
    with pytest.raises(SceneError) as caught:
        validate_scene(changed(small_scene(), **BROKEN[words]))
    assert str(caught.value).startswith("scene ")
    assert words in str(caught.value)


def crowd(*polylines):
    roads = roads_of(polylines)
    lanes = LaneGraph(np.zeros(roads.count + 1, np.int32), np.zeros(0, np.int32))
    return changed(small_scene(), roads=roads, lanes=lanes)


SIGN = 5


@pytest.mark.parametrize("polylines", [
    [(SIGN, [(-37.5, 12.0)])] * (SQUARE_SEGMENT_LIMIT + 1),
    [(1, [(-38.0 + 6 * (i % 2), 14.0) for i in range(SQUARE_SEGMENT_LIMIT + 2)])],
    # Lines of 100 m that all cross the square.
    [(1, [(-85.0, 15.0), (15.0, 15.0)])] * (SQUARE_SEGMENT_LIMIT + 1),
], ids=["signs", "scribble", "crossing lines"])
def test_too_many_roads_in_one_place_are_refused(polylines):
    with pytest.raises(SceneError) as caught:
        validate_scene(crowd(*polylines))
    found = str(caught.value)
    assert f"its roads have {SQUARE_SEGMENT_LIMIT + 1} segments in the square of 10 m at (" in found
    assert f"; at most {SQUARE_SEGMENT_LIMIT} are allowed" in found
    assert "at (-40, 10) m" in found or len(polylines[0][1]) == 2


def test_the_limit_in_one_square_and_more_in_several_are_allowed():
    signs = [(SIGN, [(-37.5, 12.0)])] * SQUARE_SEGMENT_LIMIT
    validate_scene(crowd(*signs, (SIGN, [(-41.0, 12.0)]), (SIGN, [(-37.5, 9.0)])))
    validate_scene(crowd((1, [(0.6 * i, 0.0) for i in range(2 * SQUARE_SEGMENT_LIMIT)])))


def test_roads_of_too_many_segments_are_refused():
    there_and_back = [(-50_000.0 + 100_000.0 * (i % 2), 0.0) for i in range(2000)]
    with pytest.raises(SceneError, match="its roads have 19990000 segments .* from 2000 points; "
                                         f"at most {1 << 19} are allowed$"):
        validate_scene(crowd((1, there_and_back)))


def test_the_limit_of_segments_grows_with_the_points():
    points = 140_000  # 40 m apart: four segments each
    there_and_back = [(-50_000.0 + 40.0 * (i % 2500), 20.0 * (i // 2500)) for i in range(points)]
    lines = [(1, there_and_back[first : first + 2500]) for first in range(0, points, 2500)]
    validate_scene(crowd(*lines))
    with pytest.raises(SceneError, match=f"from {points} points; at most {4 * points} are allowed"):
        validate_scene(crowd((1, there_and_back)))  # the line back from each end is long


def test_two_objects_with_one_id_are_refused():
    scene = small_scene()
    names = ("id", "kind", "length_m", "width_m", "height_m", "goal_m", "marked_expert")
    twice = {name: np.repeat(getattr(scene.objects, name), 2, axis=0) for name in names}
    tracks = {name: np.repeat(getattr(scene.objects, name), 2, axis=1)
              for name in ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps", "valid")}
    with pytest.raises(SceneError, match="objects.id 7 occurs 2 times"):
        validate_scene(changed(scene, objects=twice | tracks))


@pytest.mark.parametrize("thing", [None, "town", {}])
def test_another_type_is_refused(thing):
    with pytest.raises(SceneError, match="must be a Scene"):
        validate_scene(thing)
