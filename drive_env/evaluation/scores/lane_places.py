"""On which lane is the ego, step by step? The nearest centre line, as the core chooses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...binding import lib
from .driven_scene import DrivenMap

REACH_M = float(lib.DRV_LANE_REACH_M)
"""An ego that is farther from all centre lines is on no lane."""

TURN_COST_M = lib.DRV_LANE_TURN_COST_CM / 100
"""Metres added to the distance of a lane, times 1 - cos(angle to the heading): 2 m for a lane against the heading."""

USUAL_WIDTH_M = lib.DRV_USUAL_LANE_CM / 100
"""Of lanes of unknown width."""

CLEARANCE_M = float(lib.DRV_LEVEL_HEIGHT_M)
"""Places whose heights differ by more are on different levels."""

CHUNK = 128
"""Steps that are compared with all segments at once: bounds the memory."""


class Segments(NamedTuple):
    """k segments of lines: (k,) arrays; those of no length are left out.

    Attributes:
        line: index of the line.
        x_m, y_m, z_m: start.
        ahead_x, ahead_y: unit vector of the direction in the plane.
        length_m: in the plane.
        slope: rise per metre.
    """

    line: np.ndarray
    x_m: np.ndarray
    y_m: np.ndarray
    z_m: np.ndarray
    ahead_x: np.ndarray
    ahead_y: np.ndarray
    length_m: np.ndarray
    slope: np.ndarray

    def of(self, chosen: np.ndarray | slice) -> Segments:
        """The segments of a mask or slice."""
        return Segments(*(values[chosen] for values in self))

    def near(self, x_m: np.ndarray, y_m: np.ndarray, reach_m: float) -> Segments:
        """The segments whose bounding boxes are within `reach_m` of the bounding box of points."""
        to_x, to_y = self.x_m + self.ahead_x * self.length_m, self.y_m + self.ahead_y * self.length_m
        return self.of((np.maximum(self.x_m, to_x) >= x_m.min() - reach_m)
                       & (np.minimum(self.x_m, to_x) <= x_m.max() + reach_m)
                       & (np.maximum(self.y_m, to_y) >= y_m.min() - reach_m)
                       & (np.minimum(self.y_m, to_y) <= y_m.max() + reach_m))


def segments_of_lines(lines: Sequence[np.ndarray]) -> Segments:
    """The segments of polylines, each (p, 3)."""
    none = np.zeros((0, 3))
    start = np.concatenate([none, *(line[:-1] for line in lines)]).astype(np.float64)
    step = np.concatenate([none, *(line[1:] for line in lines)]) - start
    line = np.repeat(np.arange(len(lines)), [max(len(one) - 1, 0) for one in lines])
    length_m = np.hypot(step[:, 0], step[:, 1])
    kept = length_m > 0.0
    start, step, line, length_m = start[kept], step[kept], line[kept], length_m[kept]
    (x_m, y_m, z_m), (ahead_x, ahead_y, slope) = start.T, (step / length_m[:, None]).T
    return Segments(line, x_m, y_m, z_m, ahead_x, ahead_y, length_m, slope)


class ByLine(NamedTuple):
    """Points (n) by segments (k): (n, k) arrays.

    Attributes:
        distance_m: from the segment.
        left_m: from the line through it, to its left.
        along_m: of the nearest point, from the start of the segment.
        rise_m: height of the point above the segment.
    """

    distance_m: np.ndarray
    left_m: np.ndarray
    along_m: np.ndarray
    rise_m: np.ndarray


def by_line(x_m: np.ndarray, y_m: np.ndarray, z_m: np.ndarray, segments: Segments) -> ByLine:
    """The place of each of n points relative to each segment."""
    shift_x, shift_y = x_m[:, None] - segments.x_m, y_m[:, None] - segments.y_m
    along_m = shift_x * segments.ahead_x + shift_y * segments.ahead_y
    left_m = shift_y * segments.ahead_x - shift_x * segments.ahead_y
    nearest_m = np.clip(along_m, 0.0, segments.length_m)
    return ByLine(np.hypot(along_m - nearest_m, left_m), left_m, nearest_m,
                  z_m[:, None] - (segments.z_m + nearest_m * segments.slope))


def nearest_m(x_m: np.ndarray, y_m: np.ndarray, segments: Segments) -> np.ndarray:
    """(n,) distances from the nearest segment, whatever its height; infinite without segments."""
    if not len(segments.line) or not len(x_m):
        return np.full(len(x_m), np.inf)
    z_m = np.zeros_like(x_m)  # the distance in the plane does not depend on it
    return np.concatenate([by_line(x_m[part], y_m[part], z_m[part], segments).distance_m.min(axis=1)
                           for part in chunks(len(x_m))])


def chunks(count: int) -> list[slice]:
    """Slices of at most `CHUNK` that cover `count` steps."""
    return [slice(first, first + CHUNK) for first in range(0, count, CHUNK)]


class LanePlaces(NamedTuple):
    """The lane of the ego in each step, (t,) each.

    Attributes:
        lane: index in `DrivenMap.lanes`, -1 for none; where there is none, the others are 0.
        left_m: distance from the centre line, positive to the left.
        ahead_x, ahead_y: direction of the lane.
        cos_error, sin_error: of the angle from the direction of the lane to the heading.
    """

    lane: np.ndarray
    left_m: np.ndarray
    ahead_x: np.ndarray
    ahead_y: np.ndarray
    cos_error: np.ndarray
    sin_error: np.ndarray


def lane_places(road_map: DrivenMap, x_m: np.ndarray, y_m: np.ndarray, z_m: np.ndarray, cos: np.ndarray,
                sin: np.ndarray) -> LanePlaces:
    """The lanes of an ego with these centres, heights and headings, (t,) each."""
    segments = segments_of_lines(road_map.lanes).near(x_m, y_m, REACH_M)
    if not len(segments.line):
        return LanePlaces(np.full(len(x_m), -1), *np.zeros((5, len(x_m))))
    parts = [_places(segments, x_m[part], y_m[part], z_m[part], cos[part], sin[part]) for part in chunks(len(x_m))]
    return LanePlaces(*map(np.concatenate, zip(*parts, strict=True)))


def _places(segments: Segments, x_m: np.ndarray, y_m: np.ndarray, z_m: np.ndarray, cos: np.ndarray,
            sin: np.ndarray) -> LanePlaces:
    place = by_line(x_m, y_m, z_m, segments)
    cos_error = cos[:, None] * segments.ahead_x + sin[:, None] * segments.ahead_y
    sin_error = sin[:, None] * segments.ahead_x - cos[:, None] * segments.ahead_y
    distance_m = place.distance_m + np.abs(place.rise_m)
    possible = (distance_m <= REACH_M) & (np.abs(place.rise_m) <= CLEARANCE_M)
    cost_m = np.where(possible, distance_m + TURN_COST_M * (1.0 - cos_error), np.inf)

    # The first one of those with the least cost.
    best = np.argmin(cost_m, axis=1)
    at = np.arange(len(x_m)), best
    found = possible[at]
    values = (place.left_m[at], segments.ahead_x[best], segments.ahead_y[best], cos_error[at], sin_error[at])
    return LanePlaces(np.where(found, segments.line[best], -1), *(np.where(found, one, 0.0) for one in values))


def half_width_m(road_map: DrivenMap, lane: np.ndarray) -> np.ndarray:
    """(t,) half widths of the lanes with these indices; half of `USUAL_WIDTH_M` where unknown, and for index -1."""
    widths_m = np.append(np.asarray(road_map.width_m, np.float64), 0.0)[lane]
    return 0.5 * np.where(widths_m > 0.0, widths_m, USUAL_WIDTH_M)
