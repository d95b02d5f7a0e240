"""How is a scene filmed? A trial of its reference driver from above, up to a few times as fast as real time.

A long road is cut into pieces of a legible scale, from west to east, one below the other.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .. import render
from ..batch import Batch
from ..playing import Progress, actor, play_trials
from ..render.box import Box, box_of
from ..scenes import Scene, generate_scene
from ..scenes.scene import Roads
from .cards import Card

FPS = 10.0
"""Frames per second of a film; files grow with it."""

FILM_S = 10.0
"""Longest duration of a film without `HOLD_S`; short, since a page has many films."""

SHOWN_S = 45.0
"""Longest simulated time that a film shows: trials on circuits last minutes."""

WIDTH_PX = 480
"""Default width of a film; two fit side by side on a page."""

HOLD_S = 1.5
"""The last frame stays this long before the film begins anew."""

PIECE_M = 220.0
"""Longest piece of road in one row: a car is then about 10 pixels long in a film 480 pixels wide."""

LONG_ROAD = 3.0
"""Areas whose width is at least this many times their height are cut into pieces."""

TALL = 0.9
"""Largest height of a film without pieces, relative to its width."""

ROW_GAP_PX, LEAST_ROW_PX = 6, 32

ROW_MARGIN_M = 6.0
"""Margin above and below the roads of a row."""

POINT_STEP_M = 5.0
"""Largest distance between the road points from which the height of a row is computed."""


class Filmed(NamedTuple):
    """The first `shown_s` seconds of a trial in `frames` frames, shown `speed` times as fast as real time."""

    frames: int
    shown_s: float
    speed: float


def film(card: Card, path: str | os.PathLike, seed: int = 0, width: int = WIDTH_PX,
         progress: Progress | None = None) -> Filmed:
    """Writes a film of one trial, in which the reference driver drives all agents."""
    scene = generate_scene(card.name, seed=seed)
    steps = min(_played_steps(card, scene, seed), math.ceil(SHOWN_S / card.dt_s))
    stride = max(1, math.ceil(steps / (FILM_S * FPS)))
    frames = render.write_video(_frames(card, scene, seed, width, steps, stride, progress), path, fps=FPS)
    return Filmed(frames, round(steps * card.dt_s, 3), round(stride * card.dt_s * FPS, 3))


def _played_steps(card, scene, seed):
    """The number of steps until the trial ends."""
    with _batch(card, scene, seed) as batch:
        return sum(1 for _ in play_trials(batch, actor(batch, card.policy, seed), 1))


def _batch(card, scene, seed):
    batch = Batch(scene, config=card.config, seed=seed, threads=1)
    batch.reset()
    return batch


def _frames(card, scene, seed, width, steps, stride, progress) -> Iterator[np.ndarray]:
    with _batch(card, scene, seed) as batch:
        act = actor(batch, card.policy, seed)
        picture = StackedViews(batch, width)
        yield (frame := picture.frame())
        for done in range(1, steps + 1):
            batch.step(act())
            # Draws every step, since a trail needs the positions of the steps before.
            frame = picture.frame()
            if done % stride == 0 or done == steps:
                yield frame
            if progress is not None:
                progress(done, steps)
        for _ in range(round(HOLD_S * FPS)):
            yield frame


class StackedViews:
    """Draws world 0 of a batch without bars; a long road in several rows."""

    def __init__(self, batch: Batch, width: int) -> None:
        boxes = rows_of(batch.roles[0].scene.roads, box_of(batch.roles[0]))
        limit_px = width if len(boxes) > 1 else round(TALL * width)
        self._views = [render.SceneView(batch, size=(width, min(limit_px, _height_px(box, width))), box_m=box,
                                        bars=False) for box in boxes]
        self._gap = np.full((ROW_GAP_PX, width, 3), 255, np.uint8)

    def frame(self) -> np.ndarray:
        """(height, width, 3) uint8."""
        rows = [part for view in self._views for part in (view.frame(), self._gap)]
        return np.concatenate(rows[:-1])


def _height_px(box_m, width):
    low_x, low_y, high_x, high_y = box_m
    return max(LEAST_ROW_PX, round(width * (high_y - low_y) / (high_x - low_x)))


def rows_of(roads: Roads, box_m: Box) -> list[Box]:
    """Pieces of a long area from west to east, equally long, each as high as its roads; of another area, the area."""
    low_x, low_y, high_x, high_y = box_m
    length_m = high_x - low_x
    if length_m < LONG_ROAD * (high_y - low_y):
        return [box_m]
    points = _dense_points(roads)
    count = math.ceil(length_m / PIECE_M)
    rows = []
    for index in range(count):
        from_m, to_m = (low_x + length_m * end / count for end in (index, index + 1))
        y_m = points[(points[:, 0] >= from_m) & (points[:, 0] <= to_m), 1]
        rows.append((from_m, float(y_m.min()) - ROW_MARGIN_M, to_m, float(y_m.max()) + ROW_MARGIN_M))
    return rows


def _dense_points(roads):
    """(n, 2) points of all roads, at most `POINT_STEP_M` apart."""
    points = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
    joined = np.ones(len(points) - 1, bool)
    joined[roads.start[1:-1] - 1] = False
    first, step = points[:-1][joined], np.diff(points, axis=0)[joined]
    counts = np.ceil(np.hypot(*step.T) / POINT_STEP_M).astype(int) + 1
    shares = np.concatenate([np.linspace(0.0, 1.0, count) for count in counts])
    return np.repeat(first, counts, axis=0) + shares[:, None] * np.repeat(step, counts, axis=0)
