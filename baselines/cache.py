"""What does a row remember? Its last tokens in a ring, and how far it is in its episode.

Kept rows are the tokens: only they are remembered, and only they advance. The ring has `context` + `segment` slots:
`context` - 1 tokens before a segment, which training attends to once the segment is over; the segment's own; and one
that a waiting row may write its own key into, to be attended by itself alone. So nothing is ever moved.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Prefix(NamedTuple):
    """What rollout remembered when a segment began, constant in training. R rows, P = `context` - 1, L layers."""

    keys: Tensor
    """(L, R, K, P, D), the oldest token first."""
    values: Tensor
    position: Tensor
    """(R,) tokens of the episode before the segment."""


class Sight(NamedTuple):
    """What every step of a segment sees, and where in its episode it is."""

    position: Tensor
    """(R, T) kept rows of the episode before each."""
    visible: Tensor
    """(R, T, P + T) bool."""


class Cache:
    """The rings of many rows. All is written in place, so that views and captured graphs stay valid.

    Args:
        layers, heads, size: of keys and values. rows: how many.
        context: tokens a row attends to, itself included. segment: steps of a segment.
    """

    def __init__(self, layers: int, rows: int, heads: int, size: int, context: int, segment: int, dtype: torch.dtype,
                 device: torch.device | str):
        self.context = context
        self.slots = context + segment
        shape = (layers, rows, heads, self.slots, size)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.head = torch.zeros(rows, dtype=torch.int64, device=device)
        """(R,) tokens ever remembered; token i stands in slot i mod `slots`."""
        self.position = torch.zeros(rows, dtype=torch.int64, device=device)
        """(R,) tokens of the episode so far."""
        self._index = torch.arange(rows, device=device)

    def rows(self, chosen: slice) -> Cache:
        """The same memory, of some rows."""
        view = object.__new__(Cache)
        view.context, view.slots = self.context, self.slots
        view.keys, view.values = self.keys[:, chosen], self.values[:, chosen]
        view.head, view.position = self.head[chosen], self.position[chosen]
        view._index = self._index[: len(view.head)]
        return view

    def open(self, first: Tensor) -> None:
        """Drops the context of rows whose observation opens an episode, before that observation is used."""
        self.position.masked_fill_(first, 0)

    @property
    def slot(self) -> Tensor:
        """(R,) where the next token goes; until the row is kept, nobody else sees it."""
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
        """Remembers what was put, for the rows that are kept."""
        self.head += kept
        self.position += kept

    def before(self, rows: Tensor, head: Tensor, position: Tensor) -> Prefix:
        """The prefix of some rows as it was when their counters stood so."""
        reach = self.context - 1
        back = torch.arange(-reach, 0, device=head.device)
        slots = (head[:, None] + back) % self.slots
        known = (back >= -position[:, None])[:, None, :, None]

        def gathered(ring):
            found = ring[:, rows[:, None], :, slots].permute(2, 0, 3, 1, 4)  # from (R, P, L, K, D)
            return torch.where(known, found, 0.0)  # what is unknown is never attended, but must be finite

        return Prefix(gathered(self.keys), gathered(self.values), position)


def sight(first: Tensor, kept: Tensor, position: Tensor, context: int) -> Sight:
    """Positions and visibility of whole segments: the rule that `Cache` follows step by step.

    Args:
        first, kept: (R, T). position: (R,) tokens of the episode before the segment.
    """
    before = kept.cumsum(1) - kept.long()  # tokens of the segment before each step
    opened = torch.where(first, before, -1).cummax(1).values
    position = torch.where(opened < 0, position[:, None] + before, before - opened)
    reach = context - 1
    length = position.clamp(max=reach)[:, :, None]
    token = torch.cat([torch.arange(-reach, 0, device=kept.device).expand(len(kept), reach), before], 1)[:, None]
    behind = before[:, :, None] - token  # 1 is the token before
    is_token = torch.nn.functional.pad(kept, (reach, 0), value=True)[:, None]
    own = torch.nn.functional.pad(torch.eye(kept.shape[1], dtype=torch.bool, device=kept.device), (reach, 0))
    return Sight(position, (behind >= 1) & (behind <= length) & is_token | own)
