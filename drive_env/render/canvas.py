"""How are shapes and text rasterised? Antialiased, by OpenCV and Pillow, into an RGB array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from .colours import Colour
from .extra import need

cv2 = need("cv2")
image = need("PIL.Image")
image_draw = need("PIL.ImageDraw")
image_font = need("PIL.ImageFont")

FRACTION_BITS = 4
"""Fractional bits of OpenCV's fixed-point coordinates."""

PIXEL_LIMIT = 1 << 20
"""Coordinates are clipped to this: OpenCV computes them with 32 bits."""


class Canvas:
    """Draws into a picture, (height, width, 3) uint8.

    Coordinates are (n, 2) float64 pixels, or the result of `fixed`; colours are RGB.
    """

    def __init__(self, picture: np.ndarray):
        self.picture = picture

    def fill(self, polygon: np.ndarray, colour: Colour) -> None:
        """Fills a polygon."""
        cv2.fillPoly(self.picture, [fixed(polygon)], colour, cv2.LINE_AA, FRACTION_BITS)

    def fill_between(self, outlines: Sequence[np.ndarray], colour: Colour, smooth: bool = True) -> None:
        """Fills the points inside an odd number of closed outlines (even-odd rule); `smooth` as for `lines`."""
        cv2.fillPoly(self.picture, [fixed(outline) for outline in outlines], colour,
                     cv2.LINE_AA if smooth else cv2.LINE_8, FRACTION_BITS)

    def lines(self, lines: Sequence[np.ndarray] | np.ndarray, colour: Colour, width: float, closed: bool = False,
              smooth: bool = True) -> None:
        """Draws polylines.

        Args:
            lines: (n, 2) arrays, or one array (lines, n, 2).
            width: pixels, at least 1.
            smooth: False draws without antialiasing, in a quarter of the time for wide lines.
        """
        if len(lines):
            cv2.polylines(self.picture, _all_fixed(lines), closed, colour, max(1, round(width)),
                          cv2.LINE_AA if smooth else cv2.LINE_8, FRACTION_BITS)

    def disc(self, middle: np.ndarray, radius: float, colour: Colour) -> None:
        """Fills a circle."""
        self._circle(middle, radius, colour, cv2.FILLED)

    def ring(self, middle: np.ndarray, radius: float, colour: Colour, width: float) -> None:
        """Draws a circle, `width` pixels wide, at least 1."""
        self._circle(middle, radius, colour, max(1, round(width)))

    def _circle(self, middle, radius, colour, width):
        cv2.circle(self.picture, fixed(middle).tolist(), round(radius * (1 << FRACTION_BITS)), colour, width,
                   cv2.LINE_AA, FRACTION_BITS)

    def bar(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """Fills an axis-aligned rectangle of whole pixels."""
        height, width = self.picture.shape[:2]
        rows = slice(*(min(max(round(y), 0), height) for y in (top, bottom)))
        columns = slice(*(min(max(round(x), 0), width) for x in (left, right)))
        self.picture[rows, columns] = colour

    def text(self, x: float, y: float, text: str, size: int, colour: Colour, align: float = 0.0) -> float:
        """Draws one line of text with its middle at height `y`.

        Args:
            align: the share of the text's width left of `x`.

        Returns:
            The right end of the text, pixels.
        """
        mask = _text_mask(text, size)
        height, width = mask.shape
        left, top = round(x - align * width), round(y - height / 2)
        if not (-height < top < self.picture.shape[0] and -width < left < self.picture.shape[1]):
            return left + width
        rows = slice(max(top, 0), max(top + height, 0))
        columns = slice(max(left, 0), max(left + width, 0))
        background = self.picture[rows, columns]
        alpha = mask[rows.start - top :, columns.start - left :][: background.shape[0], : background.shape[1], None]
        background[...] = (background * (255 - alpha) + np.array(colour, np.uint16) * alpha) // 255
        return left + width


def text_width(text: str, size: int) -> int:
    """The width of a line of text, pixels."""
    return _text_mask(text, size).shape[1]


@lru_cache(maxsize=64)
def _font(size):
    return image_font.load_default(size)


@lru_cache(maxsize=4096)
def _text_mask(text, size):
    """(h, w) uint16, the coverage of each pixel from 0 to 255."""
    font = _font(size)
    ascent, descent = font.getmetrics()
    width = max(1, round(font.getlength(text)))
    bitmap = image.new("L", (width, ascent + descent))
    image_draw.Draw(bitmap).text((0, ascent), text, fill=255, font=font, anchor="ls")
    return np.asarray(bitmap).astype(np.uint16)


def fixed(points: np.ndarray) -> np.ndarray:
    """Pixels in OpenCV's fixed-point format, int32. A call with many points takes little more time than one with few.

    The origin of OpenCV's coordinates is the middle of the first pixel, that of this package its corner.
    """
    if points.dtype == np.int32:
        return points
    scale = 1 << FRACTION_BITS
    return np.rint(np.clip(points, -PIXEL_LIMIT, PIXEL_LIMIT) * scale - 0.5 * scale).astype(np.int32)


def _all_fixed(lines):
    """Converts all lines in one call, since there are hundreds of lines with a few points each."""
    if isinstance(lines, np.ndarray):
        return list(fixed(lines))
    flat, ends = fixed(np.concatenate(lines)), np.cumsum([len(line) for line in lines]).tolist()
    return [flat[first:last] for first, last in zip([0, *ends[:-1]], ends, strict=True)]
