"""Does an agent of LaneDriver pass a slow vehicle on the oncoming lane, where that is free for long enough?"""

from dataclasses import replace

import numpy as np
import pytest
from driven_scenes import drive
from played_scenes import played
from rule_based_scenes import on_lanes
from scripted_scenes import Actor, log_replay

FRAMES, LENGTH_M = 300, 4.0
EAST, WEST = [(0.0, 0.0), (900.0, 0.0)], [(900.0, 3.5), (0.0, 3.5)]


def moving(x_m, speed_mps, lane=0):
    """A vehicle with a log of constant speed, on the lane of the agents or, as lane 1, on the oncoming one."""
    sign, y_m = (1.0, 0.0) if lane == 0 else (-1.0, 3.5)
    poses = [(x_m + sign * 0.1 * speed_mps * frame, y_m, 0.0 if lane == 0 else -np.pi, speed_mps)
             for frame in range(FRAMES)]
    return log_replay([pose if 2.0 < pose[0] < 898.0 else None for pose in poses], length_m=LENGTH_M, width_m=2.0)


def agent(x_m, speed_mps=15.0, goal_m=700.0):
    return Actor(x_m, 0.0, 0.0, speed_mps, goal_m=(goal_m, 0.0), length_m=LENGTH_M, width_m=2.0)


def road(*actors, lanes=(EAST, WEST), limit_mps=25.0):
    return replace(on_lanes(actors, lanes, limits_mps=[limit_mps] * len(lanes)), generated=True)


def played_on(scene, steps=FRAMES - 1):
    outcomes, found, _ = drive(scene, steps, action_type="continuous", on_collision="remove")
    return outcomes, found


def test_a_car_passes_a_slow_vehicle_and_goes_back_to_its_lane():
    outcomes, found = played_on(road(agent(20.0), moving(70.0, 10.0)))
    assert outcomes == ["goal"]
    x_m, y_m = found["x_m"], found["y_m"]
    beside = np.abs(x_m[:, 0] - x_m[:, 1]) < LENGTH_M
    assert beside.any() and (y_m[beside, 0] > 2.3).all()  # 0.3 m between their sides
    assert (x_m[:, 0] > x_m[:, 1])[-1] and abs(y_m[-1, 0]) < 0.5
    assert (y_m[:, 0] > 1.0).sum() < 120  # 12 s


@pytest.mark.parametrize("oncoming_m", [150.0, 300.0, 500.0])
def test_an_oncoming_vehicle_is_met_on_the_own_lane(oncoming_m):
    """It comes when the car could pass; the car waits for it, or is back by then with a second to spare."""
    outcomes, found = played_on(road(agent(20.0, goal_m=500.0), moving(60.0, 10.0), moving(oncoming_m, 20.0, lane=1)))
    assert outcomes == ["goal"]
    apart_m = found["x_m"][:, 2] - found["x_m"][:, 0]
    met = np.flatnonzero(apart_m < 0.0)[0]
    assert met >= 5
    assert (np.abs(found["y_m"][met - 5 : met + 1, 0]) < 1.0).all()  # 0.5 m between their sides
    assert (found["y_m"][:, 0] > 2.3).any()


def test_a_gap_is_used_only_if_it_is_longer_than_passing_takes():
    """Behind a vehicle of 10 m/s, from 10 m/s: it has to gain 2 * 4 m and some gaps, at 2.5 m/s2 at most.

    That takes at least sqrt(2 * 16 / 2.5) = 3.6 s, in which both cars close 3.6 * (10 + 20) + 16 m = 124 m.
    """
    left_m = {}
    for gap_m in (60, 120, 240, 460):
        scene = road(agent(80.0, 10.0), moving(92.0, 10.0), moving(80.0 + gap_m, 20.0, lane=1))
        _, found = played_on(scene, 130)
        apart_m = found["x_m"][:, 2] - found["x_m"][:, 0]
        left_m[gap_m] = found["y_m"][apart_m > 0.0, 0].max()
    used = {gap_m: y_m > 2.3 for gap_m, y_m in left_m.items()}
    assert not any(used[gap_m] for gap_m in used if gap_m < 124) and used[460]
    assert sorted(used.values()) == list(used.values())  # from some length on
    assert all(y_m < 0.5 for gap_m, y_m in left_m.items() if not used[gap_m])


@pytest.mark.parametrize("scene", [
    road(agent(20.0, goal_m=115.0), moving(60.0, 10.0)),  # the goal is beside the manoeuvre
    road(agent(20.0), moving(60.0, 20.0)),  # it is hardly slower
    road(agent(20.0), moving(60.0, 10.0), lanes=[EAST]),  # there is no oncoming lane
    road(agent(20.0), moving(60.0, 10.0), lanes=[EAST, [(150.0, 3.5), (0.0, 3.5)]]),  # it begins here
    road(agent(20.0), moving(60.0, 10.0), lanes=[EAST, [(0.0, 3.5), (900.0, 3.5)]]),  # its direction is the same
    replace(road(agent(20.0), moving(60.0, 10.0)), generated=False)],
    ids=["goal", "fast", "one lane", "short lane", "same way", "log"])
def test_a_car_stays_behind_where_it_must_not_pass(scene):
    _, found = played_on(scene, 80)
    assert np.abs(found["y_m"][:, 0]).max() < 0.3


def test_vehicles_right_behind_each_other_are_passed_at_once():
    outcomes, found = played_on(road(agent(20.0), moving(60.0, 9.0), moving(70.0, 9.0)))
    assert outcomes == ["goal"]
    x_m = found["x_m"]
    between = (x_m[:, 0] > x_m[:, 1] - LENGTH_M) & (x_m[:, 0] < x_m[:, 2] + LENGTH_M)
    assert between.any() and (found["y_m"][between, 0] > 2.3).all()


def test_two_cars_pass_one_after_the_other():
    outcomes, found = played_on(road(agent(60.0), agent(30.0, goal_m=680.0), moving(100.0, 10.0)))
    assert outcomes == ["goal", "goal"]


def test_overtaking_cars_reach_their_goals_without_collision_at_several_limits():
    """A car that stays behind needs at least 21.5 s; a trial has 20 s. One of 8 waits too long for a gap."""
    for limit_mps in (15.0, 25.0):
        records = played("two_way", range(4), "lane", slow=1, speed_limit_mps=limit_mps, must_overtake=True)
        assert records["collision"].sum() + records["offroad"].sum() == 0
        assert records["goal"].sum() >= 7


def test_a_waiting_car_yields_to_one_too_fast_to_stop():
    """Two U-turns that cross twice; in the scenes of seeds 2 and 36 both cars would otherwise block each other."""
    records = played("u_turn", [2, 36], "lane")
    assert records["goal"].all()


def test_a_car_goes_back_only_when_it_is_clear_of_a_longer_vehicle():
    """It leaves the oncoming lane 5 m ahead of it or later."""
    slow, truck_m = moving(70.0, 10.0), 12.0
    outcomes, found = played_on(road(agent(20.0), replace(slow, length_m=truck_m)))
    assert outcomes == ["goal"]
    gap_m = found["x_m"][:, 0] - found["x_m"][:, 1] - (LENGTH_M + truck_m) / 2
    back = int(np.flatnonzero(found["y_m"][:, 0] > 3.45)[-1])  # it is 3.5 m beside its path
    assert gap_m[back] > 5.0
