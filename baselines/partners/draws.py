"""Which partner drives a co-player, and with which random numbers? Functions of seed, world, episode, agent and step.

No draw depends on the other worlds of a batch or on earlier draws: a world has the same partners however worlds are
spread over processes, and after a resume, for which only the numbers of the episodes are stored.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from drive_env import Batch

Words = TypeVar("Words", npt.NDArray[np.int64], Tensor)
"""Unsigned words of 32 bits, in int64: no product below overflows, so that numpy and torch give the same bits."""

WORD = (1 << 32) - 1
GOLDEN = 0x9E3779B9
"""2^32 / golden ratio: it spreads consecutive numbers over all words (Weyl 1916)."""

CHOSEN, PRIORITY, NUMBER, NOISE = range(4)
"""What is drawn: which of a world's partners drives an agent, which partners a world has, how many, and the two keys of
an agent's noise, NOISE and NOISE + 1."""

SHARE_BITS = 23
"""Of a uniform number: with half of the last one's value added, it is exact in float32, above 0 and below 1."""


def mixed(words: Words) -> Words:
    """A permutation of words in which every bit depends on every other (constants of the "hash prospector", Wellons
    2018)."""
    words = ((words ^ (words >> 16)) * 0x21F0AAAD) & WORD
    words = ((words ^ (words >> 15)) * 0x735A2D97) & WORD
    return words ^ (words >> 15)


def combined(first: Words, *others: Words | int) -> Words:
    """One random word for each combination of words; shapes broadcast."""
    found = mixed(first)
    for other in others:
        found = mixed((found + other + GOLDEN) & WORD)
    return found


def uniform(keys: Tensor, step: Tensor, numbers: int) -> Tensor:
    """(n, numbers) float32 above 0 and below 1.

    Args:
        keys: (n, 2) words of the agents. step: (n,) of the trial, from 0.
    """
    counter = step.unsqueeze(-1) * numbers + torch.arange(numbers, device=step.device)
    words = combined((keys[:, :1] + counter * GOLDEN) & WORD, keys[:, 1:])
    return ((words >> (32 - SHARE_BITS)).float() + 0.5) * 2.0**-SHARE_BITS


class Assignment:
    """Which partner drives each agent of a batch in its current episode.

    Args:
        batch: with co-players; its `first` and `coplayer` are read. partners: how many there are.
        per_world: the most that drive in one world.

    Attributes:
        episodes: (W,) number of each world's episode, from 0; -1 before the first.
        partner: (R,) index of the agent's partner, -1 for an ego.
        keys: (R, 2) words, from which an agent's noise in the episode follows.
    """

    def __init__(self, batch: Batch, partners: int, per_world: int):
        self._batch, self._partners, self._per_world = batch, partners, per_world
        self.episodes = np.full(batch.num_worlds, -1, np.int64)
        self.partner = np.full(batch.num_agents, -1, np.int64)
        self.keys = np.zeros((batch.num_agents, 2), np.int64)

    def advance(self) -> bool:
        """Draws for the worlds whose current observations open an episode; returns whether there is any. It is called
        once for every observation."""
        opens = self._batch.first.reshape(len(self.episodes), -1)[:, 0]
        self.episodes += opens
        worlds = np.flatnonzero(opens)
        if len(worlds):
            self._draw(worlds)
        return len(worlds) > 0

    def restore(self, episodes: npt.NDArray[np.int64]) -> None:
        """Continues with the episodes of a saved assignment, whose batch has been restored."""
        self.episodes[:] = episodes
        self._draw(np.arange(len(episodes)))

    def _draw(self, worlds: npt.NDArray[np.int64]) -> None:
        batch = self._batch
        # A word for each world that opens an episode, (n, 1).
        seeds = np.asarray(batch.seeds, np.uint64)[worlds]
        ids, episodes = batch.world_ids[worlds].astype(np.uint64), self.episodes[worlds].astype(np.uint64)
        halves = [half for number in (seeds, ids, episodes) for half in (number & WORD, number >> 32)]
        of_world = combined(*(half.astype(np.int64)[:, None] for half in halves))

        # Its partners: a random order of all, of which it has the first ones. Of each agent: one of them.
        number = 1 + (combined(of_world, NUMBER) * self._per_world >> 32)
        order = combined(of_world, PRIORITY, np.arange(self._partners)[None]).argsort(1, kind="stable")
        agent = np.arange(batch.agents_per_world)[None]
        chosen = np.take_along_axis(order, combined(of_world, CHOSEN, agent) * number >> 32, 1)
        coplayer = batch.coplayer.reshape(len(self.episodes), -1)[worlds]
        self.partner.reshape(len(self.episodes), -1)[worlds] = np.where(coplayer, chosen, -1)
        self.keys.reshape(len(self.episodes), -1, 2)[worlds] = np.stack(
            [combined(of_world, NOISE + word, agent) for word in range(2)], -1)
