"""Which curves do lanes follow? Lines, arcs and clothoids in a row, and what runs beside them.

A `Path` is a start pose and pieces; a `Curve` runs beside a path, at an offset that cubic tapers change. Both are
values: moving, mirroring, reversing and cutting them returns others. Angles, curvatures and offsets are positive to the
left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...errors import SceneError
from .trig import direction_rad, sine_cosine, wrapped_rad

NODES = (
    (-0.9602898564975363, 0.1012285362903763), (-0.7966664774136267, 0.2223810344533745),
    (-0.5255324099163290, 0.3137066458778873), (-0.1834346424956498, 0.3626837833783620),
    (0.1834346424956498, 0.3626837833783620), (0.5255324099163290, 0.3137066458778873),
    (0.7966664774136267, 0.2223810344533745), (0.9602898564975363, 0.1012285362903763))
"""Nodes and weights of the 8-point Gauss-Legendre quadrature, exact to 1e-15 for a clothoid that turns by 1 rad."""

STEP_M, SAGITTA_M, CURVED_STEP_M, CHORD_RAD = 5.0, 0.02, 1.0, 0.05
"""Largest distance between samples, and between a chord and its arc. In a bend, samples are at most 1 m apart, or as
far as the curve turns by 0.05 rad where that is more: closer samples would fill the road slots of an observation with
the segments beside the agent."""

STRAIGHT_PER_M = 1e-9
"""Below this curvature, an arc of 1 km is a line to 0.5 mm."""

SAME_M, SAME_RAD = 1e-9, 1e-12
"""Poses that differ by less are the same."""


class Pose(NamedTuple):
    """A place and a direction."""

    x_m: float
    y_m: float
    heading_rad: float

    def moved(self, ahead_m: float, left_m: float = 0.0, turn_rad: float = 0.0) -> Pose:
        """The pose so far ahead and to the left of this one, turned."""
        sine, cosine = sine_cosine(self.heading_rad)
        return Pose(self.x_m + ahead_m * cosine - left_m * sine, self.y_m + ahead_m * sine + left_m * cosine,
                    self.heading_rad + turn_rad)

    def from_frame(self, frame: Pose) -> Pose:
        """This pose, which is relative to `frame`, in the coordinates in which `frame` is given."""
        return frame.moved(self.x_m, self.y_m, self.heading_rad)

    def reversed(self) -> Pose:
        """The same place, in the opposite direction."""
        return self._replace(heading_rad=float(wrapped_rad(self.heading_rad + math.pi)))

    def mirrored(self) -> Pose:
        """Its mirror image, y to -y."""
        return Pose(self.x_m, -self.y_m, -self.heading_rad)


class Piece(NamedTuple):
    """A part of a path along which the curvature changes linearly."""

    length_m: float
    start_per_m: float = 0.0
    end_per_m: float = 0.0

    def end(self, start: Pose) -> Pose:
        """Where it ends."""
        if self.start_per_m == self.end_per_m:
            half = 0.5 * float(self.start_per_m) * self.length_m
            chord_m, (sine, cosine) = self.length_m * _chord_share(half), sine_cosine(start.heading_rad + half)
            return Pose(start.x_m + chord_m * cosine, start.y_m + chord_m * sine, start.heading_rad + 2.0 * half)
        return Pose(*(float(value[0]) for value in self.at(start, np.array([self.length_m], np.float64))[:3]))

    def at(self, start: Pose, along_m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """x, y, heading and curvature at arc lengths from the start of the piece."""
        slope = (self.end_per_m - self.start_per_m) / self.length_m if self.length_m > 0 else 0.0
        heading = start.heading_rad + along_m * (self.start_per_m + 0.5 * slope * along_m)
        curvature = self.start_per_m + slope * along_m
        if slope == 0.0:
            half = 0.5 * self.start_per_m * along_m
            chord_m = along_m * _chord_share(half)
            sine, cosine = sine_cosine(start.heading_rad + half)
            return start.x_m + chord_m * cosine, start.y_m + chord_m * sine, heading, curvature
        # A clothoid has no closed form: panels that turn by less than 1 rad each.
        steepest = max(abs(self.start_per_m), abs(self.end_per_m))
        panels = 1 + math.floor(steepest * self.length_m)
        # All nodes of all panels at once; their terms are added in order, for the same bits on every platform.
        shares, weights = np.array([((panel + 0.5 * (1.0 + node)) / panels, 0.5 * weight / panels)
                                    for panel in range(panels) for node, weight in NODES]).T[..., None]
        s = along_m * shares
        sine, cosine = sine_cosine(start.heading_rad + s * (self.start_per_m + 0.5 * slope * s))
        x_m, y_m = np.full(along_m.shape, float(start.x_m)), np.full(along_m.shape, float(start.y_m))
        for step_x_m, step_y_m in zip(along_m * weights * cosine, along_m * weights * sine, strict=True):
            x_m += step_x_m
            y_m += step_y_m
        return x_m, y_m, heading, curvature


def _chord_share(half_rad):
    """Length of a chord as a share of its arc, which turns by twice this angle; 1 for a line."""
    if isinstance(half_rad, float):
        return sine_cosine(half_rad)[0] / half_rad if half_rad else 1.0
    return sine_cosine(half_rad)[0] / np.where(half_rad == 0.0, 1.0, half_rad) + (half_rad == 0.0)


def line(length_m: float) -> Piece:
    """A straight piece."""
    return Piece(length_m)


def arc(length_m: float, curvature_per_m: float) -> Piece:
    """A piece of a circle, by its length."""
    return Piece(length_m, curvature_per_m, curvature_per_m)


def turn(radius_m: float, angle_rad: float) -> Piece:
    """A piece of a circle, by its radius and by the angle it turns, positive to the left."""
    return arc(radius_m * abs(angle_rad), (1.0 if angle_rad > 0 else -1.0) / radius_m)


def clothoid(length_m: float, start_per_m: float, end_per_m: float) -> Piece:
    """A piece whose curvature changes linearly, from one to another."""
    return Piece(length_m, start_per_m, end_per_m)


class Path(NamedTuple):
    """Pieces in a row, each from the end of the one before."""

    start: Pose
    pieces: tuple[Piece, ...]

    @property
    def length_m(self) -> float:
        """Arc length."""
        return self.starts_m()[-1]

    def starts_m(self) -> list[float]:
        """Arc lengths at which the pieces start, and that of the end."""
        starts = [0.0]
        for piece in self.pieces:
            starts.append(starts[-1] + piece.length_m)
        return starts

    @property
    def end(self) -> Pose:
        """Where it ends."""
        return _poses(self)[-1]

    def at(self, along_m: np.ndarray) -> np.ndarray:
        """(5, n): x, y, heading, curvature and its derivative at arc lengths; beyond the ends, on straight lines."""
        along_m = np.asarray(along_m, np.float64)
        starts, poses = self.starts_m(), _poses(self)
        found = np.zeros((5, len(along_m)))
        ends = [-math.inf, *starts[1:-1], math.inf]
        for i, piece in enumerate(self.pieces):
            chosen = (along_m >= ends[i]) & (along_m < ends[i + 1])
            if chosen.any():
                found[:4, chosen] = piece.at(poses[i], along_m[chosen] - starts[i])
                found[4, chosen] = (piece.end_per_m - piece.start_per_m) / piece.length_m if piece.length_m else 0.0
        for beyond, pose, from_m in ((along_m < 0.0, poses[0], 0.0), (along_m > starts[-1], poses[-1], starts[-1])):
            if beyond.any():
                found[4, beyond] = 0.0
                found[:4, beyond] = line(1.0).at(pose, along_m[beyond] - from_m)
        return found

    def moved(self, frame: Pose) -> Path:
        """The path, which is relative to `frame`, in the coordinates in which `frame` is given."""
        return self._replace(start=self.start.from_frame(frame))

    def mirrored(self) -> Path:
        """Its mirror image, y to -y."""
        return Path(self.start.mirrored(), tuple(Piece(length, -start, -end) for length, start, end in self.pieces))

    def reversed(self) -> Path:
        """The same places in the opposite direction."""
        return Path(self.end.reversed(), tuple(Piece(length, -end, -start) for length, start, end in self.pieces[::-1]))

    def part(self, from_m: float, to_m: float) -> Path:
        """The path between two arc lengths."""
        pieces, starts = [], self.starts_m()
        for piece, start in zip(self.pieces, starts, strict=False):
            low, high = max(from_m - start, 0.0), min(to_m - start, piece.length_m)
            if high > low:
                slope = (piece.end_per_m - piece.start_per_m) / piece.length_m
                pieces.append(Piece(high - low, piece.start_per_m + slope * low, piece.start_per_m + slope * high))
        x_m, y_m, heading_rad = self.at(np.array([from_m]))[:3, 0].tolist()
        return Path(Pose(x_m, y_m, heading_rad), tuple(pieces))

    def then(self, *pieces: Piece) -> Path:
        """The path, and further pieces."""
        return self._replace(pieces=self.pieces + pieces)


class Taper(NamedTuple):
    """A change of the offset of a curve: from 0 to `left_m` as 3 t**2 - 2 t**3, t from 0 to 1 over its length."""

    start_m: float
    length_m: float
    left_m: float


class Curve(NamedTuple):
    """What runs beside a path: `left_m` to the left of it, plus what the tapers add. Its stations are the path's.

    The heading jumps where the curvature of the path jumps within a taper, so a taper should lie within one piece.
    """

    path: Path
    left_m: float = 0.0
    tapers: tuple[Taper, ...] = ()

    @property
    def length_m(self) -> float:
        """Arc length of the path, which is the station of the end."""
        return self.path.length_m

    @property
    def is_straight(self) -> bool:
        """Whether its path is one line."""
        return len(self.path.pieces) == 1 and self.path.pieces[0][1:] == (0.0, 0.0)

    @property
    def start(self) -> Pose:
        """Where it starts."""
        return _pose(self, 0.0)

    @property
    def end(self) -> Pose:
        """Where it ends."""
        return _pose(self, self.length_m)

    def at(self, station_m: np.ndarray) -> np.ndarray:
        """(4, n): x, y, heading and curvature of the curve at stations."""
        station_m = np.asarray(station_m, np.float64)
        if not self.tapers and self.is_straight and len(station_m):
            start, (sine, cosine) = self.path.start, sine_cosine(float(self.path.start.heading_rad) + 0.0)
            found = np.zeros((4, len(station_m)))
            found[0] = start.x_m + station_m * cosine - self.left_m * sine
            found[1] = start.y_m + station_m * sine + self.left_m * cosine
            found[2] += start.heading_rad
            return found
        x_m, y_m, heading, curvature, slope = self.path.at(station_m)
        if not self.tapers:
            sine, cosine = sine_cosine(heading)
            return np.stack([x_m - self.left_m * sine, y_m + self.left_m * cosine, heading,
                             curvature / (1.0 - curvature * self.left_m)])
        # The offset, its derivative and its second derivative.
        left, rate, bend = np.zeros((3, len(station_m)))
        left += self.left_m
        for taper in self.tapers:
            t = np.clip((station_m - taper.start_m) / taper.length_m, 0.0, 1.0)
            left += taper.left_m * t * t * (3.0 - 2.0 * t)
            rate += taper.left_m * 6.0 * t * (1.0 - t) / taper.length_m
            inside = (t > 0.0) & (t < 1.0)
            bend += np.where(inside, taper.left_m * (6.0 - 12.0 * t) / (taper.length_m * taper.length_m), 0.0)
        # Along the curve: `ahead` metres for each metre of the path, while `rate` metres to the left.
        sine, cosine = sine_cosine(heading)
        ahead = 1.0 - curvature * left
        ahead_rate = -slope * left - curvature * rate
        square = ahead * ahead + rate * rate
        turned = curvature + (bend * ahead - rate * ahead_rate) / square
        return np.stack([x_m - left * sine, y_m + left * cosine, heading + direction_rad(rate, ahead),
                         turned / np.sqrt(square)])

    def stations(self) -> np.ndarray:
        """Where to sample it: dense enough for `SAGITTA_M`, with both ends, and the ends of pieces and tapers."""
        breaks = {0.0, self.length_m, *self.path.starts_m()}
        for taper in self.tapers:
            breaks |= {taper.start_m, taper.start_m + taper.length_m}
        ends = sorted(at for at in breaks if 0.0 <= at <= self.length_m)
        ends = [at for at, before in zip(ends, [-1.0, *ends], strict=False) if at - before > SAME_M]
        ends[-1] = self.length_m
        found = []
        for start, end, (scale, bend) in zip(ends[:-1], ends[1:], self._bends(ends), strict=True):
            count = max(1, math.ceil((end - start) * scale / sample_step_m(bend) - SAME_M))
            found += [start + (end - start) * i / count for i in range(count)]
        return np.array([*found, self.length_m])

    def _bends(self, ends):
        """For each interval between two ends: the largest ratio of the curve's length to the path's, and curvature."""
        if not self.tapers and len(ends) == len(self.path.pieces) + 1:
            scales = [[abs(1.0 - bend * self.left_m) for bend in piece[1:]] for piece in self.path.pieces]
            return [(max(scale), max(abs(piece[1]) / scale[0], abs(piece[2]) / scale[1]))
                    for piece, scale in zip(self.path.pieces, scales, strict=True)]
        # From just inside one end of each interval to just inside the other: there the curvature is that of one piece.
        low, high = np.array(ends[:-1]), np.array(ends[1:])
        probes = low[:, None] + (high - low)[:, None] * np.array([0.001, 0.25, 0.5, 0.75, 0.999])
        x_m, y_m, _, curvature = self.at(probes.ravel()).reshape(4, *probes.shape)
        step_x, step_y, step = (values[:, 1:] - values[:, :-1] for values in (x_m, y_m, probes))
        scale = np.sqrt(step_x * step_x + step_y * step_y) / step
        return list(zip(scale.max(axis=1).tolist(), np.abs(curvature).max(axis=1).tolist(), strict=True))

    def beside(self, left_m: float) -> Curve:
        """The curve so far to the left of this one, measured across the path."""
        return self._replace(left_m=self.left_m + left_m)

    def moved(self, frame: Pose) -> Curve:
        """The curve, which is relative to `frame`, in the coordinates in which `frame` is given."""
        return self._replace(path=self.path.moved(frame))

    def mirrored(self) -> Curve:
        """Its mirror image, y to -y."""
        return Curve(self.path.mirrored(), -self.left_m,
                     tuple(taper._replace(left_m=-taper.left_m) for taper in self.tapers))

    def reversed(self) -> Curve:
        """The same places in the opposite direction."""
        left_m = self.left_m
        for taper in self.tapers:
            left_m += taper.left_m
        tapers = tuple(Taper(self.length_m - start - length, length, left) for start, length, left in self.tapers[::-1])
        return Curve(self.path.reversed(), -left_m, tapers)

    def part(self, from_m: float, to_m: float) -> Curve:
        """The curve between two stations."""
        return Curve(self.path.part(from_m, to_m), self.left_m,
                     tuple(taper._replace(start_m=taper.start_m - from_m) for taper in self.tapers))



@lru_cache(maxsize=4096)
def _poses(path):
    """Where each piece of a path starts, and where the last one ends."""
    poses = [path.start]
    for piece in path.pieces:
        poses.append(piece.end(poses[-1]))
    return tuple(poses)


@lru_cache(maxsize=4096)
def _pose(curve, station_m):
    """The pose at the first or last station."""
    if not curve.tapers:
        return _poses(curve.path)[0 if station_m == 0.0 else -1].moved(0.0, curve.left_m)
    return Pose(*curve.at(np.array([station_m]))[:3, 0].tolist())


def sample_step_m(curvature_per_m: float) -> float:
    """Largest distance of samples at this curvature."""
    if curvature_per_m < STRAIGHT_PER_M:
        return STEP_M
    radius_m = 1.0 / curvature_per_m
    return min(STEP_M, math.sqrt(8.0 * SAGITTA_M * radius_m), max(CURVED_STEP_M, CHORD_RAD * radius_m))


def fillet_m(radius_m: float, angle_rad: float) -> float:
    """From a corner to where an arc of this radius touches its sides, if the path turns there by this angle."""
    sine, cosine = sine_cosine(angle_rad)
    return radius_m * abs(float(sine)) / (1.0 + float(cosine))


def polyline(points: Sequence[tuple[float, float]] | np.ndarray, radius_m: float | Sequence[float]) -> Path:
    """The path along a polyline, with an arc in place of each inner corner.

    Args:
        radius_m: of all arcs, or of each.

    Raises:
        SceneError: the arcs of two corners, or of one and an end, need more than the distance between them.
    """
    xy = [(float(x), float(y)) for x, y in points]
    legs = [(bx - ax, by - ay) for (ax, ay), (bx, by) in zip(xy[:-1], xy[1:], strict=True)]
    lengths = [math.sqrt(dx * dx + dy * dy) for dx, dy in legs]
    headings = [float(direction_rad(dy, dx)) for dx, dy in legs]
    angles = [float(wrapped_rad(after - before)) for before, after in zip(headings[:-1], headings[1:], strict=True)]
    radii = [float(radius_m)] * len(angles) if isinstance(radius_m, (int, float)) else list(radius_m)
    cuts = [0.0, *(fillet_m(radius, angle) for radius, angle in zip(radii, angles, strict=True)), 0.0]
    pieces: list[Piece] = []
    for i, length in enumerate(lengths):
        rest = length - cuts[i] - cuts[i + 1]
        if rest < -SAME_M:
            raise SceneError(f"leg {i} of a path is {length:g} m long; "
                             f"its arcs need {cuts[i] + cuts[i + 1]:g} m")
        if rest > SAME_M:
            pieces.append(line(rest))
        if i < len(angles) and abs(angles[i]) > SAME_RAD:
            pieces.append(turn(radii[i], angles[i]))
    return Path(Pose(*xy[0], headings[0]), tuple(pieces))


def between(start: Pose, end: Pose) -> Path:
    """The path from one pose to another: a line, or an arc with a line before or after it.

    Its arc has the largest radius that fits. Poses of opposite directions are joined by a half circle.

    Raises:
        SceneError: there is no such path: the end is behind the start, or beside it in the same direction.
    """
    # In the frame of the start.
    sine, cosine = sine_cosine(start.heading_rad)
    dx, dy = end.x_m - start.x_m, end.y_m - start.y_m
    ahead_m, left_m = float(dx * cosine + dy * sine), float(dy * cosine - dx * sine)
    angle = float(wrapped_rad(end.heading_rad - start.heading_rad))
    turned_sine, turned_cosine = (float(value) for value in sine_cosine(angle))
    fault = SceneError(f"no arc leads from {tuple(start)} to {tuple(end)}; the end must be ahead, where the two "
                       "directions meet")
    if abs(angle) < SAME_RAD:
        if ahead_m <= 0 or abs(left_m) > SAME_M:
            raise fault
        return Path(start, (line(ahead_m),))
    if math.pi - abs(angle) < SAME_RAD:
        if left_m == 0.0:
            raise fault
        pieces = [turn(abs(left_m) / 2, math.pi if left_m > 0 else -math.pi)]
        before_m, after_m = max(ahead_m, 0.0), max(-ahead_m, 0.0)
    else:
        # The directions meet in a corner, `before` ahead of the start and `after` behind the end.
        after_m = left_m / turned_sine
        before_m = ahead_m - after_m * turned_cosine
        tangent_m = min(before_m, after_m)
        if tangent_m <= 0:
            raise fault
        pieces = [turn(tangent_m * (1.0 + turned_cosine) / abs(turned_sine), angle)]
        before_m, after_m = before_m - tangent_m, after_m - tangent_m
    before, after = ([line(length)] if length > SAME_M else [] for length in (before_m, after_m))
    return Path(start, tuple(before + pieces + after))

