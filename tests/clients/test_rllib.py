"""Does RLlib's PettingZoo wrapper read our env? (That PPO trains on it is the example's test.)"""

import numpy as np
import pytest
from installed import client

from drive_env import DriveConfig, generate_scene, parallel_env

client("ray.rllib.env.wrappers.pettingzoo_env", "ray[rllib]")

from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv

TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(2)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("max_trials", (1, 2))
@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_an_episode_ends_for_all_exactly_when_the_world_s_does(finished, max_trials):
    config = DriveConfig(max_trials=max_trials, trial_steps=60, observation={"partners": 3, "roads": 8})
    env = ParallelPettingZooEnv(parallel_env(TOWNS, config, finished=finished))
    assert set(env.observation_space.spaces) == set(env.possible_agents) == {f"agent_{agent}" for agent in range(6)}
    rng, kinds = np.random.default_rng(0), set()
    for episode in range(12):
        observations, infos = env.reset(seed=episode)
        assert observations.keys() == infos.keys()
        over, flags = False, {}
        for step in range(1000):
            actions = {agent: int(rng.integers(91)) for agent in observations if agent not in flags}
            observations, rewards, terminated, truncated, infos = env.step(actions)
            assert observations.keys() == rewards.keys() == infos.keys()
            for agent in rewards:
                assert agent not in flags
                if terminated[agent] or truncated[agent]:
                    flags[agent] = (terminated[agent], truncated[agent])
            over = terminated["__all__"] or truncated["__all__"]
            if over:
                break
        # RLlib's wrapper ends when all agents have the same flag; where both occur it makes one empty step more.
        assert over and len(flags) == 6 and step <= max_trials * 61
        kinds |= set(flags.values())
    assert kinds == {(True, False), (False, True)}
