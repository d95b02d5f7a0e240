"""Where do the parts of a concatenated array begin? Part i of n parts has the entries start[i] to start[i + 1] - 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def starts_of(lengths: Sequence[int]) -> np.ndarray:
    """(n + 1,) int32, where the parts begin, and at last the length of the array.

    Args:
        lengths: of the n parts.
    """
    start = np.zeros(len(lengths) + 1, np.int32)
    start[1:] = np.cumsum(lengths)
    return start


def part_of(start: np.ndarray, entry: int) -> int:
    """The part to which an entry belongs; parts without entries have none."""
    return int(np.searchsorted(start, entry, side="right")) - 1
