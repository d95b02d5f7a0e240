"""Where is a stop line of which a file has only one point? Across the lane, as long as a usual lane is wide."""

from __future__ import annotations

import math

import numpy as np

from .scene import Roads
from .stop_signs import LANE_WIDTH_M


def stop_line_m(roads: Roads, lane: int, x_m: float, y_m: float) -> tuple[float, float, float, float]:
    """The ends of the line through a point across a lane, at right angles to the segment nearest to the point.

    Args:
        lane: its index among the roads.

    Returns:
        x and y of the left end, then of the right one, in the direction of the lane, m. Both are the point where
        the lane has no length.
    """
    points = slice(roads.start[lane], roads.start[lane + 1])
    points_m = np.stack([roads.x_m[points], roads.y_m[points]], axis=1).astype(np.float64)
    step_m = np.diff(points_m, axis=0)
    length2 = (step_m**2).sum(axis=1)
    if not length2.any():
        return x_m, y_m, x_m, y_m
    to_point_m = np.array([x_m, y_m]) - points_m[:-1]
    share = np.clip((to_point_m * step_m).sum(axis=1) / np.where(length2 > 0, length2, 1), 0, 1)
    away2 = ((to_point_m - share[:, None] * step_m) ** 2).sum(axis=1)
    nearest = int(np.argmin(np.where(length2 > 0, away2, np.inf)))
    ahead_x, ahead_y = step_m[nearest] / math.sqrt(length2[nearest])
    half_m = LANE_WIDTH_M / 2
    return x_m - half_m * ahead_y, y_m + half_m * ahead_x, x_m + half_m * ahead_y, y_m - half_m * ahead_x
