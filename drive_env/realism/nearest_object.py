"""How far away is the nearest other object? For each evaluated object in each frame, negative in a collision."""

from __future__ import annotations

import numpy as np

from .boxes import signed_distance
from .frames import Frames, nonzero_of

NO_OBJECT_M = np.float32(1e10)
"""Distance where the object itself or every other one is not valid."""

MARGIN_M = np.float32(0.01)
"""Above the rounding errors of float32 in the bounds of distances."""


def nearest_object_distance(frames: Frames) -> np.ndarray:
    """(F, E) metres to the nearest other valid object; heights do not matter.

    The exact distance is computed for those others only that can be the nearest one: each box contains a circle and is
    inside of another one, which bound its distance on both sides.
    """
    evaluated = frames.evaluated
    inner_m = np.minimum(frames.half_length_m, frames.half_width_m)
    outer_m = np.hypot(frames.half_length_m, frames.half_width_m)
    nearest = np.full((len(frames.x_m), len(evaluated)), NO_OBJECT_M)
    itself = np.arange(len(evaluated))
    for chunk in frames.chunks():
        # Between centres; infinite where there is no other object.
        shift_x = frames.x_m[chunk, None, :] - frames.x_m[chunk, evaluated, None]
        shift_y = frames.y_m[chunk, None, :] - frames.y_m[chunk, evaluated, None]
        shift_x *= shift_x
        shift_y *= shift_y
        shift_x += shift_y
        centres = np.sqrt(shift_x, out=shift_x)
        centres[:, itself, evaluated] = np.inf
        if not frames.valid[chunk].all():
            centres[np.broadcast_to(~frames.valid[chunk, None, :], centres.shape)] = np.inf

        # Those whose least distance is below the largest one of any other.
        bound = (np.subtract(centres, inner_m, out=shift_y).min(axis=2) - inner_m[evaluated] + outer_m[evaluated]
                 + MARGIN_M)
        bound[np.isinf(bound) | ~frames.valid[chunk, evaluated]] = -np.inf
        near = np.subtract(centres, outer_m, out=centres) <= bound[..., None]
        frame, slot, other = nonzero_of(near)
        frame += chunk.start
        distance = signed_distance(frames.boxes(frame, evaluated[slot]), frames.boxes(frame, other))
        np.minimum.at(nearest, (frame, slot), distance)
    return nearest
