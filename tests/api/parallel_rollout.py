"""How do tests make and step a PettingZoo env?"""

import numpy as np

from drive_env import DriveConfig, generate_scene, parallel_env

TOWNS = [generate_scene("town", seed=seed, agents=8) for seed in range(2)]
ACTION_TYPES = ("discrete", "multi_discrete", "continuous")
INFO_KEYS = {"trial_ended", "truncation", "removed", "invalid_step", "stopped", "first", "trial_index", "outcome"}


def make(finished="leave", scenes=TOWNS, copy=True, **settings):
    return parallel_env(scenes, DriveConfig(**{"trial_steps": 20, **settings}), finished=finished, copy=copy)


def rollout(env, seed, policy_seed=0, episodes=1):
    """The return values of whole episodes under random actions, step by step."""
    rng, record = np.random.default_rng(policy_seed), []
    for episode in range(episodes):
        record.append(env.reset(seed=seed if episode == 0 else None))
        while env.agents:
            record.append(env.step({agent: sample_action(env.action_space(agent), rng) for agent in env.agents}))
    return record


def sample_action(space, rng):
    if hasattr(space, "n"):
        return int(rng.integers(space.n))
    return rng.integers(space.nvec) if hasattr(space, "nvec") else rng.uniform(-1, 1, 2).astype(np.float32)
