"""How is the map drawn? Level by level: asphalt, then road markings, then curbs.

Asphalt covers the lanes with a shoulder. In generated scenes of one level whose road edges are all closed, it covers
what the edges enclose.
"""

from __future__ import annotations

import numpy as np

from ..scenes.levels import LEVEL_HEIGHT_M, level_of, road_pieces
from ..scenes.scene import ROAD_KIND_CODES, Scene
from . import colours
from .camera import Camera
from .canvas import Canvas

UNKNOWN_WIDTH_M = 3.6
"""A typical lane width, for files without lane widths."""

SHOULDER_M = 0.9
"""Asphalt beyond the edge of a lane, about the distance to the curb."""

STOP_SIGN_RADIUS_M, MIN_STOP_SIGN_PX = 0.9, 2.0

PAINT = (("driveway", colours.DRIVEWAY, 0.3), ("lane", colours.LANE, 0.12), ("line", colours.LINE, 0.3),
         ("speed_bump", colours.SPEED_BUMP, 0.5), ("edge", colours.EDGE, 0.35))
"""Kinds drawn as lines, lowest first: colour, width in metres."""


class Ground:
    """The roads of a scene, sorted for drawing.

    Attributes:
        scene: the scene.
        levels: those of its roads, ascending; one unless roads lie above each other.
    """

    def __init__(self, scene: Scene):
        roads = scene.roads
        self.scene = scene
        self._points_m = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
        self._pieces = road_pieces(roads)
        width_m = np.where(roads.width_m > 0, roads.width_m, UNKNOWN_WIDTH_M)
        self._width_m = width_m[self._pieces.road]
        # No marking reaches further from the points of its road than the asphalt of the widest lane.
        self._reach_m = width_m.max(initial=0.0) / 2 + SHOULDER_M
        self._kind = roads.kind[self._pieces.road]
        self.levels = np.unique(self._pieces.level) if roads.count else np.zeros(1, np.int64)
        self._outlines = self._closed_edges() if scene.generated and len(self.levels) == 1 else []

    def level_index(self, z_m: np.ndarray) -> np.ndarray:
        """For vehicles at these heights of the road, the index of the highest of `levels` that is not above them."""
        # Half a level up, so that a vehicle is never below its own road.
        level = level_of(self.scene.roads, np.asarray(z_m) + 0.5 * LEVEL_HEIGHT_M)
        return (np.searchsorted(self.levels, level, side="right") - 1).clip(0)

    def draw(self, canvas: Canvas, camera: Camera, smooth: bool = True) -> None:
        """Draws the visible roads; `smooth` False draws asphalt faster, without antialiasing."""
        for index in range(len(self.levels)):
            self.draw_level(canvas, camera, index, smooth)

    def draw_level(self, canvas: Canvas, camera: Camera, index: int, smooth: bool = True) -> None:
        """Draws the visible roads of one of `levels`; the rest as for `draw`."""
        if not self.scene.roads.count:
            return
        points = camera.to_pixels(self._points_m)
        scale = camera.pixels_per_m
        visible = self._visible(points, canvas, scale) & (self._pieces.level == self.levels[index])
        pieces_of = {kind: np.flatnonzero(visible & (self._kind == code)) for kind, code in ROAD_KIND_CODES.items()}
        lines = {kind: [points[self._pieces.first[piece] : self._pieces.end[piece]] for piece in pieces]
                 for kind, pieces in pieces_of.items()}

        widths_m = self._width_m[pieces_of["lane"]]
        if self._outlines:
            canvas.fill_between([points[outline] for outline in self._outlines], colours.ASPHALT, smooth=smooth)
            widths_m = widths_m[:0]
        for width_m in np.unique(widths_m):
            wide = [lines["lane"][lane] for lane in np.flatnonzero(widths_m == width_m)]
            canvas.lines(wide, colours.ASPHALT, (width_m + 2 * SHOULDER_M) * scale, smooth=smooth)
        for outline in lines["crosswalk"]:
            canvas.fill(outline, colours.CROSSWALK)
        for kind, colour, width_m in PAINT:
            canvas.lines(lines[kind], colour, width_m * scale)
        for place in lines["stop_sign"]:
            canvas.disc(place[0], max(STOP_SIGN_RADIUS_M * scale, MIN_STOP_SIGN_PX), colours.STOP_SIGN)

    def _closed_edges(self):
        """Slices of the points of all road edges; empty unless every edge ends where it begins."""
        roads = self.scene.roads
        edges = np.flatnonzero(roads.kind == ROAD_KIND_CODES["edge"])
        first, last = roads.start[edges], roads.start[edges + 1] - 1
        is_closed = (self._points_m[first] == self._points_m[last]).all()
        return [slice(start, end + 1) for start, end in zip(first, last, strict=True)] if is_closed else []

    def _visible(self, points, canvas, pixels_per_m):
        """(pieces,) bool: the bounding box of the road with its asphalt overlaps the picture."""
        height, width = canvas.picture.shape[:2]
        first = self.scene.roads.start[:-1]
        low, high = np.minimum.reduceat(points, first), np.maximum.reduceat(points, first)
        margin = self._reach_m * pixels_per_m + MIN_STOP_SIGN_PX
        is_near = ((high > -margin) & (low < np.array([width, height]) + margin)).all(axis=1)
        return is_near[self._pieces.road]
