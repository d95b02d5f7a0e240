"""Do rule-based vehicles obey traffic lights, stop signs and yield signs?"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from rule_based_scenes import AWAY, FOUR_ARMS, IDM, arm_line, far_passed_s, on_arm, on_lanes, overlaps, parked, play
from scripted_scenes import batch_of, discrete
from staged_controls import GREEN, LIGHT, OFF, RED, STOP, YELLOW, YIELD, with_controls

from drive_env import generate_scene

LANE = [(-100.0, 0.0), (600.0, 0.0)]
LINE = (50.0, 2.0, 50.0, -2.0)
OBEYS = {"traffic_controls": True, **IDM}


def one_vehicle(speed_mps, front_m, *kinds_and_lines, steps=400, **more):
    """The front and speed at every step of a vehicle that drives at most 10 m/s to the line at 50 m."""
    scene = on_lanes([AWAY, parked(front_m - 2.0, speed_mps=speed_mps)], [LANE])
    found = play(batch_of(with_controls(scene, *kinds_and_lines, **more), **OBEYS), steps)
    return found["x_m"][:, 1] + 2.0, found["speed_mps"][:, 1]


# ---- lights ----


@pytest.mark.parametrize("speed_mps, front_m", [(0.0, 0.0), (10.0, 0.0), (10.0, 35.0), (2.0, 45.0)])
def test_a_vehicle_stops_within_two_metres_of_the_line_of_a_red_light(speed_mps, front_m):
    front, speed = one_vehicle(speed_mps, front_m, (LIGHT, LINE), states=[RED])
    assert speed[-1] < 0.01 and 48.0 < front[-1] < 50.0 and front.max() < 50.0


@pytest.mark.parametrize("state", [OFF, GREEN])
def test_a_vehicle_drives_on_where_a_light_is_green_or_off(state):
    lit = one_vehicle(10.0, 0.0, (LIGHT, LINE), states=[state], steps=100)
    assert np.array_equal(lit[0], one_vehicle(10.0, 0.0, steps=100)[0])


@pytest.mark.parametrize("away_m, stops", [(17.0, True), (16.3, False)])
def test_a_vehicle_stops_at_yellow_if_three_metres_per_second_squared_suffice(away_m, stops):
    """10^2 / (2 * 3) = 16.67 m."""
    front, _ = one_vehicle(10.0, 50.0 - away_m, (LIGHT, LINE), phases=[(YELLOW, 3.0), (RED, 60.0)])
    assert (front.max() < 50.0) == stops
    assert stops or front[30] > 50.0  # past the line while it is yellow


def test_a_vehicle_that_cannot_stop_for_red_goes_on_and_one_past_the_line_does_not_stop():
    """10^2 / (2 * 8) = 6.25 m."""
    for front_m, stops in ((43.5, True), (44.0, False), (50.5, False)):
        front, speed = one_vehicle(10.0, front_m, (LIGHT, LINE), states=[RED], steps=60)
        assert (front[-1] < 50.0) == stops and (stops or speed.min() > 9.9), front_m


def test_a_vehicle_obeys_the_light_of_its_own_lane():
    """From one line a lane leads straight on and another to the left; the path of the vehicle follows the first one."""
    lanes = [[(-100.0, 0.0), (50.0, 0.0)], [(50.0, 0.0), (100.0, 0.0)], [(50.0, 0.0), (60.0, 4.0), (64.0, 30.0)]]
    for lit, stops in ((0, True), (1, True), (2, False)):
        scene = on_lanes([AWAY, parked(0.0)], lanes, [[1], [], []])
        found = play(batch_of(with_controls(scene, (LIGHT, LINE), states=[RED], lanes=[lit]), **OBEYS), 300)
        assert (found["x_m"][:, 1].max() < 50.0) == stops, lit


@pytest.mark.parametrize("x_m", [-40.0, 30.0])
def test_a_light_in_the_middle_of_a_lane_holds_vehicles_on_all_of_it(x_m):
    """The line, at x = 50 m, is past the middle of the lane, x = -20 m; so is the second start."""
    scene = on_lanes([AWAY, parked(x_m, speed_mps=5.0)], [[(-100.0, 0.0), (60.0, 0.0)], [(60.0, 0.0), (200.0, 0.0)]],
                     [[1], []])
    found = play(batch_of(with_controls(scene, (LIGHT, LINE), states=[RED], lanes=[0]), **OBEYS), 300)
    assert 46.0 < found["x_m"][:, 1].max() < 48.0


def test_a_queue_leaves_a_green_light_every_two_seconds():
    """Headways from the eighth vehicle on: those before it are slower at the line."""
    scene = on_lanes([AWAY, *(parked(46.0 - 6.0 * i) for i in range(15))], [LANE], limits_mps=[14.0])
    scene = with_controls(scene, (LIGHT, LINE), phases=[(RED, 10.0), (GREEN, 100.0)])
    fronts = play(batch_of(scene, **OBEYS), 500)["x_m"][:, 1:] + 2.0
    assert (fronts[100] < 50.0).all()
    passed_s = [np.interp(50.0, front, 0.1 * np.arange(501)) for front in fronts.T]
    headways_s = np.diff(passed_s)[7:]
    assert 1.5 <= headways_s.min() and headways_s.max() <= 2.5


# ---- signs ----


def test_a_vehicle_stands_before_a_stop_sign_for_a_second_and_goes_on():
    front, speed = one_vehicle(10.0, 0.0, (STOP, LINE))
    stands = (speed < 0.2) & (front > 47.0) & (front < 50.0)
    assert 10 <= stands.sum() < 30 and front[-1] > 60.0
    crosses = int(np.argmax(front >= 50.0))
    assert stands[:crosses].sum() == stands.sum()


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_vehicles_pass_an_all_way_stop_in_the_order_in_which_they_come(order):
    away_m = np.argsort(order) * 14.0 + 20.0
    scene = on_lanes([AWAY, *(on_arm(arm, away_m[arm]) for arm in range(4))], FOUR_ARMS)
    found = play(batch_of(with_controls(scene, *((STOP, arm_line(arm)) for arm in range(4))), **OBEYS), 500)
    passed_s = [far_passed_s(found, vehicle) for vehicle in range(1, 5)]
    assert max(passed_s) < math.inf
    # Those of opposite arms may pass together; of arms that cross, the earlier one passes first.
    for first, second in zip(order, order[1:]):
        if (first - second) % 2:
            assert passed_s[first] < passed_s[second]
    assert not any(overlaps(found, step) for step in range(500))


def passed_together_s(arms, signs):
    """When vehicles have passed that come near the junction in one step, by arm, in the order of their indices."""
    scene = on_lanes([AWAY, *(on_arm(arm, 25.0) for arm in arms)], FOUR_ARMS)
    batch = batch_of(with_controls(scene, *((STOP, arm_line(arm)) for arm in range(4))) if signs else scene,
                     **(OBEYS if signs else IDM))
    steps = 300 if signs else 180
    found = play(batch, steps)
    assert not any(overlaps(found, step) for step in range(0, steps, 2))
    return {arm: far_passed_s(found, vehicle) for vehicle, arm in enumerate(arms, 1)}


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("arm", [0, 3])
def test_of_two_vehicles_that_come_together_the_one_from_the_right_goes_first(arm, signs):
    """Arms are numbered to the right: west, south, east, north; from the west, the south is on the right."""
    right = (arm + 1) % 4
    for arms in ((arm, right), (right, arm)):
        passed_s = passed_together_s(arms, signs)
        assert passed_s[right] < passed_s[arm] < 30.0


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("arms", [(0, 1, 2), (2, 0, 1)])
def test_of_three_vehicles_that_come_together_each_waits_for_its_right(arms, signs):
    """The east has none on its right, the south has the east, the west the south."""
    passed_s = passed_together_s(arms, signs)
    assert passed_s[2] < passed_s[1] < passed_s[0] < 30.0


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("arms", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_where_each_has_another_one_on_its_right_the_lowest_index_begins_the_order(arms, signs):
    """Without it, the one that had it on its right is next free, and so on around; opposite ones may pass together."""
    passed_s = passed_together_s(arms, signs)
    first = arms[0]
    assert passed_s[first] == min(passed_s.values()) and max(passed_s.values()) < 30.0
    assert passed_s[(first - 1) % 4] < passed_s[(first - 2) % 4] or passed_s[first] == passed_s[(first - 2) % 4]


def test_a_vehicle_at_a_yield_sign_waits_for_one_that_arrives_within_four_seconds_and_no_other():
    def passes_s(major_m):
        actors = [on_arm(0, 24.0, 6.0), *([on_arm(1, major_m, 8.0)] if major_m else [])]
        scene = with_controls(on_lanes([AWAY, *actors], FOUR_ARMS), (YIELD, arm_line(0)))
        found = play(batch_of(scene, **OBEYS), 200)
        assert not any(overlaps(found, step) for step in range(200))
        return [far_passed_s(found, vehicle) for vehicle in range(1, len(actors) + 1)]

    (alone_s,), near_s, far_s = passes_s(None), passes_s(36.0), passes_s(75.0)
    assert alone_s < 6.0 and far_s[0] == alone_s  # none is near: no stop
    assert near_s[1] < near_s[0] and near_s[0] > alone_s + 2.0
    (major_alone_s,) = [far_passed_s(play(batch_of(on_lanes([AWAY, on_arm(1, 36.0, 8.0)], FOUR_ARMS), **IDM), 200), 1)]
    assert near_s[1] == major_alone_s  # the other one does not wait


# ---- towns ----


@pytest.mark.parametrize("kind, agents, steps, seeds", [("town", 24, 1000, 6), ("intersection", 16, 800, 5)])
def test_in_a_thousand_seconds_no_vehicle_crosses_on_red_collides_or_waits_for_ever(kind, agents, steps, seeds):
    crossed = 0
    for seed in range(seeds):
        scene = generate_scene(kind, seed=seed, agents=agents, lights=True)
        x_m = scene.objects.x_m.copy()
        x_m[:, 0] += 2000.0  # the agent is away
        batch = batch_of(replace(scene, objects=replace(scene.objects, x_m=x_m)), agents_per_world=1, control=(0,),
                         trial_steps=steps + 1, **OBEYS)
        lines_m = scene.traffic_controls.line_m.astype(float)
        record, shown = [batch.vehicles()], []
        for _ in range(steps):
            shown.append(batch.light_states())
            batch.step(discrete(batch, 0))
            record.append(batch.vehicles())
        found = {name: np.array([now[name] for now in record]) for name in record[0]}
        assert not [pairs for step in range(0, steps, 2) if (pairs := overlaps(found, step))], seed
        crossing = crossings(found, lines_m)
        crossed += crossing.sum()
        assert not (crossing & (np.array(shown) == RED)[:, None]).any(), seed
        waits = (found["speed_mps"][-700:] < 0.05) & found["present"][-700:].astype(bool)
        assert not waits[:, 1:].all(axis=0).any(), seed
    assert crossed > 50


def crossings(found, lines_m):
    """(steps, vehicles, lines) bool: the front bumper crosses the line in the step."""
    ahead = np.stack([np.cos(found["heading_rad"]), np.sin(found["heading_rad"])], axis=2)
    front = np.stack([found["x_m"], found["y_m"]], axis=2) + 0.5 * found["length_m"][..., None] * ahead
    along = lines_m[:, 2:] - lines_m[:, :2]
    length_m = np.linalg.norm(along, axis=1)
    away = front[:, :, None] - lines_m[:, :2]
    beyond_m = (along[:, 0] * away[..., 1] - along[:, 1] * away[..., 0]) / length_m
    from_left_m = (away * along).sum(axis=3) / length_m
    inside = (from_left_m > 0.0) & (from_left_m < length_m)
    there = found["present"].astype(bool)[:, :, None]
    return (beyond_m[:-1] < 0.0) & (beyond_m[1:] >= 0.0) & inside[1:] & there[1:] & there[:-1]
