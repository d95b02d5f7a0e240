"""Do rule-based vehicles follow their logs where nothing is in their way, and only there?"""

from __future__ import annotations

import numpy as np
import pytest
from overpass import BELOW, crossing_logs, overpass
from scripted_scenes import BRAKE_ACTION, COAST, IGNORE_ALL, Actor, batch_of, discrete, driver, stage

LENGTH_M, SPEED_MPS, DT_S = 4.0, 10.0, 0.1
HALF_ROAD_M = 100.0
FULL_BRAKE, FULL_THROTTLE = 0, 6
POSE = ("x_m", "y_m", "heading_rad", "speed_mps")


def logged(x_m, speed_mps, y_m=0.0):
    """A vehicle that drives along x on its log: its place and speed in every frame."""
    return Actor(log=tuple((x, y_m, 0.0, speed) for x, speed in zip(x_m, speed_mps)), goal_m=(x_m[0], y_m))


def drive(actors, pushes, steps, roads=BELOW, **choices):
    """What `Batch.vehicles` returns at the start and after each step, by name, (steps + 1, vehicles); the first actor
    is the agent, and `pushes` its acceleration bin in each step."""
    batch = batch_of(stage(actors, roads), **{**IGNORE_ALL, "others": "idm", "idm_handback_m": 1.0, **choices},
                     agents_per_world=1)
    assert batch.roles[0].rule_based_count == (len(actors) - 1) * (batch.config.others == "idm")
    seen = [batch.vehicles()]
    for step in range(steps):
        batch.step(discrete(batch, pushes(step)))
        seen.append(batch.vehicles())
    return {name: np.array([vehicles[name] for vehicles in seen]) for name in seen[0]}


@pytest.mark.parametrize("lane_changes", [False, True])
def test_with_free_ways_all_vehicles_are_where_their_logs_have_them_bit_for_bit(lane_changes):
    """Two that meet at a crossing in their logs, too: what was logged is no reason to brake."""
    poses = []
    for choices in ({"others": "replay"}, {"others": "idm"},
                    {"others": "idm", "idm_handback_m": 0.5, "idm_lane_changes": lane_changes}):
        batch = batch_of(overpass(0.0, crossing_logs(), on_bridge=(False, False, False)), **IGNORE_ALL, **choices)
        poses.append([])
        for _ in range(58):
            batch.step(np.full(1, BRAKE_ACTION))
            vehicles = batch.vehicles()
            poses[-1].append([vehicles[name] for name in POSE])
    replayed, by_rules, handed_back = np.array(poses)
    assert np.array_equal(handed_back, replayed) and not np.array_equal(by_rules, replayed)


@pytest.mark.parametrize("agent_m, enters", [((0.0, 30.0), True), ((-56.0, 0.0), False)])
def test_a_vehicle_enters_at_its_log_unless_an_agent_is_near(agent_m, enters):
    """Its log begins in frame 10, one metre behind another vehicle: nearer than by the rules."""
    ahead = logged(-60.0 + SPEED_MPS * DT_S * np.arange(60), np.full(60, SPEED_MPS))
    poses = ahead.log[10 - int(LENGTH_M + 1.0) :][:50]
    behind = Actor(log=(*[None] * 10, *poses), goal_m=poses[0][:2])
    seen, by_rules = (drive([driver(*agent_m), ahead, behind], lambda step: FULL_BRAKE, 12, idm_handback_m=distance_m)
                      for distance_m in (1.0, 0.0))
    assert not seen["present"][9, 2] and seen["present"][10, 2] == enters and not by_rules["present"][10, 2]
    if enters:
        assert seen["follows_log"][10:, 2].all()
        assert np.array_equal(seen["x_m"][10:, 2], np.array([pose[0] for pose in poses[:3]], np.float32))


def test_a_vehicle_brakes_for_an_agent_and_returns_to_its_log_once_it_has_caught_up():
    """The log drives 10 m/s up to x = 60 m and stands there; the agent crawls ahead of it for 8 s, then leaves."""
    x_m = np.minimum(-60.0 + SPEED_MPS * DT_S * np.arange(400), 60.0)
    seen = drive([driver(-30.0, 0.0, 0.0, 2.0), logged(x_m, np.where(x_m < 60.0, SPEED_MPS, 0.0))],
                 lambda step: COAST if step < 80 else FULL_THROTTLE, 380, idm_handback_m=2.5)
    own_m, agent_m, follows_log = seen["x_m"][:, 1], seen["x_m"][:, 0], seen["follows_log"][:, 1]
    assert (agent_m - own_m)[:200].min() > LENGTH_M
    changes = np.flatnonzero(np.diff(follows_log))
    assert list(follows_log[changes + 1]) == [True, False, True]  # from the first step on, braking, at the end
    assert np.array_equal(own_m[follows_log], x_m.astype(np.float32)[: len(own_m)][follows_log])
    assert np.abs(x_m[: len(own_m)] - own_m).max() > 20.0
    assert np.diff(own_m).max() < SPEED_MPS * DT_S + 2.5 and np.diff(own_m).min() >= 0.0


@pytest.mark.parametrize("agent_mps, brakes", [(SPEED_MPS, False), (SPEED_MPS - 3.0, True)])
def test_a_small_gap_that_does_not_shrink_is_no_reason_to_leave_the_log(agent_mps, brakes):
    """The agent drives 2 m ahead, nearer than the model would follow it."""
    x_m = -60.0 + SPEED_MPS * DT_S * np.arange(60)
    seen = drive([driver(x_m[0] + LENGTH_M + 2.0, 0.0, 0.0, agent_mps), logged(x_m, np.full(60, SPEED_MPS))],
                 lambda step: COAST, 40)
    assert seen["follows_log"][1:, 1].all() != brakes


@pytest.mark.parametrize("distance_m, brakes", [(0.5, True), (3.0, False)])
def test_the_distance_decides_when_a_vehicle_is_handed_back(distance_m, brakes):
    """It is 2 m ahead of its log, at the logged speed."""
    x_m = -60.0 + SPEED_MPS * DT_S * np.arange(60)
    batch = batch_of(stage([driver(0.0, 30.0), logged(x_m, np.full(60, SPEED_MPS))], BELOW), **IGNORE_ALL,
                     others="idm", idm_handback_m=distance_m)
    batch._core.state["path_m"][0, 0] = 2.0
    batch._core.state["x_m"][0, 1] += 2.0
    batch.step(np.full(1, BRAKE_ACTION))
    assert batch.vehicles()["follows_log"][1] != brakes
    assert (batch.vehicles()["x_m"][1] == np.float32(x_m[1])) != brakes


def test_a_vehicle_yields_to_an_agent_that_crosses_its_way():
    """Both would be at the crossing after 3 s; the agent comes from the side at its speed."""
    x_m = -30.0 + SPEED_MPS * DT_S * np.arange(100)
    roads = [*BELOW[:1], ("lane", [(0.0, -HALF_ROAD_M), (0.0, HALF_ROAD_M)])]
    seen = drive([driver(0.0, -30.0, np.pi / 2, SPEED_MPS), logged(x_m, np.full(100, SPEED_MPS))], lambda step: COAST,
                 60, roads)
    apart_m = np.hypot(seen["x_m"][:, 1] - seen["x_m"][:, 0], seen["y_m"][:, 1] - seen["y_m"][:, 0])
    assert apart_m.min() > LENGTH_M and not seen["follows_log"][1:, 1].all()


def test_a_vehicle_follows_its_rules_where_its_log_has_a_gap_and_after_its_end():
    """A log-replay vehicle would be off the map there."""
    x_m = -60.0 + SPEED_MPS * DT_S * np.arange(40)
    log = logged(x_m, np.full(40, SPEED_MPS)).log
    car = Actor(log=(*log[:15], *[None] * 5, *log[20:]), goal_m=(x_m[0], 0.0))
    seen = drive([driver(0.0, 30.0), car], lambda step: FULL_BRAKE, 60)
    follows_log, own_m = seen["follows_log"][:, 1], seen["x_m"][:, 1]
    assert seen["present"][:, 1].all()
    assert follows_log[1:15].all() and not follows_log[15:20].any() and follows_log[25:40].all()
    assert not follows_log[40:].any() and own_m[-1] > x_m[-1] + 15.0
