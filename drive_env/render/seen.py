"""How is drawn what an agent was given? Over the picture, from its observation alone."""

from __future__ import annotations

import numpy as np

from ..scenes.scene import ROAD_KINDS
from . import colours
from .camera import Camera
from .canvas import Canvas, text_width
from .panel import STATE_WORDS, Sizes
from .sight import Sight, to_scene_frame
from .traffic import BODY, placed_shape

Pose = tuple[float, float, float]
"""x_m, y_m, heading_rad of the agent in the scene."""

FRAME_GAP_M = 0.8
"""Frames stand this much wider than what they are round."""

ROAD_WIDTHS_PX = {"edge": 3.0, "lane": 1.0}
OTHER_ROAD_WIDTH_PX = 2.0


def draw_seen_roads(canvas: Canvas, camera: Camera, sight: Sight, pose: Pose) -> None:
    """Every road segment it was given, curbs widest, lane centres thinnest; a point is a small disc."""
    roads = sight.roads
    middle = np.stack([roads["x"], roads["y"]], axis=1)
    half = np.stack([roads["direction_x"], roads["direction_y"]], axis=1) * roads["half_length"][:, None]
    ends = camera.to_pixels(to_scene_frame(np.stack([middle - half, middle + half], axis=1), pose))
    is_point = roads["half_length"] == 0
    for code, kind in ROAD_KINDS.items():
        lines = ends[(roads["kind"].round() == code) & ~is_point]
        canvas.lines(lines, colours.SEEN_ROAD, ROAD_WIDTHS_PX.get(kind, OTHER_ROAD_WIDTH_PX))
    for place in ends[is_point, 0]:
        canvas.disc(place, 3.0, colours.SEEN_ROAD)


def draw_seen_vehicles(canvas: Canvas, camera: Camera, sight: Sight, pose: Pose, text: int) -> None:
    """A frame round every vehicle it was given, with its speed."""
    partners = sight.partners
    if not len(sight.partner_slots):
        return
    size_m = np.stack([partners["length"], partners["width"]], axis=1) + FRAME_GAP_M
    heading_rad = np.arctan2(partners["direction_y"], partners["direction_x"])
    corners = placed_shape(BODY, np.stack([partners["x"], partners["y"]], axis=1), heading_rad, size_m)
    frames = camera.to_pixels(to_scene_frame(corners, pose))
    canvas.lines(frames, colours.SEEN, 2, closed=True)
    for (right, low), speed_mps in zip(frames.max(axis=1), partners["speed"], strict=True):
        canvas.text(right + 2, low, f"{speed_mps:.1f}", text, colours.SEEN)


def draw_seen_goal(canvas: Canvas, camera: Camera, sight: Sight, pose: Pose, radius_m: float) -> None:
    """The way to its goal as the crow flies, and the goal; a dark frame round its own vehicle."""
    if not sight.present:
        return
    own, goal = camera.to_pixels(to_scene_frame(np.stack([np.zeros(2), sight.goal_m]), pose))
    canvas.lines(np.stack([own, goal])[None], colours.SEEN, 1)
    canvas.ring(goal, radius_m * camera.pixels_per_m, colours.SEEN, 3)
    size_m = np.array([sight.own["ego/length"], sight.own["ego/width"]]) + FRAME_GAP_M
    canvas.lines(camera.to_pixels(to_scene_frame(BODY * size_m, pose))[None], colours.INK, 3, closed=True)


def draw_own_words(canvas: Canvas, sizes: Sizes, sight: Sight, who: str, state: int, waits: bool) -> None:
    """What it was told of itself, below the top bar."""
    own = sight.own
    if waits and not sight.present:
        lines = [f"{who}: {STATE_WORDS[state]}, off the map", "it is given zeros"]
    else:
        lines = [f"{who}: {STATE_WORDS[state]}" + (", waits; its last observation" if waits else ""),
                 f"speed {own['ego/speed']:.1f} m/s, {own['ego/acceleration']:+.1f} m/s2",
                 f"wheel {np.degrees(own['ego/steering']):+.0f} deg, goal {own['ego/goal_distance']:.0f} m",
                 f"given {len(sight.partner_slots)} vehicles, {len(sight.road_slots)} segments"]
        lines += [f"trial before: {STATE_WORDS[state]}" for state, name in enumerate(colours.STATE_NAMES)
                  if own.get(f"trial/outcome_{name}", 0.0) > 0]
    line = round(1.45 * sizes.text)
    width = max(text_width(words, sizes.text) for words in lines) + 2 * sizes.gap
    canvas.bar(0, sizes.top, width, sizes.top + line * len(lines) + 0.5 * sizes.gap, colours.PAPER)
    for number, words in enumerate(lines):
        canvas.text(sizes.gap, sizes.top + line * (number + 0.5), words, sizes.text, colours.INK)
