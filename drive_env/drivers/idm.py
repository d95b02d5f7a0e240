"""Motion along a line: the intelligent driver model's response to a gap, and distances and times of acceleration."""

from __future__ import annotations

import math

import numpy as np

ACCELERATION_MPS2, COMFORTABLE_BRAKING_MPS2, HARDEST_BRAKING_MPS2 = 2.5, 2.5, 5.0

MIN_GAP_M, HEADWAY_S = 1.5, 0.8
"""Gap to the leading vehicle at rest, bumper to bumper, and the time headway added to it."""


def idm_acceleration(speed_mps: np.ndarray, lead_mps: np.ndarray | float, gap_m: np.ndarray) -> np.ndarray:
    """The interaction term of the intelligent driver model (Treiber et al. 2000), without its free-road term.

    Args:
        speed_mps, lead_mps: speeds of the vehicle and of the one ahead of it, (n,) each.
        gap_m: (n,) distance between their bumpers.

    Returns:
        (n,) acceleration, m/s2; negative where the gap is too small.
    """
    closing_mps = speed_mps - lead_mps
    desired_gap_m = MIN_GAP_M + np.maximum(
        HEADWAY_S * speed_mps
        + speed_mps * closing_mps / (2 * math.sqrt(ACCELERATION_MPS2 * COMFORTABLE_BRAKING_MPS2)), 0.0)
    return ACCELERATION_MPS2 * (1.0 - (desired_gap_m / np.maximum(gap_m, 0.1)) ** 2)


def distance_after(speed_mps: np.ndarray, desired_mps: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """Metres driven in a time while accelerating up to the desired speed; a faster vehicle keeps its speed."""
    rise_s = np.maximum(desired_mps - speed_mps, 0.0) / ACCELERATION_MPS2
    accelerating_s = np.minimum(time_s, rise_s)
    top_mps = np.maximum(speed_mps, desired_mps)
    driven_m = speed_mps * accelerating_s + 0.5 * ACCELERATION_MPS2 * accelerating_s**2
    return driven_m + top_mps * (time_s - accelerating_s)


def time_to_reach(speed_mps: np.ndarray, desired_mps: np.ndarray, distance_m: np.ndarray) -> np.ndarray:
    """Seconds for a distance, the inverse of `distance_after`."""
    top_mps = np.maximum(np.maximum(speed_mps, desired_mps), 0.1)
    rise_m = np.maximum(top_mps**2 - speed_mps**2, 0.0) / (2 * ACCELERATION_MPS2)
    accelerating_s = (
        np.sqrt(speed_mps**2 + 2 * ACCELERATION_MPS2 * np.minimum(distance_m, rise_m)) - speed_mps) / ACCELERATION_MPS2
    return accelerating_s + np.maximum(distance_m - rise_m, 0.0) / top_mps
