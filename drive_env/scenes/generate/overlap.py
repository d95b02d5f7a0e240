"""Do two pieces of a map lie on each other? The areas of their lanes are swept by rectangles, and none may overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .curves import Pose
from .lane_map import LaneMap
from .roadnet import END_CAP_M
from .trig import sine_cosine

PIECE_M = 2.0
"""Length of the rectangles along a lane."""

CLEAR_M = 1.0
"""Margin around the curbs of each area: two areas are at least twice this, less `TOUCH_M`, apart."""

TOUCH_M = 0.5
"""Rectangles overlap if they do so by more than this: less is a corner of a piece of a bend where two blocks join."""

CELL_M = 10.0
"""Cell size of the grid for the search of overlaps: two rectangles whose centres are farther apart do not overlap."""


class Rectangles(NamedTuple):
    """n rectangles.

    Attributes:
        centre_m, ahead: (n, 2), and unit vectors along them.
        half_m: (n, 2) half of their length and width.
    """

    centre_m: np.ndarray
    ahead: np.ndarray
    half_m: np.ndarray

    def moved(self, frame: Pose) -> Rectangles:
        """Those relative to `frame`, in the coordinates in which `frame` is given."""
        sine, cosine = sine_cosine(frame.heading_rad)
        return Rectangles(_turned(self.centre_m, sine, cosine) + np.array([frame.x_m, frame.y_m]),
                          _turned(self.ahead, sine, cosine), self.half_m)


NONE = Rectangles(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2)))


def joined(parts: Sequence[Rectangles]) -> Rectangles:
    """All of them."""
    return Rectangles(*(np.concatenate(of) for of in zip(*parts, strict=True)))


def swept(roads: LaneMap) -> Rectangles:
    """Rectangles over the lanes of a map, their curbs and its pavements."""
    a, b, half_m = [], [], []
    for lane in roads.lanes:
        length_m = lane.curve.length_m
        count = max(1, math.ceil(length_m / PIECE_M))
        points = lane.curve.at(length_m * np.arange(count + 1) / count)[:2].T
        a.append(points[:-1])
        b.append(points[1:])
        half_m.append(np.full(count, _half_m(lane)))
    lanes = _along(np.concatenate(a), np.concatenate(b), np.concatenate(half_m))
    return joined([lanes, *(_around(corners) for corners in roads.pavements)])


def caps(roads: LaneMap, starts: Iterable[int], ends: Iterable[int]) -> Rectangles:
    """What has to be clear before lanes that have an open start, and beyond those that have an open end."""
    tips = [(roads.lanes[lane].curve.start.reversed(), lane) for lane in starts]
    tips += [(roads.lanes[lane].curve.end, lane) for lane in ends]
    if not tips:
        return NONE
    return _along(np.array([tip[:2] for tip, _ in tips]),
                  np.array([tip.moved(END_CAP_M + CLEAR_M)[:2] for tip, _ in tips]),
                  np.array([_half_m(roads.lanes[lane]) for _, lane in tips]))


def overlap(one: Rectangles, other: Rectangles) -> bool:
    """Whether any rectangle of one set overlaps one of the other, by the separating axis theorem."""
    here, there = _near(one.centre_m, other.centre_m)
    if not len(here):
        return False
    step = other.centre_m[there] - one.centre_m[here]
    a, b = one.ahead[here], other.ahead[there]
    half_a, half_b = one.half_m[here], other.half_m[there]
    # The rectangles' axes in each other's: cosine and sine of the angle between them.
    along, across = np.abs(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1]), np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    deepest = np.full(len(here), np.inf)
    for axes, own, others in ((a, half_a, half_b), (b, half_b, half_a)):
        ahead_m = np.abs(step[:, 0] * axes[:, 0] + step[:, 1] * axes[:, 1])
        beside_m = np.abs(step[:, 1] * axes[:, 0] - step[:, 0] * axes[:, 1])
        reach_ahead_m = own[:, 0] + others[:, 0] * along + others[:, 1] * across
        reach_beside_m = own[:, 1] + others[:, 0] * across + others[:, 1] * along
        deepest = np.minimum(deepest, np.minimum(reach_ahead_m - ahead_m, reach_beside_m - beside_m))
    return bool((deepest > TOUCH_M).any())


def _half_m(lane):
    """From the middle of a lane to the side of its rectangles."""
    return lane.width_m / 2 + lane.curb_gap_m + CLEAR_M


def _along(a, b, half_m):
    """A rectangle from each point to the next."""
    step = b - a
    length_m = np.sqrt(step[:, 0] * step[:, 0] + step[:, 1] * step[:, 1])
    return Rectangles((a + b) / 2, step / length_m[:, None],
                      np.stack([length_m / 2, half_m], axis=1))


def _around(corners):
    """Rectangles along the first side of a convex polygon, at most `PIECE_M` long, around all of it."""
    ahead = corners[1] - corners[0]
    ahead = ahead / np.sqrt(ahead[0] * ahead[0] + ahead[1] * ahead[1])
    along = corners[:, 0] * ahead[0] + corners[:, 1] * ahead[1]
    beside = corners[:, 1] * ahead[0] - corners[:, 0] * ahead[1]
    left = np.array([-ahead[1], ahead[0]])
    count = max(1, math.ceil(float(along.max() - along.min()) / PIECE_M))
    ends_m = along.min() + (along.max() - along.min()) * np.arange(count + 1) / count
    points = ends_m[:, None] * ahead + (beside.max() + beside.min()) / 2 * left
    return _along(points[:-1], points[1:], np.full(count, (beside.max() - beside.min()) / 2 + CLEAR_M))


def _near(here, there):
    """Pairs of points whose cells of the grid are the same or touch."""
    keys = _keys(there)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first, second = [], []
    for step_x in (-1, 0, 1):
        for step_y in (-1, 0, 1):
            key = _keys(here, step_x, step_y)
            low, high = np.searchsorted(keys, key, side="left"), np.searchsorted(keys, key, side="right")
            point = np.repeat(np.arange(len(here)), high - low)
            rank = np.arange(len(point)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
            first.append(point)
            second.append(order[low[point] + rank])
    return np.concatenate(first), np.concatenate(second)


def _keys(points, step_x=0, step_y=0):
    """The cell of each point, or one beside it."""
    cell = np.floor(points / CELL_M).astype(np.int64)
    return (cell[:, 0] + step_x) * 2**32 + cell[:, 1] + step_y


def _turned(vectors, sine, cosine):
    return np.stack([vectors[:, 0] * cosine - vectors[:, 1] * sine, vectors[:, 0] * sine + vectors[:, 1] * cosine],
                    axis=1)
