"""With which heading does an agent reach its goal, with goal_heading_tolerance_rad? Along the lane there."""

from dataclasses import replace

import numpy as np
import pytest
from scripted_scenes import COAST, COAST_ACTION, STEERING_BINS, STRAIGHT, batch_of, driver, stage

from drive_env import ConfigError, DriveConfig
from drive_env.scenes import LaneGraph

OPTIONS = {"on_goal": "ignore", "on_offroad": "ignore", "goal_heading_tolerance_rad": 0.3, "goal_radius_m": 2.5,
           "observation": {"goals": 1}}


def reaches(error_rad, distance_m=0.0, **options):
    """Whether a car that passes over its goal at a heading of 0.7 rad plus an error reaches it. The lane, which passes
    the goal at a distance to the left, has a heading of 0.7 rad."""
    heading_rad = 0.7 + error_rad
    goal_m = 10.0 * np.array([np.cos(heading_rad), np.sin(heading_rad)])
    ahead, left = np.array([np.cos(0.7), np.sin(0.7)]), np.array([-np.sin(0.7), np.cos(0.7)])
    lane = [goal_m + distance_m * left + along_m * ahead for along_m in (-30.0, 5.0, 40.0)]
    scene = stage([driver(heading_rad=heading_rad, speed_mps=10.0, goal_m=tuple(goal_m))], [("lane", lane)])
    batch, found = batch_of(scene, **{**OPTIONS, **options}), []
    for _ in range(20):
        batch.step([COAST_ACTION])
        found.append(batch.rewards[0])
    assert sum(found) in (0.0, 1.0)
    return sum(found) == 1.0


@pytest.mark.parametrize(("error_rad", "reached"), [
    (0.0, True), (0.29, True), (-0.29, True), (0.31, False), (-0.31, False), (np.pi, False), (3.0, False)])
def test_a_goal_is_reached_with_a_heading_within_the_tolerance(error_rad, reached):
    assert reaches(error_rad) == reached
    assert reaches(error_rad, goal_heading_tolerance_rad=None)


def test_a_goal_that_is_farther_than_5_m_from_every_lane_is_reached_with_any_heading():
    assert reaches(2.0, distance_m=5.1) and not reaches(2.0, distance_m=4.9)


def test_speed_and_heading_must_fit_in_the_same_step():
    """A car turns from -0.8 rad towards the heading of the lane and then brakes from 3 m/s, all within the radius."""
    scene = stage([driver(heading_rad=-0.8, speed_mps=3.0, goal_m=(8.0, 0.0))], [("lane", [(-20.0, 0.0), (60.0, 0.0)])])
    batch = batch_of(scene, **OPTIONS | {"goal_radius_m": 7.9}, goal_max_speed_mps=1.0)
    seen = []
    for step in range(60):
        acceleration, steering = COAST - 2 * (step > 30), STRAIGHT + 3 * (step < 20)
        batch.step([acceleration * STEERING_BINS + steering])
        vehicle = batch.vehicles()
        fits = (abs(vehicle["heading_rad"][0]) <= 0.3, vehicle["speed_mps"][0] <= 1.0)
        seen.append((*fits, batch.step_events()["goal"][0]))
    turned, slow, goal = np.array(seen).T
    assert (turned & ~slow).any() and goal.sum() == 1
    assert np.flatnonzero(goal)[0] == np.flatnonzero(turned & slow)[0]


def test_each_of_several_goals_has_the_heading_of_its_own_lane():
    """Lanes along x and then along y. A car that drives straight on passes both goals and reaches the first alone. The
    state and the observation have the direction of the current goal."""
    scene = stage([driver(speed_mps=10.0, goal_m=(10.0, 0.0))],
                  [("lane", [(0.0, 0.0), (19.0, 0.0)]), ("lane", [(19.0, 0.0), (19.0, 30.0)])])
    scene = replace(scene, lanes=LaneGraph(np.int32([0, 1, 1]), np.int32([1])))
    batch = batch_of(scene, **OPTIONS | {"on_goal": "next"}, goal_spacing_m=10.0)
    layout, goals, headings, directions = batch.observation_layout(), [], [], []
    for _ in range(30):
        headings.append(batch.trial_state()["goal_heading_rad"][0])
        directions.append([batch.observations[0, layout[f"goals/direction_{axis}"].slice][0] for axis in "xy"])
        batch.step([COAST_ACTION])
        goals.append(batch.step_events()["goal"][0])
    assert np.flatnonzero(goals).tolist() == [7]
    assert headings == pytest.approx([0.0] * 8 + [np.pi / 2] * 22)
    assert directions == pytest.approx(np.array([(1.0, 0.0)] * 8 + [(0.0, 1.0)] * 22), abs=1e-6)


def test_the_state_has_no_heading_where_the_goal_is_on_no_lane():
    batch = batch_of(stage([driver(), driver(0.0, 8.0, goal_m=(20.0, 8.0))], [("lane", [(0.0, 6.0), (60.0, 6.0)])]),
                     **OPTIONS)
    assert np.isnan(batch.trial_state()["goal_heading_rad"]).tolist() == [True, False]


def test_a_tolerance_is_refused_where_the_direction_of_the_lane_is_not_observed():
    with pytest.raises(ConfigError, match="goal_heading_tolerance_rad is 0.2; with observation.goals 0.*must be None"):
        DriveConfig(goal_heading_tolerance_rad=0.2)
