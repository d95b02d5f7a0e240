"""What do predicates read? The tracks of a trial, each with its lanes, and the map around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..scenes import Scene
from ..scenes.scene import CONTROL_KINDS, LIGHT_STATES
from ..scenes.segments import segments_of
from .lanes import Lanes, Places
from .tracks import Track, tracks_of

STANDING_MPS = 0.3
"""Slower vehicles stand: logs show up to so much of those at rest."""

PARKED_S, PARKED_MOVE_M = 3.0, 0.5
"""A vehicle that is on the map for at least so long, within so few metres, and always stands, does not drive."""

PARKED_BESIDE_M = 1.0
"""From the centre of the nearest lane to that of a parked car, at least."""

T = TypeVar("T")


class StopLine(NamedTuple):
    """A light or sign, and its stop line.

    Attributes:
        control: its index in `Scene.traffic_controls`. kind: of `CONTROL_KINDS`.
        left_m, right_m: (2,) ends of the line, as approaching traffic sees them.
    """

    control: int
    kind: str
    left_m: np.ndarray
    right_m: np.ndarray


class Trial:
    """A trial, as a scene with the log of it; the log of any scene is one.

    Attributes:
        scene: map and log.
        tracks: of all objects, in the order of these.
        vehicles: those of vehicles.
        lanes: of the map.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.tracks = tracks_of(scene)
        self.vehicles = [track for track in self.tracks if track.is_vehicle]
        self.lanes = Lanes(scene)
        self._found: dict[tuple[Any, Track], Any] = {}
        self._boxes = {track: _box(track) for track in self.tracks}

    def once(self, function: Callable[[Trial, Track], T], track: Track) -> T:
        """What a function of trial and track returns, computed at the first call."""
        if (function, track) not in self._found:
            self._found[function, track] = function(self, track)
        return self._found[function, track]

    def places(self, track: Track) -> Places:
        """The lane of a vehicle in each frame."""
        return self.once(_places, track)

    def others(self, track: Track, within_m: float, among: list[Track] | None = None) -> list[Track]:
        """Other objects, without those that at all times are farther away from all places of the track."""
        low_m, high_m = self._boxes[track]
        return [other for other in (self.vehicles if among is None else among)
                if other.object != track.object and (self._boxes[other][0] <= high_m + within_m).all()
                and (self._boxes[other][1] >= low_m - within_m).all()]

    @cached_property
    def stop_lines(self) -> list[StopLine]:
        """Those of the scene's lights and signs."""
        controls = self.scene.traffic_controls
        return [StopLine(index, CONTROL_KINDS[int(kind)], line_m[:2], line_m[2:])
                for index, (kind, line_m) in enumerate(zip(controls.kind, controls.line_m.astype(np.float64),
                                                           strict=True))]

    def light(self, line: StopLine, frame: int) -> str:
        """What a light shows in a frame of the log."""
        return LIGHT_STATES[int(self.scene.traffic_controls.state[frame, line.control])]

    @cached_property
    def edges_m(self) -> np.ndarray:
        """(e, 2, 2) both ends of all segments of road edges."""
        roads = self.scene.roads
        _, first = segments_of(roads, "edge")
        points = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
        return np.stack([points[first], points[first + 1]], axis=1)

    @cached_property
    def parked(self) -> list[Track]:
        """Vehicles that never drive, and are not in the middle of a lane, where they might wait."""
        standing = [track for track in self.vehicles if never_drives(track)]
        if not standing:
            return []
        places = self.lanes.places(np.stack([track.xy_m[0] for track in standing]), None)
        return [track for track, lane, left_m in zip(standing, places.lane, places.left_m, strict=True)
                if lane < 0 or abs(left_m) >= PARKED_BESIDE_M]


def _box(track):
    """Lowest and highest x and y of what an object covers."""
    half_m = 0.5 * float(np.hypot(track.length_m, track.width_m))
    return track.xy_m.min(axis=0) - half_m, track.xy_m.max(axis=0) + half_m


def _places(trial, track):
    return trial.lanes.places_along(track.xy_m, track.heading_rad)


def never_drives(track: Track) -> bool:
    """Whether a vehicle stands all the time."""
    return (len(track) >= track.frames(PARKED_S) and float(np.ptp(track.x_m)) <= PARKED_MOVE_M
            and float(np.ptp(track.y_m)) <= PARKED_MOVE_M and bool((np.abs(track.speed_mps) < STANDING_MPS).all()))


def shared(track: Track, other: Track) -> tuple[slice, slice] | None:
    """The frames of two tracks that are the same frames of the log; None if there are none."""
    first, end = max(track.first, other.first), min(track.first + len(track), other.first + len(other))
    if first >= end:
        return None
    return slice(first - track.first, end - track.first), slice(first - other.first, end - other.first)


def crossing(track: Track, line: StopLine) -> int | None:
    """The first frame in which the front bumper is beyond a stop line that it has passed; None if it does not."""
    along_m, beyond_m = _by_line(track, line)
    length_m = float(np.linalg.norm(line.right_m - line.left_m))
    passes = (beyond_m[:-1] < 0.0) & (beyond_m[1:] >= 0.0)
    share = beyond_m[:-1] / np.where(passes, beyond_m[:-1] - beyond_m[1:], 1.0)
    at_m = along_m[:-1] + share * (along_m[1:] - along_m[:-1])
    found = np.flatnonzero(passes & (at_m >= 0.0) & (at_m <= length_m))
    return int(found[0]) + 1 if len(found) else None


def before_line_m(track: Track, line: StopLine) -> np.ndarray:
    """(n,) from the front bumper to a stop line; negative beyond it."""
    return -_by_line(track, line)[1]


def _by_line(track, line):
    """The front bumper's metres along a line from its left end, and beyond it."""
    step = line.right_m - line.left_m
    along = step / max(float(np.linalg.norm(step)), 1e-9)
    from_left_m = track.bumper_m - line.left_m
    return from_left_m @ along, from_left_m @ np.array([-along[1], along[0]])
