"""Which lane leads into which, if a file has no lane graph? Lanes are joined end to start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import SceneError
from .scene import ROAD_KIND_CODES, LaneGraph, Roads

JOIN_GAP_M = 0.5
"""Consecutive lanes of a map share a point to the millimetre; parallel neighbours are at least a narrow lane apart."""

JOIN_RISE_M = 1.0
"""Joined lanes are at one height; a lane above another is several metres higher."""

JOIN_TURN_COS = 0.7071
"""45 degrees. The true turn at a join is small, but the segments of thinned polylines are chords, not tangents."""

NEARBY_START_LIMIT = 64
"""Lane starts near one lane end. Real forks have up to about ten; a hostile file could have n squared pairs."""


def graph_of(before: Sequence[int] | np.ndarray, after: Sequence[int] | np.ndarray, road_count: int) -> LaneGraph:
    """The graph in which each lane of `before` leads to that of `after`; both are road indices, in any order."""
    before, after = np.asarray(before, np.int32), np.asarray(after, np.int32)
    start = np.zeros(road_count + 1, np.int32)
    np.cumsum(np.bincount(before, minlength=road_count), out=start[1:])
    return LaneGraph(start, after[np.lexsort((after, before))])


def link_lanes(roads: Roads) -> LaneGraph:
    """Links lane a to lane b if a ends within `JOIN_GAP_M` of the start of b, at its height and in its direction.

    Args:
        roads: coordinates finite and within the limit of the validator.

    Raises:
        SceneError: more than `NEARBY_START_LIMIT` lanes start near the end of one.
    """
    xy_m = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
    lane, first, last, direction_in, direction_out = lane_ends(roads, xy_m)
    before, after = _close_pairs(xy_m[last], xy_m[first], lane)
    gap_m = np.linalg.norm(xy_m[last][before] - xy_m[first][after], axis=1)
    turn_cos = np.sum(direction_out[before] * direction_in[after], axis=1)
    rise_m = np.abs(roads.z_m[last][before].astype(np.float64) - roads.z_m[first][after])
    joined = (gap_m <= JOIN_GAP_M) & (rise_m <= JOIN_RISE_M) & (turn_cos >= JOIN_TURN_COS) & (before != after)
    before, after = lane[before[joined]], lane[after[joined]]
    return graph_of(before, after, roads.count)


def lane_ends(roads: Roads, xy_m: np.ndarray) -> tuple[np.ndarray, ...]:
    """Of each lane with a direction: road index, index of first and last point, unit vectors in and out.

    Args:
        xy_m: (p, 2) float64, the points of the roads.
    """
    # A repeated point has no direction.
    moves = np.ones(len(xy_m), bool)
    moves[1:] = (xy_m[1:] != xy_m[:-1]).any(axis=1)
    moves[roads.start[:-1]] = True
    kept = np.flatnonzero(moves)
    start = np.searchsorted(kept, roads.start)

    lane = np.flatnonzero((roads.kind == ROAD_KIND_CODES["lane"]) & (np.diff(start) >= 2))
    first, last = kept[start[lane]], kept[start[lane + 1] - 1]
    step_in = xy_m[kept[start[lane] + 1]] - xy_m[first]
    step_out = xy_m[last] - xy_m[kept[start[lane + 1] - 2]]
    return (lane, first, last, step_in / np.linalg.norm(step_in, axis=1, keepdims=True),
            step_out / np.linalg.norm(step_out, axis=1, keepdims=True))


def _close_pairs(ends_m, starts_m, lane):
    """Pairs (i, j) with end i in the square cell of start j or in one of its eight neighbours."""
    start_cell = np.floor(starts_m / JOIN_GAP_M).astype(np.int64)
    end_cell = np.floor(ends_m / JOIN_GAP_M).astype(np.int64)
    # Cell indices are below 2**20, so one integer holds both.
    order = np.argsort(start_cell[:, 0] * 2**32 + start_cell[:, 1], kind="stable")
    keys = (start_cell[:, 0] * 2**32 + start_cell[:, 1])[order]
    lows, highs = [], []
    for column in (-1, 0, 1):
        key = (end_cell[:, 0] + column) * 2**32 + end_cell[:, 1]
        lows.append(np.searchsorted(keys, key - 1, side="left"))
        highs.append(np.searchsorted(keys, key + 1, side="right"))
    low, count = np.stack(lows), np.stack(highs) - np.stack(lows)
    nearby = count.sum(axis=0)
    if (nearby > NEARBY_START_LIMIT).any():
        most = int(np.argmax(nearby))
        raise SceneError(f"road {lane[most]} ends where {nearby[most]} lanes start; "
                         f"at most {NEARBY_START_LIMIT} are allowed")
    before = np.repeat(np.tile(np.arange(len(ends_m)), 3), count.ravel())
    offset = np.arange(len(before)) - np.repeat(np.cumsum(count.ravel()) - count.ravel(), count.ravel())
    return before, order[np.repeat(low.ravel(), count.ravel()) + offset]
