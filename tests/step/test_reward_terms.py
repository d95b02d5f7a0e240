"""Is every reward term its weight times the fact that `Batch.reward_terms` has?"""

import dataclasses

import numpy as np
import pytest
from scripted_events import wall
from scripted_scenes import IGNORE_ALL, Actor, batch_of, drive, driver, log_replay, play_randomly, stage

from drive_env import REWARD_TERMS, Batch, ConfigError, DriveConfig, RewardConfig, generate_scene, parallel_env
from drive_env.api.gym import DriveEnv, DriveVectorEnv

WEIGHT_FIELDS = [field.name for field in dataclasses.fields(RewardConfig)]
"""In the order of the terms."""


def fact(batch, term):
    return batch.reward_terms[:, REWARD_TERMS.index(term)].copy()


def test_there_is_a_weight_for_every_term_in_their_order():
    assert [name.removesuffix("_per_m").removesuffix("_per_s").removesuffix("_per_m_s") for name in WEIGHT_FIELDS
            ] == list(REWARD_TERMS)


def test_the_reward_is_the_weighted_sum_of_the_facts_in_any_rollout():
    weights = dict(zip(WEIGHT_FIELDS, np.random.default_rng(1).uniform(-1, 1, len(WEIGHT_FIELDS)).tolist()))
    scenes = [generate_scene("town", seed=seed, agents=6) for seed in range(2)]
    config = {**IGNORE_ALL, "trial_steps": 30, "max_trials": 2, "reward": weights, "reward_terms": True,
              "dynamics": {"min_speed_mps": -5.0}, "scene_order": "cycle", "traffic_controls": True}
    batch = batch_of(scenes, num_worlds=2, **config)
    assert batch.reward_terms.shape == (12, len(REWARD_TERMS)) and (batch.reward_terms == 0).all()
    largest = np.zeros(len(REWARD_TERMS))
    for _ in play_randomly(batch, 70):
        assert batch.rewards == pytest.approx(batch.reward_terms @ np.array(list(weights.values())), abs=1e-5)
        assert (batch.reward_terms[batch.invalid_step] == 0).all()
        largest = np.maximum(largest, np.abs(batch.reward_terms).max(axis=0))
    silent = [name for name, most in zip(REWARD_TERMS, largest) if most == 0]
    # random driving need not meet these
    assert set(silent) <= {"goal", "collision", "over_speed", "time_to_collision", "red_light", "stop_sign",
                           "distance_to_log"}  # generated scenes have no log


def test_facts_do_not_depend_on_weights_and_change_no_reward():
    scene = generate_scene("intersection", seed=3, agents=4)
    config = {**IGNORE_ALL, "trial_steps": 40, "traffic_controls": True}
    heavy = dict.fromkeys(WEIGHT_FIELDS, 3.0)
    plain, facts = batch_of(scene, **config), batch_of(scene, reward_terms=True, **config)
    weighted = batch_of(scene, reward_terms=True, reward=heavy, **config)
    for _ in zip(*(play_randomly(batch, 50) for batch in (plain, facts, weighted))):
        assert (plain.rewards == facts.rewards).all()
        assert (facts.reward_terms == weighted.reward_terms).all()
    assert list(plain.metrics()) == list(facts.metrics())


def test_an_onset_has_the_fact_1_in_its_step():
    scene = stage([driver(speed_mps=10.0), driver(0.0, 20.0, speed_mps=10.0, goal_m=(5.0, 20.0)),
                   driver(0.0, 40.0, speed_mps=10.0), log_replay([(9.0, 40.0, 0.0, 0.0)] * 30)], [wall(9.0)])
    batch = batch_of(scene, reward_terms=True, **IGNORE_ALL)
    for _ in range(8):
        drive(batch, 1)
        events = batch.step_events()
        for term in ("goal", "collision", "offroad"):
            assert fact(batch, term).tolist() == events[term].tolist()
    for had in ("had_goal", "had_collision", "had_offroad"):
        assert batch.trial_state()[had].any()


def test_time_runs_while_an_agent_drives_and_reverse_is_the_way_backwards():
    """One rolls backwards at 2 m/s, one forwards, one stands in a wall from the first step on."""
    scene = stage([driver(speed_mps=-2.0), driver(0.0, 20.0, speed_mps=2.0), driver(0.0, 40.0, speed_mps=10.0)],
                  [wall(2.5, y_m=40.0)], dt_s=0.25)
    batch = batch_of(scene, dynamics={"min_speed_mps": -5.0}, reward={"time_per_s": -0.1, "reverse_per_m": -2.0},
                     reward_terms=True, trial_steps=4)
    drive(batch, 1)
    assert fact(batch, "time").tolist() == [0.25] * 3
    assert fact(batch, "reverse").tolist() == [0.5, 0.0, 0.0]
    drive(batch, 1)
    assert fact(batch, "time").tolist() == [0.25, 0.25, 0.0]
    drive(batch, 2)
    report = batch.metrics()
    assert report["reward_time"].value == pytest.approx(-0.1 * (1.0 + 1.0 + 0.25) / 3)
    assert report["reward_reverse"].value == pytest.approx(-2.0 * 2.0 / 3)


def test_the_step_that_stops_or_removes_an_agent_has_the_facts_of_its_motion():
    """It rolls backwards into a wall, and brakes: from -2 to -1 m/s, at 4 m/s2. The metrics count the same step."""
    scene = stage([driver(speed_mps=-2.0)], [wall(-2.1), ("lane", [(-50.0, 0.0), (50.0, 0.0)])], dt_s=0.25)
    scene = dataclasses.replace(scene, roads=dataclasses.replace(
        scene.roads, speed_limit_mps=np.full(2, 0.5, np.float32)))
    for response in ("ignore", "stop", "remove"):
        batch = batch_of(scene, dynamics={"min_speed_mps": -5.0}, reward_terms=True, detailed_metrics=True,
                         trial_steps=1, on_offroad=response)
        drive(batch, 1, acceleration_bin=6)
        assert batch.step_events()["offroad"].all() and bool(batch.stopped[0]) == (response == "stop")
        found = {term: float(fact(batch, term)[0]) for term in ("reverse", "wrong_way", "over_speed", "discomfort")}
        assert found == pytest.approx({"reverse": 0.25, "wrong_way": 0.25, "over_speed": 0.125, "discomfort": 0.5})
        report = batch.metrics()
        assert (report["wrong_way_share"].value, report["over_speed_share"].value) == (1.0, 1.0)
        if response != "ignore":
            assert batch._core.state["speed_mps"][0][0] == batch._core.state["acceleration_mps2"][0][0] == 0.0


def test_discomfort_counts_the_limits_that_accelerations_and_jerk_exceed():
    scene = generate_scene("town", seed=1, agents=6)
    batch = batch_of(scene, reward_terms=True, trial_steps=100, **IGNORE_ALL)
    before, counts = np.zeros((2, 6)), set()
    for _ in play_randomly(batch, 60):
        state = {name: batch._core.state[name][0, :6].astype(float)
                 for name in ("acceleration_mps2", "speed_mps", "yaw_rate_radps")}
        now = np.stack([state["acceleration_mps2"], state["speed_mps"] * state["yaw_rate_radps"]])
        jerk = np.hypot(*(now - before)) / 0.1
        expected = (np.abs(now) > 3.0).sum(axis=0) + (jerk > 5.0)
        assert fact(batch, "discomfort") == pytest.approx(0.1 * expected, abs=1e-6)
        before = now
        counts |= set(expected.tolist())
    assert counts == {0, 1, 2, 3}


def test_the_distance_to_the_log_is_that_of_the_same_frame_where_the_log_is_valid():
    """It drives at 10 m/s, its log at 8 m/s; the log has a gap, and ends before the trial."""
    log = [(0.8 * frame, 0.5 * (frame > 0), 0.0, 8.0) for frame in range(6)]
    log[3] = None
    scene = stage([Actor(log=tuple(log), goal_m=(500.0, 0.0)), log_replay([(0.0, 50.0, 0.0, 0.0)] * 8)])
    scene = dataclasses.replace(scene, objects=dataclasses.replace(scene.objects, vx_mps=np.where(
        np.arange(8)[:, None] == 0, np.float32(10.0), scene.objects.vx_mps).astype(np.float32)))
    batch = batch_of(scene, reward_terms=True, reward={"distance_to_log_per_m_s": -1.0}, trial_steps=9, **IGNORE_ALL)
    found = []
    for _ in range(9):
        drive(batch, 1)
        found.append(float(fact(batch, "distance_to_log")[0]))
    due = [0.1 * np.hypot(0.2 * frame, 0.5) for frame in range(1, 6)]
    due[2] = 0.0
    assert found == pytest.approx([*due, 0.0, 0.0, 0.0, 0.0], abs=1e-5)
    assert batch.metrics()["reward_distance_to_log"].value == pytest.approx(-sum(due), abs=1e-5)


def test_a_term_without_weight_is_in_no_report():
    scene = generate_scene("intersection", agents=2)
    with batch_of(scene) as plain, batch_of(scene, reward={"time_per_s": 1.0}) as timed:
        assert set(timed.metrics()) - set(plain.metrics()) == {"reward_time"}


def test_infos_have_the_facts_on_request():
    scene, config = generate_scene("intersection", agents=3), {"reward_terms": True}
    batch = Batch([scene], config=config)
    batch.reset(seed=4)
    env = parallel_env(scenes=scene, config=config)
    env.reset(seed=4)
    actions = np.arange(3) * 30
    for _ in range(3):
        batch.step(actions)
        infos = env.step({f"agent_{i}": action for i, action in enumerate(actions)})[-1]
        for i in range(3):
            assert infos[f"agent_{i}"]["reward_terms"].tolist() == batch.reward_terms[i].tolist()
    kept = infos["agent_0"]["reward_terms"].copy()
    env.step({f"agent_{i}": 0 for i in range(3)})
    assert (infos["agent_0"]["reward_terms"] == kept).all()

    one, many = DriveEnv(scene, config), DriveVectorEnv(2, scene, config)
    one.reset(seed=4), many.reset(seed=4)
    assert one.step(50)[-1]["reward_terms"].shape == (len(REWARD_TERMS),)
    infos = many.step(np.array([50, 50]))[-1]
    assert infos["reward_terms"].shape == (2, len(REWARD_TERMS)) and infos["_reward_terms"].all()
    assert "reward_terms" not in parallel_env(scenes=scene).reset()[1]["agent_0"]


def test_without_the_option_the_error_names_it():
    with Batch("intersection") as batch, pytest.raises(AttributeError, match="reward_terms True only; that of this"):
        batch.reward_terms  # noqa: B018


def test_the_option_is_a_bool():
    with pytest.raises(ConfigError, match="reward_terms is 1; it must be True or False"):
        DriveConfig(reward_terms=1)
