"""Do road edges, links, markings and controls follow from the lanes of a map?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from boxes import on_road, orientation, point_segment_m
from lane_map_scenes import polylines

from drive_env.errors import SceneError
from drive_env.scenes.generate.blocks.block import RoadKind, add_street
from drive_env.scenes.generate.curves import Curve, Path, Pose, Taper, between, clothoid, line, turn
from drive_env.scenes.generate.lane_ends import end_lanes
from drive_env.scenes.generate.lane_map import LaneMap
from drive_env.scenes.generate.outline import JOIN_M, SMALLEST_ISLAND_M2
from drive_env.scenes.generate.roadnet import CURB_GAP_M, END_CAP_M

LANE, LINE, EDGE = 1, 2, 3
ORIGIN = Pose(0.0, 0.0, 0.0)
WIDTH_M, LIMIT_MPS = 3.5, 13.9
HALF_M = WIDTH_M / 2 + CURB_GAP_M


def straight(length_m=50.0):
    roads = LaneMap()
    roads.lane(Path(ORIGIN, (line(length_m),)), WIDTH_M, LIMIT_MPS)
    return roads


def test_what_is_kept_of_a_map_is_not_that_of_another():
    """Nor of one whose numbers are equal but for a sign of zero, which would be seen in the bytes of its scene."""
    def lane(y_m, before=0):
        roads = straight()
        for _ in range(before):
            straight(70.0).roads()
        roads.lanes[0] = roads.lanes[0]._replace(curve=Curve(Path(Pose(0.0, y_m, 0.0), (line(50.0),))))
        return roads

    assert lane(0.0).samples is lane(0.0, before=3).samples
    assert lane(-0.0).samples is not lane(0.0).samples
    # Edges follow from pavements and widths, too.
    wide, paved, plain = straight(), straight(), straight()
    wide.lanes[0] = wide.lanes[0]._replace(width_m=5.0)
    paved.pave([(20.0, -6.0), (30.0, -6.0), (30.0, 6.0), (20.0, 6.0)])
    reach_m = [max(float(edge[:, 1].max()) for edge in roads.edges()) for roads in (plain, wide, paved, straight())]
    assert reach_m[0] == reach_m[3] and len({round(reach, 2) for reach in reach_m}) == 3


def street():
    """Two lanes each way around a bend."""
    path, roads = Path(Pose(3.0, 2.0, 0.3), (line(40.0), turn(25.0, 1.2), line(30.0))), LaneMap()
    roads.along(path, 2, WIDTH_M, LIMIT_MPS)
    roads.along(path.reversed(), 2, WIDTH_M, LIMIT_MPS)
    roads.line(path)
    return roads


def crossing(arms=4, radius_m=8.0, arm_m=30.0, width_m=WIDTH_M):
    """One lane each way on every arm, and all movements."""
    roads, box_m = LaneMap(), radius_m + width_m / 2
    leave, enter = [], []
    for arm in range(arms):
        out = Path(Pose(0.0, 0.0, 2 * math.pi * arm / 4).moved(box_m), (line(arm_m),))
        leave += roads.along(out, 1, width_m, LIMIT_MPS)
        enter += roads.along(out.reversed(), 1, width_m, LIMIT_MPS)
    for i, before in enumerate(enter):
        for j, after in enumerate(leave):
            if i != j:
                way = between(roads.lanes[before].curve.end, roads.lanes[after].curve.start)
                roads.link(roads.lane(way, width_m, LIMIT_MPS, after=[before]), after)
    return roads


def ring(radius_m=16.0, arms=3):
    """A roundabout: entries and exits that touch the ring."""
    roads, r, o = LaneMap(), 12.0, WIDTH_M / 2
    touch, far_m = math.asin((o + r) / (radius_m + r)), math.sqrt((radius_m + r) ** 2 - (o + r) ** 2)
    enter, leave, step = [], [], 2 * math.pi / arms
    for arm in range(arms):
        frame = Pose(0.0, 0.0, arm * step)
        into = Path(Pose(far_m + 40.0, o, math.pi), (line(40.0), turn(r, touch - math.pi / 2)))
        enter.append(roads.lane(into.moved(frame), WIDTH_M, LIMIT_MPS))
        leave.append(roads.lane(into.mirrored().reversed().moved(frame), WIDTH_M, LIMIT_MPS))
    around = []
    for arm in range(arms):
        start = roads.lanes[enter[arm]].curve.end
        first = roads.lane(Path(start, (turn(radius_m, step - 2 * touch),)), WIDTH_M, LIMIT_MPS, after=[enter[arm]])
        roads.link(first, leave[(arm + 1) % arms])
        around.append((first, roads.lane(Path(roads.lanes[first].curve.end, (turn(radius_m, 2 * touch),)), WIDTH_M,
                                         LIMIT_MPS, after=[first])))
    for arm in range(arms):
        roads.link(around[arm][1], around[(arm + 1) % arms][0])
    return roads


def merge():
    """A lane that ends beside another one, by a taper into it."""
    roads, path = LaneMap(), Path(ORIGIN, (line(200.0),))
    main = roads.lane(path.part(0.0, 150.0), WIDTH_M, LIMIT_MPS)
    ramp = roads.lane(Curve(path.part(30.0, 150.0), -WIDTH_M, (Taper(70.0, 50.0, WIDTH_M),)), WIDTH_M, LIMIT_MPS)
    roads.lane(path.part(150.0, 200.0), WIDTH_M, LIMIT_MPS, after=[main, ramp])
    return roads


MAPS = {"straight": straight, "street": street, "crossing": crossing, "t": lambda: crossing(3), "ring": ring,
        "merge": merge, "narrow": lambda: crossing(4, 4.5, 12.0, 3.0)}


def segments(lines):
    return np.concatenate([np.stack([points[:-1], points[1:]], axis=1) for points in lines])


def dense(roads, pitch_m=0.05):
    """Points on all lanes, with the lanes' numbers, from the curves alone."""
    found = [lane.curve.at(np.linspace(0, lane.curve.length_m, int(lane.curve.length_m / pitch_m) + 2))
             for lane in roads.lanes]
    return np.concatenate([at[:2].T for at in found]), np.repeat(np.arange(len(found)), [at.shape[1] for at in found])


@pytest.mark.parametrize("name", MAPS)
def test_edges_are_as_far_from_the_nearest_lane_as_half_a_lane_and_a_gap(name):
    """Beside lanes, not at open ends: there they are a straight line across, `END_CAP_M` away."""
    roads = MAPS[name]()
    centres, _ = dense(roads)
    has_before, has_after = {after for _, after in roads.links}, {before for before, _ in roads.links}
    ends = [roads.lanes[i].curve.end for i in range(len(roads.lanes)) if i not in has_after]
    ends += [roads.lanes[i].curve.start for i in range(len(roads.lanes)) if i not in has_before]
    ends_m = np.array([end[:2] for end in ends])
    half_m = roads.lanes[0].width_m / 2 + CURB_GAP_M
    for edge in roads.edges():
        # The middle of every segment, too: its distance is less by what the chord cuts off.
        for points, low in ((edge, 2e-3), ((edge[1:] + edge[:-1]) / 2, 0.04)):
            away = np.sqrt(((points[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1))
            beside = (np.linalg.norm(points[:, None] - ends_m[None], axis=2).min(axis=1) > half_m + END_CAP_M
                      if len(ends_m) else np.ones(len(points), bool))
            assert away.min() >= half_m - low - 1e-3
            assert beside.any() and np.abs(away[beside] - half_m).max() <= low + 1e-3


@pytest.mark.parametrize("name", MAPS)
def test_all_of_every_lane_is_inside_of_the_edges(name):
    roads = MAPS[name]()
    edges = segments(roads.edges())
    for lane in roads.lanes:
        at = np.linspace(0.0, lane.curve.length_m, 200)
        x_m, y_m, heading, _ = lane.curve.at(at)
        for left_m in (-lane.width_m / 2, 0.0, lane.width_m / 2):
            points = np.stack([x_m - left_m * np.sin(heading), y_m + left_m * np.cos(heading)], axis=1)
            assert on_road(points, edges).all()
            assert point_segment_m(points, edges).min() >= CURB_GAP_M - 0.04


@pytest.mark.parametrize("name", MAPS)
def test_edges_are_closed_and_do_not_cross(name):
    for edge in MAPS[name]().edges():
        assert (edge[0] == edge[-1]).all()
        a, b, c, d = edge[:-1, None], edge[1:, None], edge[None, :-1], edge[None, 1:]
        # Neighbours share a point, and segments of one line are on neither side of each other.
        crossed = (orientation(a, b, c) * orientation(a, b, d) < -1e-9) & (
            orientation(c, d, a) * orientation(c, d, b) < -1e-9)
        assert not crossed.any()


def test_no_edge_is_inside_of_a_lane_however_lanes_cross():
    """Lanes of many widths and shapes at random places and angles."""
    rng = np.random.default_rng(8)
    for _ in range(25):
        roads = LaneMap()
        for _ in range(int(rng.integers(2, 9))):
            start = Pose(*rng.uniform(-30, 30, 2).tolist(), float(rng.uniform(-3, 3)))
            pieces = [(line(float(rng.uniform(5, 60))),), (turn(float(rng.uniform(6, 60)), float(rng.uniform(-2, 2))),),
                      (line(10.0), turn(12.0, 1.0), clothoid(15.0, 1 / 12, -0.05))][int(rng.integers(3))]
            first = roads.lane(Path(start, pieces), float(rng.uniform(3.0, 4.5)), LIMIT_MPS)
            if rng.random() < 0.4:
                end = roads.lanes[first].curve.end
                roads.lane(Path(end, (turn(10.0, 1.2),)), roads.lanes[first].width_m, LIMIT_MPS, after=[first])
        vertices = np.concatenate(roads.edges())
        for lane in roads.lanes:
            at = lane.curve.at(np.linspace(0.0, lane.curve.length_m, 2000))[:2].T
            square = ((vertices[:, None] - at[None]) ** 2).sum(axis=2)
            beside = (square.argmin(axis=1) > 5) & (square.argmin(axis=1) < 1994)
            away = np.sqrt(square.min(axis=1))[beside]
            assert away.min(initial=np.inf) >= lane.width_m / 2 + CURB_GAP_M - 4e-3


def test_a_single_lane_has_the_edge_of_a_rectangle():
    edge, = straight(50.0).edges()
    assert edge.min(axis=0) == pytest.approx([-END_CAP_M, -HALF_M]) and edge.max(axis=0) == pytest.approx(
        [50.0 + END_CAP_M, HALF_M])
    on_sides = (np.abs(np.abs(edge[:, 1]) - HALF_M) < 1e-9) | (np.abs(np.abs(edge[:, 0] - 25.0) - 29.0) < 1e-9)
    assert on_sides.all()


def test_the_edges_of_a_t_junction_have_the_corners_of_its_right_turns():
    """The edge of a right turn of radius 8 m is a circle about the same centre, smaller by half a lane and the gap."""
    roads = crossing(3)
    edge, = roads.edges()
    centre = np.array([8.0 + WIDTH_M / 2, 8.0 + WIDTH_M / 2])
    away = np.linalg.norm(edge - centre, axis=1)
    in_corner = (edge < centre - 1e-6).all(axis=1) & (edge > 0).all(axis=1)
    assert in_corner.sum() >= 8
    # its lane turns about (9.75, 9.75) with 8 m
    assert np.abs(away[in_corner] - (8.0 - HALF_M)).max() < 2e-3


def test_the_island_of_a_ring_is_a_circle():
    outer, island = sorted(ring(16.0).edges(), key=len, reverse=True)
    assert np.abs(np.linalg.norm(island, axis=1) - (16.0 - HALF_M)).max() < 3e-3
    assert np.linalg.norm(outer, axis=1).min() >= 16.0 + HALF_M - 3e-3


def test_two_lanes_on_one_curve_have_one_boundary_whatever_their_samples_are():
    """That of the first: inside of the bend the edge is made of its samples alone, though the second has others."""
    roads, radius_m = LaneMap(), 9.0
    first = roads.lane(Path(ORIGIN, (turn(radius_m, 1.5), line(5.0))), WIDTH_M, LIMIT_MPS)
    roads.lane(Path(ORIGIN, (turn(radius_m, 0.97), turn(radius_m, 0.53), line(5.0))), WIDTH_M, LIMIT_MPS)
    edge, = roads.edges()
    centre = np.array([0.0, radius_m])
    away, angle = np.linalg.norm(edge - centre, axis=1), np.arctan2(edge[:, 0], radius_m - edge[:, 1])
    for side_m in (-HALF_M, HALF_M):
        on_side = (np.abs(away - radius_m - side_m) < 0.02) & (angle > 0.1) & (angle < 1.4)
        own = [at / radius_m for at in roads.lanes[first].curve.stations() if 0.1 < at / radius_m < 1.4]
        assert sorted(angle[on_side]) == pytest.approx(own, abs=1e-6)


def test_edges_of_a_moved_map_are_moved():
    frame, roads = Pose(100.0, -40.0, 0.7), merge()
    moved = LaneMap()
    assert moved.add(roads, frame) == 0
    here, there = (segments(found.edges()) for found in (roads, moved))
    turned = (here[..., 0] + 1j * here[..., 1]) * np.exp(0.7j) + (100.0 - 40.0j)
    back = np.stack([turned.real, turned.imag], axis=2)
    assert point_segment_m(back.reshape(-1, 2), there).min(axis=1).max() < 3e-3
    assert point_segment_m(there.reshape(-1, 2), back).min(axis=1).max() < 3e-3


def test_two_maps_in_one_keep_their_links_and_numbers():
    roads = crossing(3)
    count, links = len(roads.lanes), list(roads.links)
    roads.control("stop", [1])
    both = LaneMap()
    assert both.add(roads) == 0 and both.add(roads, Pose(300.0, 0.0, 1.0)) == count
    assert both.links == links + [(before + count, after + count) for before, after in links]
    assert [stop.lanes for stop in both.stop_lines] == [(1,), (1 + count,)]
    assert len(both.edges()) == 2 * len(roads.edges())


def test_lights_of_two_maps_have_junctions_of_their_own():
    roads = straight()
    roads.control("light", [0], phases=(("green", 5.0), ("red", 5.0)), junction=0)
    both = LaneMap()
    both.add(roads)
    both.add(roads, Pose(0.0, 100.0, 0.0))
    assert both.traffic_controls().junction.tolist() == [0, 1]


def test_a_stop_line_is_across_its_lanes():
    roads = LaneMap()
    right = roads.along(Path(Pose(10.0, 5.0, math.pi / 2), (line(40.0),)), 2, 3.5, LIMIT_MPS)
    roads.control("yield", right, back_m=1.5)
    controls = roads.traffic_controls()
    assert controls.line_m[0].tolist() == pytest.approx([10.0, 43.5, 17.0, 43.5], abs=1e-3)
    assert controls.lane.tolist() == right and controls.kind.tolist() == [3]


def test_lanes_that_do_not_meet_are_not_linked():
    roads = straight(50.0)
    roads.lane(Path(Pose(50.0, 0.01, 0.0), (line(10.0),)), WIDTH_M, LIMIT_MPS)
    roads.lane(Path(Pose(50.0, 0.0, 0.01), (line(10.0),)), WIDTH_M, LIMIT_MPS)
    for after in (1, 2):
        with pytest.raises(SceneError, match=f"lane 0 ends .* from the start of lane {after}; at most 0.001 m"):
            roads.link(0, after)


def test_linked_lanes_share_their_end_to_the_bit():
    """Of ends that differ by less than a millimetre, on both sides of a grid line."""
    roads = LaneMap()
    first = roads.lane(Path(ORIGIN, (line(10.0 + 0.4999 / 1024),)), WIDTH_M, LIMIT_MPS)
    for offset_m in (0.5001 / 1024, 0.5009 / 1024):
        roads.lane(Path(Pose(10.0 + offset_m, 0.0, 0.0), (line(10.0),)), WIDTH_M, LIMIT_MPS, after=[first])
    lanes = polylines(roads.roads(), LANE)
    assert (lanes[0][-1] == lanes[1][0]).all() and (lanes[0][-1] == lanes[2][0]).all()
    assert abs(lanes[0][-1][0] - 10.0) <= 1e-3 and lanes[0][-1][1] == 0.0


def test_a_wall_is_an_edge_and_a_pavement_moves_the_edge():
    roads = straight(50.0)
    roads.wall([(10.0, 1.0), (20.0, 1.0)])
    roads.pave([(20.0, -10.0), (30.0, -10.0), (30.0, 0.0), (20.0, 0.0)])
    edges = polylines(roads.roads(), EDGE)
    assert len(edges) == 2 and edges[1].tolist() == [[10.0, 1.0], [20.0, 1.0]]
    assert edges[0][:, 1].min() == -10.0
    low = edges[0][edges[0][:, 1] < -HALF_M - 0.1]
    assert set(low[:, 0].tolist()) == {20.0, 30.0}
    assert on_road(np.array([[25.0, -9.0], [15.0, -9.0], [25.0, -2.0]]), segments(edges[:1])).tolist() == [
        True, False, True]


@pytest.mark.parametrize(("gap_m", "islands"), [(1.9, 0), (2.1, 1)])
def test_a_small_hole_between_lanes_is_paved(gap_m, islands):
    """Two parallel lanes, and between them a hole of 2 m by `gap_m`."""
    roads, wide = LaneMap(), SMALLEST_ISLAND_M2 / 2.0
    for y_m in (0.0, 2 * HALF_M + gap_m):
        roads.lane(Path(Pose(0.0, y_m, 0.0), (line(20.0),)), WIDTH_M, LIMIT_MPS)
    for low, high in ((-5.0, 9.0), (9.0 + wide, 25.0)):
        roads.pave([(low, -1.0), (high, -1.0), (high, 2 * HALF_M + 3.0), (low, 2 * HALF_M + 3.0)])
    assert len(roads.edges()) == 1 + islands


def test_a_step_of_the_width_is_bridged_and_a_gap_is_an_error():
    for step_m, fits in ((0.2, True), (2.5 * JOIN_M, False)):
        roads = LaneMap()
        first = roads.lane(Path(ORIGIN, (line(30.0),)), 3.0, LIMIT_MPS)
        roads.lane(Path(Pose(30.0, 0.0, 0.0), (line(30.0),)), 3.0 + 2 * step_m, LIMIT_MPS, after=[first])
        if fits:
            edge, = roads.edges()
            assert edge[:, 1].max() == pytest.approx(1.5 + step_m + CURB_GAP_M)
        else:
            with pytest.raises(SceneError, match=rf"a road edge ends at .* m, more than {JOIN_M} m from all others"):
                roads.edges()


def test_conflicts_are_the_lanes_that_cross():
    """Two lanes conflict if they end at one arm, or if the chords of a circle between their arms cross."""
    roads = crossing(4)
    conflict, crossed = roads.conflicts(), roads.conflicts(merges=False)
    arm_of = {lane: i // 2 for i, lane in enumerate(range(8))}  # leave, enter, leave, enter, ...
    ways = []
    for lane in range(8, len(roads.lanes)):
        before, = (b for b, a in roads.links if a == lane)
        after, = (a for b, a in roads.links if b == lane)
        ways.append((arm_of[before], arm_of[after]))
    assert (conflict == conflict.T).all() and not conflict.diagonal().any()
    for i, (a, b) in enumerate(ways):
        for j, (c, d) in enumerate(ways):
            if i == j or a == c:
                assert not conflict[8 + i, 8 + j]
            elif b == d:
                assert conflict[8 + i, 8 + j] and not crossed[8 + i, 8 + j]
            else:
                # Right-hand traffic: an arm's exit is before its entry, counter-clockwise from the middle of the arm.
                place = lambda arm, leaves: arm + (-0.2 if leaves else 0.2)
                between_ = lambda x, low, high: (x - low) % 4 < (high - low) % 4
                start, end = place(a, False), place(b, True)
                cross = between_(place(c, False), start, end) != between_(place(d, True), start, end)
                assert conflict[8 + i, 8 + j] == cross == crossed[8 + i, 8 + j], (ways[i], ways[j])


def test_lanes_side_by_side_are_neighbours_without_conflict():
    roads = street()
    assert roads.neighbours == [(0, 1), (2, 3)]
    assert not roads.conflicts().any()
    assert len(polylines(roads.roads(), LINE)) == 3


@pytest.mark.parametrize("name", MAPS)
def test_a_mirrored_map_has_mirrored_roads(name):
    roads = MAPS[name]()
    here, there = roads.roads(), roads.mirrored().roads()
    for kind in (LANE, LINE):
        for one, other in zip(polylines(here, kind), polylines(there, kind), strict=True):
            assert (one * (1, -1) == other).all()
    edges = [segments(polylines(found, EDGE)) for found in (here, there)]
    edges[1] = edges[1] * (1.0, -1.0)
    for one, other in (edges, edges[::-1]):
        assert point_segment_m(one.reshape(-1, 2), other).min(axis=1).max() < 5e-3


@pytest.mark.parametrize("further", [1, 3])
def test_a_street_whose_lanes_do_not_fit_those_behind_it_is_refused(further):
    """Two lanes against the path lead into one lane, or into three: one would have no link."""
    roads, kind = LaneMap(), RoadKind(WIDTH_M, LIMIT_MPS)
    behind = roads.along(Path(ORIGIN.reversed(), (line(50.0),)), further, WIDTH_M, LIMIT_MPS)
    with pytest.raises(ValueError, match="zip"):
        add_street(roads, Path(ORIGIN, (line(50.0),)), 2, kind, back_before=behind)


def test_a_road_does_not_lose_more_lanes_than_it_has():
    parts = [Path(Pose(30.0 * i, 0.0, 0.0), (line(30.0),)) for i in range(3)]
    with pytest.raises(ValueError, match="zip"):
        end_lanes(LaneMap(), parts, 2, WIDTH_M, LIMIT_MPS)
