"""Do agents of LaneDriver obey lights and signs, keep junctions clear, and never wait for each other for ever?"""

from dataclasses import replace

import numpy as np
import pytest
from driven_scenes import drive
from rule_based_scenes import FOUR_ARMS, arm_line, on_arm, on_lanes, parked
from scripted_scenes import Actor
from staged_controls import GREEN, LIGHT, OFF, RED, STOP, YELLOW, YIELD, with_controls

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver

LANE = [(-100.0, 0.0), (300.0, 0.0)]
LINE = (50.0, 2.0, 50.0, -2.0)
OBEYS = {"traffic_controls": True}
HALF_M = 2.0
"""Half the length of a car."""


def agent_on_arm(arm, away_m, speed_mps=5.0, beyond_m=50.0):
    """A car so far before the middle of the junction, whose goal is on the other side of it."""
    vehicle = on_arm(arm, away_m, speed_mps)
    ahead = np.round([np.cos(vehicle.heading_rad), np.sin(vehicle.heading_rad)])
    return replace(vehicle, goal_m=tuple(np.array([vehicle.x_m, vehicle.y_m]) + (away_m + beyond_m) * ahead))


def fronts(speed_mps, front_m, *kinds_and_lines, **more):
    """The front and speed at every step of a car that drives to the line at 50 m, and the rates of violations."""
    scene = on_lanes([Actor(front_m - HALF_M, 0.0, 0.0, speed_mps, goal_m=(250.0, 0.0))], [LANE])
    _, found, rates = drive(with_controls(scene, *kinds_and_lines, **more), 300, **OBEYS)
    return found["x_m"][:, 0] + HALF_M, found["speed_mps"][:, 0], rates


# ---- lights and signs ----


@pytest.mark.parametrize("speed_mps, front_m", [(0.0, 0.0), (10.0, 0.0), (10.0, 35.0), (2.0, 45.0)])
def test_an_agent_stops_within_two_metres_of_the_line_of_a_red_light(speed_mps, front_m):
    front, speed, rates = fronts(speed_mps, front_m, (LIGHT, LINE), states=[RED])
    assert speed[-1] == 0.0 and 48.0 < front[-1] < 50.0 and rates["red_light"] == 0.0


@pytest.mark.parametrize("state", [OFF, GREEN])
def test_an_agent_drives_on_where_a_light_is_green_or_off(state):
    front, _, _ = fronts(10.0, 0.0, (LIGHT, LINE), states=[state])
    assert front[100] > 80.0


def test_lights_without_effect_change_no_action():
    scene = on_lanes([Actor(goal_m=(200.0, 0.0))], [LANE])
    _, ignored, _ = drive(with_controls(scene, (LIGHT, LINE), states=[RED]), 100)
    _, alone, _ = drive(scene, 100)
    assert np.array_equal(ignored["x_m"], alone["x_m"]) and ignored["x_m"].max() > 60.0


@pytest.mark.parametrize("away_m, stops", [(18.0, True), (15.5, False)])
def test_an_agent_stops_at_yellow_if_three_metres_per_second_squared_suffice(away_m, stops):
    """10^2 / (2 * 3) = 16.67 m."""
    front, _, rates = fronts(10.0, 50.0 - away_m, (LIGHT, LINE), phases=[(YELLOW, 3.0), (RED, 60.0)])
    assert (front.max() < 50.0) == stops and rates["red_light"] == 0.0


def test_an_agent_obeys_the_light_of_its_own_lane():
    """From one line a lane leads straight on and another to the left; the path of the agent follows the first one."""
    lanes = [[(-100.0, 0.0), (50.0, 0.0)], [(50.0, 0.0), (150.0, 0.0)], [(50.0, 0.0), (60.0, 4.0), (64.0, 30.0)]]
    for lit, stops in ((0, True), (1, True), (2, False)):
        scene = on_lanes([Actor(goal_m=(140.0, 0.0))], lanes, [[1, 2], [], []])
        scene = with_controls(scene, (LIGHT, LINE), states=[RED], lanes=[lit])
        _, found, _ = drive(scene, 200, **OBEYS)
        assert (found["x_m"].max() < 50.0) == stops, lit


def test_an_agent_stops_at_a_stop_sign_and_goes_on():
    front, speed, rates = fronts(10.0, 0.0, (STOP, LINE))
    stands = (speed < 0.2) & (front > 47.0) & (front < 50.0)
    assert stands.any() and front[-1] > 100.0 and rates["stop_sign"] == 0.0


def test_an_agent_at_a_yield_sign_waits_for_one_that_comes_and_not_for_one_that_is_far_away():
    def passed_s(major_m):
        cars = [agent_on_arm(0, 24.0, 6.0), *([agent_on_arm(1, major_m, 8.0)] if major_m else [])]
        scene = with_controls(on_lanes(cars, FOUR_ARMS), (YIELD, arm_line(0)))
        outcomes, found, _ = drive(scene, 250, **OBEYS)
        assert set(outcomes) == {"goal"}
        driven_m = np.hypot(found["x_m"] - found["x_m"][0], found["y_m"] - found["y_m"][0])
        return [0.1 * np.argmax(driven_m[:, i] > away_m) for i, away_m in enumerate([24.0, major_m][: len(cars)])]

    (alone_s,), near_s, far_s = passed_s(None), passed_s(36.0), passed_s(90.0)
    assert far_s[0] == alone_s
    assert near_s[1] < near_s[0] and near_s[0] > alone_s + 1.0


@pytest.mark.parametrize("has_signs", [False, True])
def test_cars_that_come_from_four_arms_at_once_all_pass(has_signs):
    scene = on_lanes([agent_on_arm(arm, 30.0) for arm in range(4)], FOUR_ARMS)
    if has_signs:
        scene = with_controls(scene, *((STOP, arm_line(arm)) for arm in range(4)))
    outcomes, _, rates = drive(scene, 500, **OBEYS)
    assert outcomes == ["goal"] * 4 and rates["stop_sign"] == 0.0


# ---- junctions ----


def test_a_junction_without_room_behind_it_is_kept_clear_for_others():
    """Cars stand for ever just past the crossing, on both lanes of the street, and others come later from two arms."""
    wall = [parked(10.0, -2.0), parked(10.0, 1.5)]
    cars = [agent_on_arm(0, 40.0, 8.0), agent_on_arm(1, 58.0, 6.0), agent_on_arm(3, 58.0, 2.0)]
    outcomes, found, _ = drive(on_lanes([*cars, *wall], FOUR_ARMS), 300)
    assert outcomes == ["timeout", "goal", "goal"]
    assert found["x_m"][:, 0].max() + HALF_M < -2.0


@pytest.mark.parametrize("steps, lights, least", [(400, False, 0.99), (600, True, 0.95)])
def test_a_crowded_intersection_clears_without_collision_or_red_light(steps, lights, least):
    scenes = [generate_scene("intersection", seed=seed, agents=16, lights=lights) for seed in range(8)]
    config = DriveConfig(scene_order="cycle", trial_steps=steps, traffic_controls=lights)
    with Batch(scenes, num_worlds=len(scenes), config=config) as batch:
        driver, ended = LaneDriver(batch), np.zeros(batch.num_agents, bool)
        batch.reset()
        for _ in range(steps):
            batch.step(driver.act_all())
            ended |= batch.trial_ended
            if ended.all():
                break
        report = batch.metrics()
    assert report["goal"].value >= least and report["collision"].value == 0.0
    assert not lights or report["red_light"].value == 0.0
