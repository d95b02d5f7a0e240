"""How soon would an object hit the one that it follows, if both kept their speeds?"""

from __future__ import annotations

import numpy as np

from .frames import Frames

LONGEST_S = np.float32(5.0)
"""Longer times, and those of objects that follow nothing or fall behind, count as this one."""

MAX_TURN_RAD = np.float32(np.radians(75.0))
"""Between the headings of an object and the one that it follows."""

ALIGNED_TURN_RAD = np.float32(np.radians(10.0))
DEEP_OVERLAP_M = np.float32(0.5)
"""Beyond this turn, the paths must overlap by at least this width."""


def time_to_collision(frames: Frames) -> np.ndarray:
    """(F, E) seconds, at most 5. An object follows the nearest one ahead that is in its way.

    The difference of headings is not wrapped, as in the published implementation: an object with the heading 3.1 does
    not follow one with -3.1.
    """
    evaluated = frames.evaluated
    ego_length_m, ego_width_m = frames.half_length_m[evaluated, None], frames.half_width_m[evaluated, None]
    smallest_m = np.minimum(frames.half_length_m, frames.half_width_m)
    outer_m = np.hypot(frames.half_length_m, frames.half_width_m)
    result = np.full((len(frames.x_m), len(evaluated)), LONGEST_S)
    for chunk in frames.chunks():
        # The others in the frame of each evaluated object; a wider corridor than the exact one, without their angles.
        cos, sin = frames.cos[chunk, evaluated, None], frames.sin[chunk, evaluated, None]
        shift_x = frames.x_m[chunk, None, :] - frames.x_m[chunk, evaluated, None]
        shift_y = frames.y_m[chunk, None, :] - frames.y_m[chunk, evaluated, None]
        ahead_m, aside_m = cos * shift_x + sin * shift_y, np.abs(cos * shift_y - sin * shift_x)
        turn_rad = np.abs(frames.heading_rad[chunk, None, :] - frames.heading_rad[chunk, evaluated, None])
        possible = ((ahead_m > ego_length_m + smallest_m) & (aside_m < ego_width_m + outer_m)
                    & (turn_rad <= MAX_TURN_RAD) & frames.valid[chunk, None, :])
        frame, slot, other = np.nonzero(possible)

        # The gaps along and across the heading, by the exact size of the turned box.
        turn, half_length, half_width = turn_rad[possible], frames.half_length_m[other], frames.half_width_m[other]
        turn_cos, turn_sin = np.abs(np.cos(turn)), np.abs(np.sin(turn))
        gap_m = ahead_m[possible] - ego_length_m[slot, 0] - (half_length * turn_cos + half_width * turn_sin)
        beside_m = aside_m[possible] - ego_width_m[slot, 0] - (half_length * turn_sin + half_width * turn_cos)
        follows = (gap_m > 0) & (beside_m < 0) & ((beside_m < -DEEP_OVERLAP_M) | (turn <= ALIGNED_TURN_RAD))
        frame, slot, other, gap_m = frame[follows] + chunk.start, slot[follows], other[follows], gap_m[follows]

        # The nearest one; candidates of an object are in ascending order, and the first one wins a tie.
        nearest_m = np.full(result.shape[1] * (chunk.stop - chunk.start), np.inf, np.float32)
        row = (frame - chunk.start) * len(evaluated) + slot
        np.minimum.at(nearest_m, row, gap_m)
        leads = np.flatnonzero(gap_m == nearest_m[row])
        leads = leads[np.unique(row[leads], return_index=True)[1]]
        frame, slot = frame[leads], slot[leads]
        closing_mps = frames.speed_mps[frame, evaluated[slot]] - frames.speed_mps[frame, other[leads]]
        closes = closing_mps > 0  # False where a speed is not defined
        result[frame[closes], slot[closes]] = np.minimum(gap_m[leads][closes] / closing_mps[closes], LONGEST_S)
    return result
