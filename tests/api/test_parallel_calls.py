"""What does the PettingZoo env do with wrong, unordered and interrupted calls, and when it is pickled?"""

import pickle

import numpy as np
import pytest
from parallel_rollout import TOWNS, make, rollout

from drive_env import ActionError, CallError, ConfigError, DriveConfig, parallel_env


@pytest.mark.parametrize("config, max_cycles, complaint", [
    (None, 0, "max_cycles is 0"), (None, 2.5, "max_cycles is 2.5"), (None, True, "max_cycles is True"),
    (DriveConfig(trial_steps=9), 5, "max_cycles is 5 beside max_trials 1 and trial_steps 9"),
    (DriveConfig(max_trials=2), 5, "max_cycles is 5 beside max_trials 2"),
])
def test_max_cycles_is_refused_where_it_could_mean_two_things(config, max_cycles, complaint):
    with pytest.raises(ConfigError, match=complaint):
        parallel_env(TOWNS, config, max_cycles=max_cycles)


@pytest.mark.parametrize("actions, complaint", [
    ({"agent_0": 91}, "91"), ({"agent_0": -1}, "-1"), ({"agent_0": 1.5}, "1.5"), ({"agent_0": None}, "None"),
    ({"agent_0": float("nan")}, "nan"), ({"agent_0": [1, 2]}, r"\[1, 2\]"), ({"agent_0": "left"}, "left"),
    ({"agent_0": 2**70}, str(2**70)), ({"agent_0": ...}, "Ellipsis"),
    ({"agent_0": np.array([1])}, "agent_0"), ({"agent_0": np.array([1, 2])}, "agent_0"),
    ({"agent_99": 0}, "agent_99"), ({7: 0}, "7"),
])
def test_a_bad_action_is_an_error_and_nothing_moves(actions, complaint):
    env = make()
    env.reset(seed=0)
    good = {agent: 45 for agent in env.agents}
    before = env.batch._core.block.tobytes()
    with pytest.raises(ActionError, match=complaint):
        env.step(good | actions)
    assert env.batch._core.block.tobytes() == before
    env.step(good)


@pytest.mark.parametrize("space", ("observation_space", "action_space"))
@pytest.mark.parametrize("agent", ("bob", "agent_99", 0, None, ["agent_0"]))
def test_the_space_of_an_unknown_agent_is_an_error_of_the_family(space, agent):
    env = make()
    with pytest.raises(ConfigError, match=r"^agent is .*; agents are agent_0 to agent_\d+$"):
        getattr(env, space)(agent)


def test_a_missing_action_names_the_agent():
    env = make()
    env.reset(seed=0)
    with pytest.raises(ActionError, match="agent_3"):
        env.step({agent: 45 for agent in env.agents if agent != "agent_3"})
    with pytest.raises(ActionError, match="list"):
        env.step([45] * 8)


def test_the_error_of_a_call_out_of_order_names_the_call_to_make():
    env = make()
    with pytest.raises(CallError, match="call reset first"):
        env.step({})
    rollout(env, seed=0)
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
    rollout(env, seed=5)
    env.reset(seed=1)
    env.step({agent: 45 for agent in env.agents})
    env.close()
    assert pickle.dumps(rollout(env, seed=3)) == pickle.dumps(rollout(untouched, seed=3))
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
    restored = pickle.loads(pickle.dumps(env))
    assert restored.agents == env.agents
    while env.agents:
        actions = {agent: 70 for agent in env.agents}
        assert pickle.dumps(env.step(actions)) == pickle.dumps(restored.step(actions))
    assert restored.agents == []


@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_a_call_that_was_interrupted_leaves_an_env_that_goes_on(finished, monkeypatch):
    """Wherever in a step an exception such as Ctrl-C is raised, the next call returns what the batch shows."""
    for place in ("update", "step_dicts", "observations", "infos"):
        env = make(finished, max_trials=2)
        env.reset(seed=0)
        rng, struck = np.random.default_rng(1), 0
        for step in range(60):
            if not env.agents:
                env.reset()
            actions = {agent: int(rng.integers(91)) for agent in env.agents}
            if step % 3 == 0:
                monkeypatch.setattr(env._dicts, place, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
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
