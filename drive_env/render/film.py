"""How are frames written as a film or a sheet? MP4 by PyAV, GIF and PNG by Pillow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np

from ..errors import CallError, ConfigError, checked_int, checked_path, plain, value_text
from ..whole_file import whole_file
from . import colours
from .colours import mixed
from .extensions import FILM_EXTENSIONS
from .extra import need

FPS_LIMIT = 240

H264_OPTIONS = {"crf": "20", "preset": "veryfast"}
"""No visible artefacts on flat colours and thin lines; 20 s at 720p take about 1 MB."""

GIF_TICKS_PER_S = 100
"""The delays of a GIF are whole hundredths of a second."""

MIN_GIF_TICKS = 2
"""Most viewers show a frame with a shorter delay for a tenth of a second."""

GIF_COLOURS = 128

SHEET_GAP_PX = 4


def write_video(frames: Iterable[np.ndarray] | Callable[[], np.ndarray | None], path: str | os.PathLike,
                fps: float = 10.0) -> int:
    """Writes a film: an MP4 file with H.264 if the path ends in ".mp4", or a GIF if it ends in ".gif".

    Frames are encoded one by one, so memory does not grow with their number.

    Args:
        frames: (h, w, 3) uint8 RGB arrays of one size, or a function that returns the next one, and None at the end.
        path: an existing file is replaced once the film is complete.
        fps: frames per second; `1 / dt_s` shows the world in real time.

    Returns:
        The number of frames.

    Raises:
        ConfigError: the path has another extension, fps is not in (0, 240], or the sizes of the frames differ.
        CallError: there are no frames.
        MissingExtraError: the packages of the extra `render` are not installed.
        OSError: the file cannot be written.
    """
    path = checked_path(path, FILM_EXTENSIONS)
    fps = plain(fps)
    if isinstance(fps, bool) or not isinstance(fps, (int, float)) or not 0 < fps <= FPS_LIMIT:
        raise ConfigError(f"fps is {value_text(fps)}; it must be above 0 and at most {FPS_LIMIT}")
    checked = _checked_frames(_frames_of(frames) if callable(frames) else iter(frames))
    first = next(checked, None)
    if first is None:
        raise CallError(f"there is no frame to write to {path}")
    write = _write_mp4 if path.lower().endswith(".mp4") else _write_gif
    with whole_file(path) as beside:
        return write(first, chain([first], checked), beside, fps)


def contact_sheet(frames: Sequence[np.ndarray], columns: int) -> np.ndarray:
    """Frames of one size in a grid, row by row, as one picture (h, w, 3) uint8.

    Args:
        frames: (h, w, 3) uint8 RGB arrays.
        columns: frames per row, from 1 to 1000.

    Raises:
        ConfigError: columns is out of its range, or the sizes of the frames differ.
        CallError: there are no frames.
    """
    columns = checked_int("columns", columns, 1, 1000)
    frames = list(_checked_frames(iter(frames)))
    if not frames:
        raise CallError("there is no frame to put on a sheet")
    height, width = frames[0].shape[:2]
    columns = min(columns, len(frames))
    rows = -(-len(frames) // columns)
    row_px, column_px = height + SHEET_GAP_PX, width + SHEET_GAP_PX
    sheet = np.full((rows * row_px, columns * column_px, 3), colours.FAINT, np.uint8)
    for index, frame in enumerate(frames):
        top, left = index // columns * row_px, index % columns * column_px
        sheet[top : top + height, left : left + width] = frame
    return np.ascontiguousarray(sheet[:-SHEET_GAP_PX, :-SHEET_GAP_PX])


def write_picture(picture: np.ndarray, path: str | os.PathLike) -> None:
    """Writes a picture, (h, w, 3) uint8 RGB, as a PNG to `path`, whatever its extension.

    Raises:
        MissingExtraError: the packages of the extra `render` are not installed.
        OSError: the file cannot be written.
    """
    with whole_file(path) as beside:
        need("PIL.Image").fromarray(picture).save(beside, format="PNG", optimize=True)


def _frames_of(make_frame):
    """The results of a function up to the first None."""
    while (frame := make_frame()) is not None:
        yield frame


def _checked_frames(frames: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """The frames, each checked when it is requested: uint8, RGB, and of the size of the first one."""
    shape = None
    for number, frame in enumerate(frames):
        frame = np.asarray(frame)
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or 0 in frame.shape:
            raise ConfigError(
                f"frame {number} is {frame.dtype} of shape {frame.shape}; it must be uint8 (h, w, 3)")
        shape = shape or frame.shape
        if frame.shape != shape:
            raise ConfigError(f"frame {number} has shape {frame.shape}; the first one has {shape}")
        yield frame


# ---- the formats ----


def _write_mp4(first, frames, path, fps):
    av = need("av")
    height, width = first.shape[:2]
    # H.264 with 4:2:0 chroma, which all video players decode, requires even sides.
    padding = ((0, height % 2), (0, width % 2), (0, 0))
    count = 0
    with av.open(path, "w", format="mp4", options={"movflags": "faststart"}) as film:
        stream = film.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000), options=H264_OPTIONS)
        stream.width, stream.height, stream.pix_fmt = width + width % 2, height + height % 2, "yuv420p"
        for frame in frames:
            picture = np.ascontiguousarray(np.pad(frame, padding, "edge") if (height | width) % 2 else frame)
            film.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            count += 1
        film.mux(stream.encode())
    return count


def _write_gif(first, frames, path, fps):
    image = need("PIL.Image")
    palette = _gif_palette(image, first)
    count = 0

    def quantised():
        nonlocal count
        for frame in frames:
            count += 1
            yield image.fromarray(frame).quantize(palette=palette, dither=image.Dither.NONE)

    # Pillow takes the remaining images from the generator one by one. With `optimize`, it makes unchanged pixels
    # transparent, which makes films with a fixed map three times smaller.
    images = quantised()
    next(images).save(path, format="GIF", save_all=True, append_images=images, loop=0, optimize=True,
                    duration=max(MIN_GIF_TICKS, round(GIF_TICKS_PER_S / fps)) * 1000 // GIF_TICKS_PER_S)
    return count


def _gif_palette(image, first):
    """One palette for all frames: the colours of every state, for events in later frames, and those of the first frame.

    More colours would give smoother edges and files of twice the size.
    """
    known = [colours.INK, colours.PAPER, colours.GLASS, colours.OBSERVED, colours.OBSERVED_ROAD]
    for colour, dark in zip(colours.STATE_COLOURS, colours.DARK_STATE_COLOURS, strict=True):
        known += [colour, mixed(colour, colours.ASPHALT, 0.5), dark]
    own = image.fromarray(first).quantize(GIF_COLOURS - len(known), dither=image.Dither.NONE)
    values = [value for colour in known for value in colour]
    values += own.getpalette()[: 3 * GIF_COLOURS - len(values)]
    palette = image.new("P", (1, 1))
    palette.putpalette(values + list(colours.INK) * (256 - len(values) // 3))
    return palette
