"""Are routes, clear places and speeds on a lane map those of its geometry?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from drive_env.errors import SceneError
from drive_env.scenes.generate.curves import Curve, Path, Pose, Taper, between, line, turn
from drive_env.scenes.generate.lane_map import LaneMap
from drive_env.scenes.generate.placing import (
    CHANGE_M, CLEAR_HALF_M, CLEAR_M, INSET_M, PITCH_M, Places, PlacingSpec, Span, cars_at, clear_spans, place, poses_at,
    routes_m)
from drive_env.scenes.generate.rng import Rng

ORIGIN = Pose(0.0, 0.0, 0.0)


def places(*pairs):
    lanes, alongs = zip(*pairs, strict=True)
    return Places(np.array(lanes), np.array(alongs, np.float64))


def row(lengths_m, width_m=3.5, limit_mps=20.0):
    """Lanes in a row, straight ahead."""
    roads, at_m = LaneMap(), 0.0
    for i, length_m in enumerate(lengths_m):
        roads.lane(Path(Pose(at_m, 0.0, 0.0), (line(length_m),)), width_m, limit_mps, after=[i - 1] if i else [])
        at_m += length_m
    return roads


def square(side_m=30.0):
    """Four lanes in a circle of corners and sides."""
    roads, pose = LaneMap(), ORIGIN
    for i in range(4):
        path = Path(pose, (line(side_m), turn(10.0, math.pi / 2)))
        roads.lane(path, 3.5, 20.0, after=[i - 1] if i else [])
        pose = path.end
    roads.link(3, 0)
    return roads


def test_ways_are_the_sums_of_their_lanes():
    roads = row([40.0, 25.0, 60.0])
    starts, goals = places((0, 10.0), (1, 5.0)), places((0, 30.0), (0, 5.0), (1, 1.0), (2, 7.0))
    assert routes_m(roads, starts, goals) == pytest.approx(np.array([
        [20.0, np.inf, 31.0, 62.0], [np.inf, np.inf, np.inf, 27.0]]), abs=1e-3)


def test_a_way_to_a_place_behind_leads_around_a_cycle():
    roads, lap_m = square(), 4 * (30.0 + 5 * math.pi)
    starts, goals = places((1, 20.0)), places((1, 10.0), (0, 10.0), (1, 25.0))
    quarter_m = lap_m / 4
    assert routes_m(roads, starts, goals)[0] == pytest.approx([lap_m - 10.0, lap_m - quarter_m - 10.0, 5.0], rel=1e-3)


def test_ways_are_those_of_brute_force_on_random_graphs():
    """Lengths by repeated minimum over all links, from one source at a time."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        count = 12
        roads = LaneMap()
        length_m = rng.uniform(5.0, 30.0, count)
        for i in range(count):
            roads.lane(Path(Pose(0.0, 10.0 * i, 0.0), (line(float(length_m[i])),)), 3.5, 20.0)
        samples = roads.samples  # of lanes that do not meet: sampled before they are linked
        roads.links = [(int(a), int(b)) for a, b in rng.integers(0, count, (18, 2)) if a != b]
        start = int(rng.integers(count))
        best = np.full(count, np.inf)
        for before, after in roads.links:
            if before == start:
                best[after] = 0.0
        for _ in range(count):
            for before, after in roads.links:
                best[after] = min(best[after], best[before] + samples.length_m[before])
        goals = Places(np.arange(count), np.full(count, 1.0))
        expected = samples.length_m[start] - 2.0 + best + 1.0
        assert routes_m(roads, places((start, 2.0)), goals)[0] == pytest.approx(expected)


def test_a_lane_beside_is_reached_by_a_change_of_lanes_only():
    roads = LaneMap()
    roads.along(Path(ORIGIN, (line(200.0),)), 3, 3.5, 20.0)
    starts = places((0, 10.0))
    goals = places((2, 100.0), (2, 10.0 + CHANGE_M - 1.0), (0, 20.0))
    assert routes_m(roads, starts, goals)[0].tolist() == [math.inf, math.inf, 10.0]
    assert routes_m(roads, starts, goals, lane_changes=True)[0].tolist() == [90.0, math.inf, 10.0]


def test_a_lane_beside_leads_on_too():
    """The right one of two lanes is the only one that leads into a third."""
    roads, path = LaneMap(), Path(ORIGIN, (line(100.0),))
    left, right = roads.along(path, 2, 3.5, 20.0)
    after = roads.lane(Path(roads.lanes[right].curve.end, (line(50.0),)), 3.5, 20.0, after=[right])
    starts, goals = places((left, 10.0)), places((after, 20.0))
    assert routes_m(roads, starts, goals)[0, 0] == math.inf
    assert routes_m(roads, starts, goals, lane_changes=True)[0, 0] == pytest.approx(110.0)


def test_starts_are_clear_of_a_crossing_lane():
    """At right angles at 50 m: half a strip, and the half length of a car on both sides."""
    roads = row([100.0])
    roads.lane(Path(Pose(50.0, -40.0, math.pi / 2), (line(80.0),)), 3.5, 20.0)
    spans = clear_spans(roads, [Span(0)])
    assert [span.lane for span in spans] == [0, 0]
    assert spans[0].from_m == INSET_M and spans[1].to_m == pytest.approx(100.0 - INSET_M)
    assert abs(spans[0].to_m - (50.0 - CLEAR_HALF_M - CLEAR_M)) <= 1.0
    assert abs(spans[1].from_m - (50.0 + CLEAR_HALF_M + CLEAR_M)) <= 1.0


def test_starts_are_clear_of_a_merging_lane_from_where_it_is_near():
    roads, path = LaneMap(), Path(ORIGIN, (line(120.0),))
    main = roads.lane(path, 3.5, 20.0)
    ramp = roads.lane(Curve(path, -3.5, (Taper(60.0, 60.0, 3.5),)), 3.5, 20.0)
    for lane in (main, ramp):
        span, = clear_spans(roads, [Span(lane)])
        t = next(t for t in np.linspace(0, 1, 10_000) if 3.5 * (1 - 3 * t**2 + 2 * t**3) <= CLEAR_HALF_M)
        assert span.from_m == INSET_M and abs(span.to_m - (60.0 + 60.0 * t - CLEAR_M)) <= 1.0


def test_lanes_side_by_side_are_clear():
    roads = LaneMap()
    lanes = roads.along(Path(ORIGIN, (line(60.0), turn(15.0, 2.0))), 4, 3.0, 20.0)
    assert [span.lane for span in clear_spans(roads, [Span(lane) for lane in lanes])] == lanes


def test_cars_stand_where_they_are_told():
    roads = row([40.0, 30.0])
    objects = cars_at(Rng(1), roads, places((0, 12.0), (1, 5.0)), np.array([7.3, 0.0]), places((1, 20.0), (1, 25.0)))
    assert objects.x_m[0].tolist() == [12.0, 45.0] and objects.goal_m.tolist() == [[60.0, 0.0], [65.0, 0.0]]
    assert objects.vx_mps[0].tolist() == [7.25, 0.0] and not objects.vy_mps.any()


def test_a_place_on_an_arc_is_on_its_chord_with_its_tangent():
    roads = LaneMap()
    roads.lane(Path(ORIGIN, (turn(20.0, math.pi),)), 3.5, 20.0)
    along_m = np.linspace(1.0, 60.0, 50)
    xy_m, heading = poses_at(roads, Places(np.zeros(50, np.int64), along_m))
    away = np.hypot(xy_m[:, 0], xy_m[:, 1] - 20.0)
    assert (away <= 20.001).all() and (away >= 20.0 - 0.021).all()
    angle = np.arctan2(xy_m[:, 1] - 20.0, xy_m[:, 0]) + math.pi / 2
    assert np.abs(np.sin(heading - angle)).max() < 2e-3
    assert np.abs(heading - along_m / 20.0).max() < 2e-3


def test_cars_can_brake_for_bends_stop_lines_and_ends():
    """One car on each lane: v squared is at most its bound at the bend or line plus 4 m/s2 times the distance."""
    for seed in range(30):
        roads = LaneMap()
        path = Path(ORIGIN, (line(80.0), turn(12.0, 1.5), line(30.0)))
        roads.lane(path, 3.5, 30.0)
        stop = roads.lane(Path(Pose(0.0, -50.0, 0.0), (line(100.0),)), 3.5, 30.0)
        roads.lane(Path(Pose(100.0, -50.0, 0.0), (line(50.0),)), 3.5, 30.0, after=[stop])
        roads.control("stop", [stop])
        spec = PlacingSpec([Span(0, to_m=70.0), Span(stop, to_m=90.0)], [Span(0), Span(2)], speed_share=(0.9, 1.0))
        objects = place(Rng(seed), roads, 2, spec)
        x_m, y_m = positions_of(objects)
        square_mps = objects.vx_mps[0] ** 2 + objects.vy_mps[0] ** 2
        bend = np.where(y_m > -1.0, 2.0 * 12.0 + 4.0 * (80.0 - x_m), 4.0 * (100.0 - x_m))
        assert (square_mps <= bend + 1e-3).all()
        assert (square_mps >= np.minimum(26.0**2, 0.8 * bend - 30.0)).all()  # and not without a reason


def positions_of(objects):
    return objects.x_m[0].astype(np.float64), objects.y_m[0].astype(np.float64)


def test_gaps_are_at_least_the_pitch_however_many_cars_there_are():
    roads = row([100.0], limit_mps=15.0)
    most = math.floor((100.0 - 2 * INSET_M) / PITCH_M) + 1
    roads.lane(Path(Pose(100.0, 0.0, 0.0), (line(900.0),)), 3.5, 15.0, after=[0])
    for agents in (1, 2, 5, most):
        for seed in range(10):
            objects = place(Rng(seed), roads, agents, PlacingSpec([Span(0)], [Span(1)]))
            x_m = np.sort(positions_of(objects)[0])
            assert len(x_m) == agents and x_m[0] >= INSET_M - 1e-3 and x_m[-1] <= 100.0 - INSET_M + 1e-3
            assert np.diff(x_m).min(initial=np.inf) >= PITCH_M - 2e-3
    with pytest.raises(SceneError, match=f"agents is {most + 1}; at most {most} fit on these roads"):
        place(Rng(0), roads, most + 1, PlacingSpec([Span(0)], [Span(1)]))


def test_goals_differ_as_long_as_there_are_enough():
    roads = row([100.0, 300.0])
    objects = place(Rng(3), roads, 10, PlacingSpec([Span(0)], [Span(1)]))
    assert len(np.unique(objects.goal_m, axis=0)) == 10
    assert len(np.unique(place(Rng(3), roads, 10, PlacingSpec([Span(0)], [Span(1, 50.0, 60.0)])).goal_m, axis=0)) == 2


def test_a_car_without_a_goal_ahead_is_an_error():
    with pytest.raises(SceneError, match="car 0 reaches no goal at least 20 m away; these roads are too short"):
        place(Rng(0), row([20.0]), 1, PlacingSpec([Span(0)], [Span(0)]))


def test_boxes_of_cars_in_a_junction_do_not_touch():
    """Starts on all lanes that lead into or through a crossing: no centre is as near to another as a car is wide."""
    roads = LaneMap()
    leave, enter = [], []
    for arm in range(4):
        out = Path(Pose(0.0, 0.0, arm * math.pi / 2).moved(9.75), (line(60.0),))
        leave += roads.along(out, 1, 3.5, 13.9)
        enter += roads.along(out.reversed(), 1, 3.5, 13.9)
    for i, before in enumerate(enter):
        for j, after in enumerate(leave):
            if i != j:
                way = between(roads.lanes[before].curve.end, roads.lanes[after].curve.start)
                roads.link(roads.lane(way, 3.5, 13.9, after=[before]), after)
    starts = [Span(lane) for lane in range(len(roads.lanes)) if lane not in leave]
    spec = PlacingSpec(starts, [Span(lane) for lane in leave])
    for seed in range(20):
        objects = place(Rng(seed), roads, 12, spec)
        x_m, y_m = positions_of(objects)
        away = np.hypot(x_m[:, None] - x_m, y_m[:, None] - y_m)
        assert away[~np.eye(12, dtype=bool)].min() > 2.31
