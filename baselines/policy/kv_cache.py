"""Where are keys and values of past tokens stored, and which of them may a step attend to?

Only valid tokens (steps at which the agent acts) are kept and advance the position. The cache is a ring of `context` +
`rollout_steps` slots: the `context` - 1 tokens before a segment, to which training attends once the segment is
complete; the tokens of the segment; and one slot for the key of a waiting agent's step, to which only that step
attends. Entries are never moved or copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Prefix:
    """The part of the cache before a segment, for R agents. It is valid until the next segment begins."""

    keys: Tensor
    """(L, N, K, S, D), the rings of all agents."""
    values: Tensor
    agents: Tensor
    """(R,) indices of the R agents among the N."""
    written: Tensor
    """(R,) tokens written from the start of the run to the segment; the slot of the next token is this mod S."""
    position: Tensor
    """(R,) tokens of the episode before the segment."""
    reach: int
    """`context` - 1: how many tokens back a step attends at most."""

    def of_layer(self, layer: int) -> tuple[Tensor, Tensor]:
        """A copy of the last `reach` keys and values, (R, K, reach, D) each, oldest first; zeros where none exist."""
        vectors, exists = self._vectors

        def gathered(ring):
            found = ring[layer].flatten(0, 2).index_select(0, vectors.flatten()).view(*vectors.shape, ring.shape[-1])
            return torch.where(exists, found, 0.0)  # masked slots are never attended to, but must be finite

        return gathered(self.keys), gathered(self.values)

    @cached_property
    def _vectors(self) -> tuple[Tensor, Tensor]:
        """(R, K, reach) index of each token's vector within a layer; and (R, 1, reach, 1) bool, whether it exists."""
        _, _, heads, slots, _ = self.keys.shape
        back = torch.arange(-self.reach, 0, device=self.written.device)
        ring = self.agents[:, None] * heads + torch.arange(heads, device=self.written.device)
        slot = (self.written[:, None] + back) % slots
        return ring[:, :, None] * slots + slot[:, None], (back >= -self.position[:, None])[:, None, :, None]


@dataclass(frozen=True)
class AttentionMask:
    """Which tokens each step of a segment attends to, and its position in the episode.

    Tokens are numbered from 0, the first of the segment; those of the prefix are negative, -1 the last of them. A step
    attends to the tokens from `oldest` up to, not including, `token`, and to itself, also where it is no token.
    """

    position: Tensor
    """(R, T) tokens of the episode before each step."""
    token: Tensor
    """(R, T) number of the next token: that of the step itself if it is a valid token."""
    oldest: Tensor
    """(R, T) number of the oldest token that the step attends to."""
    valid_token: Tensor
    """(R, T) bool, the steps that are tokens."""
    reach: int
    """As in `Prefix`."""

    @cached_property
    def dense(self) -> Tensor:
        """(R, T, reach + T) bool: the same mask over the tokens of the prefix and the steps of the segment."""
        agents, steps = self.valid_token.shape
        pad = torch.nn.functional.pad
        prefix = torch.arange(-self.reach, 0, device=self.valid_token.device).expand(agents, -1)
        token = torch.cat([prefix, self.token], 1)[:, None]
        is_token = pad(self.valid_token, (self.reach, 0), value=True)[:, None]
        own = pad(torch.eye(steps, dtype=torch.bool, device=self.valid_token.device), (self.reach, 0))
        return (token < self.token[:, :, None]) & (token >= self.oldest[:, :, None]) & is_token | own


def attention_mask(first: Tensor, valid_token: Tensor, position: Tensor, context: int) -> AttentionMask:
    """The mask of whole segments, by the rule that `KVCache` follows step by step.

    Args:
        first, valid_token: (R, T) bool. position: (R,) tokens of the episode before the segment.
    """
    token = valid_token.cumsum(1) - valid_token.long()
    opened = torch.where(first, token, -1).cummax(1).values
    position = torch.where(opened < 0, position[:, None] + token, token - opened)
    return AttentionMask(position, token, token - position.clamp(max=context - 1), valid_token, context - 1)


class KVCache:
    """The rings of many agents, updated in place so that views and captured graphs stay valid.

    Args:
        layers, heads, size: number of layers, heads of keys and values, floats a head. agents: how many.
        context: tokens a step attends to, itself included. rollout_steps: steps of a segment.
    """

    def __init__(self, layers: int, agents: int, heads: int, size: int, context: int, rollout_steps: int,
                 dtype: torch.dtype, device: torch.device | str):
        self.context = context
        self.slots = context + rollout_steps
        shape = (layers, agents, heads, self.slots, size)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.written = torch.zeros(agents, dtype=torch.int64, device=device)
        """(R,) tokens written since the start of the run; token i is in slot i mod `slots`."""
        self.position = torch.zeros(agents, dtype=torch.int64, device=device)
        """(R,) tokens of the episode so far."""
        self._index = torch.arange(agents, device=device)
        self.rows: Tensor | None = None
        """The rows of `keys` and `values` that belong to the agents of a step; None: all, in order."""

    def select(self, agents: slice) -> KVCache:
        """A view of some agents."""
        view = object.__new__(KVCache)
        view.context, view.slots = self.context, self.slots
        view.keys, view.values = self.keys[:, agents], self.values[:, agents]
        view.written, view.position = self.written[agents], self.position[agents]
        view._index, view.rows = self._index[: len(view.written)], None
        return view

    def at(self, rows: Tensor) -> CacheRows:
        """The same cache for a step of some agents, (n,) indices, in their order."""
        return CacheRows(self, rows)

    def reset(self, first: Tensor) -> None:
        """Drops the context of agents whose observation opens an episode; call it before that observation is used."""
        self.position.masked_fill_(first, 0)

    @property
    def slot(self) -> Tensor:
        """(R,) slot of the next token. Until `advance`, only the step itself attends to it."""
        return self.written % self.slots

    @property
    def length(self) -> Tensor:
        """(R,) earlier tokens that the next step attends to."""
        return self.position.clamp(max=self.context - 1)

    def write(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Writes (R, K, D) keys and values into the slot of the next token."""
        self.keys[layer][self._index, :, self.slot] = keys
        self.values[layer][self._index, :, self.slot] = values

    def advance(self, valid_token: Tensor) -> None:
        """Keeps the last written step as a token, for the agents where `valid_token` is set."""
        self.written += valid_token
        self.position += valid_token

    def prefix(self, agents: Tensor, written: Tensor, position: Tensor) -> Prefix:
        """The prefix of some agents at the time when their counters had these values. Nothing is copied."""
        return Prefix(self.keys, self.values, agents, written, position, self.context - 1)


class CacheRows:
    """What a step of some agents reads and changes of the cache of many; an index may occur twice.

    Args:
        cache: of all agents. rows: (n,) indices of the agents.
    """

    def __init__(self, cache: KVCache, rows: Tensor):
        self.rows, self._cache = rows, cache
        self.keys, self.values = cache.keys, cache.values
        self.position, self._written = cache.position[rows], cache.written[rows]
        self.slot, self.length = self._written % cache.slots, self.position.clamp(max=cache.context - 1)

    def write(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """As `KVCache.write`."""
        self.keys[layer][self.rows, :, self.slot] = keys
        self.values[layer][self.rows, :, self.slot] = values

    def advance(self, valid_token: Tensor) -> None:
        """As `KVCache.advance`; the last call for these rows."""
        self._cache.written.index_copy_(0, self.rows, self._written + valid_token)
        self._cache.position.index_copy_(0, self.rows, self.position + valid_token)
