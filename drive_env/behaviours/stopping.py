"""Which behaviours are stops at lines? Those at stop signs and at traffic lights."""

from __future__ import annotations

import numpy as np

from ..binding import lib
from .tracks import Track
from .trial import STANDING_MPS, Trial, before_line_m, crossing

SIGN_MPS, SIGN_ZONE_M = lib.DRV_STOP_CMPS / 100, float(lib.DRV_STOP_ZONE_M)
"""A vehicle has stopped at a sign if it is slower than this, this near to the line: the core's rule for violations."""

QUEUE_M, RED_S, GO_MPS = 40.0, 1.0, 2.0
"""A vehicle that waits at red stands at most `QUEUE_M` before the line, the length of a queue of five, for `RED_S` or
more; after it has crossed the line, it drives at `GO_MPS` or more."""

GO_S = 3.0
"""How long after the line it has this speed."""


def stop_sign(trial: Trial, track: Track) -> bool:
    """The vehicle stops at the line of a stop sign and then crosses it."""
    for line in trial.stop_lines:
        if line.kind != "stop" or (frame := crossing(track, line)) is None:
            continue
        before_m = before_line_m(track, line)[:frame]
        near = (before_m >= 0.0) & (before_m <= SIGN_ZONE_M)
        if (near & (np.abs(track.speed_mps[:frame]) < SIGN_MPS)).any():
            return True
    return False


def traffic_light(trial: Trial, track: Track) -> bool:
    """The vehicle stands before a red light and drives on across its line when it is green."""
    for line in trial.stop_lines:
        if line.kind != "light" or (frame := crossing(track, line)) is None:
            continue
        if trial.light(line, track.first + frame - 1) != "green":
            continue
        left_m = track.driven_m[frame] - track.driven_m[:frame]
        stands = (np.abs(track.speed_mps[:frame]) < STANDING_MPS) & (left_m <= QUEUE_M)
        red = np.array([trial.light(line, track.first + one) == "red" for one in range(frame)])
        goes = track.speed_mps[track.window(frame, 0.0, GO_S)].max() >= GO_MPS
        if goes and (stands & red).sum() >= track.frames(RED_S):
            return True
    return False
