"""Does the PettingZoo env conform, and does it return what its one-world batch shows?"""

import copy
import itertools
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pettingzoo
import pytest
from parallel_rollout import ACTION_TYPES, INFO_KEYS, TOWNS, make, rollout, sample_action
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    performance_benchmark,
    state_test,
)
from pettingzoo.utils import parallel_to_aec

import drive_env.api.parallel
from drive_env import Batch, DriveConfig, aec_env, generate_scene
from drive_env.api.registration import ENV_ID

# PettingZoo's test warns of every space that is neither Box nor Discrete, MultiDiscrete included.
only_box_or_discrete = pytest.mark.filterwarnings("ignore:Action space for each agent probably should be")


@only_box_or_discrete
@pytest.mark.parametrize("action_type", ACTION_TYPES)
@pytest.mark.parametrize("max_trials", (1, 3))
@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_the_standard_tests_pass(finished, max_trials, action_type):
    def fresh():
        return make(finished, max_trials=max_trials, action_type=action_type)

    parallel_api_test(fresh(), num_cycles=150)
    parallel_seed_test(fresh, num_cycles=50)
    api_test(parallel_to_aec(fresh()), num_cycles=150)


@pytest.mark.filterwarnings("ignore:No agents present but not all possible_agents are terminated or truncated")
@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_the_standard_test_passes_where_a_scene_lacks_vehicles(finished):
    few, many = generate_scene("town", seed=0, agents=3), generate_scene("town", seed=1, agents=8)
    parallel_api_test(make(finished, scenes=[few, many], max_trials=2), num_cycles=150)


def test_the_other_tools_of_pettingzoo_work(monkeypatch, capsys):
    max_cycles_test(drive_env.api.parallel)
    state_test(aec_env(TOWNS), make())
    clock = SimpleNamespace(time=itertools.count().__next__)  # it runs for five seconds; here each cycle takes one
    monkeypatch.setattr(sys.modules[performance_benchmark.__module__], "time", clock)
    performance_benchmark(aec_env(TOWNS, DriveConfig(trial_steps=3)))
    assert "turns per second" in capsys.readouterr().out


def test_the_aec_env_has_the_observations_of_the_parallel_env():
    together, turns = make(max_trials=2), parallel_to_aec(make(max_trials=2))
    observations, _ = together.reset(seed=5)
    turns.reset(seed=5)
    rng, steps = np.random.default_rng(0), 0
    while together.agents:
        actions = {agent: int(rng.integers(91)) for agent in together.agents}
        for agent in list(turns.agents):
            observation, _, terminated, truncated, _ = turns.last()
            assert turns.agent_selection == agent and not (terminated or truncated)
            np.testing.assert_array_equal(observation, observations[agent])
            turns.step(actions[agent])
        observations, rewards, terminations, truncations, _ = together.step(actions)
        assert turns.rewards == rewards and turns.terminations == terminations and turns.truncations == truncations
        while turns.agents and (turns.terminations[turns.agent_selection] or turns.truncations[turns.agent_selection]):
            turns.step(None)
        steps += 1
    assert steps > 20 and turns.agents == []


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry from 1.27 on")
def test_pettingzoo_s_registry_makes_both_adapters():
    config = DriveConfig(max_trials=2)
    env = pettingzoo.make("parallel", ENV_ID, scenes=TOWNS, config=config, finished="wait")
    assert isinstance(env, drive_env.DriveParallelEnv) and env.finished == "wait" and env.batch.config is config
    turns = pettingzoo.make("aec", "drive_env/Drive", scenes=TOWNS, max_cycles=7)
    assert turns.unwrapped.batch.config.trial_steps == 7
    for api in ("parallel", "aec"):
        spec = pettingzoo.spec(api, ENV_ID)
        assert pickle.loads(pickle.dumps(spec)) == spec
    drive_env.api.registration.register()  # a second registration, as by a reloaded module, does not warn


def test_copies_of_an_env_that_has_not_begun_play_differently():
    """SuperSuit and others copy one env for all workers; with one random stream all would play the same episode."""
    env = make()
    copies = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    firsts = [each.reset()[0]["agent_0"].tobytes() for each in copies]
    seeds = [each.batch.seed for each in copies]
    assert len(set(seeds)) == 3
    assert [each.reset(seed=seed)[0]["agent_0"].tobytes() for each, seed in zip(copies, seeds)] == firsts


def test_wrappers_find_a_seeded_generator_that_leaves_the_world_alone():
    env, reference = make(), make()
    env.np_random.random()
    env.reset(seed=3)
    reference.reset(seed=3)
    drawn = env.np_random.random(4).tolist()
    actions = dict.fromkeys(env.agents, 45)
    assert pickle.dumps(env.step(actions)) == pickle.dumps(reference.step(actions))
    env.reset()
    assert env.np_random.random(4).tolist() != drawn  # the stream continues
    env.reset(seed=3)
    assert env.np_random.random(4).tolist() == drawn


def test_the_state_is_the_observations_of_all_agents():
    env = make()
    observations, _ = env.reset(seed=0)
    assert env.state_space.contains(env.state())
    np.testing.assert_array_equal(env.state(), np.concatenate([observations[agent] for agent in env.possible_agents]))
    while env.agents:
        env.step({agent: 85 for agent in env.agents})
    assert env.state_space.contains(env.state())


@pytest.mark.parametrize("max_trials", (1, 3))
@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_the_same_seed_and_actions_give_the_same_bytes(finished, max_trials):
    used = make(finished, max_trials=max_trials)
    rollout(used, seed=5, policy_seed=1)
    first, again = rollout(used, seed=7, episodes=3), rollout(make(finished, max_trials=max_trials), seed=7, episodes=3)
    assert pickle.dumps(first) == pickle.dumps(again)
    other = rollout(used, seed=7, policy_seed=2, episodes=3)
    assert pickle.dumps(first) != pickle.dumps(other)


def test_a_seed_decides_the_scene():
    env = make()
    scenes = set()
    for seed in range(20):
        env.reset(seed=seed)
        scenes.add(int(env.batch.scene_index[0]))
    assert scenes == {0, 1}


@pytest.mark.parametrize("max_trials", (1, 3))
@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_every_number_is_the_batch_s(action_type, max_trials):
    env = make(max_trials=max_trials, action_type=action_type)
    batch = Batch(TOWNS, num_worlds=1, config=env.batch.config, seed=3)
    rng = np.random.default_rng(0)
    observations, infos = env.reset(seed=3)
    batch.reset(seed=3)
    steps = 0
    while env.agents:
        actions = {agent: sample_action(env.action_space(agent), rng) for agent in env.possible_agents}
        batch.actions[...] = np.stack([actions[agent] for agent in env.possible_agents])
        acting = list(env.agents)
        observations, rewards, terminations, truncations, infos = env.step({agent: actions[agent] for agent in acting})
        batch.step(batch.actions)
        steps += 1
        for by_agent in (observations, rewards, terminations, truncations, infos):
            assert list(by_agent) == acting
        for agent in acting:
            index = int(agent.split("_")[1])
            assert observations[agent].tobytes() == batch.observations[index].tobytes()
            assert rewards[agent] == batch.rewards[index]
            assert terminations[agent] == batch.terminations[index] and truncations[agent] == batch.truncations[index]
            assert infos[agent].keys() == INFO_KEYS
            for name in INFO_KEYS:
                assert infos[agent][name] == getattr(batch, name)[index], name
    assert steps > max_trials


def test_values_are_plain():
    env = make(max_trials=2)
    env.reset(seed=0)
    while env.agents:
        _, rewards, terminations, truncations, infos = env.step({agent: 80 for agent in env.agents})
        assert all(type(reward) is float for reward in rewards.values())
        for flags in (terminations, truncations):
            assert all(flag is True or flag is False for flag in flags.values())
        assert len({id(info) for info in infos.values()}) == len(infos)  # writing to one changes no other
        for info in infos.values():
            assert all(type(info[name]) is bool for name in INFO_KEYS - {"outcome", "trial_index"})
            assert type(info["trial_index"]) is int and type(info["outcome"]) is int


@pytest.mark.parametrize("copies", (True, False))
def test_what_a_client_writes_into_the_dicts_changes_no_later_step(copies):
    env, reference = make(copy=copies, max_trials=2), make(copy=copies, max_trials=2)
    returned, other = env.reset(seed=0), reference.reset(seed=0)
    while True:
        for by_agent in returned:
            for entry in by_agent.values():
                if isinstance(entry, dict):
                    entry["terminal_observation"] = entry["first"] = 1
            by_agent["__all__"] = by_agent["agent_0"] = True
        if not env.agents:
            break
        actions = {agent: 80 for agent in env.agents}
        returned, other = env.step(dict(actions)), reference.step(actions)
        np.testing.assert_equal(returned, other)


def test_copies_outlive_the_step_and_views_do_not():
    for keeps in (True, False):
        env = make(copy=keeps)
        observations, _ = env.reset(seed=0)
        before = {agent: observation.copy() for agent, observation in observations.items()}
        env.step({agent: 90 for agent in env.agents})
        unchanged = all(np.array_equal(observations[agent], before[agent]) for agent in before)
        assert unchanged is keeps


def test_spaces_and_possible_agents_never_change():
    env = make()
    agents = list(env.possible_agents)
    spaces = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
    rollout(env, seed=0)
    assert env.possible_agents == agents
    assert all(env.observation_space(agent) is observed and env.action_space(agent) is acted
               for agent, (observed, acted) in zip(agents, spaces))


@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_an_agent_gets_one_flag_and_does_not_come_back(finished):
    for seed in range(6):
        env = make(finished, max_trials=3)
        env.reset(seed=seed)
        rng, flagged = np.random.default_rng(seed), {}
        everyone = list(env.agents)
        while env.agents:
            acting = list(env.agents)
            _, _, terminations, truncations, infos = env.step({agent: int(rng.integers(91)) for agent in acting})
            for agent in acting:
                assert agent not in flagged
                assert not (terminations[agent] and truncations[agent])
                if terminations[agent] or truncations[agent]:
                    assert infos[agent]["trial_index"] == 2
                    flagged[agent] = (terminations[agent], truncations[agent])
            assert [agent for agent in acting if agent not in flagged] == env.agents
            if finished == "wait":
                assert env.agents in ([], everyone)
        assert sorted(flagged) == sorted(everyone)
        assert env.step({}) == ({}, {}, {}, {}, {})


def test_finished_wait_raises_the_same_flags_later():
    """Both ways play the same world; they differ in when the flags are returned, and for which agents."""
    final = {}
    for finished in ("leave", "wait"):
        env = make(finished, max_trials=2, trial_steps=80)
        env.reset(seed=4)
        rng, raised = np.random.default_rng(0), {}
        while env.agents:
            actions = {agent: int(rng.integers(91)) for agent in env.possible_agents}
            _, _, terminations, truncations, _ = env.step({agent: actions[agent] for agent in env.agents})
            raised |= {agent: (terminations[agent], truncations[agent]) for agent in terminations
                       if terminations[agent] or truncations[agent]}
        final[finished] = raised
    assert final["leave"] == final["wait"]
    assert any(terminated for terminated, _ in final["leave"].values())


def test_a_waiting_agent_stays_and_its_action_is_not_read():
    env = make(max_trials=2, trial_steps=60)
    env.reset(seed=0)
    waited = False
    rng = np.random.default_rng(0)
    while env.agents:
        waits = env.batch.waits
        actions = {}
        for index, agent in enumerate(env.possible_agents):
            if agent in env.agents and not waits[index]:
                actions[agent] = int(rng.integers(91))
            elif agent in env.agents and index % 2:
                actions[agent] = "rubbish"
                waited = True
        env.step(actions)
    assert waited


def test_absent_agents_are_no_agents():
    few, many = generate_scene("town", seed=0, agents=3), generate_scene("town", seed=1, agents=8)
    env = make(scenes=[few, many])
    assert len(env.possible_agents) == 8
    counts = set()
    for seed in range(10):
        observations, infos = env.reset(seed=seed)
        counts.add(len(env.agents))
        assert list(observations) == list(infos) == env.agents
        rollout(env, seed)
    assert counts == {3, 8}
