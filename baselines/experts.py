"""Which expert does a config name? The actions of logs, a policy that needs no training, or a checkpoint."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch, ConfigError
from drive_env.policies import POLICIES, Act, policy_maker

from .config import ExpertConfig
from .policy.model import Policy
from .policy.runner import PolicyRunner
from .rollout.expert import Expert, Label
from .tools.checkpoint import check_fits, checkpoint_at, load_policy

LOGS = "replay"
"""The expert whose actions are those of logs: `Batch.expert_actions`."""


def load_experts(config: ExpertConfig, batches: list[Batch], device: torch.device, policy: Policy) -> list[Expert]:
    """The expert of each batch; none at all where the config names none.

    Args:
        batches: not reset yet. policy: learns from the experts.

    Raises:
        ConfigError: the expert is no policy, or it needs something that config or scenes do not have.
        CheckpointError: its checkpoint is missing or damaged, or its observations or actions have another meaning than
            those of the batch.
    """
    if config.policy is None:
        return []
    return [Expert(_label_by(config, batch, device, policy.precision), config.drives_share, batch, device,
                   policy.actor.components, policy.actor.dtype, config.policy == LOGS) for batch in batches]


def _label_by(config: ExpertConfig, batch: Batch, device: torch.device, precision: str) -> Label:
    if config.policy == LOGS:
        return _logs(batch)
    everywhere = np.ones(batch.num_agents, np.bool_)
    act = _of_checkpoint(config, batch, device, precision) or policy_maker(config.policy)(batch)
    return lambda clock: (act(batch), everywhere)


def _of_checkpoint(config: ExpertConfig, batch: Batch, device: torch.device, precision: str) -> Act | None:
    """The policy of a checkpoint or run, which samples its actions on the device; None where the name is no folder."""
    if config.policy in POLICIES or not os.path.isdir(config.policy):
        return None
    path = checkpoint_at(Path(config.policy))
    check_fits(path, batch)
    policy, _ = load_policy(path, device, precision)
    policy.eval().requires_grad_(False)
    return PolicyRunner(policy, device, config.deterministic)(batch)


def _logs(batch: Batch) -> Label:
    """The expert actions of the scenes' logs, computed once per scene."""
    slots = batch.agents_per_world
    of_scene: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    if all(roles.scene.generated or len(roles.frames.valid) == 1 for roles in batch.roles):
        raise ConfigError(f"expert.policy is {LOGS!r}; it needs scenes with logs, and env.scenes has none")

    def label(clock: Tensor) -> tuple[np.ndarray, np.ndarray]:
        scenes, steps = batch.scene_index.tolist(), clock[::slots].tolist()  # the agents of a world have one clock
        if not of_scene.keys() >= set(scenes):
            found = batch.expert_actions()
            for world, scene in enumerate(scenes):
                agents = slice(world * slots, (world + 1) * slots)
                of_scene.setdefault(scene, (found.actions[:, agents], found.valid[:, agents]))
        actions = np.zeros_like(batch.actions)
        labelled = np.zeros(batch.num_agents, np.bool_)
        for world, (scene, step) in enumerate(zip(scenes, steps)):
            agents, (logged, valid) = slice(world * slots, (world + 1) * slots), of_scene[scene]
            last = min(step, len(valid) - 1)  # after a trial's last step all agents wait for the next
            actions[agents], labelled[agents] = logged[last], valid[last] & (step == last)
        return actions, labelled

    return label
