"""Do TorchRL's wrappers read the adapters, masks included?"""

import gymnasium
import numpy as np
import pytest
from installed import client

from drive_env import DriveConfig, generate_scene, parallel_env

torch = client("torch")
client("torchrl")

from torchrl.envs import GymEnv, GymWrapper
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.envs.utils import check_env_specs

pytestmark = pytest.mark.filterwarnings(
    "ignore:PettingZoo in TorchRL is tested using version", "ignore::DeprecationWarning", "ignore::FutureWarning")

TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(2)]
SHORT = DriveConfig(max_trials=2, trial_steps=40, observation={"partners": 3, "roads": 8})
CHANNELS = ("trial_ended", "truncation", "removed", "invalid_step", "stopped", "first", "trial_index", "outcome")


def wrapped(finished="leave", config=SHORT):
    return PettingZooWrapper(parallel_env(TOWNS, config, finished=finished), use_mask=True, done_on_any=False)


@pytest.mark.parametrize("finished", ("leave", "wait"))
@pytest.mark.parametrize("action_type", ("discrete", "multi_discrete", "continuous"))
def test_torchrl_s_own_check_passes(action_type, finished):
    check_env_specs(wrapped(finished, SHORT.replace(action_type=action_type)))


@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_a_rollout_equals_the_env_s_own_steps(finished):
    """Every number of a rollout over several episodes against the env played by hand with the same actions."""
    env = wrapped(finished)
    env.set_seed(5)
    env.reset()
    rollout = env.rollout(150, break_when_any_done=False, auto_reset=True)
    # One reset for each of `set_seed`, `reset` and `rollout`.
    reference = parallel_env(TOWNS, SHORT, finished=finished)
    reference.reset(seed=5)
    reference.reset()
    observations, _ = reference.reset()
    # The same actions by hand; an agent that has left has no entry in the dicts.
    left = ended = 0
    for t in range(150):
        step = rollout[t]
        there = [agent in reference.agents for agent in reference.possible_agents]
        assert step["agent", "mask"].tolist() == there
        left += there.count(False)
        for index, agent in enumerate(reference.possible_agents):
            if there[index]:
                np.testing.assert_array_equal(step["agent", "observation"][index].numpy(), observations[agent])
        actions = dict(zip(reference.possible_agents, step["agent", "action"].tolist()))
        observations, rewards, terminations, truncations, infos = reference.step(actions)
        after = step["next", "agent"]
        for index, agent in enumerate(reference.possible_agents):
            if agent in rewards:
                assert after["reward"][index].item() == pytest.approx(rewards[agent])
                assert bool(after["terminated"][index]) == terminations[agent]
                assert bool(after["truncated"][index]) == truncations[agent]
                assert {name: after["info", name][index].item() for name in CHANNELS} == infos[agent]
        assert bool(step["next", "done"]) == (not reference.agents)
        if not reference.agents:
            ended += 1
            observations, _ = reference.reset()
    assert ended >= 1 and (left > 0 or finished == "wait")


def test_the_gymnasium_env_works_by_object_and_by_id():
    for env in (GymWrapper(gymnasium.make("drive_env/Drive-v0", scenes=TOWNS, config=SHORT)),
                GymEnv("drive_env/Drive-v0", scenes=TOWNS, config=SHORT)):
        check_env_specs(env)
        assert env.rollout(100, break_when_any_done=False)["next", "done"].sum() >= 1


@pytest.mark.parametrize("mode", ("SameStep", "Disabled"))
def test_the_vector_env_works_in_the_modes_that_torchrl_takes(mode):
    envs = gymnasium.make_vec("drive_env/Drive-v0", num_envs=3, scenes=TOWNS, config=SHORT, autoreset_mode=mode)
    env = GymWrapper(envs)
    check_env_specs(env)
    rollout = env.rollout(150, break_when_any_done=False)
    assert rollout.shape == (3, 150) and rollout["next", "done"].any(1).all()


def test_torchrl_refuses_the_mode_it_does_not_take():
    envs = gymnasium.make_vec("drive_env/Drive-v0", num_envs=3, scenes=TOWNS, config=SHORT)
    with pytest.raises(RuntimeError, match="auto-reset mode"):
        GymWrapper(envs)
