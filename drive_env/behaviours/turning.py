"""Which behaviours are turns? Turns across other traffic, U-turns, and ways through a roundabout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..scenes.generate.trig import wrapped_rad
from .tracks import Track
from .trial import Trial

TURN_RAD, TURN_M = (np.radians(60.0), np.radians(120.0)), 45.0
"""By how much a turn at a junction changes the heading, and within which distance: a quarter circle of radius 28 m."""

U_TURN_RAD, U_TURN_M, U_TURN_APART_M = (np.radians(150.0), np.radians(210.0)), 45.0, (5.0, 25.0)
"""The same for a U-turn, and the distance of its ends. A half circle of radius 12 m is 38 m long. No car has room for
one in less than 8 m: where the ends are nearer, the box of one that stands turns in the log.
"""

EDGE_SHARE = 0.1
"""A turn begins and ends where this share of it is done, and left to do."""

REVERSE_MPS = -0.5
"""Faster reversing is manoeuvring, and no turn."""

CONFLICT_M, CONFLICT_S = 2.0, 6.5
"""Two vehicles are in conflict if the centre of one passes within `CONFLICT_M` of a place of the other's centre, at
most `CONFLICT_S` before or after it. Critical gaps at junctions without lights are 4.1 to 7.1 s in the Highway Capacity
Manual."""

CONFLICT_MPS, APPROACH_M, APPROACH_BESIDE_M, APPROACH_RAD = 2.0, 12.0, 3.0, np.radians(45.0)
"""The other vehicle drives at `CONFLICT_MPS` or more. `APPROACH_M` before that place it was `APPROACH_BESIDE_M` or more
from the path of the turning vehicle, and its heading differed by `APPROACH_RAD` or more from that of the turning
vehicle before the turn."""

RING_RAD = np.radians(60.0)
"""Least turn on the ring of a roundabout: less than to the first exit of four."""


class Turn(NamedTuple):
    """The frames of the largest turn of a track, and by how much it turns to the left."""

    start: int
    end: int
    turn_rad: float


def largest_turn(track: Track, within_m: float) -> Turn | None:
    """The largest change of the heading within a distance driven; None for a vehicle that reverses."""
    if track.steady_mps.min() < REVERSE_MPS:
        return None
    heading_rad = track.heading_rad
    end = np.searchsorted(track.driven_m, track.driven_m + within_m, side="right") - 1
    best = Turn(0, 0, 0.0)
    for start in range(0, len(track)):
        turned_rad = heading_rad[start:end[start] + 1] - heading_rad[start]
        at = int(np.argmax(np.abs(turned_rad)))
        if abs(turned_rad[at]) > abs(best.turn_rad):
            best = Turn(start, start + at, float(turned_rad[at]))
    if best.turn_rad == 0.0:
        return None
    share = (heading_rad[best.start:best.end + 1] - heading_rad[best.start]) / best.turn_rad
    begin = best.start + int(np.flatnonzero(share <= EDGE_SHARE)[-1])
    done = best.start + int(np.flatnonzero(share >= 1.0 - EDGE_SHARE)[0])
    return Turn(begin, max(done, begin + 1), best.turn_rad)


def unprotected_left(trial: Trial, track: Track) -> bool:
    """The vehicle turns left at a junction while others drive across its way."""
    return _unprotected(trial, track, 1)


def unprotected_right(trial: Trial, track: Track) -> bool:
    """The vehicle turns right at a junction while others drive across or onto its way."""
    return _unprotected(trial, track, -1)


def _unprotected(trial, track, side):
    turn = largest_turn(track, TURN_M)
    if turn is None or not TURN_RAD[0] <= side * turn.turn_rad <= TURN_RAD[1] or _on_ring(trial, track, turn):
        return False
    return any(_in_conflict(track, turn, other) for other in trial.others(track, CONFLICT_M))


def _on_ring(trial, track, turn):
    """Whether a part of a turn is on a roundabout."""
    return not trial.lanes.rings.isdisjoint(trial.places(track).lane[turn.start:turn.end + 1].tolist())


def _in_conflict(track, turn, other):
    """Whether another vehicle from another direction passes the way of a turn at about that time."""
    # Frames of the other one in which it moves, and whether it came from elsewhere.
    before = np.searchsorted(other.driven_m, other.driven_m - APPROACH_M)
    turn_rad = np.abs(wrapped_rad(other.heading_rad[before] - track.heading_rad[turn.start]))
    passing = np.flatnonzero((turn_rad >= APPROACH_RAD) & (other.speed_mps >= CONFLICT_MPS))
    if not len(passing):
        return False
    # Those in which it passes the way of the turn at about the time of the turn.
    frames = np.arange(turn.start, turn.end + 1)
    apart_s = np.abs((passing + other.first)[None] - (frames + track.first)[:, None]) * track.dt_s
    apart_m = np.linalg.norm(other.xy_m[passing][None] - track.xy_m[frames][:, None], axis=2)
    passing = passing[((apart_m <= CONFLICT_M) & (apart_s <= CONFLICT_S)).any(axis=0)]
    if not len(passing):
        return False
    return bool((np.abs(track.path.coordinates(other.xy_m[before[passing]])[1]) >= APPROACH_BESIDE_M).any())


def u_turn(trial: Trial, track: Track) -> bool:
    """The vehicle turns round, on a road and not on a roundabout."""
    turn = largest_turn(track, U_TURN_M)
    if turn is None or not U_TURN_RAD[0] <= abs(turn.turn_rad) <= U_TURN_RAD[1]:
        return False
    apart_m = float(np.linalg.norm(track.xy_m[turn.end] - track.xy_m[turn.start]))
    return U_TURN_APART_M[0] <= apart_m <= U_TURN_APART_M[1] and not _on_ring(trial, track, turn)


def roundabout(trial: Trial, track: Track) -> bool:
    """The vehicle enters the ring of a roundabout, or leaves it, and drives along it."""
    lane = trial.places(track).lane
    on_ring = np.isin(lane, list(trial.lanes.rings))
    if not on_ring.any():
        return False
    frames = np.flatnonzero(on_ring)
    turned_rad = float(track.heading_rad[frames[-1]] - track.heading_rad[frames[0]])
    is_beyond = bool((lane[:frames[0]] >= 0).any() or (lane[frames[-1] + 1:] >= 0).any())
    return turned_rad >= RING_RAD and is_beyond
