"""What do the tests of the trainer play? A small crossing with all that can happen, and a small policy for it."""

from __future__ import annotations

from dataclasses import replace

import torch

from baselines.config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig
from baselines.dist import Ranks
from baselines.model import Policy
from baselines.rollout import Collector
from baselines.worlds import open_batches, scenes_of
from drive_env import DriveConfig

ALONE = Ranks(0, 1, torch.device("cpu"))

BUSY = EnvConfig(
    scenes=("intersection",), scene_count=3, scene_agents=6, num_worlds=6,
    drive=DriveConfig(max_trials=2, trial_steps=24, partners=5, roads=12, on_collision="remove", on_offroad="stop",
                      goal_radius_m=20.0, max_acceleration_mps2=20.0))
"""Fast cars and wide goals: in trials of 24 steps, agents are removed and stopped, and clocks run out."""

LONG = replace(BUSY, drive=BUSY.drive.replace(trial_steps=90))
"""The same, in trials long enough that many agents are done and wait for the others."""

TINY = ModelConfig(width=16, layers=2, heads=2, object_width=8, context=20)
"""Its context is shorter than an episode of 48 driving steps, longer than a segment of 16."""


def make_policy(batch, model=TINY, precision="float32", seed=1) -> Policy:
    """Weights large enough that what is remembered shows in what is done."""
    torch.manual_seed(seed)
    policy = Policy(batch.observation_layout(), batch.single_action_space, model, precision)
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=1.2 * parameter.shape[1] ** -0.5)
    return policy


def make_collector(env=BUSY, model=TINY, steps=16, precision="float32", seed=1, **options) -> Collector:
    """The real collector on the real env."""
    batches, mirrors = open_batches(env, scenes_of(env), ALONE, seed)
    policy = make_policy(batches[0], model, precision)
    torch.manual_seed(seed)
    return Collector(batches, mirrors, policy, steps, **options)


def clone(segment):
    """A copy that the next segment does not overwrite."""
    return segment.agents(torch.arange(len(segment.first)))


def tiny_config(folder, **parts) -> TrainConfig:
    """A run of a few updates on the busy crossing."""
    config = TrainConfig(
        env=BUSY, model=TINY,
        ppo=PPOConfig(agent_steps=4 * 36 * 16, segment=16, epochs=2, minibatches=2),
        run=RunConfig(folder=str(folder), device="cpu", checkpoint_updates=0, evaluate_updates=0, progress=False))
    return config.changed(**parts)
