"""Where do roads lie above each other? Only there, heights matter to a step."""

from __future__ import annotations

import weakref

import numpy as np

from ..binding import lib
from .scene import Report, Roads

LEVEL_HEIGHT_M = float(lib.DRV_LEVEL_HEIGHT_M)
"""Roads that differ by more than this in height, at one place, lie above each other."""

SQUARE_M = 5.0
"""Side of the square that is one place. A road may rise by 3 in 5 without lying above itself; the steepest streets rise
by 2 in 5."""

SAMPLE_LIMIT = 1 << 23
"""More points than a valid scene has, at half the side of a square from each other."""

NAMED_PLACES, PLACE_M = 5, 30.0
"""Places that a report names, and the least distance between them."""

_levels: weakref.WeakKeyDictionary[Roads, np.ndarray] = weakref.WeakKeyDictionary()
"""The levels of roads, which are found once."""


def levels_of(roads: Roads) -> np.ndarray:
    """(n, 3) float64: x and y of the squares in which roads lie above each other, m, and by how much, the most first.

    Args:
        roads: coordinates finite and within the limit of the validator.
    """
    if roads not in _levels:
        is_level = len(roads.z_m) == 0 or np.ptp(roads.z_m) <= LEVEL_HEIGHT_M
        _levels[roads] = np.zeros((0, 3)) if is_level else _search(*_samples(roads))
    return _levels[roads]


def report_levels(roads: Roads, report: Report) -> None:
    """Notes where roads lie above each other."""
    named: list[np.ndarray] = []
    for place in levels_of(roads):
        if all(np.hypot(*(place - other)[:2]) > PLACE_M for other in named):
            named.append(place)
    if named:
        more = f" and at {len(named) - NAMED_PLACES} more places" if len(named) > NAMED_PLACES else ""
        report.notes.append("roads lie above each other: " + ", ".join(
            f"by {gap_m:.1f} m at ({x_m:.0f}, {y_m:.0f}) m" for x_m, y_m, gap_m in named[:NAMED_PLACES]) + more)


def _samples(roads):
    """x, y and z of points of the roads, at most half the side of a square apart; none of more than the limit."""
    points_m = np.stack([roads.x_m, roads.y_m, roads.z_m], axis=1).astype(np.float64)
    steps_m = np.zeros_like(points_m)
    steps_m[:-1] = np.diff(points_m, axis=0)
    steps_m[roads.start[1:] - 1] = 0.0  # from the last point of a road to the first of the next
    pieces = np.ceil(np.hypot(steps_m[:, 0], steps_m[:, 1]) / (0.5 * SQUARE_M)).clip(1)
    if pieces.sum() > SAMPLE_LIMIT:  # the validator refuses such a scene
        return np.zeros((3, 0))
    pieces = pieces.astype(np.int64)
    point = np.repeat(np.arange(len(points_m)), pieces)
    share = (np.arange(len(point)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[point]
    return (points_m[point] + share[:, None] * steps_m[point]).T


def _search(x_m, y_m, z_m):
    """`levels_of` the roads with these samples."""
    # Samples of two roads that cross are at most half a side apart, so one of four grids has them in one square.
    found = [np.zeros((0, 3))]
    for shift_x in (0.0, 0.5):
        for shift_y in (0.0, 0.5):
            column, row = np.floor(x_m / SQUARE_M + shift_x), np.floor(y_m / SQUARE_M + shift_y)
            order = np.lexsort((row, column))
            column, row = column[order], row[order]
            is_first = np.ones(len(order), bool)
            is_first[1:] = (np.diff(column) != 0) | (np.diff(row) != 0)
            first = np.flatnonzero(is_first)
            if not len(first):
                continue
            gap_m = np.maximum.reduceat(z_m[order], first) - np.minimum.reduceat(z_m[order], first)
            centre_m = [(at[first] - shift + 0.5) * SQUARE_M for at, shift in ((column, shift_x), (row, shift_y))]
            found.append(np.stack([*centre_m, gap_m], axis=1)[gap_m > LEVEL_HEIGHT_M])
    places = np.concatenate(found)
    return places[np.lexsort((places[:, 1], places[:, 0], -places[:, 2]))]
