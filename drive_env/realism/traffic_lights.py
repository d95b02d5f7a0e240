"""Does a vehicle run a red light? In which steps its centre passes the stop point of its lane while that shows red."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .logged_scene import Signals
from .nearest_segment import Segments, make_segments, nearest_segments

RED = (1, 4)
"""Codes of the states that forbid to pass: the stop of an arrow, and stop."""


class Lanes(NamedTuple):
    """The segments of all lanes, without heights, and (k,) the id of the lane of each."""

    segments: Segments
    lane: np.ndarray


def make_lanes(lines: Mapping[int, np.ndarray], published: bool = True) -> Lanes:
    """Lanes from centre lines (p, 3) by id, of which those of less than 2 points are left out.

    With `published`, each line but the longest has one segment more, from its last point to 0, 0: the published
    implementation pads lines with zeros, and only checks the first point of a segment for validity. Also, it adds the
    foot point to the offset from a segment where it should subtract it.
    """
    lines = {lane: _flat(line) for lane, line in lines.items() if len(line) > 1}
    longest = max(map(len, lines.values()), default=0)
    if published:
        origin = np.zeros((1, 3), np.float32)
        lines = {lane: np.concatenate([line, origin]) if len(line) < longest else line for lane, line in lines.items()}
    none = np.zeros((0, 3), np.float32)
    starts = np.concatenate([none, *(line[:-1] for line in lines.values())]).T
    ends = np.concatenate([none, *(line[1:] for line in lines.values())]).T
    ids = np.concatenate([np.zeros(0, np.int64), *(np.full(len(line) - 1, lane) for lane, line in lines.items())])
    return Lanes(make_segments(starts, ends, foot_sign=1 if published else -1), ids)


def red_light_violations(x_m: np.ndarray, y_m: np.ndarray, valid: np.ndarray, lanes: Lanes,
                         signals: Signals | None) -> np.ndarray:
    """Steps in which an object passes the stop point of a lane that shows red, and that lane is the nearest one.

    Args:
        x_m, y_m: (..., t) float32, centres.
        valid: of the same shape, bool; no violation is counted in other steps.
        lanes: of surface streets.
        signals: of t steps; None: there are none.

    Returns:
        (..., t) bool.
    """
    if signals is None:
        return np.zeros(x_m.shape, bool)
    passed: list[tuple[int, np.ndarray]] = []
    for index, lane in enumerate(signals.lane):
        own = lanes.segments.of(lanes.lane == lane)
        red_steps = np.flatnonzero(np.isin(signals.state[1:, index], RED)) + 1
        if not len(own.inverse) or not len(red_steps):
            continue

        # How far along the segment of the stop point, in units of its length, are that point and the objects?
        stop_m = signals.stop_point_m[:, index].astype(np.float32)
        segment = nearest_segments(_flat(stop_m).T, own)
        start_m, along_m = own.start_m[:2, segment], own.along_m[:2, segment]
        stop = _share(*(stop_m.T - start_m), *along_m)
        place = _share(x_m - start_m[0], y_m - start_m[1], *along_m)

        # Which steps at red lead past it?
        passes = np.zeros(x_m.shape, bool)
        passes[..., red_steps] = ((place[..., red_steps - 1] < stop[red_steps - 1])
                                  & (place[..., red_steps] > stop[red_steps]) & valid[..., red_steps])
        passed.append((lane, passes))

    # Which lane are they on? One search for all signals.
    passing = np.zeros(x_m.shape, bool)
    for _, passes in passed:
        passing |= passes
    passing_m = _flat(np.stack([x_m[passing], y_m[passing]], axis=1))
    lane_of = lanes.lane[nearest_segments(passing_m.T, lanes.segments)]
    violates = np.zeros(x_m.shape, bool)
    for lane, passes in passed:
        violates[passing] |= passes[passing] & (lane_of == lane)
    return violates


def _share(x: np.ndarray, y: np.ndarray, along_x: np.ndarray, along_y: np.ndarray) -> np.ndarray:
    """Where the foot of x, y is on the line of a vector: 0 at its begin, 1 at its end; 0 on one without a length."""
    squared = along_x**2 + along_y**2
    product = x * along_x + y * along_y
    return np.divide(product, squared, out=np.zeros_like(product), where=squared > 0)


def _flat(points_m: np.ndarray) -> np.ndarray:
    """Points (p, 3) float32 on the ground, of x and y of (p, 2) or (p, 3)."""
    return np.pad(points_m[:, :2].astype(np.float32), ((0, 0), (0, 1)))
