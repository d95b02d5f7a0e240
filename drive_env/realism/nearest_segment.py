"""Which of many segments is nearest to each of many points? The first one on ties.

A search over cells of ever smaller size: the segments that can be nearest to some point of a cell are among those of
the cell around it. A distance changes by at most `rate` metres a metre, so the distances from the centre of a cell
bound those from all of its points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .frames import PAIRS_AT_ONCE

Z_STRETCH = np.float32(3.0)
"""Heights count three times in the search, so that a road above or below is not mistaken for the own one."""

CELL_M = 0.5
FACTORS = (2, 8, 32, 128)
"""Sizes of the smallest cells, and of the larger ones in cells."""

MARGIN_M = np.float32(0.01)
"""Above the rounding errors of float32 in the bounds of distances."""


class Segments(NamedTuple):
    """k segments, each from a point to that point plus a vector.

    Attributes:
        start_m, along_m: (3, k) float32, x, y and z.
        inverse: (k,) float32, 1 over the squared length in the plane, 0 where that is 0.
        rate: (k,) float32, by how much at most the distance from the segment changes when a point moves by 1 m.
        foot_sign: -1: a distance is the length of the offset from the start minus the vector to the foot point; +1: of
            their sum, an error of the published implementation (see docs/realism.md).
    """

    start_m: np.ndarray
    along_m: np.ndarray
    inverse: np.ndarray
    rate: np.ndarray
    foot_sign: np.float32 = np.float32(-1)

    def of(self, chosen: np.ndarray) -> Segments:
        """Those of an array of indices or a mask."""
        return Segments(self.start_m[:, chosen], self.along_m[:, chosen], self.inverse[chosen], self.rate[chosen],
                        self.foot_sign)


class _Lists(NamedTuple):
    """Lists of segments, those of list i from start[i] to start[i + 1]."""

    start: np.ndarray
    segment: np.ndarray


def make_segments(start_m: np.ndarray, end_m: np.ndarray, foot_sign: int = -1) -> Segments:
    """Segments between two arrays of points, (3, k) float32; `foot_sign` is that of `Segments`."""
    along_m = end_m - start_m
    squared = along_m[0] ** 2 + along_m[1] ** 2
    inverse = np.divide(1, squared, out=np.zeros_like(squared), where=squared > 0)
    # The foot point is that in the plane: on a slope, its height changes along with it.
    rate = 1 + Z_STRETCH * np.abs(along_m[2]) * np.sqrt(inverse)
    return Segments(start_m, along_m, inverse, rate + (foot_sign > 0), np.float32(foot_sign))


def nearest_segments(points_m: np.ndarray, segments: Segments) -> np.ndarray:
    """(p,) index of the nearest segment, with stretched heights, of each of the points (3, p) float32."""
    if not points_m.size:
        return np.zeros(0, np.int64)
    stretch = np.array([[1], [1], [Z_STRETCH]], np.float32)
    cells, cell_of_point = _unique_columns(np.floor(points_m * stretch / np.float32(CELL_M)).astype(np.int64))
    levels, parents = [cells], []
    for larger, smaller in zip(FACTORS, (1, *FACTORS), strict=False):
        above, parent = _unique_columns(levels[-1] // (larger // smaller))
        levels.append(above)
        parents.append(parent)

    # From the largest cells, for which every segment is possible, to the points.
    everything = np.arange(segments.inverse.size)
    lists = _Lists(np.array([0, everything.size]), everything)
    parents.append(np.zeros(levels[-1].shape[1], np.int64))
    for level, parent, factor in zip(levels[::-1], parents[::-1], (1, *FACTORS)[::-1], strict=True):
        size_m = CELL_M * factor
        centres_m = ((level + 0.5) * size_m / stretch).astype(np.float32)
        lists = _near(centres_m, np.float32(0.5 * size_m * np.sqrt(3)), parent, lists, segments)
    return _nearest(points_m, cell_of_point, lists, segments)


def _unique_columns(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns of (3, p) int64, and the index of each among them."""
    low = cells.min(axis=1)
    _, spans_y, spans_z = cells.max(axis=1) - low + 1
    key = ((cells[0] - low[0]) * spans_y + (cells[1] - low[1])) * spans_z + (cells[2] - low[2])
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return cells[:, first], inverse


def _pairs(lists: _Lists, chosen: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Every point or cell with each segment of the list that is chosen for it, in chunks.

    Yields:
        The first item of the chunk; where the pairs of each item begin; item, from 0, and segment of each pair.
    """
    counts = lists.start[chosen + 1] - lists.start[chosen]
    ends = np.cumsum(counts)
    cuts = np.searchsorted(ends, np.arange(PAIRS_AT_ONCE, ends[-1] + PAIRS_AT_ONCE, PAIRS_AT_ONCE), side="right")
    cuts = np.unique(np.concatenate([[0], cuts, [counts.size]]))
    for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
        number = counts[begin:end]
        starts = np.cumsum(number) - number
        item = np.repeat(np.arange(end - begin), number)
        entry = np.arange(item.size) + np.repeat(lists.start[chosen[begin:end]] - starts, number)
        yield int(begin), starts, item, lists.segment[entry]


def _squared_distance(points_m: np.ndarray, item: np.ndarray, segments: Segments, chosen: np.ndarray) -> np.ndarray:
    """Between points and segments with stretched heights, of pairs given by their indices."""
    along_x, along_y, along_z = (values[chosen] for values in segments.along_m)
    x, y, z = (point[item] - start[chosen] for point, start in zip(points_m, segments.start_m, strict=True))
    share = (x * along_x + y * along_y) * segments.inverse[chosen]
    np.clip(share, 0, 1, out=share)
    share *= segments.foot_sign
    x += along_x * share
    y += along_y * share
    z += along_z * share
    z *= Z_STRETCH
    return x * x + y * y + z * z


def _near(centres_m: np.ndarray, half_diagonal_m: np.float32, parents: np.ndarray, lists: _Lists,
          segments: Segments) -> _Lists:
    """For each cell those segments of its parent that can be nearest to one of its points."""
    counts, kept = [], []
    for begin, starts, item, segment in _pairs(lists, parents):
        cells = slice(begin, begin + starts.size)
        distance = np.sqrt(_squared_distance(centres_m[:, cells], item, segments, segment))
        reach = segments.rate[segment] * half_diagonal_m
        bound = np.minimum.reduceat(distance + reach, starts) + MARGIN_M
        near = distance - reach <= bound[item]
        counts.append(np.add.reduceat(near, starts, dtype=np.int64))
        kept.append(segment[near])
    return _Lists(np.concatenate([[0], np.cumsum(np.concatenate(counts))]), np.concatenate(kept))


def _nearest(points_m: np.ndarray, cells: np.ndarray, lists: _Lists, segments: Segments) -> np.ndarray:
    """The nearest one among the segments of each point's cell."""
    nearest = np.zeros(cells.size, np.int64)
    for begin, starts, item, segment in _pairs(lists, cells):
        points = slice(begin, begin + starts.size)
        squared = _squared_distance(points_m[:, points], item, segments, segment)
        least = np.flatnonzero(squared == np.minimum.reduceat(squared, starts)[item])
        nearest[begin + item[least][::-1]] = segment[least][::-1]  # the first one is written last
    return nearest
