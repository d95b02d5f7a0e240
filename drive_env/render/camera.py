"""Which pixel of a picture shows which point of the scene?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

NORTH_UP_RAD = math.pi / 2


@dataclass(frozen=True)
class Camera:
    """An orthographic view from above. Pixel coordinates start at the upper left corner, x to the right, y down.

    Attributes:
        centre_m: the point of the scene that is at `middle_px`.
        pixels_per_m: the scale.
        up_rad: the heading that points up in the picture.
        middle_px: x, y.
    """

    centre_m: tuple[float, float]
    pixels_per_m: float
    up_rad: float
    middle_px: tuple[float, float]

    def to_pixels(self, points_m: np.ndarray) -> np.ndarray:
        """(..., 2) metres to (..., 2) pixels, float64."""
        sine, cosine = math.sin(self.up_rad), math.cos(self.up_rad)
        pixels_from_m = self.pixels_per_m * np.array([[sine, -cosine], [-cosine, -sine]])
        return (points_m - np.array(self.centre_m)) @ pixels_from_m + np.array(self.middle_px)


def fitted(box_m: tuple[float, float, float, float], area_px: tuple[float, float, float, float]) -> Camera:
    """A camera, north up, with the box (low x, low y, high x, high y) inside the area (left, top, right, bottom)."""
    low_x, low_y, high_x, high_y = box_m
    left, top, right, bottom = area_px
    scale = min((right - left) / max(high_x - low_x, 1.0), (bottom - top) / max(high_y - low_y, 1.0))
    return Camera(
        centre_m=((low_x + high_x) / 2, (low_y + high_y) / 2), pixels_per_m=scale, up_rad=NORTH_UP_RAD,
        middle_px=((left + right) / 2, (top + bottom) / 2))
