"""How do coordinates and angles of a file become those of a scene? Relative to an origin near them, in float32."""

from __future__ import annotations

import math

import numpy as np

from ..errors import SceneError, outside_text
from .limits import COORDINATE_LIMIT_M

UNWRAPPED_LIMIT_RAD = 50.0
"""Eight turns. Headings in radians that were never wrapped have a few turns, so that a larger one is damaged, or in
degrees."""

RAW_LIMIT_M = 1e9
"""Limit of coordinates in a file: float64 resolves a micrometre there, also in their mean."""

SENTINEL_M = -10_000.0
"""What converters of the Waymo Open Motion Dataset write as both coordinates of an absent position. At a frame, `valid`
decides; a goal there stands for no goal."""


def origin_of(x_m, y_m, valid):
    """(2,) float64, whole metres: the mean of the valid positions; 0 if there are none."""
    if not valid.any():
        return np.zeros(2)
    return np.round([x_m[valid].astype(np.float64).mean(), y_m[valid].astype(np.float64).mean()])


def origin_of_map(x_m, y_m):
    """(2,) float64, the same of a map: the mean of the points of its roads within `RAW_LIMIT_M`."""
    # NaN compares as False.
    return origin_of(x_m, y_m, (np.abs(x_m) <= RAW_LIMIT_M) & (np.abs(y_m) <= RAW_LIMIT_M))


def bounded_float32(values_m, place):
    """Coordinates relative to the origin as float32; they must be within the limit of the validator.

    Args:
        values_m: float64 of any shape; NaN counts as far.
        place: a function from an index, a tuple of ints, to the name of that coordinate.

    Raises:
        SceneError: names the farthest coordinate: a faulty one has moved the origin away from the others.
    """
    if not -COORDINATE_LIMIT_M <= values_m.min(initial=0.0) <= values_m.max(initial=0.0) <= COORDINATE_LIMIT_M:
        far_m = np.abs(values_m)
        # np.argmax treats NaN as the largest.
        at = tuple(int(index) for index in np.unravel_index(np.argmax(far_m), far_m.shape))
        raise SceneError(f"{place(at)} is "
                         f"{outside_text(values_m[at], -COORDINATE_LIMIT_M, COORDINATE_LIMIT_M)} m from the scene's "
                         f"origin; it must be within {COORDINATE_LIMIT_M:g} m")
    return values_m.astype(np.float32)


def relative(raw_m, origin_m):
    """Coordinates of a file relative to the origin, float64; NaN where they are not finite."""
    # Convert finite values only: a signalling NaN would raise a floating-point flag.
    values_m = np.full(raw_m.shape, np.nan)
    np.copyto(values_m, raw_m, where=np.isfinite(raw_m))
    values_m -= origin_m
    return values_m


def wrapped(heading_rad):
    """Angles wrapped to -pi .. pi; those in this range are unchanged, bit for bit."""
    beyond = (heading_rad < -math.pi) | (heading_rad >= math.pi)
    return np.where(beyond, (heading_rad + math.pi) % (2 * math.pi) - math.pi, heading_rad)


def note_unwrapped(heading_rad, valid, report, doubt=""):
    """Notes how many of the valid headings are beyond a full turn; `doubt` ends the note."""
    beyond = valid & (np.abs(heading_rad) > 2 * math.pi)
    if beyond.any():
        report.notes.append(f"headings beyond a full turn, wrapped as radians: {int(beyond.sum())} of "
                            f"{int(valid.sum())}{doubt}")


def time_major(values):
    """(n, t) to (t, n), contiguous float32."""
    return np.ascontiguousarray(values.T, np.float32)


def last_frames(valid):
    """(n,) the last valid frame of each object, from (t, n) flags; t - 1 for one that is never valid."""
    return len(valid) - 1 - np.argmax(valid[::-1], axis=0)


def first_index(mask):
    """Index of the first True, one int per axis."""
    return tuple(int(index) for index in np.unravel_index(np.argmax(mask), mask.shape))
