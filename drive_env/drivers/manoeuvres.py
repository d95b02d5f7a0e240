"""Which lines and arcs take a car out of a parking bay, onto the middle of the aisle? Reversed, they lead into the bay.

The frame is that of the aisle: its middle is y = 0, traffic drives towards +x. The car leaves its bay on a straight
line, then turns as sharply as it is planned to, in both gears alternately, each time as far as there is room, until it
is parallel to the aisle. Two further arcs, one to each side, lead to the middle. All lengths of the line are tried at
once; of those that need the fewest turns, the shortest way is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

STEERING_SHARE = 0.95
"""Of the largest wheel angle: the rest is for corrections."""

REAR_SHARE = 0.5
"""From the middle of a car, which is midway between its axles, to the rear axle, in wheelbases."""

MARGINS_M = ((0.35, 2), (0.25, 3), (0.15, 5), (0.1, 6))
"""Room between a car and everything else, and the most turns in which the car may become parallel while it keeps that
room. Wider margins are tried first. A car is up to 6 cm off its path."""

LINE_STEP_M, LINE_LIMIT_M = 0.2, 8.0
"""Lengths of the line that are tried."""

TURN_SAMPLES, LINE_SAMPLES = 25, 9
"""Poses of a turn, and of each arc to the middle, that are tested."""

MIDDLE_RADIUS = 1.25
"""Radius of the arcs to the middle, relative to that of the turns."""

PARALLEL_RAD = 1e-9
"""A car whose heading differs by less from that of the aisle is parallel to it."""


class Car(NamedTuple):
    """Sizes of a car, m. Its place is the middle of its rear axle.

    Attributes:
        length_m: from bumper to bumper.
        wheelbase_m: between the axles.
        front_m, back_m: from the rear axle to both bumpers.
        half_m: half its width.
        radius_m: of the sharpest planned turn.
    """

    length_m: float
    wheelbase_m: float
    front_m: float
    back_m: float
    half_m: float
    radius_m: float


class Poses(NamedTuple):
    """Places and headings of a car, as arrays of one shape."""

    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray

    def moved(self, travel_m: np.ndarray, curvature_per_m: np.ndarray | float) -> Poses:
        """After driving so far, negative in reverse, along arcs of this curvature; 0 is a line."""
        turn = np.asarray(curvature_per_m * travel_m)
        half = 0.5 * turn
        # The chord of the arc: sin(x) / x, which sinc has with a factor of pi.
        chord_m, middle = travel_m * np.sinc(half / math.pi), self.heading_rad + half
        return Poses(self.x_m + chord_m * np.cos(middle), self.y_m + chord_m * np.sin(middle), self.heading_rad + turn)

    def at(self, index: Any) -> Poses:
        """Those of an index, as in numpy."""
        return Poses(*(np.broadcast_to(values, self.x_m.shape)[index] for values in self))


class Boxes(NamedTuple):
    """Rectangles, (n,) each: middles and headings, and half of their lengths and widths; 0 wide for a line."""

    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    ahead_m: np.ndarray
    left_m: np.ndarray

    def at(self, index: Any) -> Boxes:
        """Those of an index, as in numpy."""
        return Boxes(*(values[index] for values in self))

    def in_frame(self, frame: tuple[float, float, float]) -> Boxes:
        """The same in the coordinates of a frame: x, y and heading."""
        x_m, y_m = place_in_frame(self.x_m, self.y_m, frame)
        return self._replace(x_m=x_m, y_m=y_m, heading_rad=self.heading_rad - frame[2])


class Piece(NamedTuple):
    """A line or an arc: how far the car drives, negative in reverse, and its curvature."""

    travel_m: float
    curvature_per_m: float

    def reversed(self) -> Piece:
        """The same places, driven in the other direction."""
        return Piece(-self.travel_m, self.curvature_per_m)


def place_in_frame(x_m: Any, y_m: Any, frame: tuple[float, float, float]) -> tuple[Any, Any]:
    """A place, or one of arrays, in the coordinates of a frame: x, y and heading."""
    cosine, sine = math.cos(frame[2]), math.sin(frame[2])
    x_m, y_m = x_m - frame[0], y_m - frame[1]
    return x_m * cosine + y_m * sine, y_m * cosine - x_m * sine


def car_of(length_m: float, width_m: float, wheelbase_share: float, max_steering_rad: float) -> Car:
    """The sizes of a vehicle whose middle is midway between its axles."""
    wheelbase_m = wheelbase_share * length_m
    rear_m = REAR_SHARE * wheelbase_m
    return Car(length_m, wheelbase_m, length_m / 2 + rear_m, length_m / 2 - rear_m, width_m / 2,
               wheelbase_m / math.tan(STEERING_SHARE * max_steering_rad))


def pull_out(car: Car, pose: tuple[float, float, float], onward: int, x_limit_m: float,
             obstacles: Sequence[Boxes]) -> list[Piece] | None:
    """The pieces from a bay to the middle of the aisle, with as few changes of gear as possible.

    Args:
        pose: x, y and heading of the rear axle in the bay.
        onward: 1 for a car that leaves and drives on forwards; -1 for one that arrives and drives the pieces reversed:
            its line to the middle leads back.
        x_limit_m: upper bound of `onward` times the x at which the pieces end.
        obstacles: sets of what the car must not touch; for every margin one set after the other is tried.

    Returns:
        None if there are none with a margin of `MARGINS_M`.
    """
    for (margin_m, turns), boxes in product(MARGINS_M, obstacles):
        found = _search(car, pose, onward, x_limit_m, boxes, margin_m, turns)
        if found is not None:
            return found
    return None


def is_free(car: Car, poses: Poses, boxes: Boxes, margin_m: float) -> np.ndarray:
    """For each pose, whether no box is in the car or nearer to one of its sides than the margin."""
    return np.logical_not(overlapping(car, poses, boxes, margin_m).any(axis=-1))


def overlapping(car: Car, poses: Poses, boxes: Boxes, margin_m: float) -> np.ndarray:
    """For each pose and box, whether the box is in the car or nearer to one of its sides than the margin.

    Two rectangles are apart if their projections on the direction of a side of one of them are (separating axes).
    """
    cosine, sine = np.cos(poses.heading_rad)[..., None], np.sin(poses.heading_rad)[..., None]
    box_cosine, box_sine = np.cos(boxes.heading_rad), np.sin(boxes.heading_rad)
    from_rear_m = (car.front_m - car.back_m) / 2
    x_m = boxes.x_m - poses.x_m[..., None] - from_rear_m * cosine
    y_m = boxes.y_m - poses.y_m[..., None] - from_rear_m * sine
    along, across = np.abs(cosine * box_cosine + sine * box_sine), np.abs(cosine * box_sine - sine * box_cosine)
    ahead_m, left_m = car.length_m / 2 + margin_m, car.half_m + margin_m
    overlaps = np.abs(x_m * cosine + y_m * sine) < ahead_m + boxes.ahead_m * along + boxes.left_m * across
    overlaps &= np.abs(y_m * cosine - x_m * sine) < left_m + boxes.ahead_m * across + boxes.left_m * along
    overlaps &= np.abs(x_m * box_cosine + y_m * box_sine) < boxes.ahead_m + ahead_m * along + left_m * across
    overlaps &= np.abs(y_m * box_cosine - x_m * box_sine) < boxes.left_m + ahead_m * across + left_m * along
    return overlaps


def _search(car, pose, onward, x_limit_m, boxes, margin_m, turns):
    """The same with one margin, and with at most so many turns."""
    # Lines out of the bay, forwards with the nose out, as long as there is room.
    x_m, y_m, heading_rad = pose
    gear = 1 if y_m * math.sin(heading_rad) < 0 else -1
    start = Poses(*(np.full(1, value) for value in (x_m, y_m, heading_rad)))
    lengths_m = np.arange(LINE_STEP_M, LINE_LIMIT_M, LINE_STEP_M)
    is_clear = is_free(car, start.moved(gear * lengths_m, 0.0), boxes, margin_m)
    lengths_m = lengths_m[np.logical_and.accumulate(is_clear)]
    if not len(lengths_m):
        return None
    here, driven = start.moved(gear * lengths_m, 0.0), [(gear * lengths_m, 0.0)]

    # Turns in both gears alternately, each as far as there is room, or until the car is parallel to the aisle.
    side, remaining_rad = -math.copysign(1.0, heading_rad), np.full(len(lengths_m), abs(heading_rad))
    rows, shares = np.arange(len(lengths_m)), np.linspace(0.0, 1.0, TURN_SAMPLES)
    for _ in range(turns):
        travel_m, curvature_per_m = gear * car.radius_m * shares * remaining_rad[:, None], side * gear / car.radius_m
        poses = here.at(np.s_[:, None]).moved(travel_m, curvature_per_m)
        is_clear = is_free(car, poses, boxes, margin_m)
        last = np.where(is_clear.all(axis=1), TURN_SAMPLES - 1, np.maximum(is_clear.argmin(axis=1) - 1, 0))
        here, remaining_rad = poses.at((rows, last)), remaining_rad * (1.0 - shares[last])
        driven.append((travel_m[rows, last], curvature_per_m))
        gear = -gear

        # Of those that are, the shortest way that leads to the middle.
        parallel = np.flatnonzero(remaining_rad < PARALLEL_RAD)
        ways = [_to_middle(car, here.at([row]), onward, x_limit_m, boxes, margin_m) for row in parallel]
        found = [[Piece(float(lengths[row]), curvature) for lengths, curvature in driven] + way
                 for row, way in zip(parallel, ways, strict=True) if way is not None]
        if found:
            return min(found, key=lambda pieces: math.fsum(abs(piece.travel_m) for piece in pieces))
    return None


def _to_middle(car, here, onward, x_limit_m, boxes, margin_m):
    """The two arcs from a pose parallel to the aisle to its middle; None where there is no room for them."""
    radius_m, y_m = MIDDLE_RADIUS * car.radius_m, float(here.y_m[0])
    angle_rad = math.acos(max(1.0 - abs(y_m) / (2.0 * radius_m), 0.0))
    to_side = -math.copysign(1.0, y_m) / radius_m
    pieces = [Piece(onward * radius_m * angle_rad, curvature) for curvature in (to_side, -to_side)]
    for piece in pieces:
        poses = here.moved(np.linspace(0.0, piece.travel_m, LINE_SAMPLES), piece.curvature_per_m)
        if not is_free(car, poses, boxes, margin_m).all():
            return None
        here = poses.at([-1])
    return pieces if onward * float(here.x_m[0]) <= x_limit_m else None
