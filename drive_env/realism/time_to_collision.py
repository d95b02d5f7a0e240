"""How soon would an object hit the one that it follows, if both kept their speeds?"""

from __future__ import annotations

import numpy as np

from .frames import Frames, nonzero_of

LONGEST_S = np.float32(5.0)
"""Longer times, and those of objects that follow nothing or fall behind, count as this one."""

MAX_TURN_RAD = np.float32(np.radians(75.0))
"""Between the headings of an object and the one that it follows."""

ALIGNED_TURN_RAD = np.float32(np.radians(10.0))
DEEP_OVERLAP_M = np.float32(0.5)
"""Beyond this turn, the paths must overlap by at least this width."""

MARGIN_M = np.float32(0.1)
"""Above the rounding errors of float32 in the selection of objects that may be followed."""


def time_to_collision(frames: Frames) -> np.ndarray:
    """(F, E) seconds, at most 5. An object follows the nearest one ahead that is in its way.

    The difference of headings is not wrapped, as in the published implementation: an object with the heading 3.1 does
    not follow one with -3.1.
    """
    evaluated = frames.evaluated
    inner_m = np.minimum(frames.half_length_m, frames.half_width_m)
    outer_m = np.hypot(frames.half_length_m, frames.half_width_m)
    nearest_m = frames.half_length_m[evaluated, None] + inner_m - MARGIN_M
    widest_m = frames.half_width_m[evaluated, None] + outer_m + MARGIN_M
    middle_m = frames.x_m.mean(dtype=np.float32), frames.y_m.mean(dtype=np.float32)
    result = np.full((len(frames.x_m), len(evaluated)), LONGEST_S)
    for chunk in frames.chunks():
        # Those in a corridor ahead that is wider than the exact one, which depends on the sizes of turned boxes.
        ahead, aside = _along_and_across(frames, chunk, middle_m)
        turn = np.abs(frames.heading_rad[chunk, None, :] - frames.heading_rad[chunk, evaluated, None])
        possible = (ahead > nearest_m) & (np.abs(aside, out=aside) < widest_m) & (turn <= MAX_TURN_RAD)
        possible &= frames.valid[chunk, None, :]
        frame, slot, other = nonzero_of(possible)
        turn = turn[frame, slot, other]
        frame += chunk.start

        # The gaps along and across the heading.
        ego, shape_of = frames.boxes(frame, evaluated[slot]), frames.boxes(frame, other)
        shift_x, shift_y = shape_of.x_m - ego.x_m, shape_of.y_m - ego.y_m
        turn_cos, turn_sin = np.abs(np.cos(turn)), np.abs(np.sin(turn))
        gap_m = (ego.cos * shift_x + ego.sin * shift_y - ego.half_length_m
                 - (shape_of.half_length_m * turn_cos + shape_of.half_width_m * turn_sin))
        beside_m = (np.abs(ego.cos * shift_y - ego.sin * shift_x) - ego.half_width_m
                    - (shape_of.half_length_m * turn_sin + shape_of.half_width_m * turn_cos))
        follows = (gap_m > 0) & (beside_m < 0) & ((beside_m < -DEEP_OVERLAP_M) | (turn <= ALIGNED_TURN_RAD))
        _set_times(result, frames, frame[follows], slot[follows], other[follows], gap_m[follows])
    return result


def _along_and_across(frames: Frames, chunk: slice, middle_m: tuple[np.float32, np.float32]) -> list[np.ndarray]:
    """Positions of all objects in the frame of each evaluated one, (f, E, N) metres ahead and to the left.

    A product of matrices takes a fraction of the time of the same sums of arrays, but its rounding depends on the
    machine: it serves to select objects only.
    """
    x_m, y_m = frames.x_m[chunk] - middle_m[0], frames.y_m[chunk] - middle_m[1]
    places = np.stack([x_m, y_m, np.ones_like(x_m)], axis=1)
    cos, sin = frames.cos[chunk, frames.evaluated], frames.sin[chunk, frames.evaluated]
    own_x, own_y = x_m[:, frames.evaluated], y_m[:, frames.evaluated]
    axes = ((cos, sin), (-sin, cos))
    return [np.stack([one, two, -(one * own_x + two * own_y)], axis=2) @ places for one, two in axes]


def _set_times(result: np.ndarray, frames: Frames, frame: np.ndarray, slot: np.ndarray, other: np.ndarray,
               gap_m: np.ndarray) -> None:
    """Writes the time to collision of objects with the nearest one that they follow, of all pairs (k,) of them, which
    are in ascending order: the first one wins a tie."""
    row = frame * result.shape[1] + slot
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    if not begins.size:
        return
    nearest_m = np.minimum.reduceat(gap_m, begins)
    pairs = np.flatnonzero(gap_m == np.repeat(nearest_m, np.diff(begins, append=row.size)))
    leads = pairs[np.flatnonzero(np.diff(row[pairs], prepend=-1))]
    frame, slot, gap_m = frame[leads], slot[leads], gap_m[leads]
    closing_mps = frames.speed_mps[frame, frames.evaluated[slot]] - frames.speed_mps[frame, other[leads]]
    closes = closing_mps > 0  # False where a speed is not defined
    result[frame[closes], slot[closes]] = np.minimum(gap_m[closes] / closing_mps[closes], LONGEST_S)
