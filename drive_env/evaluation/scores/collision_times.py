"""How soon would the ego collide if all objects kept their velocities? Boxes are extrapolated, time by time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...realism.boxes import Boxes
from .boxes import boxes_overlap
from .drive import Drive
from .faults import BEHIND_COS, Collision

STEP_S = 0.1
NUPLAN_TIMES_S = tuple(STEP_S * count for count in range(1, 30))
"""Up to the horizon of 3 s, which itself is excluded, as published."""

VMAX_HORIZON_S = 5.0
VMAX_TIMES_S = tuple(STEP_S * count for count in range(50))
VMAX_AXLE_SHARE = 0.4
"""Share of the length from the centre to the rear axle: V-Max assumes it farther back than the core does."""

AHEAD_COS = float(np.cos(np.radians(30.0)))
"""Cosine of the bearing below which an object is ahead."""

STANDING_MPS = 0.005


def nuplan_time_to_collision(drive: Drive, collisions: Sequence[Collision]) -> np.ndarray:
    """(t,) times to collision in s by nuPlan: 0 in the step of a collision at fault, infinite without one below 3 s.

    Objects ahead count; where the ego is over a border of its lane, on a road edge or in a junction, those at its sides
    count as well. Objects with which it has collided do not.
    """
    bearing = drive.bearing_cos()
    beside = drive.over_border | drive.on_edge | drive.in_junction
    candidates = (bearing > AHEAD_COS) | (beside[:, None] & (bearing >= BEHIND_COS))
    candidates &= drive.same_level & (np.abs(drive.speed_mps) > STANDING_MPS)[:, None]
    first = drive.scene.ego_steps.start
    for one in collisions:
        candidates[one.step - first :, drive.other_index == one.object] = False
    times = _first_overlap_s(drive, candidates, NUPLAN_TIMES_S)
    times[[one.step - first for one in collisions if one.at_fault]] = 0.0
    return times


def vmax_time_to_collision(drive: Drive) -> np.ndarray:
    """(t,) times to collision in s by V-Max, with objects ahead: 0 where boxes overlap, at most 5."""
    candidates = drive.same_level & (drive.bearing_cos(VMAX_AXLE_SHARE) > AHEAD_COS)
    return np.minimum(_first_overlap_s(drive, candidates, VMAX_TIMES_S), VMAX_HORIZON_S)


def _first_overlap_s(drive: Drive, candidates: np.ndarray, times_s: Sequence[float]) -> np.ndarray:
    """(t,) the first of the times at which a candidate, (t, m), overlaps the ego; infinite without one."""
    # Pairs that can come near each other within the horizon.
    step, other = np.nonzero(candidates & (_gap_m(drive) <= _reach_m(drive, times_s[-1])))
    own, theirs = drive.box.of(step), drive.others.of((step, other))
    closing_x = drive.other_speed_mps[step, other] * theirs.cos - drive.speed_mps[step] * own.cos
    closing_y = drive.other_speed_mps[step, other] * theirs.sin - drive.speed_mps[step] * own.sin

    first_s = np.full(len(step), np.inf)
    for time_s in times_s:
        moved = Boxes(theirs.x_m + time_s * closing_x, theirs.y_m + time_s * closing_y, *theirs[2:])
        first_s[boxes_overlap(own, moved) & np.isinf(first_s)] = time_s
    result = np.full(len(drive.x_m), np.inf)
    np.minimum.at(result, step, first_s)
    return result


def _gap_m(drive: Drive) -> np.ndarray:
    """(t, m) gaps between the circumscribed circles of the boxes."""
    own_m = 0.5 * np.hypot(drive.length_m, drive.width_m)
    others_m = np.hypot(drive.others.half_length_m, drive.others.half_width_m)
    return np.hypot(drive.others.x_m - drive.x_m[:, None], drive.others.y_m - drive.y_m[:, None]) - own_m - others_m


def _reach_m(drive: Drive, horizon_s: float) -> np.ndarray:
    """(t, m) by how much both can approach each other within the horizon."""
    return horizon_s * (np.abs(drive.speed_mps)[:, None] + np.abs(drive.other_speed_mps))
