"""Do boxes overlap, at one time or while one of them moves? Boxes as seen from above, by separating axes."""

from __future__ import annotations

import numpy as np

from ...realism.boxes import Boxes


def corners(box: Boxes) -> np.ndarray:
    """(..., 4, 2) corners: front left, rear left, rear right, front right."""
    ahead = np.stack([box.half_length_m * box.cos, box.half_length_m * box.sin], axis=-1)
    left = np.stack([-box.half_width_m * box.sin, box.half_width_m * box.cos], axis=-1)
    centre = np.stack([box.x_m, box.y_m], axis=-1)
    return np.stack([centre + ahead + left, centre - ahead + left, centre - ahead - left, centre + ahead - left],
                    axis=-2)


def boxes_overlap(first: Boxes, second: Boxes, path_x_m: np.ndarray | float = 0.0,
                  path_y_m: np.ndarray | float = 0.0) -> np.ndarray:
    """Whether boxes overlap or touch.

    Args:
        first, second: of shapes that broadcast against each other. A side may be 0.
        path_x_m, path_y_m: displacement of the first box, without turning, that ends where it is. It counts at every
            place along it.
    """
    shift_x, shift_y = second.x_m - first.x_m, second.y_m - first.y_m
    axes = [(first.cos, first.sin), (-first.sin, first.cos), (second.cos, second.sin), (-second.sin, second.cos)]
    if not np.isscalar(path_x_m) or path_x_m or path_y_m:
        axes.append((-np.asarray(path_y_m), np.asarray(path_x_m)))
    overlap = np.True_
    for x, y in axes:
        # Along the axis: the distance of the centres after and before the displacement, and how far both boxes reach.
        apart = shift_x * x + shift_y * y
        before = apart + path_x_m * x + path_y_m * y
        reach = _reach(first, x, y) + _reach(second, x, y)
        overlap = overlap & (np.minimum(apart, before) <= reach) & (np.maximum(apart, before) >= -reach)
    return np.asarray(overlap)


def _reach(box: Boxes, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far a box reaches from its centre along an axis, times the length of the axis vector."""
    return (box.half_length_m * np.abs(box.cos * x + box.sin * y)
            + box.half_width_m * np.abs(box.cos * y - box.sin * x))
