"""How is the map drawn? Asphalt under the lanes, then road markings, then curbs."""

from __future__ import annotations

import numpy as np

from ..scenes.scene import ROAD_KIND_CODES, Scene
from . import colours
from .camera import Camera
from .canvas import Canvas

UNKNOWN_WIDTH_M = 3.6
"""A typical lane width, for files without lane widths."""

SHOULDER_M = 0.9
"""Asphalt beyond the edge of a lane, about the distance to the curb."""

STOP_SIGN_RADIUS_M = 0.9

PAINT = (("driveway", colours.DRIVEWAY, 0.3), ("lane", colours.LANE, 0.12), ("line", colours.LINE, 0.3),
         ("speed_bump", colours.SPEED_BUMP, 0.5), ("edge", colours.EDGE, 0.35))
"""Kinds drawn as lines, lowest first: colour, width in metres."""


class Ground:
    """The roads of a scene, sorted for drawing.

    Attributes:
        scene: the scene.
    """

    def __init__(self, scene: Scene):
        roads = scene.roads
        self.scene = scene
        self._points_m = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
        self._first = roads.start[:-1]
        self._width_m = np.where(roads.width_m > 0, roads.width_m, UNKNOWN_WIDTH_M)
        self._roads_of = {kind: np.flatnonzero(roads.kind == code) for kind, code in ROAD_KIND_CODES.items()}

    def draw(self, canvas: Canvas, camera: Camera, smooth: bool = True) -> None:
        """Draws the visible roads; `smooth` False draws asphalt faster, without antialiasing."""
        if not self.scene.roads.count:
            return
        points = camera.to_pixels(self._points_m)
        scale, visible = camera.pixels_per_m, self._visible(points, canvas)
        start = self.scene.roads.start
        lines = {kind: [points[start[road] : start[road + 1]] for road in indices[visible[indices]]]
                 for kind, indices in self._roads_of.items()}

        lanes = self._roads_of["lane"]
        widths_m = self._width_m[lanes[visible[lanes]]]
        for width_m in np.unique(widths_m):
            wide = [lines["lane"][lane] for lane in np.flatnonzero(widths_m == width_m)]
            canvas.lines(wide, colours.ASPHALT, (width_m + 2 * SHOULDER_M) * scale, smooth=smooth)
        for outline in lines["crosswalk"]:
            canvas.fill(outline, colours.CROSSWALK)
        for kind, colour, width_m in PAINT:
            canvas.lines(lines[kind], colour, width_m * scale)
        for place in lines["stop_sign"]:
            canvas.disc(place[0], max(STOP_SIGN_RADIUS_M * scale, 2.0), colours.STOP_SIGN)

    def _visible(self, points, canvas):
        """(roads,) bool: the bounding box of the road, with a margin, overlaps the picture."""
        height, width = canvas.picture.shape[:2]
        low = np.minimum.reduceat(points, self._first)
        high = np.maximum.reduceat(points, self._first)
        margin = 64
        return ((high > -margin) & (low < np.array([width, height]) + margin)).all(axis=1)
