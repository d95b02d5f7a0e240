"""Are exactly the lanes linked that end where another starts in the same direction?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples import sample
from small_scene import roads_of

from drive_env.errors import SceneError
from drive_env.scenes import load_scene
from drive_env.scenes.lane_links import JOIN_GAP_M, JOIN_RISE_M, NEARBY_START_LIMIT, link_lanes

LANE, LINE = 1, 2


def links(*polylines):
    """Links (before, after) of polylines, which are lanes unless they are (kind, line)."""
    roads = roads_of([line if isinstance(line, tuple) else (LANE, line) for line in polylines])
    graph = link_lanes(roads)
    assert graph.start[-1] == len(graph.successor)
    return {(road, int(after)) for road in range(roads.count) for after in graph.after(road)}


def test_a_lane_leads_into_the_one_that_starts_at_its_end():
    assert links([(0, 0), (10, 0)], [(10, 0), (20, 0)]) == {(0, 1)}


def test_a_fork_and_a_merge_have_all_their_links():
    assert links([(0, 0), (10, 0)], [(10, 0), (20, 0)], [(10, 0), (20, 2)], [(0, 2), (10, 0)]) == {
        (0, 1), (0, 2), (3, 1), (3, 2)}


@pytest.mark.parametrize(("gap_m", "joined"), [(0.9 * JOIN_GAP_M, True), (1.1 * JOIN_GAP_M, False)])
@pytest.mark.parametrize("angle_rad", [0.0, 1.0, 2.0, 3.0, -2.0])
def test_lanes_join_up_to_the_stated_gap_in_every_direction(gap_m, joined, angle_rad):
    start = (10 + gap_m * math.cos(angle_rad), gap_m * math.sin(angle_rad))
    assert links([(0, 0), (10, 0)], [start, (start[0] + 10, start[1])]) == ({(0, 1)} if joined else set())


@pytest.mark.parametrize(("turn_rad", "joined"), [(0.7, True), (-0.7, True), (0.9, False), (math.pi, False)])
def test_a_lane_of_another_direction_is_not_joined(turn_rad, joined):
    end = (10 + 10 * math.cos(turn_rad), 10 * math.sin(turn_rad))
    assert ((0, 1) in links([(0, 0), (10, 0)], [(10, 0), end])) == joined


@pytest.mark.parametrize(("rise_m", "joined"), [(0.9 * JOIN_RISE_M, True), (1.1 * JOIN_RISE_M, False)])
def test_a_lane_above_another_is_not_joined(rise_m, joined):
    roads = roads_of([(LANE, [(0, 0), (10, 0)]), (LANE, [(10, 0), (20, 0)])])
    roads.z_m[2:] = rise_m
    assert len(link_lanes(roads).successor) == joined


def test_only_lanes_with_a_direction_are_joined():
    assert links((LINE, [(0, 0), (10, 0)]), [(10, 0), (20, 0)], [(20, 0)], [(20, 0), (20, 0)]) == set()


def test_a_repeated_point_does_not_hide_the_direction():
    assert links([(0, 0), (10, 0), (10, 0)], [(10, 0), (10, 0), (20, 0)]) == {(0, 1)}


def test_a_closed_lane_does_not_lead_into_itself():
    circle = [(math.cos(a), math.sin(a)) for a in np.linspace(0, 2 * math.pi, 40)]
    assert links(circle) == set()


def test_no_roads_have_no_links():
    assert links() == set()


def test_a_crowd_of_starts_is_refused():
    fan = [[(10, 0), (20, 0.01 * i)] for i in range(NEARBY_START_LIMIT + 1)]
    with pytest.raises(SceneError, match=f"at most {NEARBY_START_LIMIT}"):
        links([(0, 0), (10, 0)], *fan)


def test_the_links_of_a_real_map_are_those_of_a_search_over_all_pairs():
    scene = load_scene(sample("pufferdrive/map_942.bin"))
    roads, expected = scene.roads, set()
    lanes = {}
    for road in np.flatnonzero(roads.kind == LANE):
        first, last = roads.start[road], roads.start[road + 1]
        if last - first > 1:
            lanes[int(road)] = [complex(x, y) for x, y in zip(roads.x_m[first:last], roads.y_m[first:last],
                                                              strict=True)]
    for before, a in lanes.items():
        for after, b in lanes.items():
            if before != after and abs(a[-1] - b[0]) <= JOIN_GAP_M:
                turn = (b[1] - b[0]) / (a[-1] - a[-2])
                if abs(math.atan2(turn.imag, turn.real)) <= math.pi / 4:
                    expected.add((before, after))
    assert len(expected) > 500
    assert {(road, int(after)) for road in lanes for after in scene.lanes.after(road)} == expected
