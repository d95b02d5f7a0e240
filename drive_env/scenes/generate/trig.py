"""How does a generator compute with angles? By + - * / and rint alone, which have the same bits on every platform.

Polynomials and constants are those of Sun's fdlibm (1993), in float64. The order of operations is fixed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

QUARTER_HIGH, QUARTER_LOW = 1.57079632673412561417, 6.07710050650619224932e-11
"""A quarter turn in two parts; the first has 33 bits, so its product with a number of quarter turns is exact."""

SINE = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
        2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
COSINE = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
          -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)
TANGENT_ANGLE = (
    -3.33333333333329318027e-01, 1.99999999998764832476e-01, -1.42857142725034663711e-01, 1.11111104054623557880e-01,
    -9.09088713343650656196e-02, 7.69187620504482999495e-02, -6.66107313738753120669e-02, 5.83357013379057348645e-02,
    -4.97687799461593236017e-02, 3.65315727442169155270e-02, -1.62858201153657823623e-02)

EIGHTH_TANGENT = 0.41421356237309503
"""Tangent of an eighth of a half turn; up to it the polynomial of the arc tangent is exact to the last digit or two."""


def sine_cosine(angle_rad: Any) -> tuple[Any, Any]:
    """Sine and cosine of an angle, or of each of an array; up to 2**20 quarter turns they are within 4e-16."""
    if isinstance(angle_rad, (float, int)):  # the same operations, without arrays
        whole = round(angle_rad / (QUARTER_HIGH + QUARTER_LOW))
        sine, cosine = _kernel((angle_rad - whole * QUARTER_HIGH) - whole * QUARTER_LOW)
        return ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[whole % 4]
    angle = np.asarray(angle_rad, np.float64)
    quarters = np.rint(angle / (QUARTER_HIGH + QUARTER_LOW))
    sine, cosine = _kernel((angle - quarters * QUARTER_HIGH) - quarters * QUARTER_LOW)
    turned = quarters - 4.0 * np.floor(quarters / 4.0)
    swaps, flips_sine, flips_cosine = (turned == 1) | (turned == 3), turned >= 2, (turned == 1) | (turned == 2)
    sine, cosine = np.where(swaps, cosine, sine), np.where(swaps, sine, cosine)
    return np.where(flips_sine, -sine, sine), np.where(flips_cosine, -cosine, cosine)


def direction_rad(y: Any, x: Any) -> Any:
    """The angle of a vector, in [-pi, pi], or of each of two arrays; 0 of the zero vector."""
    y, x = np.asarray(y, np.float64), np.asarray(x, np.float64)
    high, low = np.maximum(np.abs(x), np.abs(y)), np.minimum(np.abs(x), np.abs(y))
    tangent = low / np.where(high > 0, high, 1.0)
    # Beyond an eighth of a half turn: the angle to the diagonal.
    beyond = tangent > EIGHTH_TANGENT
    tangent = np.where(beyond, (tangent - 1.0) / (tangent + 1.0), tangent)
    square = tangent * tangent
    angle = tangent + tangent * square * _polynomial(TANGENT_ANGLE, square)
    angle = np.where(beyond, math.pi / 4 + angle, angle)
    angle = np.where(np.abs(y) > np.abs(x), math.pi / 2 - angle, angle)
    angle = np.where(x < 0, math.pi - angle, angle)
    return np.where(y < 0, -angle, angle)[()]


def wrapped_rad(angle_rad: Any) -> Any:
    """The same angle, or each of an array, in [-pi, pi)."""
    angle = np.asarray(angle_rad, np.float64)
    wrapped = angle - 2 * math.pi * np.floor((angle + math.pi) / (2 * math.pi))
    return np.where(wrapped >= math.pi, -math.pi, wrapped)[()]


def _kernel(rest):
    """Sine and cosine of angles of at most an eighth of a turn."""
    square = rest * rest
    return (rest + rest * square * _polynomial(SINE, square),
            1.0 - (0.5 * square - square * square * _polynomial(COSINE, square)))


def _polynomial(coefficients, x):
    """c0 + c1 x + c2 x**2 ... by Horner's rule."""
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = coefficient + x * value
    return value
