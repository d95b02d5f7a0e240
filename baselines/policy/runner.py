"""How does a policy drive a batch? Step by step, with a memory for each agent that `first` empties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch
from drive_env.policies import Act
from drive_env.trained import bound

from .kv_cache import KVCache
from .model import Policy


@dataclass
class Memory:
    """What a policy carries from one step of an episode to the next, for R agents."""

    cache: KVCache
    previous_actions: Tensor
    """(R, A) action of the last valid token."""


Intervention = Callable[[Batch, Memory, Tensor], Tensor]
"""Takes a batch, the memory and the observations (R, O) before an inference. Changes the memory in place and returns
the observations that the policy gets."""


@dataclass
class PolicyRunner:
    """Runs a policy in batches, with a memory for each.

    Args:
        deterministic: use the mode of the distribution instead of a sample.
        intervene: makes the intervention of a batch that has not been reset yet; None: no intervention.
    """

    policy: Policy
    device: torch.device
    deterministic: bool = True
    intervene: Callable[[Batch], Intervention] | None = None

    def for_batch(self, batch: Batch) -> Act:
        """The policy for a batch, as `drive_env.evaluation` calls it."""
        return self(batch)

    def __call__(self, batch: Batch) -> Act:
        """The policy of a batch, as from `for_batch`."""
        return bound(self._made)(batch)

    def _made(self, batch: Batch) -> Act:
        actor = self.policy.actor
        memory = Memory(self.policy.make_cache(batch.num_agents, 1, self.device), torch.zeros(
            batch.num_agents, actor.components, dtype=actor.dtype, device=self.device))
        intervention = self.intervene(batch) if self.intervene else None
        on_device = lambda array: torch.from_numpy(array).to(self.device)

        @torch.no_grad()
        def act(batch: Batch) -> np.ndarray:
            observations, valid_token = on_device(batch.observations), ~on_device(batch.waits)
            memory.cache.reset(on_device(batch.first))
            if intervention:
                observations = intervention(batch, memory, observations)
            parameters, _ = self.policy.step(observations, memory.previous_actions, valid_token, memory.cache)
            actions = actor.mode(parameters) if self.deterministic else actor.sample(parameters)
            memory.previous_actions.copy_(torch.where(valid_token[:, None], actions, memory.previous_actions))
            return actor.to_env(actions).cpu().numpy()

        return act
