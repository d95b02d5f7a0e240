"""Which behaviours have to do with what is beside the road? Parked cars, pedestrians, narrow passages, pull-outs."""

from __future__ import annotations

import numpy as np

from ..scenes.generate.trig import wrapped_rad
from ..scenes.scene import OBJECT_KIND_CODES
from .tracks import Track, chunks
from .trial import PARKED_BESIDE_M, STANDING_MPS, Trial

PARKED_COUNT, PARKED_GAP_M, PASSING_MPS = 2, 2.0, 2.0
"""Parked cars are passed, with at most so much between the boxes, at this speed or more."""

WALKING_S, YIELD_SHARE, YIELD_MPS = 8.0, 0.5, 3.0
"""The vehicle reaches the place where a pedestrian crossed its path at most `WALKING_S` later. Between `WALKING_S`
before the crossing and that time it slows down to `YIELD_SHARE` of its speed or less, and to `YIELD_MPS` or less."""

NARROW_M, WIDE_M = 4.0, 5.5
"""Between road edges or standing cars, at a narrow passage and before it: one lane, and two narrow ones."""

NARROW_LENGTH_M, WIDE_BEFORE_M, ONCOMING_S = 4.0, 60.0, 20.0
"""Least length of the passage, how far before it the road is wide, and the time within which an oncoming vehicle passes
it as well."""

GAP_M = 2.0
"""A wider place between two parked cars, or where a road edge has a gap, up to so long, is a part of the passage."""

RAY_M = 8.0
"""Edges farther to the side do not matter."""

ONCOMING_RAD, SAME_PLACE_M = np.radians(150.0), 1.5
"""An oncoming vehicle drives the other way through the same place: the passage has room for one car only."""

KERB_M, KERB_RAD = (PARKED_BESIDE_M, 4.0), np.radians(30.0)
"""A car at the roadside is so far beside the centre of the lane, about along it."""

WAIT_S, PULL_OUT_S = 1.0, 10.0
"""It stands for so long at least, and then takes at most so long to be in the lane."""

IN_LANE_M, IN_LANE_RAD, IN_LANE_MPS = 0.75, np.radians(15.0), 2.0
"""Where it is in the lane, at which angle, and at which speed at least."""


def parked_cars(trial: Trial, track: Track) -> bool:
    """The vehicle drives past parked cars, closely."""
    passed = set()
    if track.speed_mps.max() < PASSING_MPS:
        return False
    for other in trial.others(track, PARKED_GAP_M, trial.parked):
        along_m, left_m = track.path.coordinates(other.xy_m[:1])
        if not 0.0 < along_m[0] < track.path.length_m:
            continue
        # The width of a car that is parked across is its length.
        at = int(np.argmin(np.linalg.norm(track.xy_m - other.xy_m[0], axis=1)))
        turn_rad = other.heading_rad[0] - track.heading_rad[at]
        half_m = 0.5 * (abs(np.cos(turn_rad)) * other.width_m + abs(np.sin(turn_rad)) * other.length_m)
        gap_m = abs(float(left_m[0])) - half_m - 0.5 * track.width_m
        if 0.0 <= gap_m <= PARKED_GAP_M and track.speed_mps[at] >= PASSING_MPS:
            passed.add(other.object)
    return len(passed) >= PARKED_COUNT


def pedestrian_crossing(trial: Trial, track: Track) -> bool:
    """The vehicle slows down or stops for a pedestrian who crosses its way in front of it."""
    pedestrians = [one for one in trial.tracks if one.kind == OBJECT_KIND_CODES["pedestrian"]]
    for walker in trial.others(track, 0.0, pedestrians):
        along_m, left_m = track.path.coordinates(walker.xy_m)
        crosses = np.flatnonzero((left_m[:-1] < 0.0) != (left_m[1:] < 0.0))
        for frame in crosses.tolist():
            if 0.0 < along_m[frame] < track.path.length_m and _yields(track, walker, frame, float(along_m[frame])):
                return True
    return False


def _yields(track, walker, frame, along_m):
    """Whether the vehicle reaches a place that the pedestrian crosses in a frame, later and slower."""
    front_m = track.driven_m + 0.5 * track.length_m
    crossed = walker.first + frame - track.first
    reached = int(np.searchsorted(front_m, along_m))
    if not (0 <= crossed <= reached < len(track) and (reached - crossed) * track.dt_s <= WALKING_S):
        return False
    speed_mps = track.speed_mps[track.window(crossed, WALKING_S, (reached - crossed) * track.dt_s)]
    slowest = int(np.argmin(speed_mps))
    fastest_mps = float(speed_mps[:slowest + 1].max())
    return speed_mps[slowest] <= min(YIELD_SHARE * fastest_mps, YIELD_MPS) and fastest_mps >= YIELD_MPS


def narrow_passage(trial: Trial, track: Track) -> bool:
    """The vehicle drives through a passage for one car, which an oncoming one passes earlier or later."""
    if track.path.length_m < NARROW_LENGTH_M or track.speed_mps.max() < PASSING_MPS:
        return False
    width_m = _free_width_m(trial, track)
    narrow = width_m <= NARROW_M
    if not narrow.any():
        return False
    passages = [frames for frames in _runs(track, narrow) if _is_passage(track, width_m, frames)]
    if not passages:
        return False
    others = [other for other in trial.others(track, SAME_PLACE_M) if other.path.length_m >= NARROW_LENGTH_M]
    is_met = narrow & _oncoming_places(track, others)
    return any(bool(is_met[frames].any()) for frames in passages)


def _runs(track, narrow):
    """The slices of frames of narrow places, each without a gap of more than `GAP_M`."""
    frames = np.flatnonzero(narrow)
    ends = np.flatnonzero((np.diff(frames) > 1) & (np.diff(track.driven_m[frames]) > GAP_M))
    return [slice(int(run[0]), int(run[-1]) + 1) for run in np.split(frames, ends + 1)]


def _is_passage(track, width_m, frames):
    """Whether narrow places are long enough, with a wide place before them."""
    first_m = track.driven_m[frames.start]
    before = track.driven_m[:frames.start] >= first_m - WIDE_BEFORE_M
    is_after_wide = (width_m[:frames.start][before] >= WIDE_M).any()
    return is_after_wide and track.driven_m[frames.stop - 1] - first_m >= NARROW_LENGTH_M


def _oncoming_places(track, others):
    """(n,) bool: frames at whose place an oncoming vehicle is at about that time."""
    found, frames = np.zeros(len(track), bool), np.arange(len(track)) + track.first
    for other in others:
        theirs = np.arange(len(other)) + other.first
        for chunk in chunks(len(track)):
            apart_m = np.linalg.norm(other.xy_m[None] - track.xy_m[chunk, None], axis=2)
            apart_s = np.abs(theirs[None] - frames[chunk, None]) * track.dt_s
            turn_rad = np.abs(wrapped_rad(other.heading_rad[None] - track.heading_rad[chunk, None]))
            is_there = (apart_m <= SAME_PLACE_M) & (apart_s <= ONCOMING_S) & (turn_rad >= ONCOMING_RAD)
            found[chunk] |= is_there.any(axis=1)
    return found


def _free_width_m(trial, track):
    """(n,) between the nearest road edges or standing cars on both sides of each place; infinite without one."""
    walls_m = np.concatenate([trial.edges_m, *(_sides_m(one) for one in trial.parked)])
    return np.concatenate([_widths_m(walls_m, track.xy_m[chunk], track.heading_rad[chunk])
                           for chunk in chunks(len(track))])


def _widths_m(walls_m, xy_m, heading_rad):
    """(n,) between the nearest walls to the left and to the right of each pose."""
    low_m, high_m = xy_m.min(axis=0) - RAY_M, xy_m.max(axis=0) + RAY_M
    near = (walls_m.max(axis=1) >= low_m).all(axis=1) & (walls_m.min(axis=1) <= high_m).all(axis=1)
    if not near.any():
        return np.full(len(xy_m), np.inf)
    # Where the line across the vehicle meets each wall: solve centre + t side = from + u step.
    start, step = walls_m[near, 0], walls_m[near, 1] - walls_m[near, 0]
    side = np.stack([-np.sin(heading_rad), np.cos(heading_rad)], axis=1)
    to_start = start[None] - xy_m[:, None]
    across = side[:, None, 0] * step[None, :, 1] - side[:, None, 1] * step[None, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (to_start[..., 0] * step[:, 1] - to_start[..., 1] * step[:, 0]) / across
        u = (to_start[..., 0] * side[:, None, 1] - to_start[..., 1] * side[:, None, 0]) / across
    meets = (u >= 0.0) & (u <= 1.0) & (np.abs(t) <= RAY_M)
    left_m = np.where(meets & (t >= 0.0), t, np.inf).min(axis=1)
    right_m = np.where(meets & (t <= 0.0), -t, np.inf).min(axis=1)
    return left_m + right_m


def _sides_m(track):
    """(4, 2, 2) the sides of a standing car."""
    ahead = np.array([np.cos(track.heading_rad[0]), np.sin(track.heading_rad[0])]) * 0.5 * track.length_m
    left = np.array([-np.sin(track.heading_rad[0]), np.cos(track.heading_rad[0])]) * 0.5 * track.width_m
    corners = track.xy_m[0] + np.stack([ahead + left, left - ahead, -ahead - left, ahead - left])
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def pull_out(trial: Trial, track: Track) -> bool:
    """The vehicle stands at the roadside and then drives onto the lane."""
    stands = np.abs(track.speed_mps) < STANDING_MPS
    starts = np.flatnonzero(stands[:-1] & ~stands[1:])
    wait, limit = track.frames(WAIT_S), track.frames(PULL_OUT_S)
    places = trial.places(track)
    for frame in starts.tolist():
        if frame + 1 < wait or not stands[frame + 1 - wait:frame + 1].all():
            continue
        place = trial.lanes.places(track.xy_m[frame:frame + 1], track.heading_rad[frame:frame + 1], KERB_M[1])
        if place.lane[0] < 0 or not KERB_M[0] <= abs(place.left_m[0]) <= KERB_M[1]:
            continue
        if abs(wrapped_rad(track.heading_rad[frame] - place.heading_rad[0])) > KERB_RAD:
            continue
        after = slice(frame + 1, frame + 1 + limit)
        turn_rad = np.abs(wrapped_rad(track.heading_rad[after] - places.heading_rad[after]))
        if ((places.lane[after] >= 0) & (np.abs(places.left_m[after]) <= IN_LANE_M) & (turn_rad <= IN_LANE_RAD)
                & (track.speed_mps[after] >= IN_LANE_MPS)).any():
            return True
    return False
