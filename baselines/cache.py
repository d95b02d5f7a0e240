"""What does an agent remember? Its last tokens in a ring, and how far it is in its episode.

Kept agents are the tokens: only they are remembered, and only they advance. The ring has `context` + `segment` slots:
`context` - 1 tokens before a segment, which training attends to once the segment is over; the segment's own; and one
that a waiting agent may write its own key into, to be attended by itself alone. So nothing is ever moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Prefix:
    """Where in the rings stands what rollout remembered when a segment began; it stays until the next one begins. R
    agents."""

    keys: Tensor
    """(L, N, K, S, D), the rings of all agents."""
    values: Tensor
    agents: Tensor
    """(R,) which of the N agents."""
    head: Tensor
    """(R,) tokens ever remembered before the segment; the next one's slot is this mod S."""
    position: Tensor
    """(R,) tokens of the episode before the segment."""
    reach: int
    """`context` - 1, the last tokens that a step may see."""

    def of_layer(self, layer: int) -> tuple[Tensor, Tensor]:
        """A copy of the last `reach` keys and values, (R, K, reach, D) each, the oldest token first."""
        place, known = self._places

        def gathered(ring):
            found = ring[layer].flatten(0, 2).index_select(0, place.flatten()).view(*place.shape, ring.shape[-1])
            return torch.where(known, found, 0.0)  # what is unknown is never attended, but must be finite

        return gathered(self.keys), gathered(self.values)

    @cached_property
    def _places(self) -> tuple[Tensor, Tensor]:
        """(R, K, reach) where tokens stand, counted in vectors from the start of a layer; and which of them are any."""
        _, _, heads, slots, _ = self.keys.shape
        back = torch.arange(-self.reach, 0, device=self.head.device)
        ring = self.agents[:, None] * heads + torch.arange(heads, device=self.head.device)
        slot = (self.head[:, None] + back) % slots
        return ring[:, :, None] * slots + slot[:, None], (back >= -self.position[:, None])[:, None, :, None]


@dataclass(frozen=True)
class Sight:
    """What every step of a segment sees, and where in its episode it is.

    Tokens are numbered from 0, the segment's first; those of the prefix are below 0, -1 the last of them.
    """

    position: Tensor
    """(R, T) valid agent-steps of the episode before each."""
    token: Tensor
    """(R, T) the number of the next token: that of the step itself, if it is kept."""
    oldest: Tensor
    """(R, T) the first token that the step sees: it sees all up to its own `token`, and itself even if it waits."""
    kept: Tensor
    """(R, T) bool: which steps are tokens."""
    reach: int
    """As of `Prefix`."""

    @cached_property
    def visible(self) -> Tensor:
        """(R, T, reach + T) bool, the same spelled out: whether a step sees each token of the prefix and each step."""
        agents, steps = self.kept.shape
        pad = torch.nn.functional.pad
        prefix = torch.arange(-self.reach, 0, device=self.kept.device).expand(agents, -1)
        token = torch.cat([prefix, self.token], 1)[:, None]
        is_token = pad(self.kept, (self.reach, 0), value=True)[:, None]
        own = pad(torch.eye(steps, dtype=torch.bool, device=self.kept.device), (self.reach, 0))
        return (token < self.token[:, :, None]) & (token >= self.oldest[:, :, None]) & is_token | own


class Cache:
    """The rings of many agents. All is written in place, so that views and captured graphs stay valid.

    Args:
        layers, heads, size: of keys and values. agents: how many.
        context: tokens an agent attends to, itself included. segment: steps of a segment.
    """

    def __init__(self, layers: int, agents: int, heads: int, size: int, context: int, segment: int, dtype: torch.dtype,
                 device: torch.device | str):
        self.context = context
        self.slots = context + segment
        shape = (layers, agents, heads, self.slots, size)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.head = torch.zeros(agents, dtype=torch.int64, device=device)
        """(R,) tokens ever remembered; token i stands in slot i mod `slots`."""
        self.position = torch.zeros(agents, dtype=torch.int64, device=device)
        """(R,) tokens of the episode so far."""
        self._index = torch.arange(agents, device=device)

    def agents(self, chosen: slice) -> Cache:
        """The same memory, of some agents."""
        view = object.__new__(Cache)
        view.context, view.slots = self.context, self.slots
        view.keys, view.values = self.keys[:, chosen], self.values[:, chosen]
        view.head, view.position = self.head[chosen], self.position[chosen]
        view._index = self._index[: len(view.head)]
        return view

    def open(self, first: Tensor) -> None:
        """Drops the context of agents whose observation opens an episode, before that observation is used."""
        self.position.masked_fill_(first, 0)

    @property
    def slot(self) -> Tensor:
        """(R,) where the next token goes; until the agent is kept, nobody else sees it."""
        return self.head % self.slots

    @property
    def length(self) -> Tensor:
        """(R,) tokens the next one sees beside itself."""
        return self.position.clamp(max=self.context - 1)

    def put(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Writes (R, K, D) into the slot of the next token."""
        self.keys[layer][self._index, :, self.slot] = keys
        self.values[layer][self._index, :, self.slot] = values

    def advance(self, kept: Tensor) -> None:
        """Remembers what was put, for the agents that are kept."""
        self.head += kept
        self.position += kept

    def before(self, agents: Tensor, head: Tensor, position: Tensor) -> Prefix:
        """The prefix of some agents as it was when their counters stood so; it is read when it is attended to."""
        return Prefix(self.keys, self.values, agents, head, position, self.context - 1)


def sight(first: Tensor, kept: Tensor, position: Tensor, context: int) -> Sight:
    """Positions and visibility of whole segments: the rule that `Cache` follows step by step.

    Args:
        first, kept: (R, T). position: (R,) tokens of the episode before the segment.
    """
    token = kept.cumsum(1) - kept.long()
    opened = torch.where(first, token, -1).cummax(1).values
    position = torch.where(opened < 0, position[:, None] + token, token - opened)
    return Sight(position, token, token - position.clamp(max=context - 1), kept, context - 1)
