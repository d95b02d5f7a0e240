"""How are traffic lights and signs drawn? A stop line in the colour that is shown; a symbol beside that of a sign."""

from __future__ import annotations

import numpy as np

from ..scenes.scene import CONTROL_KIND_CODES
from . import colours
from .camera import Camera
from .canvas import Canvas
from .snapshot import Snapshot

LINE_WIDTH_M, MIN_LINE_PX = 0.6, 2.0

SIGN_RADIUS_M, MIN_SIGN_PX = 0.9, 4.0

STOP_SHAPE, YIELD_SHAPE = (np.stack([np.sin(angles), np.cos(angles)], axis=1) for angles in (
    np.pi / 8 + np.arange(8) * np.pi / 4, np.arange(3) * 2 * np.pi / 3))
"""An octagon, and a triangle with a corner below; x to the right, y down, of radius 1."""


def draw_controls(canvas: Canvas, camera: Camera, snapshot: Snapshot) -> None:
    """Draws the stop line of every light and sign, and beside its right end an octagon or a triangle for a sign."""
    controls = snapshot.roles.scene.traffic_controls
    lines = camera.to_pixels(controls.line_m.reshape(-1, 2, 2).astype(np.float64))
    width = max(LINE_WIDTH_M * camera.pixels_per_m, MIN_LINE_PX)
    radius = max(SIGN_RADIUS_M * camera.pixels_per_m, MIN_SIGN_PX)
    is_light = controls.kind == CONTROL_KIND_CODES["light"]
    canvas.lines(lines[~is_light], colours.SIGN_LINE, width)
    for state, colour in enumerate(colours.LIGHT_COLOURS):
        canvas.lines(lines[is_light & (snapshot.light_state == state)], colour, width)
    for kind, shape, colour in (("stop", STOP_SHAPE, colours.STOP_SIGN), ("yield", YIELD_SHAPE, colours.YIELD_SIGN)):
        for left, right in lines[controls.kind == CONTROL_KIND_CODES[kind]]:
            along = (right - left) / max(float(np.hypot(*(right - left))), 1.0)
            outline = right + 1.5 * radius * along + radius * shape
            canvas.fill(outline, colour)
            canvas.lines(outline[None], colours.SIGN_LINE, max(1.0, 0.2 * radius), closed=True)
