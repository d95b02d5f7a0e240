"""How is the context recomputed with the current weights? The option `recompute_context`, off by default.

After an update, the cached keys and values are those of the old weights; by default training attends to them unchanged.
The keys of a layer depend on the tokens that the layer below attended to, so those of the last `context` - 1 tokens can
be recomputed exactly from the last L x (`context` - 1) observations, where L is the number of layers. These are stored
here, which needs much memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..policy.kv_cache import KVCache
from ..policy.model import Policy
from .buffer import RolloutBuffer

CHUNK_TOKENS = 65_536
"""Tokens recomputed at once; this bounds the memory of the recomputation."""


class ObservationHistory:
    """The observations and previous actions of each agent's last tokens, in a ring."""

    def __init__(self, policy: Policy, buffer: RolloutBuffer):
        agents, _, size = buffer.observations.shape
        self.tokens = max(policy.config.layers * (policy.context - 1), 1)  # a ring has a slot or more
        make = lambda like, width: torch.zeros(agents, self.tokens + 1, width, dtype=like.dtype, device=like.device)
        # The last slot takes the writes of steps that are not stored.
        self.observations = make(buffer.observations, size)
        self.previous_actions = make(buffer.previous_actions, buffer.previous_actions.shape[-1])

    def append(self, buffer: RolloutBuffer) -> None:
        """Stores the valid tokens of a rollout."""
        valid_token = buffer.valid_token
        before = valid_token.cumsum(1) - valid_token.long()
        stored = valid_token & (valid_token.sum(1, keepdim=True) - before <= self.tokens)
        slot = torch.where(stored, (buffer.start_written[:, None] + before) % self.tokens, self.tokens)
        agent = torch.arange(len(slot), device=slot.device)[:, None]
        self.observations[agent, slot] = buffer.observations
        self.previous_actions[agent, slot] = buffer.previous_actions

    @torch.no_grad()
    def recompute(self, policy: Policy, cache: KVCache) -> None:
        """Overwrites the cached context of every agent with the keys and values of the policy's current weights."""
        if not policy.has_memory:
            return
        chunk = max(1, CHUNK_TOKENS // self.tokens)
        for start in range(0, len(cache.written), chunk):
            self._recompute(policy, cache, torch.arange(start, min(start + chunk, len(cache.written)),
                                                        device=cache.written.device))

    def _recompute(self, policy: Policy, cache: KVCache, agents: Tensor) -> None:
        """The same for some agents: computes all stored tokens, and writes the last `context` - 1 into the cache."""
        written, position = cache.written[agents], cache.position[agents]
        back = torch.arange(-self.tokens, 0, device=agents.device)
        slot = (written[:, None] + back) % self.tokens
        exists = back >= -position[:, None]
        # The ring does not hold the tokens before these, but their keys influence none that is written below.
        prefix = cache.prefix(agents, written, position - exists.sum(1))
        found: list[tuple[Tensor, Tensor]] = []
        policy(self.observations[agents[:, None], slot], self.previous_actions[agents[:, None], slot],
               torch.zeros_like(exists), exists, prefix, used=exists, kv_out=found)
        reach = policy.context - 1
        target = (written[:, None] + back[-reach:]) % cache.slots
        for layer, kv in enumerate(found):
            for ring, fresh in zip((cache.keys[layer], cache.values[layer]), kv):
                fresh = fresh[:, -reach:]
                stored = ring[agents[:, None], :, target]
                ring[agents[:, None], :, target] = torch.where(exists[:, -reach:, None, None], fresh, stored)
