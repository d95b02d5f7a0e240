"""How are lines of scripts and candidate goals drawn? As on replay pages."""

from __future__ import annotations

import numpy as np

from . import colours
from .camera import Camera
from .canvas import Canvas
from .snapshot import Snapshot
from .traffic import MIN_GOAL_PX

SCRIPT_LINE_PX, CANDIDATE_LINE_PX = 3.0, 2.0
SCRIPT_DASH_PX, CANDIDATE_DASH_PX = 5.0, 4.0
"""Widths of the lines, and lengths of a dash and of the gap after it."""

CIRCLE = np.linspace(0.0, 2 * np.pi, 73)
"""Angles of the corners of a circle, the first one twice."""


def draw_scripts(canvas: Canvas, camera: Camera, snapshot: Snapshot) -> None:
    """Draws the lines of the drawn scripts: dashed while the object waits, solid once an agent has crossed the line."""
    lines = camera.to_pixels(snapshot.roles.scripts.line_m.reshape(-1, 2, 2).astype(np.float64))
    waiting = [dash for line in lines[snapshot.script_frame == 0]
               for dash in dashes(line, SCRIPT_DASH_PX, SCRIPT_LINE_PX)]
    canvas.lines(waiting, colours.SCRIPT, SCRIPT_LINE_PX)
    canvas.lines(lines[snapshot.script_frame > 0], colours.SCRIPT, SCRIPT_LINE_PX)


def draw_candidates(canvas: Canvas, camera: Camera, snapshot: Snapshot, radius_m: float) -> None:
    """Draws dashed circles around the candidate goals of the scene, of which each agent has one as its goal."""
    radius = max(radius_m * camera.pixels_per_m, MIN_GOAL_PX)
    circle = radius * np.stack([np.cos(CIRCLE), np.sin(CIRCLE)], axis=1)
    for middle in camera.to_pixels(snapshot.roles.scene.candidate_goals_m.astype(np.float64)):
        canvas.lines(dashes(middle + circle, CANDIDATE_DASH_PX, CANDIDATE_LINE_PX), colours.SCRIPT, CANDIDATE_LINE_PX)


def dashes(line: np.ndarray, dash_px: float, width_px: float) -> list[np.ndarray]:
    """The dashes of a polyline from its start on, (2, 2) pixels each.

    Args:
        line: (n, 2) pixels. dash_px: length of a dash and of a gap. width_px: of the line, whose dashes have round ends
            that are half of it longer.
    """
    along_px = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    starts_px = np.arange(0.0, along_px[-1], 2 * dash_px + width_px)
    ends_px = np.minimum(starts_px + dash_px, along_px[-1])
    at_px = np.stack([starts_px, ends_px], axis=1)
    return list(np.stack([np.interp(at_px, along_px, line[:, axis]) for axis in range(2)], axis=2))
