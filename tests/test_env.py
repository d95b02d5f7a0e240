"""Is the PettingZoo face a conforming env, and does it say what its one-world batch says?"""

import copy
import itertools
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    performance_benchmark,
    state_test,
)
from pettingzoo.utils import parallel_to_aec

import drive_env.env
from drive_env import ActionError, Batch, CallError, ConfigError, DriveConfig, aec_env, generate_scene, parallel_env
from drive_env.registration import ENV_ID

TOWNS = [generate_scene("town", seed=seed, agents=8) for seed in range(2)]
ACTION_TYPES = ("discrete", "multi_discrete", "continuous")
INFO_KEYS = {"trial_ended", "truncation", "removed", "invalid_step", "stopped", "first", "trial_index", "outcome"}

# PettingZoo's test says this of every space that is neither Box nor Discrete, MultiDiscrete among them.
only_box_or_discrete = pytest.mark.filterwarnings("ignore:Action space for each agent probably should be")


def make(finished="leave", scenes=TOWNS, copy=True, **settings):
    return parallel_env(scenes, DriveConfig(**{"trial_steps": 20, **settings}), finished=finished, copy=copy)


def play(env, seed, policy_seed=0, episodes=1):
    """Everything that whole episodes of random play return, step by step."""
    rng, record = np.random.default_rng(policy_seed), []
    for episode in range(episodes):
        record.append(env.reset(seed=seed if episode == 0 else None))
        while env.agents:
            record.append(env.step({agent: _sample(env.action_space(agent), rng) for agent in env.agents}))
    return record


def _sample(space, rng):
    if hasattr(space, "n"):
        return int(rng.integers(space.n))
    return rng.integers(space.nvec) if hasattr(space, "nvec") else rng.uniform(-1, 1, 2).astype(np.float32)


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
    max_cycles_test(drive_env.env)
    state_test(aec_env(TOWNS), make())
    clock = SimpleNamespace(time=itertools.count().__next__)  # it runs for five seconds, whose each is a cycle here
    monkeypatch.setattr(sys.modules[performance_benchmark.__module__], "time", clock)
    performance_benchmark(aec_env(TOWNS, DriveConfig(trial_steps=3)))
    assert "turns per second" in capsys.readouterr().out


def test_agents_that_take_turns_see_what_agents_at_once_see():
    together, turns = make(max_trials=2), parallel_to_aec(make(max_trials=2))
    observations, _ = together.reset(seed=5)
    turns.reset(seed=5)
    rng, steps = np.random.default_rng(0), 0
    while together.agents:
        actions = {agent: int(rng.integers(91)) for agent in together.agents}
        for agent in list(turns.agents):
            seen, _, terminated, truncated, _ = turns.last()
            assert turns.agent_selection == agent and not (terminated or truncated)
            np.testing.assert_array_equal(seen, observations[agent])
            turns.step(actions[agent])
        observations, rewards, terminations, truncations, _ = together.step(actions)
        assert turns.rewards == rewards and turns.terminations == terminations and turns.truncations == truncations
        while turns.agents and (turns.terminations[turns.agent_selection] or turns.truncations[turns.agent_selection]):
            turns.step(None)
        steps += 1
    assert steps > 20 and turns.agents == []


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry from 1.27 on")
def test_pettingzoo_s_registry_makes_both_faces():
    config = DriveConfig(max_trials=2)
    env = pettingzoo.make("parallel", ENV_ID, scenes=TOWNS, config=config, finished="wait")
    assert isinstance(env, drive_env.DriveParallelEnv) and env.finished == "wait" and env.batch.config is config
    turns = pettingzoo.make("aec", "drive_env/Drive", scenes=TOWNS, max_cycles=7)
    assert turns.unwrapped.batch.config.trial_steps == 7
    for face in ("parallel", "aec"):
        spec = pettingzoo.spec(face, ENV_ID)
        assert pickle.loads(pickle.dumps(spec)) == spec
    drive_env.registration.register()  # a second time, as in a module that is loaded anew, says nothing


@pytest.mark.parametrize("config, max_cycles, complaint", [
    (None, 0, "max_cycles is 0"), (None, 2.5, "max_cycles is 2.5"), (None, True, "max_cycles is True"),
    (DriveConfig(trial_steps=9), 5, "max_cycles is 5 beside max_trials 1 and trial_steps 9"),
    (DriveConfig(max_trials=2), 5, "max_cycles is 5 beside max_trials 2"),
])
def test_max_cycles_is_refused_where_it_could_mean_two_things(config, max_cycles, complaint):
    with pytest.raises(ConfigError, match=complaint):
        parallel_env(TOWNS, config, max_cycles=max_cycles)


def test_copies_of_an_env_that_has_not_begun_play_differently():
    """SuperSuit and others make their workers by copying one env; with one stream they would all see one episode."""
    env = make()
    copies = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    firsts = [each.reset()[0]["agent_0"].tobytes() for each in copies]
    seeds = [each.batch.seed for each in copies]
    assert len(set(seeds)) == 3
    assert [each.reset(seed=seed)[0]["agent_0"].tobytes() for each, seed in zip(copies, seeds)] == firsts


def test_wrappers_find_a_seeded_generator_that_leaves_the_world_alone():
    env, twin = make(), make()
    env.np_random.random()
    env.reset(seed=3)
    twin.reset(seed=3)
    drawn = env.np_random.random(4).tolist()
    actions = dict.fromkeys(env.agents, 45)
    assert pickle.dumps(env.step(actions)) == pickle.dumps(twin.step(actions))
    env.reset()
    assert env.np_random.random(4).tolist() != drawn  # goes on with the stream
    env.reset(seed=3)
    assert env.np_random.random(4).tolist() == drawn


def test_the_state_is_what_all_agents_see():
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
    play(used, seed=5, policy_seed=1)
    first, again = play(used, seed=7, episodes=3), play(make(finished, max_trials=max_trials), seed=7, episodes=3)
    assert pickle.dumps(first) == pickle.dumps(again)
    other = play(used, seed=7, policy_seed=2, episodes=3)
    assert pickle.dumps(first) != pickle.dumps(other)


def test_a_seed_decides_the_scene():
    env = make()
    seen = set()
    for seed in range(20):
        env.reset(seed=seed)
        seen.add(int(env.batch.scene_index[0]))
    assert seen == {0, 1}


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
        actions = {agent: _sample(env.action_space(agent), rng) for agent in env.possible_agents}
        batch.actions[...] = np.stack([actions[agent] for agent in env.possible_agents])
        acting = list(env.agents)
        observations, rewards, terminations, truncations, infos = env.step({agent: actions[agent] for agent in acting})
        batch.step(batch.actions)
        steps += 1
        for given in (observations, rewards, terminations, truncations, infos):
            assert list(given) == acting
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
        for info in infos.values():
            assert all(type(info[name]) is bool for name in INFO_KEYS - {"outcome", "trial_index"})
            assert type(info["trial_index"]) is int and type(info["outcome"]) is int


@pytest.mark.parametrize("copies", (True, False))
def test_what_a_client_writes_into_the_dicts_reaches_nobody(copies):
    env, twin = make(copy=copies, max_trials=2), make(copy=copies, max_trials=2)
    returned, other = env.reset(seed=0), twin.reset(seed=0)
    while True:
        for given in returned:
            for entry in given.values():
                if isinstance(entry, dict):
                    entry["terminal_observation"] = entry["first"] = 1
            given["__all__"] = given["agent_0"] = True
        if not env.agents:
            break
        actions = {agent: 80 for agent in env.agents}
        returned, other = env.step(dict(actions)), twin.step(actions)
        np.testing.assert_equal(returned, other)


def test_copies_outlive_the_step_and_views_do_not():
    for keeps in (True, False):
        env = make(copy=keeps)
        observations, _ = env.reset(seed=0)
        before = {agent: index.copy() for agent, index in observations.items()}
        env.step({agent: 90 for agent in env.agents})
        unchanged = all(np.array_equal(observations[agent], before[agent]) for agent in before)
        assert unchanged is keeps


def test_spaces_and_possible_agents_never_change():
    env = make()
    agents = list(env.possible_agents)
    spaces = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
    play(env, seed=0)
    assert env.possible_agents == agents
    assert all(env.observation_space(agent) is seen and env.action_space(agent) is acted
               for agent, (seen, acted) in zip(agents, spaces))


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
    """Both ways see the same world; only when and to whom the flags are shown differs."""
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
        play(env, seed)
    assert counts == {3, 8}


@pytest.mark.parametrize("actions, complaint", [
    ({"agent_0": 91}, "91"), ({"agent_0": -1}, "-1"), ({"agent_0": 1.5}, "1.5"), ({"agent_0": None}, "None"),
    ({"agent_0": float("nan")}, "nan"), ({"agent_0": [1, 2]}, r"\[1, 2\]"), ({"agent_0": "left"}, "left"),
    ({"agent_0": 2**70}, str(2**70)), ({"agent_0": ...}, "Ellipsis"),
    ({"agent_0": np.array([1])}, "agent_0"), ({"agent_0": np.array([1, 2])}, "agent_0"),
    ({"agent_99": 0}, "agent_99"), ({7: 0}, "7"),
])
def test_a_bad_action_says_so_and_nothing_moves(actions, complaint):
    env = make()
    env.reset(seed=0)
    good = {agent: 45 for agent in env.agents}
    before = env.batch._block.tobytes()
    with pytest.raises(ActionError, match=complaint):
        env.step(good | actions)
    assert env.batch._block.tobytes() == before
    env.step(good)


def test_a_missing_action_names_the_agent():
    env = make()
    env.reset(seed=0)
    with pytest.raises(ActionError, match="agent_3"):
        env.step({agent: 45 for agent in env.agents if agent != "agent_3"})
    with pytest.raises(ActionError, match="list"):
        env.step([45] * 8)


def test_calls_out_of_order_say_what_to_do():
    env = make()
    with pytest.raises(CallError, match="call reset first"):
        env.step({})
    play(env, seed=0)
    with pytest.raises(CallError, match="episode is over"):
        env.step({"agent_0": 45})
    with pytest.raises(CallError, match="render"):
        env.render()
    env.reset()
    env.close()
    env.close()
    with pytest.raises(CallError, match="closed"):
        env.step({agent: 45 for agent in env.agents})


@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_a_reset_after_close_opens_the_env_again(finished):
    env, untouched = make(finished=finished), make(finished=finished)
    play(env, seed=5)
    env.reset(seed=1)
    env.step({agent: 45 for agent in env.agents})
    env.close()
    assert pickle.dumps(play(env, seed=3)) == pickle.dumps(play(untouched, seed=3))
    seeds = set()
    for _ in range(3):
        env.close()
        env.reset()
        seeds.add(env.batch.seed)
    assert len(seeds) == 3
    env.close()
    with pytest.raises(ConfigError, match="seed"):
        env.reset(seed=-1)
    with pytest.raises(CallError, match="reset first"):
        env.step({})


@pytest.mark.parametrize("argument, value", [("render_mode", "ansi"), ("finished", "stay"), ("copy", 1)])
def test_a_choice_not_offered_is_refused_with_what_is(argument, value):
    with pytest.raises(ConfigError, match=argument):
        parallel_env(TOWNS, **{argument: value})


def test_a_seed_out_of_range_is_refused():
    env = make()
    for seed in (-1, 2**64, 1.5, "one"):
        with pytest.raises(ConfigError, match="seed"):
            env.reset(seed=seed)
    env.reset(seed=2**64 - 1)


def test_a_pickled_env_goes_on_bit_for_bit():
    env = make(max_trials=2)
    env.reset(seed=0)
    for _ in range(5):
        env.step({agent: 80 for agent in env.agents})
    twin = pickle.loads(pickle.dumps(env))
    assert twin.agents == env.agents
    while env.agents:
        actions = {agent: 70 for agent in env.agents}
        assert pickle.dumps(env.step(actions)) == pickle.dumps(twin.step(actions))
    assert twin.agents == []


@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_a_call_that_was_interrupted_leaves_an_env_that_goes_on(finished, monkeypatch):
    """Wherever in a step an exception such as Ctrl-C strikes, the next call says what the batch says."""
    for place in ("_see", "_flags", "_observations", "_infos"):
        env = make(finished, max_trials=2)
        env.reset(seed=0)
        rng, struck = np.random.default_rng(1), 0
        for step in range(60):
            if not env.agents:
                env.reset()
            actions = {agent: int(rng.integers(91)) for agent in env.agents}
            if step % 3 == 0:
                monkeypatch.setattr(env, place, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
                try:
                    env.step(actions)
                except KeyboardInterrupt:
                    struck += 1
                monkeypatch.undo()
                continue
            try:
                returned = env.step(actions)
            except CallError as error:
                assert "episode is over" in str(error) and env.agents == []
                continue
            assert len({tuple(given) for given in returned}) == 1
            for agent, info in returned[4].items():
                assert info["invalid_step"] == env.batch.invalid_step[int(agent.split("_")[1])]
        assert struck > 0
