"""Do rule-based vehicles change lanes where that helps them, and only where it is safe?"""

import math

import numpy as np
import pytest
from scripted_scenes import COAST_ACTION, driver, stage

from drive_env import Batch, DriveConfig

LENGTH_M, WIDTH_M = 4.5, 2.0


def road_scene(places, speeds, roads):
    """A scene of cars that head along x, those of negative speed against it; the first one is the agent."""
    headings_rad = [math.pi if speed < 0 else 0.0 for speed in speeds]
    cars = [driver(*place, heading_rad, abs(speed), length_m=LENGTH_M, width_m=WIDTH_M)
            for place, heading_rad, speed in zip(places, headings_rad, speeds, strict=True)]
    return stage(cars, roads)


def drive(places, speeds, lanes=((0.0, 800.0), (3.5, 800.0)), steps=300, **config):
    """(steps, vehicles, 3) x, y and speed on a road along x, nan off the map; lanes are (y, end). The agent keeps its
    speed."""
    roads = [("lane", [(-50.0 + 10 * i, y_m) for i in range(int((end_m + 50) / 10) + 1)]) for y_m, end_m in lanes]
    given = DriveConfig(others="idm", agents_per_world=1, trial_steps=steps, on_collision="ignore",
                        action_type="continuous", **config)
    seen = []
    with Batch(road_scene(places, speeds, roads), config=given) as batch:
        batch.reset()
        assert batch.roles[0].rule_based_count == len(places) - 1
        for _ in range(steps):
            vehicles = batch.vehicles()
            seen.append([np.where(vehicles["present"], vehicles[name], np.nan) for name in ("x_m", "y_m", "speed_mps")])
            batch.step(np.zeros((1, 2), np.float32))
    return np.array(seen).transpose(0, 2, 1)


def overlaps(seen):
    """(steps, vehicles, vehicles) bool: boxes along x overlap."""
    apart = np.abs(seen[:, :, None] - seen[:, None])
    touch = (apart[..., 0] < LENGTH_M) & (apart[..., 1] < WIDTH_M)
    return touch & ~np.eye(seen.shape[1], dtype=bool)


PASSES = {"idm_lane_changes": True}


def test_a_car_passes_a_slow_one_and_returns_to_its_lane():
    seen = drive([(60, 0), (0, 0)], [3, 9], **PASSES)
    assert seen[-1, 1, 0] > seen[-1, 0, 0] + LENGTH_M
    assert seen[:, 1, 1].max() > 3.0 and abs(seen[-1, 1, 1]) < 0.2
    assert not overlaps(seen).any()
    assert (np.abs(np.diff(seen[:, 1, 1])) < 0.2).all()
    behind = drive([(60, 0), (0, 0)], [3, 9])
    assert (behind[:, 1, 1] == 0.0).all() and (behind[:, 1, 0] < behind[:, 0, 0]).all()


def test_a_car_stays_behind_where_a_faster_one_comes_from_behind_in_the_other_lane():
    def first_change(places, speeds):
        seen = drive(places, speeds, steps=100, **PASSES)
        assert not overlaps(seen).any()
        return int(np.argmax(np.append(seen[:, 1, 1] > 0.5, True)))

    alone = first_change([(35, 0), (0, 0)], [3, 9])
    assert first_change([(35, 0), (0, 0), (-12, 3.5)], [3, 9, 10]) > alone + 10


@pytest.mark.parametrize("mobil, changes", [
    ({}, True), ({"threshold_mps2": 20.0}, False), ({"safe_braking_mps2": 0.0}, False), ({"politeness": 5.0}, False),
    ({"politeness": 0.0}, True)])
def test_threshold_safety_and_politeness_are_those_of_the_config(mobil, changes):
    """A car of 10 m/s comes from 25 m behind in the other lane: it would have to brake a little."""
    seen = drive([(35, 0), (0, 0), (-25, 3.5)], [3, 9, 10], steps=12, mobil=mobil, **PASSES)
    assert (seen[:, 1, 1].max() > 0.5) == changes


def test_a_car_returns_before_the_lane_beside_its_own_ends():
    seen = drive([(60, 0), (0, 0)], [3, 9], lanes=((0.0, 800.0), (3.5, 260.0)), **PASSES)
    own = seen[:, 1]
    assert own[:, 1].max() > 3.0
    assert (np.abs(own[own[:, 0] > 255.0, 1]) < 1.0).all()


def test_a_lane_that_ends_soon_or_leads_the_other_way_is_not_used():
    short = drive([(60, 0), (0, 0)], [3, 9], lanes=((0.0, 800.0), (3.5, 60.0)), steps=150, **PASSES)
    assert (short[:, 1, 1] == 0.0).all()
    roads = [("lane", [(-50.0, 0.0), (800.0, 0.0)]), ("lane", [(800.0, 3.5), (-50.0, 3.5)])]
    config = DriveConfig(others="idm", agents_per_world=1, trial_steps=150, **PASSES)
    with Batch(road_scene([(60, 0), (0, 0)], [3, 9], roads), config=config) as batch:
        batch.reset()
        for _ in range(150):
            batch.step(np.full(1, COAST_ACTION))
            assert batch.vehicles()["y_m"][1] == 0.0


def test_an_oncoming_car_that_changes_lanes_is_in_its_own_two_alone():
    """It returns from the inner lane of the other direction, at y = 7 m, to the outer one, away from the car."""
    roads = [("lane", [(-50.0, y_m), (800.0, y_m)][::step]) for y_m, step in ((0, 1), (3.5, 1), (7, -1), (10.5, -1))]
    config = DriveConfig(others="idm", agents_per_world=1, **PASSES)
    scene = road_scene([(300, 0), (0, 0), (30, 0), (25, 10.5)], [9, 9, 3, -9], roads)
    with Batch(scene, config=config) as batch:
        batch.reset()
        batch._core.state["y_m"][0, 3], batch._core.state["path_offset_m"][0, 2] = 7.0, 3.5
        batch.step(np.full(1, COAST_ACTION))
        assert batch._core.state["path_side"][0].tolist() == [1, 0, 0]
        assert batch._core.state["path_offset_m"][0, 2] < 3.5


def test_dense_traffic_changes_lanes_without_collision():
    rng = np.random.default_rng(0)
    places = [(250, 3.5)] + [(18 * i + rng.uniform(-3, 3), 3.5 * (i % 3)) for i in range(24)]
    seen = drive(places, [2, *rng.uniform(4, 10, 24)], lanes=((0.0, 900.0), (3.5, 900.0), (7.0, 500.0)), steps=400,
                 **PASSES)
    lanes = np.rint(seen[:, 1:, 1] / 3.5)
    assert (lanes != lanes[0]).any(axis=0).sum() >= 3
    assert not overlaps(seen).any()
    assert np.nanmin(seen[-1, 1:, 2]) > 1.0  # no vehicle waits at the end of a lane
