"""Are the detailed metrics those of the steps of a trial? Recomputed from the facts and poses of each step."""

import math

import numpy as np
import pytest
from scripted_events import wall
from scripted_scenes import (
    ACTION_COUNT,
    COAST_ACTION,
    IGNORE_ALL,
    STEERING_BINS,
    STRAIGHT,
    Actor,
    batch_of,
    driver,
    stage,
)

from drive_env import Batch, ConfigError, DriveConfig, generate_scene, trial_metrics
from drive_env.reports import QUOTIENTS

DETAILED = ["driving_time_s", "progress", "max_progress", "wrong_way_share", "mean_lane_offset_m", "over_speed_share",
            "min_gap_m", "min_time_to_collision_s", "max_jerk_mps3", "hard_brakings", "infractions",
            "at_fault_collision", "at_fault_collision_nuplan"]
SAMPLES = np.linspace(-0.5, 0.5, 41)
"""Points of a side, as shares of its length."""


def outline(vehicles, index):
    """Points on the sides of a vehicle's box, at most 0.1 m apart for a car."""
    length, width = (float(vehicles[name][index]) for name in ("length_m", "width_m"))
    heading = float(vehicles["heading_rad"][index])
    ahead, left = np.array([math.cos(heading), math.sin(heading)]), np.array([-math.sin(heading), math.cos(heading)])
    sides = [(SAMPLES * length, np.full_like(SAMPLES, side * width / 2)) for side in (-1, 1)]
    sides += [(np.full_like(SAMPLES, side * length / 2), SAMPLES * width) for side in (-1, 1)]
    along, across = (np.concatenate([pair[axis] for pair in sides]) for axis in (0, 1))
    centre = np.array([vehicles["x_m"][index], vehicles["y_m"][index]], float)
    return centre + along[:, None] * ahead + across[:, None] * left


def gaps(vehicles, agents):
    """The distance of each agent to the nearest vehicle, from the outlines; at most 50 m."""
    outlines = [outline(vehicles, index) for index in range(len(vehicles["x_m"]))]
    found = np.full(agents, 50.0)
    for agent in range(agents):
        for other in np.flatnonzero(vehicles["present"]):
            if other != agent and np.hypot(*(outlines[agent][0] - outlines[other][0])) < 65.0:
                difference = outlines[agent][:, None] - outlines[other][None]
                found[agent] = min(found[agent], np.sqrt((difference**2).sum(axis=-1)).min())
    return found


def test_the_metrics_of_a_trial_are_those_of_its_steps():
    # a trial of random driving, and the state after each of its steps
    agents, steps = 8, 50
    scene = generate_scene("intersection", seed=4, agents=agents)
    batch = Batch([scene], trial_records=1, config=DriveConfig(
        detailed_metrics=True, trial_steps=steps, dynamics={"max_speed_mps": 25.0},
        observation={"partners": 4, "roads": 4}, **IGNORE_ALL))
    batch.reset()
    rng, states, nearest = np.random.default_rng(5), [], []
    for _ in range(steps):
        batch.step(rng.choice([0, 5, 6, 6], agents) * STEERING_BINS + rng.integers(4, 9, agents))
        states.append({name: values[0].astype(float) for name, values in batch._core.state.items()})
        nearest.append(gaps(batch.vehicles(), agents))
    records = batch.trial_records()
    # (steps, agents) facts, and quantities that several metrics need
    fact = {name: np.stack([state[name][:agents] for state in states]) for name in states[0]
            if len(states[0][name]) >= agents}
    limits = np.concatenate([scene.roads.speed_limit_mps, [0.0]])[fact["lane"].astype(int)]
    on_lane, brakes = fact["lane"] >= 0, fact["acceleration_mps2"] < -3.0
    gap = np.where(fact["collision_onset"] > 0, 0.0, np.stack(nearest)).min(axis=0)
    left = np.hypot(fact["goal_x_m"] - fact["x_m"], fact["goal_y_m"] - fact["y_m"])
    start = np.hypot(*(scene.objects.goal_m - np.stack([scene.objects.x_m[0], scene.objects.y_m[0]], axis=1)).T)
    reached = fact["had_goal"][-1] > 0
    # each metric by its definition
    expected = {
        "progress": np.where(reached, 1.0, np.maximum(1.0 - left[-1] / start, 0.0)),
        "max_progress": np.where(reached, 1.0, np.maximum(1.0 - left.min(axis=0) / start, 0.0)),
        "wrong_way_share": (fact["speed_mps"] * fact["lane_cos_error"] < 0).mean(axis=0),
        "mean_lane_offset_m": np.abs(fact["lane_offset_m"]).sum(axis=0) / np.maximum(on_lane.sum(axis=0), 1),
        "over_speed_share": ((np.abs(fact["speed_mps"]) > limits) & (limits > 0)).mean(axis=0),
        "min_time_to_collision_s": fact["time_to_collision_s"].min(axis=0),
        "max_jerk_mps3": fact["jerk_mps3"].max(axis=0),
        "hard_brakings": (brakes & ~np.vstack([np.zeros((1, agents), bool), brakes[:-1]])).sum(axis=0),
        "infractions": (fact["collision_onset"] + fact["offroad_onset"]).sum(axis=0)}
    for name, values in expected.items():
        assert records[name] == pytest.approx(values, abs=1e-4), name
        assert np.ptp(values) > 0, name  # the agents differ
    assert records["min_gap_m"] == pytest.approx(gap, abs=0.06) and (gap < 50.0).any()
    assert (records["at_fault_collision"] <= records["collision"]).all()


def test_the_gap_is_that_of_boxes_and_at_most_50_m():
    scene = stage([driver(), Actor(10.0), driver(0.0, 40.0), driver(0.0, 500.0)])
    batch = batch_of(scene, detailed_metrics=True, trial_steps=1)
    batch.step([COAST_ACTION] * 3)
    assert batch._core.state["min_gap_m"][0].tolist() == [6.0, 38.0, 50.0]


def test_progress_is_the_share_of_the_way_covered_at_the_end_and_at_most():
    """The goal is 20 m ahead and 10 m to the left, sqrt(500) m away. After 30 m, 10 m past the point nearest to it, it
    is sqrt(200) m away."""
    batch = batch_of(stage([driver(speed_mps=10.0, goal_m=(20.0, 10.0))]), detailed_metrics=True, trial_steps=30)
    for _ in range(30):
        batch.step([COAST_ACTION])
    report = batch.metrics()
    assert report["progress"].value == pytest.approx(1 - math.sqrt(200 / 500), abs=1e-4)
    assert report["max_progress"].value == pytest.approx(1 - 10 / math.sqrt(500), abs=1e-4)


@pytest.mark.parametrize("on_goal", ["ignore", "stop", "remove"])
def test_progress_is_complete_once_the_goal_was_reached(on_goal):
    batch = batch_of(stage([driver(speed_mps=10.0, goal_m=(20.0, 0.0))]), detailed_metrics=True, trial_steps=60,
                     on_goal=on_goal)
    while not batch.trial_ended[0]:
        batch.step([COAST_ACTION])
    report = batch.metrics()
    assert report["goal"].value == report["progress"].value == report["max_progress"].value == 1.0


def test_hard_braking_counts_its_onsets():
    """Two steps at -4 m/s2, a pause, and one more."""
    batch = batch_of(stage([driver(speed_mps=20.0)]), detailed_metrics=True, trial_steps=6)
    for acceleration_bin in (0, 0, 3, 2, 0, 3):
        batch.step([acceleration_bin * STEERING_BINS + STRAIGHT])
    assert batch.metrics()["hard_brakings"].value == 2.0


def test_distance_per_infraction_is_a_quotient_of_sums_not_a_mean_of_quotients():
    """One agent drives 10 m and through an edge, one 30 m without; without any infraction there is no figure."""
    scene = stage([driver(speed_mps=10.0), driver(0.0, 30.0, speed_mps=30.0)], [wall(5.0)])
    for edge, expected in ((scene, (40.0, 2)), (stage([driver(speed_mps=10.0)]), (math.nan, 0))):
        batch = Batch([edge], trial_records=1, config={"detailed_metrics": True, "trial_steps": 10, **IGNORE_ALL})
        batch.reset()
        for _ in range(10):
            batch.step(np.full(batch.num_agents, COAST_ACTION))
        for report in (batch.metrics(), trial_metrics(batch.trial_records())):
            assert report["distance_per_infraction_m"] == pytest.approx(expected, nan_ok=True)


def test_goals_per_km_and_time_per_goal_are_quotients_of_sums():
    """One agent reaches its goal after 2 s and 20 m and drives on, one never; both drive 40 m in 4 s."""
    cars = [driver(0.0, 30.0 * i, speed_mps=10.0, goal_m=(goal_m, 30.0 * i)) for i, goal_m in enumerate((22.0, 90.0))]
    for scene, per_km, time_s in ((stage(cars), 1000 / 80, 8.0), (stage(cars[1:]), 0.0, math.nan)):
        batch = Batch([scene], trial_records=1, config={"detailed_metrics": True, "trial_steps": 40, **IGNORE_ALL})
        batch.reset()
        for _ in range(40):
            batch.step(np.full(batch.num_agents, COAST_ACTION))
        for report in (batch.metrics(), trial_metrics(batch.trial_records())):
            assert report["goals_per_km"].value == pytest.approx(per_km)
            assert report["time_per_goal_s"].value == pytest.approx(time_s, nan_ok=True)


def test_detailed_metrics_are_in_reports_and_records_on_request_and_change_nothing_else():
    scene = generate_scene("town", seed=3, agents=6)
    plain, detailed = (Batch([scene], trial_records=3, config={"trial_steps": 20, "detailed_metrics": on})
                       for on in (False, True))
    for batch in (plain, detailed):
        batch.reset(seed=1)
    for step in range(45):
        actions = np.random.default_rng(step).integers(0, ACTION_COUNT, 6)
        plain.step(actions), detailed.step(actions)
        assert (plain.observations == detailed.observations).all() and (plain.rewards == detailed.rewards).all()
    assert set(detailed.metrics()) - set(plain.metrics()) == {*DETAILED, *QUOTIENTS}
    short, long = plain.trial_records(), detailed.trial_records()
    assert [name for name in long.dtype.names if name not in short.dtype.names] == DETAILED
    assert all((short[name] == long[name]).all() for name in short.dtype.names)


def test_the_option_is_a_bool():
    with pytest.raises(ConfigError, match="detailed_metrics is 'lane'; it must be True or False"):
        DriveConfig(detailed_metrics="lane")
