"""Do rule-based vehicles follow their paths, keep their distance, yield, and react to agents?"""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from rule_based_scenes import AWAY, BRAKE, FOUR_ARMS, IDM, far_passed_s, on_arm, on_lanes, overlaps, parked, play
from scripted_scenes import COAST, batch_of, discrete, driver, log_replay, stage

from drive_env import DriveConfig, generate_scene
from drive_env.roles import assign_roles

STRAIGHT_LANE = [(-10.0, 0.0), (600.0, 0.0)]


def test_a_vehicle_on_a_free_lane_drives_as_the_model_and_at_most_the_limit():
    scene = on_lanes([AWAY, parked(0.0)], [STRAIGHT_LANE], limits_mps=[8.0])
    found = play(batch_of(scene, **IDM), 300)["speed_mps"][:, 1]
    expected = 0.0
    for step in range(300):
        assert found[step] == pytest.approx(expected, abs=1e-4)
        expected += 0.1 * (1.0 - (expected / 8.0) ** 4)
    assert 7.9 < found.max() <= 8.0 * 1.001


@pytest.mark.parametrize("acceleration_mps2, factor", [(2.5, 1.0), (1.0, 0.5), (0.4, 1.5)])
def test_acceleration_and_desired_speed_are_those_of_the_config(acceleration_mps2, factor):
    """Without a speed limit the desired speed is 10 m/s, times the factor."""
    scene = on_lanes([AWAY, parked(0.0)], [STRAIGHT_LANE])
    idm = {"acceleration_mps2": acceleration_mps2, "speed_factor": factor}
    found = play(batch_of(scene, **IDM, idm=idm), 200)["speed_mps"][:, 1]
    expected = 0.0
    for step in range(200):
        assert found[step] == pytest.approx(expected, abs=1e-4)
        expected += 0.1 * acceleration_mps2 * (1.0 - (expected / (10.0 * factor)) ** 4)


@pytest.mark.parametrize("min_gap_m, headway_s", [(3.0, 2.0), (0.5, 3.0)])
def test_gaps_at_rest_and_at_speed_are_those_of_the_config(min_gap_m, headway_s):
    """At equal speeds the gap is (s0 + v T) / sqrt(1 - (v / v0)^4)."""
    idm = {"min_gap_m": min_gap_m, "headway_s": headway_s}
    scene = on_lanes([driver(150.0, 0.3), parked(0.0)], [STRAIGHT_LANE])
    found = play(batch_of(scene, **IDM, idm=idm), 900)["x_m"]
    assert found[-1, 0] - found[-1, 1] - 4.0 == pytest.approx(min_gap_m, abs=0.05)

    moving = on_lanes([driver(60.0, 0.3, speed_mps=6.0), parked(0.0, speed_mps=6.0)], [[(-10.0, 0.0), (2000.0, 0.0)]])
    found = play(batch_of(moving, **IDM, idm=idm, trial_steps=2000), 1500, COAST)["x_m"]
    expected_m = (min_gap_m + 6.0 * headway_s) / math.sqrt(1.0 - 0.6**4)
    assert found[-1, 0] - found[-1, 1] - 4.0 == pytest.approx(expected_m, abs=0.05)


@pytest.mark.parametrize("hardest_mps2", [2.0, 5.0])
def test_no_vehicle_brakes_harder_than_the_config_allows(hardest_mps2):
    """It is too fast and too near to stop before the agent, so it brakes as hard as it can."""
    scene = on_lanes([driver(25.0, 0.3), parked(0.0, speed_mps=15.0)], [STRAIGHT_LANE])
    found = play(batch_of(scene, **IDM, idm={"hardest_braking_mps2": hardest_mps2}), 5)["speed_mps"][:, 1]
    assert found == pytest.approx(15.0 - 0.1 * hardest_mps2 * np.arange(6), abs=1e-3)


def test_comfortable_braking_decides_where_a_vehicle_enters():
    log = [None] * 10 + [(float(x), 0.0, 0.0, 10.0) for x in range(20)]
    for braking_mps2 in (1.0, 4.0):
        for short_m in (0.1, -0.1):
            agent = driver(4.0 + 3.0 + 10.0**2 / (2 * braking_mps2) - short_m)
            found = play(batch_of(stage([agent, log_replay(log)]), **IDM, idm={"braking_mps2": braking_mps2}), 12)
            assert found["present"][10, 1] == (short_m < 0), (braking_mps2, short_m)


def test_a_vehicle_that_drives_slower_than_its_log_begins_so():
    log = [(float(x), 0.0, 0.0, 10.0) for x in range(40)]
    for factor, start_mps in ((0.4, 4.0), (1.5, 10.0)):
        found = play(batch_of(stage([AWAY, log_replay(log)]), **IDM, idm={"speed_factor": factor}), 60)["speed_mps"]
        assert found[0, 1] == pytest.approx(start_mps) and np.abs(np.diff(found[:, 1])).max() < 0.11
        assert found[:, 1].max() <= max(start_mps, 10.0 * factor) * 1.001


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
        # At most 3 m/s2 to the side after 3 s: it starts at the speed of its log, which is too fast for the bend.
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
    # By the law of the next test, an agent must be 4 + 3 + (10^2 - 5^2) / 4 = 25.75 m ahead, at 0.5 m a step.
    for agent, entry in ((AWAY, 10), (driver(0.0, 0.0, speed_mps=5.0), 53)):
        found = play(batch_of(stage([agent, log_replay(log)]), **IDM), 80, COAST)
        first = int(np.flatnonzero(found["present"][:, 1])[0])
        assert first == entry
        assert found["speed_mps"][first, 1] == pytest.approx(10.0)


@pytest.mark.parametrize(
    "ahead_mps, gap_m", [(0.0, 3.0 + 10.0**2 / 4), (6.0, 3.0 + (10.0**2 - 6.0**2) / 4), (12.0, 3.0)])
def test_a_vehicle_enters_where_it_can_brake_comfortably_for_the_one_ahead(ahead_mps, gap_m):
    """At 2 m/s2, to the speed of the agent, which stands or drives on."""
    log = [None] * 10 + [(float(x), 0.0, 0.0, 10.0) for x in range(20)]
    for short_m in (0.1, -0.1):
        # Places are checked in the tenth step, before agents move.
        agent = driver(4.0 + gap_m - short_m - 0.9 * ahead_mps, 0.0, speed_mps=ahead_mps)
        found = play(batch_of(stage([agent, log_replay(log)]), **IDM), 60, COAST)
        assert found["present"][10, 1] == (short_m < 0), short_m
        there = found["present"][:, 1].astype(bool)
        assert (found["x_m"][there, 0] - found["x_m"][there, 1] > 4.5).all()


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
    first = play(batch, 60, COAST)
    batch.step(discrete(batch))
    second = play(batch, 60, COAST)
    for name in first:
        assert np.array_equal(first[name], second[name]), name
    braked = play(batch_of(scene, agents_per_world=2, max_trials=2, trial_steps=60, **IDM), 60, BRAKE)
    assert np.array_equal(braked["x_m"][0], first["x_m"][0])
    assert not np.array_equal(braked["x_m"][:, 2:], first["x_m"][:, 2:])  # agents are vehicles 0 and 1


def test_lateral_acceleration_in_towns_is_at_most_three():
    batch = batch_of(generate_scene("town", seed=1, agents=24), agents_per_world=1, **IDM)
    found = play(batch, 300)
    turn_rad = np.diff(np.unwrap(found["heading_rad"], axis=0), axis=0)
    lateral_mps2 = np.abs(turn_rad) / 0.1 * found["speed_mps"][1:]
    assert found["speed_mps"][:, 1:].max() > 8.0 and 2.5 < lateral_mps2[:, 1:].max() < 3.05


@pytest.mark.parametrize("copied", [lambda batch: pickle.loads(pickle.dumps(batch)), copy.deepcopy])
def test_a_copy_goes_on_with_the_same_traffic(copied):
    scene = generate_scene("town", seed=2, agents=16, lights=True)
    batch = batch_of(scene, agents_per_world=2, traffic_controls=True, **IDM)
    play(batch, 37)
    other = copied(batch)
    for name, values in play(batch, 60).items():
        assert np.array_equal(values, play(copied(other), 60)[name]), name


def test_four_vehicles_that_reach_a_junction_together_all_pass_within_twenty_seconds():
    scene = on_lanes([AWAY, *(on_arm(arm, 25.0) for arm in range(4))], FOUR_ARMS)
    found = play(batch_of(scene, **IDM), 200)
    passed_s = [far_passed_s(found, vehicle) for vehicle in range(1, 5)]
    assert max(passed_s) < 20.0 and len({*passed_s}) >= 2
    assert min(passed_s) == passed_s[0]  # of those that came in one step, the first in order
    assert not any(overlaps(found, step) for step in range(200))


@pytest.mark.parametrize("nearer", [0, 1])
def test_the_vehicle_that_is_near_a_junction_first_goes_first(nearer):
    away_m = [40.0, 40.0]
    away_m[nearer] = 28.0
    scene = on_lanes([AWAY, *(on_arm(arm, away_m[arm]) for arm in range(2))], FOUR_ARMS)
    found = play(batch_of(scene, **IDM), 150)
    passed_s = [far_passed_s(found, 1), far_passed_s(found, 2)]
    assert passed_s[nearer] < passed_s[1 - nearer] < 15.0
    # The first one drives as on a free road.
    alone = play(batch_of(on_lanes([AWAY, on_arm(nearer, 28.0)], FOUR_ARMS), **IDM), 150)
    assert passed_s[nearer] == far_passed_s(alone, 1)
    assert not any(overlaps(found, step) for step in range(150))


def test_vehicles_of_opposite_directions_and_of_one_lane_do_not_wait_for_each_other():
    actors = [on_arm(0, 30.0), on_arm(2, 30.0), on_arm(0, 50.0)]
    found = play(batch_of(on_lanes([AWAY, *actors], FOUR_ARMS), **IDM), 150)
    for vehicle, actor in enumerate(actors, 1):
        alone = play(batch_of(on_lanes([AWAY, actor], FOUR_ARMS), **IDM), 150)
        slower_s = far_passed_s(found, vehicle) - far_passed_s(alone, 1)
        assert slower_s == 0.0 if vehicle < 3 else slower_s < 1.0, vehicle


def test_a_vehicle_does_not_stop_on_a_junction_whose_exit_is_full():
    """An agent stands past the junction, so that one vehicle fits between it and the junction and a second does not;
    a third one crosses."""
    actors = [on_arm(0, 20.0), on_arm(0, 30.0), on_arm(1, 60.0)]
    found = play(batch_of(on_lanes([driver(14.0, -2.0), *actors], FOUR_ARMS), **IDM), 400)
    assert found["x_m"][-1, 1] == pytest.approx(9.0, abs=0.1)
    assert found["x_m"][-1, 2] < -2.0 - 3.0 and far_passed_s(found, 3) < 40.0


@pytest.mark.parametrize("speed_mps, passes_first", [(8.0, True), (0.0, False)])
def test_a_vehicle_yields_to_an_agent_that_crosses_and_not_to_one_that_stands(speed_mps, passes_first):
    agent = driver(2.0, -24.0, math.pi / 2, goal_m=(2.0, 400.0), speed_mps=speed_mps)
    scene = on_lanes([agent, on_arm(0, 24.0, 8.0)], FOUR_ARMS)
    found = play(batch_of(scene, **IDM), 100, COAST)
    alone = play(batch_of(on_lanes([AWAY, on_arm(0, 24.0, 8.0)], FOUR_ARMS), **IDM), 100)
    assert (far_passed_s(found, 1) > far_passed_s(alone, 1) + 0.5) == passes_first
    assert far_passed_s(found, 1) < 10.0
    gap_m = np.hypot(found["x_m"][:, 0] - found["x_m"][:, 1], found["y_m"][:, 0] - found["y_m"][:, 1])
    assert gap_m.min() > 3.0


def test_a_vehicle_yields_to_an_agent_that_comes_fast_from_far_away():
    """The agent is 84 m away at 30 m/s, far beyond what a vehicle at 3 m/s looks ahead."""
    agent = driver(2.0, -86.0, math.pi / 2, goal_m=(2.0, 4000.0), speed_mps=30.0)
    batch = batch_of(on_lanes([agent, on_arm(0, 11.0, 3.0)], FOUR_ARMS), dynamics={"max_speed_mps": 40.0}, **IDM)
    found = play(batch, 100, COAST)
    crosses = int(np.argmin(np.abs(found["y_m"][:, 0] + 2.0)))
    assert found["x_m"][crosses, 1] + 2.0 < 1.0  # its front is before the agent's side
    assert far_passed_s(found, 1) < math.inf


def test_narrow_vehicles_whose_paths_cross_between_their_points_do_not_collide():
    """The points of both paths are 1 m before and behind the crossing, 1.41 m apart. Of two that arrive at once, the
    one from the right goes first."""
    lanes = [[(-100.0, 0.0), (100.0, 0.0)], [(0.0, -100.0), (0.0, 100.0)]]
    narrow = [parked(x_m, y_m, heading_rad, width_m=0.5, speed_mps=5.0)
              for x_m, y_m, heading_rad in ((-31.0, 0.0, 0.0), (0.0, -31.0, math.pi / 2))]
    found = play(batch_of(on_lanes([AWAY, *narrow], lanes), **IDM), 150)
    assert not any(overlaps(found, step) for step in range(150))
    assert far_passed_s(found, 2) < far_passed_s(found, 1) < math.inf


def test_a_vehicle_longer_than_three_crossings_claims_the_one_that_its_front_enters():
    lanes = [[(-200.0, 0.0), (300.0, 0.0)], *([(x, -100.0), (x, 100.0)] for x in (0.0, 30.0, 60.0, 90.0))]
    long = parked(0.0, 0.0, length_m=100.0, speed_mps=6.0)
    crossing = [parked(x, -80.0, math.pi / 2, speed_mps=6.0) for x in (0.0, 30.0, 60.0)]
    across = parked(90.0, -50.0, math.pi / 2, speed_mps=6.0)
    found = play(batch_of(on_lanes([AWAY, long, *crossing, across], lanes), **IDM), 200)
    front_m, speed_mps = found["x_m"][:, 1] + 50.0, found["speed_mps"][:, 5]
    passes = (front_m > 75.0) & (front_m < 190.0)
    assert passes[-1] == 0 and speed_mps[passes][0] > 6.0 and (np.diff(speed_mps[passes]) <= 0.0).all()


def test_a_scene_with_fewer_vehicles_leaves_nothing_of_the_one_before():
    few, many = (generate_scene("town", seed=seed, agents=agents) for seed, agents in ((1, 4), (2, 12)))
    choices = {"agents_per_world": 2, "trial_steps": 80, "scene_order": "cycle", **IDM}
    batch, alone = batch_of([many, few], **choices), batch_of([few, many], **choices)
    for _ in range(81):
        batch.step(discrete(batch))
    alone_core, core = alone._core.state, batch._core.state
    for name in ("path_m", "arrival_step"):
        assert np.array_equal(core[name], alone_core[name]), name


@pytest.mark.parametrize("kind, agents, steps, seeds", [("town", 24, 1000, 6), ("intersection", 16, 400, 10)])
def test_no_rule_based_vehicles_collide_in_a_thousand_seconds_and_none_waits_for_ever(kind, agents, steps, seeds):
    for seed in range(seeds):
        scene = generate_scene(kind, seed=seed, agents=agents)
        objects = scene.objects
        x_m = objects.x_m.copy()
        x_m[:, 0] += 2000.0  # the agent is away
        batch = batch_of(replace(scene, objects=replace(objects, x_m=x_m)), agents_per_world=1, control=(0,),
                         trial_steps=steps + 1, **IDM)
        found = play(batch, steps)
        assert not [pairs for step in range(steps) if (pairs := overlaps(found, step))], seed
        waits = (found["speed_mps"][-400:] < 0.05) & found["present"][-400:].astype(bool)
        assert not waits[:, 1:].all(axis=0).any(), seed


def test_without_rule_based_vehicles_the_state_has_no_entry_for_them():
    scene = generate_scene("town", seed=2, agents=8)
    for others, entries in (("replay", 0), ("idm", 6)):
        state = batch_of(scene, agents_per_world=2, others=others)._core.state
        assert {name: state[name].shape[1] for name in ("path_m", "arrival_step")} == {
            "path_m": entries, "arrival_step": entries}
