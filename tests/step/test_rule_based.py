"""Do rule-based vehicles follow their paths, keep their distance, and react to agents?"""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL, Actor, batch_of, discrete, driver, log_replay, stage

from drive_env import DriveConfig, generate_scene
from drive_env.roles import assign_roles
from drive_env.scenes import LaneGraph

AWAY = driver(0.0, 500.0)
"""An agent that meets nobody."""

IDM = {"others": "idm", **IGNORE_ALL}
BRAKE = 0


def on_lanes(actors, lanes, successors=None, limits_mps=None):
    """A scene of actors and lanes; lane i leads into `successors[i]`."""
    scene = stage(actors, [("lane", line) for line in lanes])
    successors = successors or [[] for _ in lanes]
    graph = LaneGraph(np.cumsum([0, *map(len, successors)]).astype(np.int32),
                      np.array([to for of_lane in successors for to in of_lane], np.int32))
    limits = np.zeros(len(lanes)) if limits_mps is None else limits_mps
    return replace(scene, lanes=graph, roads=replace(scene.roads, speed_limit_mps=np.asarray(limits, np.float32)))


def play(batch, steps, acceleration_bin=BRAKE):
    """The vehicles of world 0 at the start and after every step, (steps + 1, vehicles) by name."""
    record = [batch.vehicles()]
    for _ in range(steps):
        batch.step(discrete(batch, acceleration_bin))
        record.append(batch.vehicles())
    return {name: np.array([now[name] for now in record]) for name in record[0]}


def parked(x_m, y_m=0.0, heading_rad=0.0, **more):
    """A vehicle that stands on its own goal, and so is no agent."""
    return Actor(x_m, y_m, heading_rad, **more)


STRAIGHT_LANE = [(-10.0, 0.0), (600.0, 0.0)]


def test_a_vehicle_on_a_free_lane_drives_as_the_model_and_at_most_the_limit():
    scene = on_lanes([AWAY, parked(0.0)], [STRAIGHT_LANE], limits_mps=[8.0])
    found = play(batch_of(scene, **IDM), 300)["speed_mps"][:, 1]
    expected = 0.0
    for step in range(300):
        assert found[step] == pytest.approx(expected, abs=1e-4)
        expected += 0.1 * (1.0 - (expected / 8.0) ** 4)
    assert 7.9 < found.max() <= 8.0 * 1.001


@pytest.mark.parametrize("start_mps", [0.0, 5.0, 10.0])
def test_a_vehicle_stops_one_metre_behind_an_agent_that_stands_on_its_lane(start_mps):
    scene = on_lanes([driver(80.0, 0.3), parked(0.0, speed_mps=start_mps)], [STRAIGHT_LANE])
    found = play(batch_of(scene, **IDM), 600)
    gap_m = found["x_m"][:, 0] - found["x_m"][:, 1] - 4.0
    assert gap_m.min() > 0.9 and gap_m[-1] == pytest.approx(1.0, abs=0.05)
    assert (np.diff(found["x_m"][:, 1]) >= 0).all()


def test_a_vehicle_beside_the_corridor_is_no_lead():
    """Two cars of 2 m have a corridor of 1 + 0.3 + 1 m from middle to middle."""
    for y_m, passes in ((2.4, True), (2.2, False)):
        scene = on_lanes([driver(80.0, y_m), parked(0.0)], [STRAIGHT_LANE])
        assert (play(batch_of(scene, **IDM), 300)["x_m"][-1, 1] > 100.0) == passes, y_m


def test_vehicles_in_a_queue_keep_their_gaps_and_never_overlap():
    queue = [parked(-9.0 * i, speed_mps=8.0) for i in range(10)]
    scene = on_lanes([driver(60.0), *queue], [[(-120.0, 0.0), (600.0, 0.0)]])
    found = play(batch_of(scene, **IDM), 600)["x_m"]
    gaps_m = -np.diff(found[:, 1:], axis=1) - 4.0
    assert gaps_m.min() > 0.5 and np.allclose(gaps_m[-1], 1.0, atol=0.1)


def test_a_vehicle_follows_the_path_of_its_log_and_waits_where_the_log_did_not():
    """The log turns left on a circle of 20 m; an agent stands on it."""
    turn = [(20.0 * math.sin(a), 20.0 - 20.0 * math.cos(a), a, 10.0) for a in np.arange(0.0, 2.0, 0.05)]
    blocks = driver(20.0 * math.sin(1.2), 20.0 - 20.0 * math.cos(1.2), 1.2)
    for agent, waits in ((AWAY, False), (blocks, True)):
        found = play(batch_of(stage([agent, log_replay(turn)]), **IDM), 120)
        there = found["present"][:, 1].astype(bool)
        x_m, y_m = found["x_m"][there, 1], found["y_m"][there, 1]
        assert np.abs(np.hypot(x_m, y_m - 20.0) - 20.0).max() < 0.1
        along_rad = np.arctan2(x_m, 20.0 - y_m)
        assert np.abs(found["heading_rad"][there, 1] - along_rad).max() < 0.06
        assert there.all() == waits and (along_rad.max() < 1.0) == waits
        # 3 m/s2 across, from the second metre on: it starts at the speed of its log.
        assert (found["speed_mps"][there, 1][30:] ** 2 / 20.0).max() < 3.1


def test_a_path_goes_on_along_lanes_and_ends_with_them():
    log = [(float(x), 0.5, 0.0, 10.0) for x in range(20)]
    lanes = [[(0.0, 0.0), (50.0, 0.0)], [(50.0, 0.0), (80.0, 30.0)]]
    scene = on_lanes([AWAY, log_replay(log)], lanes, [[1], []])
    found = play(batch_of(scene, **IDM), 200)
    there = found["present"][:, 1].astype(bool)
    x_m, y_m = found["x_m"][there, 1], found["y_m"][there, 1]
    on_first, on_second = (x_m > 25.0) & (x_m < 45.0), x_m > 55.0
    assert np.abs(y_m[on_first]).max() < 0.01 and np.abs(y_m - x_m + 50.0)[on_second].max() < 0.5
    assert np.abs(found["heading_rad"][there, 1][on_second][10:] - math.pi / 4).max() < 0.02
    assert not there[-1] and np.hypot(80.0 - x_m[-1], 30.0 - y_m[-1]) < 3.0


def test_a_vehicle_that_rests_at_the_end_of_its_log_stops_there():
    log = [(min(float(x), 30.0), 0.0, 0.0, 10.0 if x < 30 else 0.0) for x in range(50)]
    scene = on_lanes([AWAY, log_replay(log)], [STRAIGHT_LANE])
    found = play(batch_of(scene, **IDM), 300)
    assert found["present"][:, 1].all() and found["x_m"][-1, 1] == pytest.approx(30.0, abs=2.0)
    assert found["speed_mps"][-1, 1] < 0.05


def test_a_vehicle_enters_with_its_log_but_not_onto_another():
    log = [None] * 10 + [(float(x), 0.0, 0.0, 10.0) for x in range(20)]
    for agent, entry in ((AWAY, 10), (driver(4.0, 0.0, speed_mps=1.0), 16)):
        found = play(batch_of(stage([agent, log_replay(log)]), **IDM), 40, acceleration_bin=3)
        first = int(np.flatnonzero(found["present"][:, 1])[0])
        assert first == entry if agent is AWAY else first > 10
        assert found["speed_mps"][first, 1] == pytest.approx(10.0)
        if agent is not AWAY:
            assert found["x_m"][first, 0] - found["x_m"][first, 1] - 4.0 >= 3.0


def test_those_that_cannot_follow_rules_replay_their_logs_or_stand():
    moving = [(x * math.cos(2.0), x * math.sin(2.0), 2.0, 10.0) for x in range(20)]
    reverses = [(x, y, 2.0 - math.pi, -10.0) for x, y, _, _ in moving]
    rests = [(5.0 + 0.01 * (i % 3), 60.0, 0.0, 0.0) for i in range(20)]
    actors = [AWAY, log_replay(moving), log_replay(reverses), log_replay(rests), log_replay(moving, kind="pedestrian"),
              log_replay(moving, kind="cyclist")]
    roles = assign_roles(stage(actors), DriveConfig(others="idm"))
    assert roles.objects.tolist() == [0, 2, 3, 4, 5, 1]
    assert (roles.log_replay_count, roles.rule_based_count, roles.static_count) == (4, 1, 0)

    beside = on_lanes([AWAY, parked(5.0, 2.6), parked(40.0, 2.4), parked(60.0, 0.0, 2.0)], [STRAIGHT_LANE])
    batch = batch_of(beside, **IDM)
    moved_m = np.ptp(play(batch, 50)["x_m"], axis=0)[1:]
    assert (moved_m > 1.0).tolist() == [False, True, False]
    assert batch.scene_report().imputed["rule-based vehicles on no lane, which stand"] == 2


def test_traffic_is_the_same_in_every_trial_and_reacts_to_the_agent():
    scene = generate_scene("town", seed=4, agents=24)
    batch = batch_of(scene, agents_per_world=2, max_trials=2, trial_steps=60, **IDM)
    first, second = play(batch, 60, 3), None
    batch.step(discrete(batch))
    second = play(batch, 60, 3)
    for name in first:
        assert np.array_equal(first[name], second[name]), name
    braked = play(batch_of(scene, agents_per_world=2, max_trials=2, trial_steps=60, **IDM), 60, BRAKE)
    assert np.array_equal(braked["x_m"][0], first["x_m"][0])


def test_lateral_acceleration_in_towns_is_at_most_three():
    batch = batch_of(generate_scene("town", seed=1, agents=24), agents_per_world=1, **IDM)
    found = play(batch, 300)
    turn_rad = np.diff(np.unwrap(found["heading_rad"], axis=0), axis=0)
    across_mps2 = np.abs(turn_rad) / 0.1 * found["speed_mps"][1:]
    assert found["speed_mps"][:, 1:].max() > 8.0 and 2.5 < across_mps2[:, 1:].max() < 3.05


@pytest.mark.parametrize("copied", [lambda batch: pickle.loads(pickle.dumps(batch)), copy.deepcopy])
def test_a_copy_goes_on_with_the_same_traffic(copied):
    scene = generate_scene("town", seed=2, agents=16)
    batch = batch_of(scene, agents_per_world=2, **IDM)
    play(batch, 37)
    other = copied(batch)
    for name, values in play(batch, 60).items():
        assert np.array_equal(values, play(copied(other), 60)[name]), name


def test_without_rule_based_vehicles_the_state_has_no_entry_for_them():
    scene = generate_scene("town", seed=2, agents=8)
    sizes = {others: batch_of(scene, agents_per_world=2, others=others)._core.state["path_m"].shape[1]
             for others in ("replay", "idm")}
    assert sizes == {"replay": 0, "idm": 6}
