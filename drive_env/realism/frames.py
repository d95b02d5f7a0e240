"""Where are all objects in each frame? The layout in which they are compared pair by pair, some frames at a time.

A frame is one step of one rollout. Shapes: F frames, N objects, E of which are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .boxes import Boxes

PAIRS_AT_ONCE = 1 << 17
"""Pairs, of objects or of points and segments, in one chunk: its arrays stay in the cache of a core."""


class Frames(NamedTuple):
    """Objects frame by frame, in float32.

    Attributes:
        x_m, y_m, heading_rad, cos, sin: (F, N).
        speed_mps: (F, N), in the plane; NaN where it is not defined.
        valid: (F, N) bool.
        half_length_m, half_width_m: (N,).
        evaluated: (E,) indices of objects.
    """

    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    cos: np.ndarray
    sin: np.ndarray
    speed_mps: np.ndarray
    valid: np.ndarray
    half_length_m: np.ndarray
    half_width_m: np.ndarray
    evaluated: np.ndarray

    def chunks(self) -> Iterator[slice]:
        """All frames, in slices of at most `PAIRS_AT_ONCE` pairs."""
        size = max(1, PAIRS_AT_ONCE // (len(self.evaluated) * len(self.half_length_m)))
        for begin in range(0, len(self.x_m), size):
            yield slice(begin, min(begin + size, len(self.x_m)))

    def boxes(self, frame: np.ndarray, index: np.ndarray) -> Boxes:
        """Boxes (k,) of the objects `index` in the frames `frame`, both (k,)."""
        return Boxes(self.x_m[frame, index], self.y_m[frame, index], self.cos[frame, index], self.sin[frame, index],
                     self.half_length_m[index], self.half_width_m[index])


def nonzero_of(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `np.nonzero` of three axes, which takes far longer where few entries are True."""
    row, last = np.divmod(np.flatnonzero(mask), mask.shape[2])
    return *np.divmod(row, mask.shape[1]), last
