"""Where do the random numbers of a generator come from? From the raw output of PCG64, whose stream numpy guarantees.

The methods of `numpy.random.Generator` may change between numpy versions; a scene must not.
"""

from __future__ import annotations

import numpy as np


class Rng:
    """Random numbers that depend only on the seed: the same on every platform and with every numpy version."""

    def __init__(self, seed: int):
        self._raw = np.random.PCG64(seed).random_raw

    def below(self, limit: int) -> int:
        """An integer from 0 to limit - 1."""
        return int(self._raw()) * limit >> 64

    def uniform(self, low: float, high: float, count: int) -> np.ndarray:
        """(count,) float64 in [low, high)."""
        return low + (high - low) * ((self._raw(count) >> np.uint64(11)) * 2.0**-53)

    def shuffled(self, items: list) -> list:
        """The items in random order."""
        return [items[i] for i in np.argsort(self._raw(len(items)), kind="stable")]
