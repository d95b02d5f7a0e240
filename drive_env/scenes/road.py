"""Which lanes does a road along a polyline have? Those beside its centre line, on which bends are arcs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import SceneError, checked_int, value_text
from ..names import named_arguments
from .generate.curves import Curve, Pose, polyline
from .generate.outline import PIECE_M, covered, strips_of
from .generate.parameters import Parameter, fill_parameters
from .generate.roadnet import CURB_GAP_M, SPEED_LIMIT_MPS, on_grid
from .generate.trig import direction_rad, sine_cosine, wrapped_rad
from .limits import COORDINATE_LIMIT_M

PARAMETERS = {
    "lanes": Parameter(1, "lanes", "lanes side by side, each way", 1, 8),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 2.5, 6.0),
    "speed_limit_mps": Parameter(SPEED_LIMIT_MPS, "m/s", "speed limit of every lane", 1.0, 60.0),
    "one_way": Parameter(False, "", "whether all lanes lead along the line", False, True),
}

LEAST_LEG_M = 1.0
"""Least distance of successive points: closer ones would fill the road slots of an observation with the segments beside
the agent."""

ARC_SHARE = 0.4
"""Of each leg, the way between two successive points, an arc replaces up to this share at either end. At least a fifth
stays straight, since the direction of a segment of a few millimetres is lost on the grid."""

LEAST_RADIUS_M = 4.2
"""Of the centre of a lane: the radius that a car of 4.5 m drives with 0.6 rad of steering."""

STRAIGHT_RAD = 1e-9
"""Points in a row, computed in float64, turn by less: they need no arc."""

SLOPE_LIMIT = 0.25
"""Metres of height per metre; the steepest streets of the world have 0.35 to 0.4, over a few metres."""

OVERLAP_M = 0.05
"""A road overlaps itself where its edge is so far inside of it; more than chords differ from their arcs."""


class Road:
    """A road along a polyline, for `build_scene`. Traffic keeps right; at every inner point the road bends in an arc.

    An arc is the largest that replaces at most two fifths of the way to the point before and to the point after. A road
    whose last point is its first one is a ring; it begins in the middle between its first two points.

    Args:
        centre_m: (n, 2) points, at least 2, each at least 1 m from the next: the line between the two directions; of a
            one-way road, its middle. (n, 3) with heights, which rise and fall by at most 1 m in 4 m.
        lanes: lanes side by side, each way, from 1 to 8.
        lane_width_m: of every lane, from 2.5 to 6.
        speed_limit_mps: of every lane, from 1 to 60.
        one_way: whether all lanes lead along the line, from the first point to the last.

    Attributes:
        centre_m: the points, a tuple of tuples of 2 or 3 numbers.
        lanes, lane_width_m, speed_limit_mps, one_way: as passed.
        path: the centre line with its arcs.

    Raises:
        SceneError: a value out of its range; a bend that is too sharp for the lanes, with its radius and the least one;
            or a road that overlaps itself, with the place.
    """

    @named_arguments
    def __init__(self, centre_m: Any, lanes: int = 1, lane_width_m: float = 3.5,
                 speed_limit_mps: float = SPEED_LIMIT_MPS, one_way: bool = False) -> None:
        chosen = fill_parameters("Road", PARAMETERS, {
            "lanes": lanes, "lane_width_m": lane_width_m, "speed_limit_mps": speed_limit_mps, "one_way": one_way})
        self.lanes: int = chosen["lanes"]
        self.lane_width_m: float = chosen["lane_width_m"]
        self.speed_limit_mps: float = chosen["speed_limit_mps"]
        self.one_way: bool = chosen["one_way"]
        self.centre_m = _points(centre_m)
        self.path, self._along_m, self._height_m = self._path()
        self._check_overlap()
        self._check_slope()

    def __repr__(self) -> str:
        return (f"Road({len(self.centre_m)} points, {self.length_m:.1f} m, lanes={self.lanes}"
                f"{', one_way=True' if self.one_way else ''})")

    @property
    def is_ring(self) -> bool:
        """Whether its end is its start."""
        return self.centre_m[0] == self.centre_m[-1]

    @property
    def length_m(self) -> float:
        """Length of the centre line."""
        return self.path.length_m

    @property
    def half_width_m(self) -> float:
        """From the centre line to the road edge, 1 m beside the outermost lane."""
        return self.lanes * self.lane_width_m / (2 if self.one_way else 1) + CURB_GAP_M

    @named_arguments
    def pose(self, along_m: float, lane: int = 0, oncoming: bool = False) -> tuple[float, float, float, float]:
        """x_m, y_m, heading_rad and z_m of a place on the centre of a lane, in the direction of its traffic.

        Args:
            along_m: along the centre line from its start, from 0 to `length_m`, for both directions.
            lane: from 0, the leftmost one as its traffic sees it.
            oncoming: whether the lane leads against the line; False on a one-way road.

        Raises:
            SceneError: a value out of its range.
        """
        lane = checked_int("lane", lane, 0, self.lanes - 1, SceneError)
        along = fill_parameters("pose", {"along_m": Parameter(0.0, "m", "", 0.0, self.length_m)}, {"along_m": along_m})
        if not isinstance(oncoming, bool) or (oncoming and self.one_way):
            raise SceneError(f"oncoming is {value_text(oncoming)}; it must be "
                             f"{'False on a one-way road' if self.one_way else 'True or False'}")
        right_m = (lane + 0.5) * self.lane_width_m - (self.lanes * self.lane_width_m / 2 if self.one_way else 0.0)
        middle = Pose(*self.path.at(np.array([along["along_m"]]))[:3, 0].tolist())
        x_m, y_m, heading_rad = middle.moved(0.0, right_m if oncoming else -right_m)
        heading_rad = float(wrapped_rad(heading_rad + (math.pi if oncoming else 0.0)))
        return x_m, y_m, heading_rad, float(self.heights_m(np.array([along["along_m"]]))[0])

    def heights_m(self, along_m: np.ndarray) -> np.ndarray:
        """(n,) heights of the road at places along its centre line; between two points they change linearly.

        Args:
            along_m: (n,) from the start, from 0 to `length_m`; beyond, the heights are those of the ends.

        Raises:
            SceneError: along_m is not one-dimensional.
        """
        if np.ndim(along_m) != 1:
            raise SceneError(f"along_m has shape {np.shape(along_m)}; it must have shape (any,)")
        # By operations of arrays, which numpy rounds one by one, as np.interp need not.
        before = np.clip(np.searchsorted(self._along_m, along_m, side="right") - 1, 0, len(self._along_m) - 2)
        run_m = self._along_m[before + 1] - self._along_m[before]
        share = np.clip((np.asarray(along_m) - self._along_m[before]) / run_m, 0.0, 1.0)
        return on_grid(self._height_m[before] + share * (self._height_m[before + 1] - self._height_m[before]))

    def _path(self):
        """The centre line, and where along it its points are, with their heights.

        At each inner point it has an arc, the largest that `ARC_SHARE` allows; the point is that in its middle.
        """
        # The points; a ring begins between two of them, where its direction is that of its end.
        points, end_share = np.array([(*point, 0.0)[:3] for point in self.centre_m]), ARC_SHARE
        if self.is_ring:
            middle = (points[:1] + points[1:2]) / 2
            points, end_share = np.concatenate([middle, points[1:], middle]), 2 * ARC_SHARE
        # The legs, how much of each an arc may replace, and the angles between them.
        legs = np.diff(points[:, :2], axis=0)
        leg_m = np.sqrt(legs[:, 0] * legs[:, 0] + legs[:, 1] * legs[:, 1])
        arc_limit_m = ARC_SHARE * leg_m
        arc_limit_m[[0, -1]] = end_share * leg_m[[0, -1]]
        heading_rad = direction_rad(legs[:, 1], legs[:, 0])
        angle_rad = wrapped_rad(heading_rad[1:] - heading_rad[:-1])
        # The radius of the arc that touches both legs at this distance from the point.
        sine, cosine = sine_cosine(angle_rad)
        tangent_m, sine = np.minimum(arc_limit_m[1:], arc_limit_m[:-1]), np.abs(sine)
        radius_m = tangent_m * (1.0 + cosine) / np.where(sine > 0, sine, 1.0)
        radius_m[np.abs(angle_rad) <= STRAIGHT_RAD] = math.inf
        # The innermost lane must have a radius that a car can drive.
        least_m = self.half_width_m - CURB_GAP_M - self.lane_width_m / 2 + LEAST_RADIUS_M
        if (radius_m < least_m).any():
            at = int(np.argmax(radius_m < least_m))
            point = (at + 1) % (len(self.centre_m) - 1) if self.is_ring else at + 1
            raise SceneError(
                f"the bend at point {point} of a road, {self._place(self.centre_m[point])}, has a radius of at most "
                f"{radius_m[at]:.3g} m; it must be at least {least_m:.3g} m with lanes={self.lanes} and "
                f"lane_width_m={self.lane_width_m:g}")
        path = polyline(points[:, :2], [radius if math.isfinite(radius) else 1.0 for radius in radius_m.tolist()])
        # The points along the line: in the middle of their arcs. Without an arc, both legs reach the point.
        is_bent = np.isfinite(radius_m)
        tangent_m = np.where(is_bent, tangent_m, 0.0)
        half_m = np.where(is_bent, np.where(is_bent, radius_m, 0.0) * np.abs(angle_rad) / 2, 0.0)
        straight_m = leg_m - np.append(tangent_m, 0.0) - np.append(0.0, tangent_m)
        along_m = np.cumsum(straight_m + np.append(half_m, 0.0) + np.append(0.0, half_m))
        return path, np.append(0.0, along_m), points[:, 2]

    def _check_slope(self):
        rise = np.abs(np.diff(self._height_m)) / np.diff(self._along_m)
        if (rise > SLOPE_LIMIT).any():
            at = int(np.argmax(rise > SLOPE_LIMIT))
            raise SceneError(f"a road rises or falls by {rise[at]:.3g} m per metre after its point {at}; at most "
                             f"{SLOPE_LIMIT:g} m are allowed")

    def _check_overlap(self):
        """Refuses a road whose edge is on the road itself, where it crosses or touches itself."""
        curve, half_m = Curve(self.path), self.half_width_m
        found = curve.at(curve.stations())
        strips = strips_of(np.array([0, found.shape[1]]), np.ascontiguousarray(found[:2].T), found[2],
                           np.array([half_m - OVERLAP_M]), np.zeros(1, bool), np.zeros(1, bool))
        stations = np.linspace(0.0, self.length_m, 2 + int(self.length_m / PIECE_M))
        edges = np.concatenate([curve.beside(side * half_m).at(stations)[:2].T for side in (-1.0, 1.0)])
        overlap, _ = covered(strips, edges, np.full(len(edges), -1), 0.0)
        if len(overlap):
            raise SceneError(f"the edge of a road is on the road itself at {self._place(edges[overlap.min()])}; a road "
                             "must not cross or touch itself")

    @staticmethod
    def _place(point):
        return f"({point[0]:g}, {point[1]:g}) m"


def _points(centre_m):
    """The points of a centre line, checked, as pairs of floats."""
    try:
        found = np.array(centre_m, np.float64)
    except (TypeError, ValueError):
        found = None
    if found is None or found.ndim != 2 or found.shape[1] not in (2, 3) or len(found) < 2:
        raise SceneError(f"centre_m is {value_text(centre_m)}; it must be at least 2 points of 2 or 3 numbers each")
    if not (np.abs(found) <= COORDINATE_LIMIT_M).all():
        at = int(np.argmin((np.abs(found) <= COORDINATE_LIMIT_M).all(axis=1)))
        raise SceneError(f"centre_m[{at}] is {found[at].tolist()}; coordinates must be from {-COORDINATE_LIMIT_M:g} to "
                         f"{COORDINATE_LIMIT_M:g}, in m")
    step = np.diff(found, axis=0)
    leg_m = np.sqrt(step[:, 0] * step[:, 0] + step[:, 1] * step[:, 1])
    if (leg_m < LEAST_LEG_M).any():
        at = int(np.argmax(leg_m < LEAST_LEG_M))
        raise SceneError(f"centre_m[{at + 1}] is {leg_m[at]:g} m from the point before it; it must be at least "
                         f"{LEAST_LEG_M:g} m")
    return tuple(tuple(map(float, point)) for point in found)
