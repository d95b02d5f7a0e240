"""How is experience collected? Env groups take turns: the core steps one while the policy infers for another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch

from ..informed import GOAL_FEATURES
from ..partners.driver import Partners
from ..policy.model import Policy
from .buffer import RolloutBuffer
from .device_buffers import DeviceBuffers
from .env_group import EnvGroup
from .expert import Expert
from .noise import CorrelatedNoise
from .recomputation import ObservationHistory

GOLDEN_RATIO = (5**0.5 - 1) / 2
"""Any number of its multiples, modulo 1, are spread evenly (Weyl 1916)."""


class Collector:
    """Collects rollouts with actions sampled from the policy.

    Args:
        batches: with `restart="auto"`; they are reset here, once. device_buffers: one per batch.
        policy: on the device. rollout_steps: of a rollout.
        staggered: start the first trials at different ages, so that time limits are spread over steps.
        keep_history: store what `recompute_context` needs.
        noise_correlation: of the noise by which consecutive actions of an agent are sampled (noise.py).
        partners: that drive the co-players; None: the policy does.
        experts: one per batch, or none. First trials are not staggered for those of logs, since agents begin them where
            their logs begin.

    Raises:
        ValueError: a batch has another `restart`.
    """

    def __init__(self, batches: list[Batch], device_buffers: list[DeviceBuffers], policy: Policy, rollout_steps: int,
                 staggered: bool = True, keep_history: bool = False, noise_correlation: float = 0.0,
                 partners: Partners | None = None, experts: Sequence[Expert] = ()):
        # The KV cache and the buffer of all agents.
        device, observations = device_buffers[0].device, device_buffers[0].arrays["observations"]
        self.batches, self.policy, self.rollout_steps = batches, policy, rollout_steps
        self.noise_correlation, self.partners = noise_correlation, partners
        num_agents = sum(batch.num_agents for batch in batches)
        self.cache = policy.make_cache(num_agents, rollout_steps, device)
        goal_features = len(GOAL_FEATURES) if "critic_observations" in device_buffers[0].arrays else 0
        self.buffer = RolloutBuffer.empty(num_agents, rollout_steps, observations, policy.actor.components,
                                          policy.actor.dtype, goal_features, bool(experts))
        self.history = ObservationHistory(policy, self.buffer) if keep_history else None

        # One env group per batch, with views of its agents.
        self.groups: list[EnvGroup] = []
        self.expert_drives_all = bool(experts) and all(expert.drives_share == 1 for expert in experts)
        start = 0
        for batch, buffers, expert in zip(batches, device_buffers, experts or [None] * len(batches)):
            if batch.restart != "auto":
                raise ValueError(f"restart is {batch.restart!r}; the collector needs 'auto'")
            is_staggered = staggered and not (expert and expert.of_logs)
            ages = staggered_ages(batch) if is_staggered else np.zeros(batch.num_worlds, np.int64)
            batch.reset(initial_ages=ages)
            buffers.upload()
            agents = slice(start, start + batch.num_agents)
            start += batch.num_agents
            noise = CorrelatedNoise(noise_correlation, batch.num_agents, policy.actor.noise_size,
                                    device) if noise_correlation else None
            self.groups.append(EnvGroup(batch, buffers, policy, self.cache.select(agents), self.buffer.select(agents),
                                        ages, noise, partners, expert))
        for group in self.groups:
            group.capture()

    def collect(self) -> RolloutBuffer:
        """The next rollout, valid until the next call."""
        self.buffer.start_written.copy_(self.cache.written)
        self.buffer.start_position.copy_(self.cache.position)
        for group in self.groups:
            group.step_index.zero_()
            group.infer()
            group.device_buffers.download_actions()
        for step in range(self.rollout_steps):
            for group in self.groups:
                group.step_env()
                group.store()
                if step + 1 < self.rollout_steps:
                    group.infer()
                    group.device_buffers.download_actions()
        for group in self.groups:
            group.bootstrap()
        if self.history:
            self.history.append(self.buffer)
        return self.buffer

    def recompute_context(self) -> None:
        """Recomputes the cached context with the current weights; no-op without `keep_history`."""
        if self.history:
            self.history.recompute(self.policy, self.cache)

    def state(self) -> dict[str, Tensor]:
        """Everything that the next rollout depends on, except weights and random numbers."""
        batches = {f"batch{index}/{name}": torch.from_numpy(array) for index, batch in enumerate(self.batches)
                   for name, array in batch.state_dict().items()}
        partners = {f"group{index}.partners.{name}": tensor for index, group in enumerate(self.groups)
                    if group.partners for name, tensor in group.partners.tensors().items()}
        return self._tensors() | partners | batches

    def load(self, state: dict[str, Tensor]) -> None:
        """Continues bit for bit from another collector's state.

        Args:
            state: of `state()`, on a CPU.

        Raises:
            CallError: the state of a batch does not fit.
        """
        for index, group in enumerate(self.groups):
            prefix = f"batch{index}/"
            group.batch.load_state_dict({name.removeprefix(prefix): tensor.numpy() for name, tensor in state.items()
                                         if name.startswith(prefix)})
            group.device_buffers.upload()
        for name, tensor in self._tensors().items():
            tensor.copy_(state[name])
        for index, group in enumerate(self.groups):
            if group.partners:
                prefix = f"group{index}.partners."
                group.partners.load({name.removeprefix(prefix): tensor for name, tensor in state.items()
                                     if name.startswith(prefix)})

    def _tensors(self) -> dict[str, Tensor]:
        """The state outside the batches: KV cache, history, previous actions, clocks and correlated noise."""
        cache = {f"cache.{name}": getattr(self.cache, name) for name in ("keys", "values", "written", "position")}
        history = {f"history.{name}": getattr(self.history, name) for name in ("observations", "previous_actions")
                   if self.history}
        groups = {f"group{index}.{name}": getattr(group, name) for index, group in enumerate(self.groups)
                  for name in ("previous_actions", "clock")}
        noise = {f"group{index}.noise": group.noise.current for index, group in enumerate(self.groups) if group.noise}
        return cache | history | groups | noise


def staggered_ages(batch: Batch) -> np.ndarray:
    """(W,) ages spread evenly over the shortest trial of the batch; a world's age depends on its id alone."""
    shortest = min(roles.trial_steps for roles in batch.roles)
    return (batch.world_ids * GOLDEN_RATIO % 1.0 * shortest).astype(np.int64)
