"""Which behaviours are in the speed of a vehicle alone? A hard stop, and a straight drive on a highway."""

from __future__ import annotations

import numpy as np

from .tracks import Track
from .trial import STANDING_MPS, Trial

HARD_MPS2 = 3.4
"""Deceleration that nine of ten drivers exceed when they stop for something unexpected (AASHTO, A Policy on Geometric
Design of Highways and Streets). Agents can brake with 4 m/s2 by default."""

STOP_FROM_MPS, BEFORE_BRAKING_S, STOP_S = 5.0, 1.0, 4.0
"""A hard stop begins at this speed or more, at most so long before the hard braking; at 3.4 m/s2, four seconds suffice
from 13.6 m/s."""

HIGHWAY_MPS, HIGHWAY_S = 20.0, 5.0
"""Least speed, from which on HighwayEnv rewards it, and the time for which the vehicle has it."""

STRAIGHT_RAD, KEEPS_LANE_M = np.radians(5.0), 1.0
"""Largest change of the heading in `HIGHWAY_S`, half of that in a bend of radius 600 m at 20 m/s; largest distance from
the centre of the lane."""


def hard_stop(trial: Trial, track: Track) -> bool:
    """The vehicle brakes harder than is comfortable and comes to rest."""
    hard = np.flatnonzero(track.acceleration_mps2 <= -HARD_MPS2)
    for frame in hard.tolist():
        before = track.steady_mps[track.window(frame, BEFORE_BRAKING_S)]
        after = track.steady_mps[track.window(frame, 0.0, STOP_S)]
        if before.max() >= STOP_FROM_MPS and np.abs(after).min() < STANDING_MPS:
            return True
    return False


def highway_straight(trial: Trial, track: Track) -> bool:
    """The vehicle drives fast and straight on, in the middle of one lane."""
    count = track.frames(HIGHWAY_S) + 1
    places = trial.places(track)
    is_fast = (track.speed_mps >= HIGHWAY_MPS) & (places.lane >= 0) & (np.abs(places.left_m) <= KEEPS_LANE_M)
    follows = np.array([trial.lanes.leads_to(*pair)
                        for pair in zip(places.lane[:-1].tolist(), places.lane[1:].tolist(), strict=True)], bool)
    run = 0
    for frame, fast in enumerate(is_fast.tolist()):
        run = 0 if not fast else run + 1 if frame and follows[frame - 1] else 1
        if run >= count and np.ptp(track.heading_rad[frame + 1 - count:frame + 1]) <= STRAIGHT_RAD:
            return True
    return False
