"""Do the arcs and lines of a roundabout follow their closed forms, and does traffic use every exit?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from lane_map_scenes import made
from played_scenes import agents_of, played

from drive_env import generate_scene
from drive_env.errors import SceneError
from drive_env.scenes.generate.curves import Pose
from drive_env.scenes.generate.ring import Ring


def test_an_entry_of_12_m_on_a_ring_of_16_m_is_that_of_the_closed_form():
    """Its centre is 13.75 m right of the axis, 28 m from the ring's centre."""
    entry = Ring(Pose(0.0, 0.0, 0.0), {0: 0.0}, 3.5, 16.0, 12.0, 12.0, 1, 7.0).entry
    assert math.degrees(entry.past_rad) == pytest.approx(29.411, abs=1e-3)
    assert math.degrees(entry.angle_rad) == pytest.approx(60.589, abs=1e-3)
    assert entry.reach_m == pytest.approx(24.391, abs=1e-3)
    assert entry.radius_m * entry.angle_rad == pytest.approx(12.690, abs=1e-3)


def test_five_arms_leave_13_degrees_of_the_ring_between_an_entry_and_the_next_exit():
    lanes = made("roundabout", 0, arms=5).map.lanes
    ring = [lane.curve.length_m for lane in lanes if lane.curve.path.pieces[0].start_per_m == pytest.approx(1 / 16)]
    assert len(ring) == 10 and sum(ring) == pytest.approx(2 * math.pi * 16.0)
    assert math.degrees(min(ring) / 16.0) == pytest.approx(13.178, abs=1e-3)


def test_arms_that_are_too_near_are_refused_with_the_length_that_is_left():
    with pytest.raises(SceneError, match="inner lane are between an entry and the next exit; at least"):
        generate_scene("roundabout", arms=5, radius_m=12.0, entry_radius_m=20.0)


@pytest.mark.parametrize("lanes", [1, 2])
def test_traffic_runs_to_the_left_around_the_centre(lanes):
    roads = made("roundabout", 0, lanes=lanes).map
    for lane in roads.lanes:
        x_m, y_m, heading, _ = lane.curve.at(np.linspace(0, lane.curve.length_m, 20))
        away_m = np.hypot(x_m, y_m)
        if away_m.max() < 17.0:
            assert (x_m * np.sin(heading) - y_m * np.cos(heading) > 0.99 * away_m).all()


def test_a_car_that_yields_stands_outside_of_the_ring():
    controls = generate_scene("roundabout").traffic_controls
    assert controls.kind.tolist() == [3] * 4
    ends_m = controls.line_m.reshape(4, 2, 2).astype(np.float64)
    away_m = np.linalg.norm(ends_m, axis=2)
    assert away_m.min(axis=1) == pytest.approx(np.full(4, 16.0 + 1.75 + 0.5), abs=2e-3)
    # The line is as long as the lane is wide.
    assert np.linalg.norm(ends_m[:, 0] - ends_m[:, 1], axis=1) == pytest.approx(np.full(4, 3.5), abs=2e-3)


def test_every_arm_has_a_splitter_island_between_its_lanes():
    roads = made("roundabout", 0).map
    assert len(roads.walls) == 4
    for island, angle in zip(roads.walls, np.arange(4) * math.pi / 2, strict=True):
        out = island @ [math.cos(angle), math.sin(angle)]
        left = island @ [-math.sin(angle), math.cos(angle)]
        assert out.min() == pytest.approx(16.0 + 1.75 + 0.5) and np.abs(left).max() < 2.0
        assert left.min() < 0 < left.max()


def test_cars_leave_at_every_other_arm():
    seen = set()
    for seed in range(30):
        objects = generate_scene("roundabout", seed=seed).objects
        start = np.rint(np.arctan2(objects.y_m[0], objects.x_m[0]) / (math.pi / 2))
        goal = np.rint(np.arctan2(objects.goal_m[:, 1], objects.goal_m[:, 0]) / (math.pi / 2))
        seen |= set(((goal - start) % 4).astype(int).tolist())
    assert seen == {1, 2, 3}


# ---- two lanes each way ----

TWO_LANES = {"lanes": 2, "street_lanes": 2, "radius_m": 20.0}
RIGHT_M, LEFT_M = 5.25, 1.75
"""From the axis of a street to the centres of its lanes."""


def quarters_and_offsets(xy_m):
    """The arm of four on which each place is, and how far beside its axis."""
    quarter = np.rint(np.arctan2(xy_m[:, 1], xy_m[:, 0]) / (math.pi / 2))
    angle = quarter * math.pi / 2
    return quarter, np.abs(xy_m[:, 1] * np.cos(angle) - xy_m[:, 0] * np.sin(angle))


def starts_and_goals(seeds):
    objects = [generate_scene("roundabout", seed=seed, agents=16, **TWO_LANES).objects for seed in seeds]
    return (np.concatenate([np.stack([one.x_m[0], one.y_m[0]], axis=1) for one in objects]),
            np.concatenate([one.goal_m for one in objects]))


def test_entries_of_two_lanes_have_one_centre():
    """17.25 m right of the axis, 32 m from the ring's centre: one arc touches 20 m, the other one 16.5 m."""
    ring = Ring(Pose(0.0, 0.0, 0.0), {0: 0.0}, 3.5, 20.0, 12.0, 12.0, 2, 7.0, 2)
    assert math.degrees(ring.entry.past_rad) == pytest.approx(32.620, abs=1e-3)
    assert ring.entry.reach_m == pytest.approx(26.953, abs=1e-3)
    assert [1 / piece.start_per_m for piece, in ring.entry_pieces_of_lanes] == pytest.approx([-15.5, -12.0])


def test_each_lane_of_a_street_leads_onto_a_lane_of_the_ring_of_its_own_and_off_it():
    roads = made("roundabout", 0, **TWO_LANES).map
    after = {lane: [b for a, b in roads.links if a == lane] for lane in range(len(roads.lanes))}
    entries = set(after) - {b for _, b in roads.links}
    assert len(entries) == 8
    for entry in entries:
        start = roads.lanes[entry].curve.start
        beside_m = quarters_and_offsets(np.array([[start.x_m, start.y_m]]))[1][0]
        (onto,), radius_m = after[entry], {RIGHT_M: 20.0, LEFT_M: 16.5}[round(float(beside_m), 3)]
        ring, = after[onto]
        seen = {ring}
        while len(ends := set().union(*(after[lane] for lane in seen)) - seen):  # all that can be reached
            seen |= ends
        streets = [lane for lane in seen if not after[lane]]
        away_m = [np.hypot(*curve.at(np.linspace(0.0, curve.length_m, 9))[:2])
                  for curve in (roads.lanes[lane].curve for lane in seen)]
        around = [own_m for own_m in away_m if own_m.max() < 21.0]
        assert np.array(around) == pytest.approx(np.full((8, 9), radius_m)) and len(streets) == 4


def test_cars_leave_by_the_exits_of_their_lanes():
    start_m, goal_m = starts_and_goals(range(12))
    (start, start_beside_m), (goal, goal_beside_m) = quarters_and_offsets(start_m), quarters_and_offsets(goal_m)
    is_right = start_beside_m > 3.5
    assert start_beside_m == pytest.approx(np.where(is_right, RIGHT_M, LEFT_M), abs=0.01)
    assert goal_beside_m == pytest.approx(np.where(is_right, RIGHT_M, LEFT_M), abs=0.01)
    steps = ((goal - start) % 4).astype(int)
    assert set(steps[is_right].tolist()) == {1, 2} and set(steps[~is_right].tolist()) == {2, 3}


def test_a_car_keeps_its_lane_of_the_ring():
    """Cars of right lanes stay on the outer one; those of left lanes are on the inner one without a break."""
    away_m = []

    def look(batch):
        x_m, y_m, *_ = agents_of(batch)
        away_m.append(np.hypot(x_m, y_m))

    records = played("roundabout", range(3), "lane", agents=16, steps=300, on_step=look, **TWO_LANES)
    away_m, is_right = np.array(away_m), quarters_and_offsets(starts_and_goals(range(3))[0])[1] > 3.5
    for car in np.flatnonzero(records["goal"] == 1):
        own_m = away_m[:int(records["trial_length"][car]) - 1, car]
        inside = np.flatnonzero(own_m < 18.25)
        if is_right[car]:
            assert own_m.min() >= 19.0
        else:
            assert 15.5 <= own_m.min() <= 17.5 and (np.diff(inside) == 1).all()


@pytest.mark.parametrize("parameters, sentence", [
    ({"street_lanes": 2}, "street_lanes is 2; with 1 lanes it must be at most 1"),
    ({"lanes": 2, "street_lanes": 2, "radius_m": 12.0, "entry_radius_m": 10.0, "lane_width_m": 4.5, "arms": 3},
     "m before the bend onto the ring; at most 0 m are possible")])
def test_lanes_that_do_not_fit_are_refused(parameters, sentence):
    with pytest.raises(SceneError, match=sentence):
        generate_scene("roundabout", **parameters)
