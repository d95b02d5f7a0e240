"""Where do roads lie above each other? Only there, heights matter to a step."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..binding import lib
from .scene import ROAD_KIND_CODES, Report, Roads

LEVEL_HEIGHT_M = float(lib.DRV_LEVEL_HEIGHT_M)
"""Roads that differ by more than this in height, at one place, lie above each other."""

SQUARE_M = 5.0
"""Side of the square that is one place. A road may rise by 3 m along its diagonal of 7 m without lying above
itself; the steepest streets rise by 2 m in 5 m."""

SAMPLE_LIMIT = 1 << 19
"""Points, at most half the side of a square apart, that are searched: 1,300 km of roads. Larger maps count as flat."""

AREAS = tuple(ROAD_KIND_CODES[kind] for kind in ("crosswalk", "speed_bump", "driveway"))
"""Kinds that are the outlines of areas."""

NAMED_PLACES, PLACE_M = 5, 30.0
"""Most places that a report names, and the least distance between them."""

_levels: weakref.WeakKeyDictionary[Roads, np.ndarray] = weakref.WeakKeyDictionary()
"""The levels of roads, which are found once."""


def levels_of(roads: Roads) -> np.ndarray:
    """(n, 3) float64: x and y of the squares in which roads lie above each other, m, and by how much, the most first.

    Args:
        roads: coordinates finite and within the limit of the validator.
    """
    if roads not in _levels:
        is_flat = len(roads.z_m) == 0 or np.ptp(roads.z_m) <= LEVEL_HEIGHT_M
        _levels[roads] = np.zeros((0, 3)) if is_flat else _search(*_samples(roads))
    return _levels[roads]


def report_levels(roads: Roads, report: Report) -> None:
    """Notes where roads lie above each other."""
    places = levels_of(roads)
    named: list[str] = []
    while len(places) and len(named) < NAMED_PLACES:
        x_m, y_m, gap_m = places[0]
        named.append(f"by {gap_m:.1f} m at ({x_m:.0f}, {y_m:.0f}) m")
        places = places[np.hypot(places[:, 0] - x_m, places[:, 1] - y_m) > PLACE_M]
    if named:
        more = " and elsewhere" if len(places) else ""
        report.notes.append(f"roads lie above each other: {', '.join(named)}{more}")


def heights_near(roads: Roads, places_m: np.ndarray, lanes: Sequence[np.ndarray] | None = None) -> np.ndarray:
    """(n,) float32, for each place the height of the nearest point of the lanes.

    Args:
        roads: with at least one point; those of kinds other than lane count where no lane does.
        places_m: (n, 2) m.
        lanes: for each place the road indices of the lanes that count; all lanes for None and where there are none.
    """
    road_of_point = np.repeat(np.arange(roads.count), np.diff(roads.start))
    is_lane = roads.kind == ROAD_KIND_CODES["lane"]
    heights_m = np.zeros(len(places_m), np.float32)
    for index, (x_m, y_m) in enumerate(np.asarray(places_m, np.float64)):
        counts = is_lane if is_lane.any() else np.ones(roads.count, bool)
        if lanes is not None and len(lanes[index]):
            counts = np.zeros(roads.count, bool)
            counts[lanes[index]] = True
        away2 = (roads.x_m - x_m) ** 2 + (roads.y_m - y_m) ** 2
        heights_m[index] = roads.z_m[np.argmin(np.where(counts[road_of_point], away2, np.inf))]
    return heights_m


class RoadPieces(NamedTuple):
    """Roads cut where their level changes, in the order of the roads: each piece is points `first` to `end` of one."""

    road: np.ndarray
    first: np.ndarray
    end: np.ndarray
    level: np.ndarray


def level_of(roads: Roads, z_m: np.ndarray) -> np.ndarray:
    """int64, the level of each height, from 0; pictures draw a higher level over a lower one.

    Levels are `LEVEL_HEIGHT_M` high. Where no roads lie above each other, all heights are on level 0.
    """
    if not len(levels_of(roads)):
        return np.zeros(np.shape(z_m), np.int64)
    return np.floor((np.asarray(z_m, np.float64) - roads.z_m.min()) / LEVEL_HEIGHT_M).astype(np.int64).clip(0)


def road_pieces(roads: Roads) -> RoadPieces:
    """The pieces of roads on one level each; areas and single points are not cut."""
    if not len(levels_of(roads)):
        return RoadPieces(np.arange(roads.count), roads.start[:-1], roads.start[1:], np.zeros(roads.count, np.int64))
    pieces = []
    for road in range(roads.count):
        begin, end = int(roads.start[road]), int(roads.start[road + 1])
        z_m = roads.z_m[begin:end]
        is_whole = end - begin < 2 or roads.kind[road] in AREAS
        level = level_of(roads, z_m.mean(keepdims=True) if is_whole else 0.5 * (z_m[1:] + z_m[:-1]))
        cuts = [0, *(np.flatnonzero(np.diff(level)) + 1).tolist(), len(level)]
        pieces += [(road, begin + low, end if is_whole else begin + high + 1, int(level[low]))
                   for low, high in pairwise(cuts)]
    return RoadPieces(*np.array(pieces, np.int64).reshape(-1, 4).T)


def _samples(roads):
    """x, y and z of points of the roads, float32, at most half a square's side apart; none if the map is too large."""
    points_m = [axis_m.astype(np.float64) for axis_m in (roads.x_m, roads.y_m, roads.z_m)]
    steps_m = [np.diff(axis_m, append=axis_m[-1]) for axis_m in points_m]
    pieces = np.ceil(np.hypot(*steps_m[:2]) / (0.5 * SQUARE_M)).clip(1)
    pieces[roads.start[1:] - 1] = 1  # nothing between the last point of a road and the next road
    if pieces.sum() > SAMPLE_LIMIT:
        return [np.zeros(0, np.float32)] * 3
    pieces = pieces.astype(np.int64)
    point = np.repeat(np.arange(len(pieces)), pieces)
    share = (np.arange(len(point)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[point]
    return [(axis_m[point] + share * step_m[point]).astype(np.float32)
            for axis_m, step_m in zip(points_m, steps_m, strict=True)]


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
