"""What does rollout do in one step of one batch? Infer actions, step the env, store the results.

On a GPU, `infer` and `store` are captured CUDA graphs: nothing is allocated, and the host reads back only the actions.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch

from ..informed import goal_columns
from ..partners.driver import PartnerDriver, Partners
from ..policy.kv_cache import KVCache
from ..policy.model import Policy
from .buffer import RolloutBuffer
from .captured import CapturedFunction
from .device_buffers import DeviceBuffers
from .expert import Expert
from .noise import CorrelatedNoise


class EnvGroup:
    """One batch with its agents' part of the KV cache and of the rollout buffer.

    Args:
        batch: just reset. device_buffers: of the batch. cache, buffer: views of this batch's agents.
        ages: (W,) steps that have passed on the clocks of the first trials.
        noise: of these agents; None: independent in every step.
        partners: that drive the co-players of the batch; None: the policy does.
        expert: of the batch; None: there is none.
    """

    def __init__(self, batch: Batch, device_buffers: DeviceBuffers, policy: Policy, cache: KVCache,
                 buffer: RolloutBuffer, ages: np.ndarray, noise: CorrelatedNoise | None = None,
                 partners: Partners | None = None, expert: Expert | None = None):
        self.batch, self.device_buffers, self.policy = batch, device_buffers, policy
        self.cache, self.buffer, self.noise, self.expert = cache, buffer, noise, expert
        device, agents = device_buffers.device, batch.num_agents
        self.previous_actions = torch.zeros(agents, policy.actor.components, dtype=policy.actor.dtype, device=device)
        self.world_of_agent = torch.from_numpy(batch.world_of_agent).long().to(device)
        self.trial_steps = torch.tensor([roles.trial_steps for roles in batch.roles], dtype=torch.int32, device=device)
        self.clock = torch.from_numpy(ages.astype(np.int32)).to(device)[self.world_of_agent]
        is_informed = "critic_observations" in device_buffers.arrays
        self.goal_columns = goal_columns(batch, "critic", device) if is_informed else None
        self.step_index = torch.zeros(1, dtype=torch.int64, device=device)
        self.restarts_next = torch.zeros(agents, dtype=torch.bool, device=device)
        self.seconds = {"env": 0.0, "wait": 0.0}
        self.partners = PartnerDriver(partners, batch, device_buffers.arrays, device) if partners else None
        self._infer_egos, self.store = self._infer, self._store

    def capture(self) -> None:
        """Replaces what infers and stores by captured graphs, on a GPU."""
        state = [self.cache.written, self.cache.position, self.previous_actions, self.clock, self.step_index,
                 self.restarts_next, *([self.noise.current] if self.noise else [])]
        self._infer_egos, self.store = (CapturedFunction(run, self.device_buffers.device, state)
                                        for run in (self._infer, self._store))
        if self.partners:
            self.partners.capture()

    def infer(self) -> None:
        """Computes the actions of all agents for the current observations, and writes those of the policy and what it
        observed into the buffer."""
        if self.partners:
            self.partners.act()
        if self.expert:
            self.expert.act(self.clock)
        self._infer_egos()

    def _write(self, **entries: Tensor) -> None:
        """Writes (R, ...) tensors into the buffer at the current step."""
        for name, tensor in entries.items():
            getattr(self.buffer, name).index_copy_(1, self.step_index, tensor.unsqueeze(1))

    @torch.no_grad()
    def _infer(self) -> None:
        """Writes the observations into the buffer, samples actions and writes them, too."""
        arrays, policy = self.device_buffers.arrays, self.policy
        valid_token = ~arrays["waits"]
        if self.partners:
            valid_token &= ~arrays["coplayer"]
            self._write(partner=arrays["coplayer"])
        self.cache.reset(arrays["first"])
        steps_left = self.trial_steps[arrays["scene_index"].long()][self.world_of_agent] - self.clock
        self._write(observations=arrays["observations"], first=arrays["first"], waits=arrays["waits"],
                    trial_index=arrays["trial_index"], previous_actions=self.previous_actions, steps_left=steps_left)
        if self.goal_columns is not None:
            self._write(goal=arrays["critic_observations"].index_select(-1, self.goal_columns))
        self.restarts_next.copy_(arrays["trial_ended"])
        parameters, values = policy.step(arrays["observations"], self.previous_actions, valid_token, self.cache)
        noise = policy.actor.noise(parameters)
        if self.noise:
            noise = self.noise.advance(noise, starts=arrays["first"] | (self.clock == 0))
        actions = policy.actor.sample(parameters, noise)
        if self.expert:
            actions = torch.where(self.expert.drives[:, None], self.expert.actions, actions)
            self._write(expert_actions=self.expert.actions, labelled=self.expert.labelled,
                        expert_drives=self.expert.drives)
        self._write(actions=actions, log_probs=policy.actor.log_prob(parameters, actions), values=values)
        self.previous_actions.copy_(torch.where(valid_token[:, None], actions, self.previous_actions))
        actions = policy.actor.to_env(actions)
        if self.partners:
            driven = arrays["coplayer"].view(-1, *[1] * (actions.ndim - 1))
            actions = torch.where(driven, self.partners.actions, actions)
        self.device_buffers.actions.copy_(actions)

    def step_env(self) -> None:
        """Steps the batch with the inferred actions."""
        start = time.perf_counter()
        self.device_buffers.wait_for_actions()
        waited = time.perf_counter()
        self.batch.step(self.batch.bound_actions)
        self.seconds["wait"] += waited - start
        self.seconds["env"] += time.perf_counter() - waited
        self.device_buffers.upload()

    @torch.no_grad()
    def _store(self) -> None:
        """Writes the results of the step into the buffer and advances to its next index."""
        arrays = self.device_buffers.arrays
        self._write(rewards=arrays["rewards"], invalid=arrays["invalid_step"], terminations=arrays["terminations"],
                    truncations=arrays["truncations"], truncation=arrays["truncation"],
                    trial_ended=arrays["trial_ended"])
        if "coplayer" in arrays:
            self._write(coplayer=arrays["coplayer"])
        self.clock.copy_(torch.where(self.restarts_next, 0, self.clock + 1))
        self.step_index += 1

    @torch.no_grad()
    def bootstrap(self) -> None:
        """Computes the values of the observation after the last step and of the next restart, without caching them."""
        arrays, buffer, policy = self.device_buffers.arrays, self.buffer, self.policy
        buffer.last_waits.copy_(arrays["waits"])
        buffer.last_first.copy_(arrays["first"])
        buffer.last_value.copy_(policy.step(arrays["observations"], self.previous_actions, None, self.cache)[1])
        restarts = self.device_buffers.restart_observations(self.batch)
        buffer.restart_value.copy_(policy.step(restarts, self.previous_actions, None, self.cache)[1])
