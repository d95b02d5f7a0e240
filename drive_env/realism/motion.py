"""How fast do objects move and turn? Central differences over steps of 0.1 s, NaN where a neighbour is missing.

All arrays are (..., steps) float32: the published implementation computes in it, and a float64 near the edge of a bin
could be counted in another one.
"""

from __future__ import annotations

import numpy as np

STEP_S = 0.1
"""Between two steps; the ranges of the bins hold for it."""

PI = np.float32(np.pi)


def central_difference(values: np.ndarray) -> np.ndarray:
    """Half the difference between the next and the previous step; NaN in the first and the last step."""
    change = np.full(values.shape, np.nan, np.float32)
    change[..., 1:-1] = (values[..., 2:] - values[..., :-2]) / 2
    return change


def wrapped(angle_rad: np.ndarray) -> np.ndarray:
    """The same angles from -pi to pi."""
    return (angle_rad + PI) % (2 * PI) - PI


def angle_difference(angle_rad: np.ndarray) -> np.ndarray:
    """The central difference of angles, of which the shorter way around the circle counts."""
    return wrapped(2 * central_difference(angle_rad)) / 2


def speed(*coordinates_m: np.ndarray) -> np.ndarray:
    """In m/s, along as many coordinates as are given."""
    squares = [central_difference(values) ** 2 for values in coordinates_m]
    return np.sqrt(sum(squares[1:], squares[0])) / np.float32(STEP_S)


def acceleration(speed_mps: np.ndarray) -> np.ndarray:
    """Change of the speed in m/s2, negative where the object brakes."""
    return central_difference(speed_mps) / np.float32(STEP_S)


def angular_speed(heading_rad: np.ndarray) -> np.ndarray:
    """In rad/s, positive to the left."""
    return angle_difference(heading_rad) / np.float32(STEP_S)


def angular_acceleration(heading_rad: np.ndarray) -> np.ndarray:
    """In rad/s2; the change of the heading per step is itself treated as an angle."""
    return angle_difference(angle_difference(heading_rad)) / np.float32(STEP_S**2)


def both_neighbours(valid: np.ndarray) -> np.ndarray:
    """(..., steps) bool, True where the steps before and after exist and are valid: a central difference is defined.
    Whether the step itself is valid makes no difference."""
    defined = np.zeros_like(valid)
    defined[..., 1:-1] = valid[..., 2:] & valid[..., :-2]
    return defined
