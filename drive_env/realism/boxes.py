"""How far apart are two boxes with rounded corners? Negative where they overlap.

A rounded box is a smaller box, its core, grown by a radius, so the distance is that of the cores less both radii.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

ROUNDING = 0.7
"""Radius of the corners over half of the smaller side, of the published implementation: cars have round corners."""


class Boxes(NamedTuple):
    """Boxes: centre, direction, half length and half width; the arrays broadcast against each other."""

    x_m: np.ndarray
    y_m: np.ndarray
    cos: np.ndarray
    sin: np.ndarray
    half_length_m: np.ndarray
    half_width_m: np.ndarray

    def of(self, chosen: Any) -> Boxes:
        """The boxes at an index or mask; all arrays must have one shape."""
        return Boxes(*(values[chosen] for values in self))


def signed_distance(first: Boxes, second: Boxes, rounding: float = ROUNDING) -> np.ndarray:
    """Distances in metres between rounded boxes; where they overlap, minus the depth of the penetration."""
    radius_1 = np.float32(rounding) * np.minimum(first.half_length_m, first.half_width_m)
    radius_2 = np.float32(rounding) * np.minimum(second.half_length_m, second.half_width_m)
    cores = _signed_distance_of_boxes(
        first._replace(half_length_m=first.half_length_m - radius_1, half_width_m=first.half_width_m - radius_1),
        second._replace(half_length_m=second.half_length_m - radius_2, half_width_m=second.half_width_m - radius_2))
    return cores - radius_1 - radius_2


def _signed_distance_of_boxes(first: Boxes, second: Boxes) -> np.ndarray:
    """As `signed_distance`, of boxes with sharp corners."""
    cos = first.cos * second.cos + first.sin * second.sin
    sin = first.cos * second.sin - first.sin * second.cos
    shift_x, shift_y = second.x_m - first.x_m, second.y_m - first.y_m
    seen_by_1 = first.cos * shift_x + first.sin * shift_y, first.cos * shift_y - first.sin * shift_x
    seen_by_2 = -(second.cos * shift_x + second.sin * shift_y), second.sin * shift_x - second.cos * shift_y

    # Separating axes: along the one with the widest gap the boxes overlap least, or they do not overlap.
    gap = np.maximum(_widest_gap(first, second, *seen_by_1, cos, sin), _widest_gap(second, first, *seen_by_2, cos, sin))

    # The closest points of disjoint boxes: at least one of the two is a corner.
    squared = np.minimum(_corner_distance2(first, second, *seen_by_1, cos, sin),
                         _corner_distance2(second, first, *seen_by_2, cos, -sin))
    return np.where(gap > 0, np.sqrt(squared), gap)


def _widest_gap(box: Boxes, other: Boxes, x_m: np.ndarray, y_m: np.ndarray, cos: np.ndarray,
                sin: np.ndarray) -> np.ndarray:
    """The larger gap along the two axes of `box`, in whose frame the centre of the other one is x_m, y_m."""
    cos, sin = np.abs(cos), np.abs(sin)
    along = np.abs(x_m) - box.half_length_m - (other.half_length_m * cos + other.half_width_m * sin)
    across = np.abs(y_m) - box.half_width_m - (other.half_length_m * sin + other.half_width_m * cos)
    return np.maximum(along, across)


def _corner_distance2(box: Boxes, other: Boxes, x_m: np.ndarray, y_m: np.ndarray, cos: np.ndarray,
                      sin: np.ndarray) -> np.ndarray:
    """The squared distance from `box` to the nearest corner of the other one, which is turned by cos and sin."""
    nearest = np.full_like(x_m, np.inf)
    for length_m, width_m in ((other.half_length_m, other.half_width_m), (other.half_length_m, -other.half_width_m)):
        corner_x, corner_y = cos * length_m - sin * width_m, sin * length_m + cos * width_m
        for side in (1, -1):
            beyond_x = np.maximum(np.abs(x_m + side * corner_x) - box.half_length_m, 0)
            beyond_y = np.maximum(np.abs(y_m + side * corner_y) - box.half_width_m, 0)
            nearest = np.minimum(nearest, beyond_x * beyond_x + beyond_y * beyond_y)
    return nearest
