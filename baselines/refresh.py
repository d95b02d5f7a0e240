"""What if the context is remembered anew with today's weights? The option `context_refresh`.

The keys of a layer depend on the tokens that its layer before attended to, so the last `context` - 1 tokens can be
computed exactly from the last layers x (`context` - 1) observations, which are kept here. That is much memory: the
default is to attend to what the older weights remembered.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .cache import Cache
from .model import Policy
from .segment import Segment

CHUNK_TOKENS = 65_536
"""Tokens computed at once, which bounds the memory of a refresh."""


class History:
    """The observations of each agent's last tokens, in a ring."""

    def __init__(self, policy: Policy, segment: Segment):
        agents, _, size = segment.observations.shape
        self.tokens = max(policy.config.layers * (policy.context - 1), 1)
        make = lambda like, width: torch.zeros(agents, self.tokens + 1, width, dtype=like.dtype, device=like.device)
        # One slot more takes what is not to be kept.
        self.observations = make(segment.observations, size)
        self.previous = make(segment.previous, segment.previous.shape[-1])

    def add(self, segment: Segment) -> None:
        """The valid agent-steps of a segment."""
        kept = segment.kept
        before = kept.cumsum(1) - kept.long()
        among_last = kept & (kept.sum(1, keepdim=True) - before <= self.tokens)
        slot = torch.where(among_last, (segment.start_head[:, None] + before) % self.tokens, self.tokens)
        agent = torch.arange(len(slot), device=slot.device)[:, None]
        self.observations[agent, slot] = segment.observations
        self.previous[agent, slot] = segment.previous

    @torch.no_grad()
    def refresh(self, policy: Policy, cache: Cache) -> None:
        """Remembers every agent's context with the policy's weights as they are now."""
        if not policy.remembers:
            return
        chunk = max(1, CHUNK_TOKENS // self.tokens)
        for start in range(0, len(cache.head), chunk):
            self._refresh(policy, cache, torch.arange(start, min(start + chunk, len(cache.head)),
                                                      device=cache.head.device))

    def _refresh(self, policy: Policy, cache: Cache, agents: Tensor) -> None:
        head, position = cache.head[agents], cache.position[agents]
        back = torch.arange(-self.tokens, 0, device=agents.device)
        slot = (head[:, None] + back) % self.tokens
        known = back >= -position[:, None]
        # What stands in the ring is not the tokens before these, but those would reach no needed key.
        prefix = cache.before(agents, head, position - known.sum(1))
        found: list[tuple[Tensor, Tensor]] = []
        policy(self.observations[agents[:, None], slot], self.previous[agents[:, None], slot],
               torch.zeros_like(known), known, prefix, read=known, remember=found)
        reach = policy.context - 1
        place = (head[:, None] + back[-reach:]) % cache.slots
        for layer, parts in enumerate(found):
            for ring, fresh in zip((cache.keys[layer], cache.values[layer]), parts):
                fresh = fresh[:, -reach:]
                stored = ring[agents[:, None], :, place]
                ring[agents[:, None], :, place] = torch.where(known[:, -reach:, None, None], fresh, stored)
