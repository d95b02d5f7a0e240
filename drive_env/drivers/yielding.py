"""Accelerations that respect other vehicles: following the one ahead, and yielding to the one that arrives first.

Each agent's path is tested against the forecast poses of every other vehicle. An agent follows a vehicle that covers a
point of its path now and is ahead, and yields to a vehicle that will cross its path and arrives first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .idm import distance_after, idm_acceleration, time_to_reach
from .reference_path import LOOKAHEAD_POINTS, PITCH_M
from .steering import SIDE_PITCH_M, SIDE_STEP, Path

FORECAST_S = np.arange(0.0, 4.01, 0.5, dtype=np.float32)
"""Times for which the poses of all vehicles are forecast."""

SIDE_GAP_M = 0.4
"""A path counts as covered where a car on it would leave less than this lateral gap to the other vehicle."""

CLEARANCE_S = 0.5
"""An agent that yields goes this long after the other vehicle has left."""

SAME_DIRECTION_COS = math.cos(math.radians(45.0))
"""Headings closer than 45 degrees belong to one direction of traffic."""

RESTING_MPS = 0.3


class Pairs(NamedTuple):
    """Pairs of a driving agent and a vehicle near it, (pairs,) each."""

    own: np.ndarray
    other: np.ndarray
    ahead_m: np.ndarray
    """Distance of the vehicle ahead of the agent, along the agent's heading."""
    turn_cos: np.ndarray
    """Cosine of the angle between their headings."""


def limit_acceleration(acceleration_mps2: np.ndarray, path: Path, vehicles: dict[str, np.ndarray], drives: np.ndarray,
                       desired_mps: np.ndarray) -> None:
    """Lowers accelerations in place to what following and yielding allow.

    Args:
        acceleration_mps2: (agents,) to limit.
        path: of the agents.
        vehicles: of `Batch.vehicles`.
        drives: (agents,) bool, agents that do not wait.
        desired_mps: (agents,) desired speeds.
    """
    pairs = _near_pairs(vehicles, drives)
    if not len(pairs.own):
        return
    covered = _covered(path, vehicles, drives, desired_mps, pairs)
    for limit_mps2 in (_following(vehicles, pairs, covered), _yielding(vehicles, desired_mps, pairs, covered)):
        np.minimum.at(acceleration_mps2, pairs.own, limit_mps2)


def _near_pairs(vehicles: dict[str, np.ndarray], drives: np.ndarray) -> Pairs:
    x_m, y_m, heading_rad, count = vehicles["x_m"], vehicles["y_m"], vehicles["heading_rad"], len(drives)
    near = np.hypot(x_m[:count, None] - x_m, y_m[:count, None] - y_m) < LOOKAHEAD_POINTS * PITCH_M
    near[np.arange(count), np.arange(count)] = False
    own, other = np.nonzero(near & vehicles["present"] & drives[:, None])
    ahead_m = ((x_m[other] - x_m[own]) * np.cos(heading_rad[own])
               + (y_m[other] - y_m[own]) * np.sin(heading_rad[own]))
    return Pairs(own, other, ahead_m, np.cos(heading_rad[other] - heading_rad[own]))


def _covered(path: Path, vehicles: dict[str, np.ndarray], drives: np.ndarray, desired_mps: np.ndarray, pairs: Pairs
             ) -> np.ndarray:
    """(pairs, points, times) bool: the box of the other at that time covers that point of the agent's path."""
    xy_m, heading_rad = _forecast(path, vehicles, drives, desired_mps)
    points_m = path.xy_m[:, ::SIDE_STEP].astype(np.float32)[pairs.own]
    dx_m = points_m[:, :, None, 0] - xy_m[pairs.other][:, None, :, 0]
    dy_m = points_m[:, :, None, 1] - xy_m[pairs.other][:, None, :, 1]
    cosine, sine = np.cos(heading_rad)[pairs.other][:, None], np.sin(heading_rad)[pairs.other][:, None]
    half_length_m = 0.5 * (vehicles["length_m"][pairs.other] + SIDE_PITCH_M)
    half_width_m = 0.5 * (vehicles["width_m"][pairs.other] + vehicles["width_m"][pairs.own]) + SIDE_GAP_M
    return ((np.abs(dx_m * cosine + dy_m * sine) < half_length_m[:, None, None])
            & (np.abs(dy_m * cosine - dx_m * sine) < half_width_m[:, None, None]))


def _forecast(path: Path, vehicles: dict[str, np.ndarray], drives: np.ndarray, desired_mps: np.ndarray
              ) -> tuple[np.ndarray, np.ndarray]:
    """Poses of every vehicle at the times of `FORECAST_S`: (vehicles, times, 2) and headings, float32.

    Agents that drive accelerate to their desired speed along their paths; all other vehicles go straight on.
    """
    heading_rad = np.repeat(vehicles["heading_rad"][:, None], len(FORECAST_S), axis=1)
    straight_m = vehicles["speed_mps"][:, None] * FORECAST_S
    xy_m = np.stack([vehicles["x_m"][:, None] + straight_m * np.cos(heading_rad),
                     vehicles["y_m"][:, None] + straight_m * np.sin(heading_rad)], axis=2)
    agents, later = np.flatnonzero(drives)[:, None], np.arange(1, len(FORECAST_S))
    reach_m = distance_after(vehicles["speed_mps"][agents], desired_mps[agents], FORECAST_S[later])
    # An agent that reverses is forecast at rest: its path has nothing behind its start.
    point = np.clip(np.rint(reach_m / PITCH_M), 0, LOOKAHEAD_POINTS - 1).astype(np.int64)
    xy_m[agents, later], heading_rad[agents, later] = path.xy_m[agents, point], path.heading_rad[agents, point]
    return xy_m, heading_rad


def _is_ahead(vehicles: dict[str, np.ndarray], pairs: Pairs, covered: np.ndarray) -> np.ndarray:
    """(pairs,) bool: the other covers the agent's path already and is not oncoming."""
    is_oncoming = (pairs.turn_cos < -SAME_DIRECTION_COS) & (vehicles["speed_mps"][pairs.other] > RESTING_MPS)
    return covered[:, :, 0].any(axis=1) & (pairs.ahead_m > 0) & ~is_oncoming


def _following(vehicles: dict[str, np.ndarray], pairs: Pairs, covered: np.ndarray) -> np.ndarray:
    """(pairs,) acceleration that keeps the gap to a vehicle ahead, m/s2; infinite where the other is not ahead."""
    gap_m = np.argmax(covered[:, :, 0], axis=1) * SIDE_PITCH_M - 0.5 * vehicles["length_m"][pairs.own]
    lead_mps = np.maximum(vehicles["speed_mps"][pairs.other] * pairs.turn_cos, 0.0)
    kept_mps2 = idm_acceleration(vehicles["speed_mps"][pairs.own], lead_mps, gap_m)
    return np.where(_is_ahead(vehicles, pairs, covered), kept_mps2, np.inf)


def _yielding(vehicles: dict[str, np.ndarray], desired_mps: np.ndarray, pairs: Pairs, covered: np.ndarray
              ) -> np.ndarray:
    """(pairs,) acceleration that stops before a conflict, m/s2; infinite where the agent has the right of way."""
    # Pairs whose paths conflict, and when and where they do.
    own, other = pairs.own, pairs.other
    is_follower = (pairs.ahead_m < 0) & (pairs.turn_cos > SAME_DIRECTION_COS)
    conflicts = covered.any(axis=(1, 2)) & ~_is_ahead(vehicles, pairs, covered) & ~is_follower
    times = np.asarray(covered.any(axis=1))
    point = np.argmax(covered.any(axis=2), axis=1)
    leaves_s = np.where(times[:, -1], np.inf, FORECAST_S[::-1][np.argmax(times[:, ::-1], axis=1)])
    gap_m = point * SIDE_PITCH_M - 0.5 * vehicles["length_m"][own]
    arrives_s = time_to_reach(vehicles["speed_mps"][own], desired_mps[own], np.maximum(gap_m, 0.0))

    # Both agents of a pair compare the same two arrival times, so that exactly one of them goes first.
    count = len(desired_mps)
    arrivals_s = np.full((count, len(vehicles["x_m"])), np.nan)
    arrivals_s[own[conflicts], other[conflicts]] = arrives_s[conflicts]
    mutual_s = np.where(other < count, arrivals_s[np.minimum(other, count - 1), own], np.nan)
    other_s = np.where(np.isnan(mutual_s), FORECAST_S[np.argmax(times, axis=1)], mutual_s)
    is_second = (other_s < arrives_s) | ((other_s == arrives_s) & (other < own))

    # The second one stops, unless the other has left by then.
    still_there = arrives_s < leaves_s + CLEARANCE_S
    stopping_mps2 = idm_acceleration(vehicles["speed_mps"][own], 0.0, gap_m)
    return np.where(conflicts & is_second & still_there, stopping_mps2, np.inf)
