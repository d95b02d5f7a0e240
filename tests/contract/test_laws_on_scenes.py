"""Do the laws hold in generated scenes and real files, under every policy?

No event is staged here; `laws.check` reads the events from the arrays.
"""

import laws
import learner
import numpy as np
import pytest
import rollouts
import world_rollout
from golden import with_lists

import drive_env
from drive_env.config import DriveConfig
from drive_env.drivers import LaneDriver
from drive_env.scenes import generate_scene, load_scene

FEW_SLOTS = DriveConfig(observation={"partners": 8, "roads": 16})
FILES = {"map_942.bin": "pufferdrive/map_942.bin", "map_000.bin": "pufferdrive/map_000.bin",
         "test.json": "gpudrive/test.json", "325.json": "gpudrive/tfrecord-00000-of-01000_325.json"}
SETS = ("town", "intersection", *FILES)


@pytest.fixture
def scenes_of(sample_path):
    """A function from the name of a set to its scenes."""

    def find(name):
        if name in FILES:
            return [load_scene(sample_path(FILES[name]))]
        return [generate_scene(name, seed=seed, agents=agents) for seed, agents in ((0, 8), (1, 12))]

    return find


def make_batch(scenes, num_worlds, threads=1, seed=0, world_ids=None, restart="auto", **choices):
    config = FEW_SLOTS.replace(**choices)
    batch = drive_env.Batch(scenes=scenes, num_worlds=num_worlds, config=config, seed=seed, threads=threads,
                            world_ids=world_ids, restart=restart)
    return batch, config


RULES = {
    "default": {"max_trials": 1, "trial_steps": 60},
    "three_trials": {"max_trials": 3, "trial_steps": 25},
    "nothing_ends_an_agent": {
        "max_trials": 2,
        "trial_steps": 30,
        "on_goal": "ignore",
        "on_collision": "ignore",
        "on_offroad": "ignore",
    },
    "everything_removes": {
        "max_trials": 2,
        "trial_steps": 40,
        "on_collision": "remove",
        "on_offroad": "remove",
    },
    "everything_stops": {
        "max_trials": 4,
        "trial_steps": 30,
        "on_goal": "stop",
        "stopped_share_limit": 0.3,
        "observation": {"time_left": "actor"},
    },
    "one_step": {"max_trials": 5, "trial_steps": 1},
    "goals_follow": {
        "max_trials": 2,
        "trial_steps": 40,
        "on_goal": "next",
        "goal_spacing_m": 5.0,
        "goal_radius_m": 20.0,
        "on_collision": "ignore",
    },
    "agents_respawn": {
        "max_trials": 2,
        "trial_steps": 40,
        "on_goal": "respawn",
        "goal_radius_m": 8.0,
        "max_goals": 3,
    },
}


@pytest.mark.parametrize("rules", list(RULES.values()), ids=list(RULES))
@pytest.mark.parametrize("name", SETS)
def test_every_law_holds_under_every_policy(name, rules, scenes_of):
    scenes = scenes_of(name)
    outcomes = set()
    for number, policy in enumerate(rollouts.POLICIES.values()):
        restart = "caller" if number % 3 == 2 else "auto"
        action_type = ("discrete", "multi_discrete", "continuous")[number % 3]
        batch, config = make_batch(scenes, 2, restart=restart, action_type=action_type, **rules)
        record = rollouts.collect(batch, config, policy, 90, seed=number, restart=restart,
                                  reset_share=0.0 if number % 2 else 0.03)
        laws.check(record)
        outcomes |= set(np.unique(record.stacked("outcome")))
        batch.close()
    # Without these events the laws about them would hold of anything.
    if rules["trial_steps"] > 1 and rules.get("on_offroad") != "ignore":
        assert outcomes & {laws.COLLISION, laws.OFFROAD} and laws.TIMEOUT in outcomes, f"outcomes {outcomes}"


@pytest.mark.parametrize("name", ("town", "map_942.bin"))
def test_every_law_holds_where_goals_are_in_lists(name, scenes_of):
    rules = RULES["goals_follow"] | {"goal_radius_m": 40.0, "goal_heading_tolerance_rad": 1.5, "max_goals": 3,
                                     "observation": {"goals": 2}, "on_offroad": "ignore"}
    batch, config = make_batch([with_lists(scene) for scene in scenes_of(name)], 2, **rules)
    record = rollouts.collect(batch, config, rollouts.POLICIES["random"], 90)
    laws.check(record)
    assert (record.stacked("rewards") > 0.4).any(), "no goal was reached"


@pytest.mark.parametrize("action_type", ("discrete", "continuous"))
@pytest.mark.parametrize("name", SETS)
def test_every_law_holds_where_a_rule_drives(name, action_type, scenes_of):
    batch, config = make_batch(scenes_of(name), 2, action_type=action_type, max_trials=2)
    driver = LaneDriver(batch)
    trial_steps = [roles.trial_steps for roles in batch.roles]
    record = rollouts.collect(batch, config, lambda *_: driver.act_all(), 200, trial_steps=trial_steps)
    laws.check(record)
    reached = record.stacked("outcome") == laws.GOAL
    assert reached.any(), "the rule-based driver reached no goal"


def test_every_law_holds_of_disturbed_agents_and_none_with_another_invalid_step(scenes_of):
    batch, config = make_batch(scenes_of("town"), 2, max_trials=2, trial_steps=30, disturbances={
        "partner_blindness": 1.0, "phantom_braking": 1.0, "duration_s": 0.5, "trigger_probability": 0.1})
    record = rollouts.collect(batch, config, rollouts.POLICIES["random"], 90)
    laws.check(record)
    disturbed, waited = record.stacked("disturbed")[:-1], record.stacked("waits")[:-1]
    # one agent of each case: disturbed; disturbed and waiting; neither
    for case in (disturbed & ~waited, disturbed & waited, ~disturbed & ~waited):
        call, agent = np.argwhere(case)[0]
        record.arrays[call + 1]["invalid_step"][agent] ^= True
        with pytest.raises(AssertionError, match="disturbance was on"):
            laws.law_5_an_agent_waits_and_then_its_step_is_invalid(
                world_rollout.WorldRollout(record, record.world_of_agent[agent]))
        record.arrays[call + 1]["invalid_step"][agent] ^= True


@pytest.mark.parametrize("name", FILES)
def test_a_trial_of_a_log_lasts_as_long_as_the_log(name, scenes_of):
    batch, config = make_batch(scenes_of(name), 1, max_trials=2, on_goal="ignore", on_collision="ignore",
                               on_offroad="ignore")
    record = rollouts.collect(batch, config, rollouts.POLICIES["random"], 185, trial_steps=90)
    laws.check(record)
    assert list(np.flatnonzero(record.stacked("trial_ended").any(axis=1))) == [90, 181]


@pytest.mark.parametrize("name", SETS)
def test_law_9_observations_of_waiting_agents_change_no_number_of_a_learner(name, scenes_of):
    batch, config = make_batch(scenes_of(name), 1, max_trials=2, trial_steps=40)
    record = rollouts.collect(batch, config, rollouts.POLICIES["random"], 100)
    learner.check_law_9(record)


@pytest.mark.parametrize("name", SETS)
def test_law_10_a_world_does_not_depend_on_the_others_of_its_batch(name, scenes_of):
    scenes, ids = scenes_of(name), [0, 1, 5, 77]

    def make(world_ids, threads):
        return make_batch(scenes, len(world_ids), threads, seed=3, world_ids=world_ids, max_trials=2, trial_steps=20)[0]

    agents = make([0], 1).agents_per_world
    laws.check_law_10_a_world_depends_on_no_other(
        make, ids, [(ids, 2), (ids, 3), (ids[::-1], 4), ([5], 1), ([77, 0], 2)], 60,
        lambda i, call: np.random.default_rng((i, call)).integers(0, 91, agents))


@pytest.mark.parametrize("name", SETS)
def test_restart_observations_are_the_first_observations_after_the_restart(name, scenes_of):
    batch, _ = make_batch(scenes_of(name), 2, max_trials=3, trial_steps=25)
    rng = np.random.default_rng(0)
    batch.reset()
    announced = [None, None]
    compared = 0
    for _ in range(120):
        ahead = np.array(batch.restart_observations())
        closing = [bool(batch.trial_ended[batch.world_of_agent == w].all()) for w in range(2)]
        batch.step(rollouts.random_actions(batch, rng))
        for w in range(2):
            agents = batch.world_of_agent == w
            if closing[w] and not batch.first[agents].any():
                assert batch.observations[agents].tobytes() == ahead[agents].tobytes()
                compared += agents.sum()
                if announced[w] is not None:
                    waited = announced[w].any(axis=1)
                    assert batch.observations[agents][waited].tobytes() == announced[w][waited].tobytes()
            announced[w] = None if closing[w] else ahead[agents]
    assert compared > 0
