"""How did one object move? Its track over the frames in which it is on the map, and places along its path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..scenes import Scene
from ..scenes.generate.trig import wrapped_rad
from ..scenes.scene import OBJECT_KIND_CODES

LEAST_TRACK_S = 1.0
"""Shorter tracks, such as those between two long gaps of a log, show no behaviour."""

GAP_S, GAP_MPS, GAP_RAD = 2.0, 2.5, math.radians(60.0)
"""A track goes on after a gap of at most so long, as when something hides a vehicle from the sensors, if the mean
velocity over the gap is within so much of the mean of the velocities at its ends, and the headings there are within so
much. A vehicle that brakes with 5 m/s2 in one half of a gap of 2 s is at the second bound; an object that jumps, or
whose index another one takes over, is beyond it."""

SLOPE_S, MEDIAN_S = 0.6, 0.8
"""Times over which an acceleration is taken, and before that the median of the speed: speeds of logs have noise from
frame to frame, and where boxes jump they are wrong for up to four frames.
"""

PATH_STEP_M = 1.0
"""Least distance of two points of a path that follow each other: of a vehicle that stands, or whose box jitters, there
is one point.
"""

BEYOND_M = 200.0
"""By how much a path goes on straight at both ends."""

CHUNK = 256
"""Frames that are compared with a whole map or track at a time: the memory for long logs is bounded."""


@dataclass(frozen=True, eq=False)
class Track:
    """An object in successive frames: those in which it is in the log, and those of short gaps between them.

    In a gap, the centre is on the cubic through the places at both ends with the velocities there (Hermite); heading
    and speed change evenly.

    Attributes:
        object: its index in the scene.
        kind: code, see `OBJECT_KINDS`.
        length_m, width_m: of its box.
        first: the frame of the log in which the track begins.
        dt_s: time between two frames.
        x_m, y_m: (n,) float64, centre of the box.
        heading_rad: (n,) float64, without jumps: it goes on beyond a half turn.
        speed_mps: (n,) float64, along the heading; negative in reverse.
    """

    object: int
    kind: int
    length_m: float
    width_m: float
    first: int
    dt_s: float
    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    speed_mps: np.ndarray

    def __len__(self) -> int:
        return len(self.x_m)

    @property
    def is_vehicle(self) -> bool:
        """Whether it is one that can show a behaviour."""
        return self.kind == OBJECT_KIND_CODES["vehicle"]

    @cached_property
    def xy_m(self) -> np.ndarray:
        """(n, 2) centres."""
        return np.stack([self.x_m, self.y_m], axis=1)

    @cached_property
    def bumper_m(self) -> np.ndarray:
        """(n, 2) middle of the front bumper."""
        ahead = np.stack([np.cos(self.heading_rad), np.sin(self.heading_rad)], axis=1)
        return self.xy_m + 0.5 * self.length_m * ahead

    @cached_property
    def driven_m(self) -> np.ndarray:
        """(n,) distance driven since its first frame."""
        return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(self.xy_m, axis=0), axis=1))])

    @cached_property
    def steady_mps(self) -> np.ndarray:
        """(n,) median of the speed over the `MEDIAN_S` around each frame: without jumps of a few frames."""
        half = max(1, round(0.5 * MEDIAN_S / self.dt_s))
        padded = np.concatenate([np.full(half, self.speed_mps[0]), self.speed_mps, np.full(half, self.speed_mps[-1])])
        return np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)

    @cached_property
    def acceleration_mps2(self) -> np.ndarray:
        """(n,) change of the steady speed over the `SLOPE_S` around each frame, over less at the ends."""
        half = max(1, round(0.5 * SLOPE_S / self.dt_s))
        at = np.arange(len(self))
        before, after = np.maximum(at - half, 0), np.minimum(at + half, len(self) - 1)
        return (self.steady_mps[after] - self.steady_mps[before]) / np.maximum((after - before) * self.dt_s, self.dt_s)

    @cached_property
    def path(self) -> Path:
        """The way of its centre."""
        kept = [0]
        for frame in range(1, len(self)):
            if np.linalg.norm(self.xy_m[frame] - self.xy_m[kept[-1]]) >= PATH_STEP_M:
                kept.append(frame)
        return Path(self.xy_m[kept], self.heading_rad[kept])

    def frames(self, duration_s: float) -> int:
        """The number of frames of a duration, at least 1."""
        return max(1, round(duration_s / self.dt_s))

    def window(self, frame: int, before_s: float, after_s: float = 0.0) -> slice:
        """The frames from so long before a frame to so long after it, both included, as far as there are any."""
        return slice(max(0, frame - round(before_s / self.dt_s)), frame + round(after_s / self.dt_s) + 1)


def chunks(count: int) -> list[slice]:
    """The slices of so many frames, each of at most `CHUNK`, and at least one."""
    return [slice(first, min(first + CHUNK, count)) for first in range(0, max(count, 1), CHUNK)]


class Path:
    """A polyline, straight on at both ends.

    Args:
        xy_m: (p, 2) points, none twice in a row.
        heading_rad: (p,) the direction beyond the ends is that of the object there.
    """

    def __init__(self, xy_m: np.ndarray, heading_rad: np.ndarray) -> None:
        ends = [np.array([np.cos(angle), np.sin(angle)]) for angle in (heading_rad[0], heading_rad[-1])]
        points = np.concatenate([[xy_m[0] - BEYOND_M * ends[0]], xy_m, [xy_m[-1] + BEYOND_M * ends[1]]])
        step = np.diff(points, axis=0)
        length_m = np.linalg.norm(step, axis=1)
        self._from_m, self._ahead, self._segment_m = points[:-1], step / length_m[:, None], length_m
        self._along_m = np.concatenate([[0.0], np.cumsum(length_m)]) - BEYOND_M
        self.length_m = float(self._along_m[-2])

    def coordinates(self, xy_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) metres along the path of its nearest point, below 0 and above `length_m` beyond its ends, and to its
        left.
        """
        parts = [self._coordinates(xy_m[chunk]) for chunk in chunks(len(xy_m))]
        along_m, left_m = (np.concatenate(values) for values in zip(*parts, strict=True))
        return along_m, left_m

    def _coordinates(self, xy_m):
        x_m, y_m = (xy_m[:, None, axis] - self._from_m[None, :, axis] for axis in (0, 1))
        ahead_x, ahead_y = self._ahead.T
        along_m, left_m = x_m * ahead_x + y_m * ahead_y, y_m * ahead_x - x_m * ahead_y
        clipped_m = np.minimum(np.maximum(along_m, 0.0), self._segment_m)
        beyond_m = along_m - clipped_m
        apart2 = beyond_m * beyond_m + left_m * left_m
        nearest = np.argmin(apart2, axis=1)
        at = np.arange(len(xy_m)), nearest
        beside_m = np.sqrt(apart2[at])
        return self._along_m[nearest] + clipped_m[at], np.where(left_m[at] < 0.0, -beside_m, beside_m)


def tracks_of(scene: Scene) -> list[Track]:
    """The tracks of all objects of a log; one with long gaps has several."""
    objects, found = scene.objects, []
    least = max(2, round(LEAST_TRACK_S / scene.dt_s) + 1)
    valid = np.zeros((objects.frame_count + 2, objects.count), bool)
    valid[1:-1] = objects.valid
    for index in range(objects.count):
        changes = np.flatnonzero(valid[1:, index] != valid[:-1, index]).tolist()
        runs = list(zip(changes[::2], changes[1::2], strict=True))
        joined: list[list[tuple[int, int]]] = []
        for run in runs:
            if joined and _goes_on(scene, index, joined[-1][-1][1] - 1, run[0]):
                joined[-1].append(run)
            else:
                joined.append([run])
        found += [_track(scene, index, parts) for parts in joined if parts[-1][1] - parts[0][0] >= least]
    return found


def _goes_on(scene, index, last, first):
    """Whether an object may have driven from its place in frame `last` to that in `first`, and is missing between."""
    duration_s = (first - last) * scene.dt_s
    if duration_s > GAP_S + 1.5 * scene.dt_s:  # the frames before and after it are a step apart without a gap
        return False
    at, to = (_motion(scene, index, [frame])[:, 0] for frame in (last, first))
    turn_rad = abs(wrapped_rad(float(to[2] - at[2])))
    apart_mps = np.hypot(*((to[:2] - at[:2]) / duration_s - 0.5 * (at[3:] + to[3:])))
    return bool(turn_rad <= GAP_RAD and apart_mps <= GAP_MPS)


def _motion(scene, index, frames):
    """(5, n) float64: place, heading and velocity of an object in frames of the log."""
    return np.stack([getattr(scene.objects, name)[frames, index].astype(np.float64)
                     for name in ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps")])


def _track(scene, index, runs):
    """A track of runs of frames, with what is between them.

    Args:
        runs: the first frame of each, and that after its last one.
    """
    objects = scene.objects
    frames = np.concatenate([np.arange(first, end) for first, end in runs])
    x_m, y_m, heading_rad, vx_mps, vy_mps = _motion(scene, index, frames)
    ahead_mps = vx_mps * np.cos(heading_rad) + vy_mps * np.sin(heading_rad)
    speed_mps, heading_rad = np.copysign(np.hypot(vx_mps, vy_mps), ahead_mps), np.unwrap(heading_rad)
    if len(runs) > 1:
        every = np.arange(frames[0], frames[-1] + 1)
        x_m, y_m = (_filled(every, frames, *of, float(scene.dt_s)) for of in ((x_m, vx_mps), (y_m, vy_mps)))
        heading_rad, speed_mps = (np.interp(every, frames, values) for values in (heading_rad, speed_mps))
    return Track(index, int(objects.kind[index]), float(objects.length_m[index]), float(objects.width_m[index]),
                 int(frames[0]), float(scene.dt_s), x_m, y_m, heading_rad, speed_mps)


def _filled(every, frames, place_m, rate_mps, dt_s):
    """Places in all frames, by the cubic between the frames before and after each."""
    before = np.clip(np.searchsorted(frames, every, side="right") - 1, 0, len(frames) - 2)
    step = frames[before + 1] - frames[before]
    share, step_s = (every - frames[before]) / step, step * dt_s
    rest = 1.0 - share
    cubic_m = (place_m[before] * rest * rest * (1.0 + 2.0 * share)
               + place_m[before + 1] * share * share * (3.0 - 2.0 * share)
               + step_s * share * rest * (rate_mps[before] * rest - rate_mps[before + 1] * share))
    is_logged = np.isin(every, frames)
    return np.where(is_logged, place_m[np.searchsorted(frames, every).clip(max=len(frames) - 1)], cubic_m)
