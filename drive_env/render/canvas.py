"""How do shapes and words become pixels? Smooth ones, by OpenCV and Pillow, into an RGB array."""

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
"""OpenCV takes whole numbers; these bits of them are parts of a pixel."""

PIXEL_LIMIT = 1 << 20
"""Farther outside nothing is drawn truly; OpenCV's arithmetic has 32 bits."""


class Canvas:
    """A picture that is drawn on, (height, width, 3) uint8.

    Coordinates are (n, 2) float64 pixels, or what `fixed` made of them; colours are RGB.
    """

    def __init__(self, picture: np.ndarray):
        self.picture = picture

    def fill(self, polygon: np.ndarray, colour: Colour) -> None:
        """A polygon of any shape."""
        cv2.fillPoly(self.picture, [fixed(polygon)], colour, cv2.LINE_AA, FRACTION_BITS)

    def lines(self, lines: Sequence[np.ndarray] | np.ndarray, colour: Colour, width: float, closed: bool = False,
              smooth: bool = True) -> None:
        """Lines through their points.

        Args:
            lines: (n, 2) arrays, or one array (lines, n, 2).
            width: pixels; below 1 counts as 1.
            smooth: False leaves steps in the borders, which takes wide lines a quarter of the time.
        """
        if len(lines):
            cv2.polylines(self.picture, _all_fixed(lines), closed, colour, max(1, round(width)),
                          cv2.LINE_AA if smooth else cv2.LINE_8, FRACTION_BITS)

    def disc(self, middle: np.ndarray, radius: float, colour: Colour) -> None:
        self._circle(middle, radius, colour, cv2.FILLED)

    def ring(self, middle: np.ndarray, radius: float, colour: Colour, width: float) -> None:
        self._circle(middle, radius, colour, max(1, round(width)))

    def _circle(self, middle, radius, colour, width):
        cv2.circle(self.picture, fixed(middle).tolist(), round(radius * (1 << FRACTION_BITS)), colour, width,
                   cv2.LINE_AA, FRACTION_BITS)

    def bar(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """An upright rectangle of whole pixels."""
        height, width = self.picture.shape[:2]
        rows = slice(*(min(max(round(y), 0), height) for y in (top, bottom)))
        columns = slice(*(min(max(round(x), 0), width) for x in (left, right)))
        self.picture[rows, columns] = colour

    def text(self, x: float, y: float, words: str, size: int, colour: Colour, align: float = 0.0) -> float:
        """One line of words; `y` is its middle.

        Args:
            align: the share of the words' width that lies left of `x`.

        Returns:
            Where the words end, pixels.
        """
        mask = _letters(words, size)
        height, width = mask.shape
        left, top = round(x - align * width), round(y - height / 2)
        if not (-height < top < self.picture.shape[0] and -width < left < self.picture.shape[1]):
            return left + width
        rows = slice(max(top, 0), max(top + height, 0))
        columns = slice(max(left, 0), max(left + width, 0))
        under = self.picture[rows, columns]
        shown = mask[rows.start - top :, columns.start - left :][: under.shape[0], : under.shape[1], None]
        under[...] = (under * (255 - shown) + np.array(colour, np.uint16) * shown) // 255
        return left + width


def text_width(words: str, size: int) -> int:
    """Pixels that a line of words takes."""
    return _letters(words, size).shape[1]


@lru_cache(maxsize=64)
def _font(size):
    return image_font.load_default(size)


@lru_cache(maxsize=4096)
def _letters(words, size):
    """(h, w) uint16 from 0 to 255: how much of each pixel is ink."""
    font = _font(size)
    ascent, descent = font.getmetrics()
    width = max(1, round(font.getlength(words)))
    page = image.new("L", (width, ascent + descent))
    image_draw.Draw(page).text((0, ascent), words, fill=255, font=font, anchor="ls")
    return np.asarray(page).astype(np.uint16)


def fixed(points: np.ndarray) -> np.ndarray:
    """Pixels as OpenCV takes them, int32; many points at once cost little more than a few.

    OpenCV counts from the middle of the first pixel, everybody else here from its corner.
    """
    if points.dtype == np.int32:
        return points
    scale = 1 << FRACTION_BITS
    return np.rint(np.clip(points, -PIXEL_LIMIT, PIXEL_LIMIT) * scale - 0.5 * scale).astype(np.int32)


def _all_fixed(lines):
    """One conversion for all: hundreds of lines have a few points each."""
    if isinstance(lines, np.ndarray):
        return list(fixed(lines))
    flat, ends = fixed(np.concatenate(lines)), np.cumsum([len(line) for line in lines]).tolist()
    return [flat[first:last] for first, last in zip([0, *ends[:-1]], ends, strict=True)]
