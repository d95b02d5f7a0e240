"""Does a T-junction have its six movements, their conflicts, and the control that it is asked for?"""

from __future__ import annotations

import numpy as np
import pytest
from lane_map_scenes import made

from drive_env import generate_scene

EAST, WEST, SOUTH = "east", "west", "south"
CONFLICTS = {
    # crossings
    ((WEST, EAST), (SOUTH, WEST)), ((WEST, EAST), (EAST, SOUTH)), ((EAST, SOUTH), (SOUTH, WEST)),
    # merges
    ((WEST, EAST), (SOUTH, EAST)), ((EAST, WEST), (SOUTH, WEST)), ((EAST, SOUTH), (WEST, SOUTH))}
"""Pairs of movements, from one arm to another."""


def arm_of(pose):
    """The arm on which a lane through the box begins or ends."""
    if pose.y_m < -5.0:
        return SOUTH
    return EAST if pose.x_m > 0 else WEST


def test_the_six_movements_conflict_as_those_of_a_t_junction_do():
    roads = made("t_junction", 0).map
    before, after = {a for _, a in roads.links}, {b for b, _ in roads.links}
    box = {(arm_of(roads.lanes[i].curve.start), arm_of(roads.lanes[i].curve.end)): i for i in before & after}
    assert set(box) == {(a, b) for a in (EAST, WEST, SOUTH) for b in (EAST, WEST, SOUTH) if a != b}
    conflict = roads.conflicts()
    found = {frozenset((a, b)) for a, i in box.items() for b, j in box.items() if conflict[i, j]}
    assert found == {frozenset(pair) for pair in CONFLICTS}


@pytest.mark.parametrize(("control", "kind"), [("stop", 2), ("yield", 3)])
def test_a_sign_stands_at_the_road_that_ends_before_the_crossing(control, kind):
    controls = generate_scene("t_junction", control=control).traffic_controls
    assert controls.kind.tolist() == [kind]
    # Right turns of 8 m begin 8 + 1.75 m before the middle of the road; the line is 1.5 m before that.
    assert controls.line_m[0].tolist() == [0.0, -11.25, 3.5, -11.25]


def test_each_arm_has_a_light_and_no_control_means_none():
    lights = generate_scene("t_junction", control="lights").traffic_controls
    assert lights.kind.tolist() == [1, 1, 1] and set(lights.junction.tolist()) == {0}
    assert generate_scene("t_junction", control="none").traffic_controls.count == 0


def test_a_control_changes_nothing_but_itself():
    scenes = [generate_scene("t_junction", seed=3, control=control) for control in ("lights", "stop", "yield", "none")]
    for scene in scenes[1:]:
        for part in ("roads", "lanes"):
            for key, array in vars(getattr(scenes[0], part)).items():
                assert np.array_equal(array, getattr(getattr(scene, part), key))
        for key in ("x_m", "y_m", "goal_m"):
            assert np.array_equal(getattr(scene.objects, key), getattr(scenes[0].objects, key))


def test_cars_turn_in_all_ways():
    seen = set()
    for seed in range(20):
        objects = generate_scene("t_junction", seed=seed).objects
        places = zip(zip(objects.x_m[0], objects.y_m[0], strict=True), objects.goal_m, strict=True)
        seen |= {tuple(SOUTH if y < -5 else EAST if x > 0 else WEST for x, y in place) for place in places}
    assert len(seen) == 6
