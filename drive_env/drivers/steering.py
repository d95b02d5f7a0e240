"""The path ahead of each agent, shifted around vehicles that block it, and the steering that follows it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..binding import lib
from .reference_path import LOOKAHEAD_POINTS, PITCH_M, ReferencePaths, headings_of

WHEELBASE_SHARE = lib.DRV_WHEELBASE_PERCENT / 100
"""Wheelbase as a share of the vehicle's length, of the core's vehicle model."""

AIM_S, NEAREST_AIM_M, FARTHEST_AIM_M = 0.6, 4.0, 20.0
"""Time to the aim point ahead, and bounds of its distance: below 4 m, 13 steering bins make a car weave; above 20 m, it
cuts bends."""

PASSING_GAP_M, PASSING_RAMP_M, PASSING_POINTS = 0.6, 10.0, 15
"""Vehicles that will not drive on are passed on the left: lateral gap, length of the ramp of the shifted path, and the
number of points behind an agent's centre within which a vehicle is still considered."""

SIDE_STEP = 2
SIDE_PITCH_M = SIDE_STEP * PITCH_M
"""Spacing at which paths are tested against other vehicles: every second point, which halves the work."""


class Path(NamedTuple):
    """The next `LOOKAHEAD_POINTS` points of every agent, (agents, points, 2), and their headings, (agents, points)."""

    xy_m: np.ndarray
    heading_rad: np.ndarray


def path_ahead(paths: ReferencePaths, vehicles: dict[str, np.ndarray], drives: np.ndarray, places: np.ndarray) -> Path:
    """The reference paths from the agents' places on, moved to the left around vehicles that will not drive on.

    Args:
        paths: of the scene.
        vehicles: of `Batch.vehicles`.
        drives: (agents,) bool, agents that do not wait.
        places: (agents,) of `ReferencePaths.places`.
    """
    agents, points = np.arange(paths.count)[:, None], np.arange(LOOKAHEAD_POINTS)
    here = places[:, None] + points
    xy_m, heading_rad = paths.xy_m[agents, here], paths.heading_rad[agents, here]
    stands = vehicles["present"].copy()
    stands[: paths.count] &= ~drives
    stands[paths.count : paths.count + paths.moving_count] = False
    if not stands.any():
        return Path(xy_m, heading_rad)
    left_m = _passing_shift(paths, vehicles, places, np.flatnonzero(stands))
    xy_m = xy_m + left_m[..., None] * np.stack([-np.sin(heading_rad), np.cos(heading_rad)], axis=2)
    return Path(xy_m, headings_of(xy_m))


def _passing_shift(paths: ReferencePaths, vehicles: dict[str, np.ndarray], places: np.ndarray, stands: np.ndarray
                   ) -> np.ndarray:
    """(agents, points) metres to the left that clear the vehicles of indices `stands`."""
    agents, points = np.arange(paths.count)[:, None], np.arange(LOOKAHEAD_POINTS)

    # The point of each path nearest to each vehicle, and the offset between them in the path's direction.
    around = np.maximum(places[:, None] + np.arange(-PASSING_POINTS, LOOKAHEAD_POINTS), 0)
    dx_m = vehicles["x_m"][stands][:, None] - paths.xy_m[agents, around, 0][:, None]
    dy_m = vehicles["y_m"][stands][:, None] - paths.xy_m[agents, around, 1][:, None]
    nearest = np.argmin(dx_m * dx_m + dy_m * dy_m, axis=2)[..., None]
    dx_m, dy_m = (np.take_along_axis(offset, nearest, axis=2)[..., 0] for offset in (dx_m, dy_m))
    facing_rad = paths.heading_rad[agents, around[agents, nearest[..., 0]]]
    left_m = dy_m * np.cos(facing_rad) - dx_m * np.sin(facing_rad)
    ahead_m = dx_m * np.cos(facing_rad) + dy_m * np.sin(facing_rad)

    # A vehicle that blocks the path shifts it: fully beside the vehicle, and less along a ramp on both ends.
    apart_m = 0.5 * (vehicles["width_m"][: paths.count, None] + vehicles["width_m"][stands]) + PASSING_GAP_M
    beside_m = 0.5 * (vehicles["length_m"][: paths.count, None] + vehicles["length_m"][stands])
    blocks = (np.abs(left_m) < apart_m) & (np.abs(ahead_m) < SIDE_PITCH_M)
    along_m = (nearest[..., 0] - PASSING_POINTS) * PITCH_M + ahead_m
    away_m = np.abs(along_m[..., None] - points * PITCH_M) - beside_m[..., None]
    share = np.clip(1.0 - away_m / PASSING_RAMP_M, 0.0, 1.0)
    smooth = share * share * (3.0 - 2.0 * share)
    return (np.where(blocks, left_m + apart_m, 0.0)[..., None] * smooth).max(axis=1)


def pursuit_steering(path: Path, vehicles: dict[str, np.ndarray], dt_s: float) -> np.ndarray:
    """(agents,) steering, rad, by pure pursuit (Coulter 1992) of a point ahead, on the arc of the bicycle model.

    Args:
        path: of `path_ahead`.
        vehicles: of `Batch.vehicles`.
        dt_s: time of a step; the aim is at least two steps ahead.
    """
    agents = np.arange(len(path.xy_m))
    aim_m = np.clip(max(AIM_S, 2 * dt_s) * vehicles["speed_mps"][agents], NEAREST_AIM_M, FARTHEST_AIM_M)
    aim = path.xy_m[agents, np.rint(aim_m / PITCH_M).astype(np.int64)]
    dx_m, dy_m = aim[:, 0] - vehicles["x_m"][agents], aim[:, 1] - vehicles["y_m"][agents]
    bearing_rad = np.arctan2(dy_m, dx_m) - vehicles["heading_rad"][agents]
    wheelbase_m = WHEELBASE_SHARE * vehicles["length_m"][agents]
    # The centre departs at the sideslip angle, tan(sideslip) = tan(steering) / 2, on an arc of curvature
    # 2 sin(sideslip) / wheelbase. It meets the aim where sin(bearing - sideslip) = distance sin(sideslip) / wheelbase.
    ahead_m = np.maximum(np.hypot(dx_m, dy_m) + wheelbase_m * np.cos(bearing_rad), 0.1)
    return np.arctan2(2 * wheelbase_m * np.sin(bearing_rad), ahead_m)
