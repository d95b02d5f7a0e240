"""Do SuperSuit's wrappers and vector envs work over the PettingZoo env?"""

import numpy as np
import pytest
from installed import client
from pettingzoo.test import parallel_api_test

from drive_env import DriveConfig, generate_scene, parallel_env

ss = client("supersuit")

TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(2)]
SHORT = DriveConfig(max_trials=2, trial_steps=40, observation={"partners": 3, "roads": 8})


def make(finished="leave", config=SHORT):
    return parallel_env(TOWNS, config, finished=finished)


def narrowed(space):
    return type(space)(space.low[:10], space.high[:10])


WRAPPERS = {
    "agent_indicator": lambda env: ss.agent_indicator_v0(env),
    "black_death": lambda env: ss.black_death_v3(env),
    "clip_reward": lambda env: ss.clip_reward_v0(env),
    "delay_observations": lambda env: ss.delay_observations_v0(env, 2),
    "dtype": lambda env: ss.dtype_v0(env, np.float16),
    "flatten": lambda env: ss.flatten_v0(env),
    "frame_skip": lambda env: ss.frame_skip_v0(env, 3),
    "frame_skip of a range": lambda env: ss.frame_skip_v0(env, (1, 4)),
    "frame_stack 1": lambda env: ss.frame_stack_v1(env, 3),
    "frame_stack 2": lambda env: ss.frame_stack_v2(env, 3),
    "max_observation": lambda env: ss.max_observation_v0(env, 2),
    "nan_random": lambda env: ss.nan_random_v0(env),
    "normalize_obs": lambda env: ss.normalize_obs_v0(env),
    "observation_lambda": lambda env: ss.observation_lambda_v0(env, lambda observation, _: observation[:10], narrowed),
    "pad": lambda env: ss.pad_observations_v0(ss.pad_action_space_v0(env)),
    "reward_lambda": lambda env: ss.reward_lambda_v0(env, lambda reward: reward / 2),
    "sticky_actions": lambda env: ss.sticky_actions_v0(env, 0.25),
}


@pytest.mark.parametrize("finished", ("leave", "wait"))
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_plays_whole_episodes_the_same_from_the_same_seed(name, finished):
    env = WRAPPERS[name](make(finished))
    records = []
    for _ in range(2):
        rng, record = np.random.default_rng(0), []
        env.reset(seed=3)
        while env.agents:
            actions = {agent: int(rng.integers(91)) for agent in env.agents}
            observations, rewards, *_ = env.step(actions)
            for agent, observed in observations.items():
                space = env.observation_space(agent)
                assert observed.shape == space.shape
                assert np.all(observed >= space.low) and np.all(observed <= space.high)
            record.append({agent: (observed.tobytes(), rewards[agent]) for agent, observed in observations.items()})
        records.append(record)
    assert len(records[0]) >= 13
    if name not in ("sticky_actions", "nan_random"):  # their own generators begin anew with each wrapper
        assert records[0] == records[1]


def test_pettingzoo_s_test_passes_on_a_stack_of_wrappers():
    stack = ss.flatten_v0(ss.frame_stack_v1(ss.clip_reward_v0(make()), 2))
    stack.reset(seed=0)
    while stack.agents:
        stack.step({agent: stack.action_space(agent).sample() for agent in stack.agents})
    parallel_api_test(stack.unwrapped, num_cycles=50)


def rollout(envs, steps, seed):
    """Observations, rewards and flags of a seeded random rollout."""
    rng, record = np.random.default_rng(0), [envs.reset(seed=seed)[0]]
    for _ in range(steps):
        record.append(envs.step(rng.integers(91, size=envs.num_envs))[:4])
    return record


@pytest.mark.parametrize("black_death", (False, True))
@pytest.mark.parametrize("processes", (0, 2))
def test_many_worlds_become_one_vector_env(processes, black_death):
    env = make("leave" if black_death else "wait")
    env = ss.black_death_v3(env) if black_death else env
    records = []
    for _ in range(2):
        envs = ss.concat_vec_envs_v1(ss.pettingzoo_env_to_vec_env_v1(env), 2, processes, base_class="gymnasium")
        records.append(rollout(envs, 120, seed=7))
        envs.close()
    assert envs.num_envs == 12
    for left, right in zip(*records):
        np.testing.assert_equal(left, right)
    ends = sum(np.logical_or(terminated, truncated).sum() for _, _, terminated, truncated in records[0][1:])
    assert ends >= 12


@pytest.mark.parametrize("processes", (0, 2))
def test_worlds_without_a_seed_differ(processes):
    """SuperSuit copies one env for its worlds; the copies must not all play the same episode."""
    envs = ss.concat_vec_envs_v1(ss.pettingzoo_env_to_vec_env_v1(make("wait")), 3, processes, base_class="gymnasium")
    differ = False
    for _ in range(20):  # of two scenes three worlds draw the same once in four times, and never 20 times in a row
        observations, _ = envs.reset()
        differ |= len({observations[world * 6].tobytes() for world in range(3)}) > 1
    envs.close()
    assert differ


def test_the_vector_env_equals_the_env():
    """With finished="wait", agents, rewards and ends are those of the env; each terminal observation is the last."""
    envs, env = ss.pettingzoo_env_to_vec_env_v1(make("wait")), make("wait")
    observed, _ = envs.reset(seed=2)
    expected, _ = env.reset(seed=2)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(200):
        np.testing.assert_array_equal(observed, np.stack([expected[agent] for agent in env.possible_agents]))
        actions = rng.integers(91, size=6)
        observed, rewards, terminated, truncated, infos = envs.step(actions)
        expected, of_agents, terminations, truncations, _ = env.step(dict(zip(env.possible_agents, actions.tolist())))
        np.testing.assert_array_equal(rewards, np.array(list(of_agents.values()), np.float32))
        assert terminated.astype(bool).tolist() == list(terminations.values())
        assert truncated.astype(bool).tolist() == list(truncations.values())
        if not env.agents:
            ended += 1
            for info, last in zip(infos, expected.values()):
                np.testing.assert_array_equal(info["terminal_observation"], last)
            expected, _ = env.reset()
    assert ended >= 2
