"""How is an agent's observation drawn? Over the picture, from the observation vector alone."""

from __future__ import annotations

import numpy as np

from ..scenes.scene import ROAD_KINDS
from . import colours
from .camera import Camera
from .canvas import Canvas, text_width
from .observation import Observation, to_scene_frame
from .panel import STATE_TEXT, Sizes
from .traffic import BODY, placed_shape

Pose = tuple[float, float, float]
"""x_m, y_m, heading_rad of the agent in the scene."""

OUTLINE_GAP_M = 0.8
"""Outlines are this much longer and wider than the vehicle."""

CONTROL_GAP_M = 0.9
"""Outlines of observed stop lines are this far from the line."""

CANDIDATE_RING_PX, NEXT_GOAL_RING_PX, GOAL_RING_PX = 1, 2, 3

ROAD_WIDTHS_PX = {"edge": 3.0, "lane": 1.0}
OTHER_ROAD_WIDTH_PX = 2.0


def draw_observed_roads(canvas: Canvas, camera: Camera, observation: Observation, pose: Pose) -> None:
    """Draws every observed road segment, curbs widest, lane centres thinnest; a point is a small disc."""
    roads = observation.roads
    middle = np.stack([roads["x"], roads["y"]], axis=1)
    half = np.stack([roads["direction_x"], roads["direction_y"]], axis=1) * roads["half_length"][:, None]
    ends = camera.to_pixels(to_scene_frame(np.stack([middle - half, middle + half], axis=1), pose))
    is_point = roads["half_length"] == 0
    for code, kind in ROAD_KINDS.items():
        lines = ends[(roads["kind"].round() == code) & ~is_point]
        canvas.lines(lines, colours.OBSERVED_ROAD, ROAD_WIDTHS_PX.get(kind, OTHER_ROAD_WIDTH_PX))
    for place in ends[is_point, 0]:
        canvas.disc(place, 3.0, colours.OBSERVED_ROAD)


def draw_observed_vehicles(canvas: Canvas, camera: Camera, observation: Observation, pose: Pose, text: int) -> None:
    """Draws an outline of every observed vehicle, with its speed."""
    partners = observation.partners
    if not len(observation.slots["partners"]):
        return
    size_m = np.stack([partners["length"], partners["width"]], axis=1) + OUTLINE_GAP_M
    heading_rad = np.arctan2(partners["direction_y"], partners["direction_x"])
    corners = placed_shape(BODY, np.stack([partners["x"], partners["y"]], axis=1), heading_rad, size_m)
    frames = camera.to_pixels(to_scene_frame(corners, pose))
    canvas.lines(frames, colours.OBSERVED, 2, closed=True)
    for (right, low), speed_mps in zip(frames.max(axis=1), partners["speed"], strict=True):
        canvas.text(right + 2, low, f"{speed_mps:.1f}", text, colours.OBSERVED)


def draw_observed_goal(canvas: Canvas, camera: Camera, observation: Observation, pose: Pose, radius_m: float) -> None:
    """Draws the goal, unless it is hidden, with a straight line to it, and a dark outline of the agent's vehicle."""
    if not observation.present:
        return
    if observation.has_goal:
        own, goal = camera.to_pixels(to_scene_frame(np.stack([np.zeros(2), observation.goal_m]), pose))
        canvas.lines(np.stack([own, goal])[None], colours.OBSERVED, 1)
        canvas.ring(goal, radius_m * camera.pixels_per_m, colours.OBSERVED, GOAL_RING_PX)
    size_m = np.array([observation.own["ego/length"], observation.own["ego/width"]]) + OUTLINE_GAP_M
    canvas.lines(camera.to_pixels(to_scene_frame(BODY * size_m, pose))[None], colours.INK, 3, closed=True)


def draw_observed_controls(canvas: Canvas, camera: Camera, observation: Observation, pose: Pose) -> None:
    """Draws a frame around the stop line of every observed traffic light and sign."""
    controls = observation.sets["controls"]
    left, right = (np.stack([controls[f"{end}_x"], controls[f"{end}_y"]], axis=1) for end in ("left", "right"))
    across = left - right
    length = np.maximum(np.hypot(*across.T), CONTROL_GAP_M)[:, None]
    across = CONTROL_GAP_M * across / length
    along = np.stack([across[:, 1], -across[:, 0]], axis=1)
    corners = [left + across + along, right - across + along, right - across - along, left + across - along]
    frames = camera.to_pixels(to_scene_frame(np.stack(corners, axis=1), pose))
    canvas.lines(frames, colours.OBSERVED, 2, closed=True)


def draw_observed_goals(canvas: Canvas, camera: Camera, observation: Observation, pose: Pose, radius_m: float,
                        text: int) -> None:
    """Draws a thin ring for every observed candidate goal, and a wider one for each next goal, with its number."""
    radius = radius_m * camera.pixels_per_m
    for name, width in (("candidates", CANDIDATE_RING_PX), ("goals", NEXT_GOAL_RING_PX)):
        goals = observation.sets[name]
        places = camera.to_pixels(to_scene_frame(np.stack([goals["x"], goals["y"]], axis=1), pose))
        numbers = goals.get("number", np.full(len(places), np.nan))
        for (x, y), number in zip(places, numbers, strict=True):
            if number == 0:  # the current goal, which draw_observed_goal draws
                continue
            canvas.ring(np.array([x, y]), radius, colours.OBSERVED, width)
            if not np.isnan(number):
                canvas.text(x, y, f"{number:.0f}", text, colours.OBSERVED, align=0.5)


def draw_ego_text(canvas: Canvas, sizes: Sizes, observation: Observation, name: str, state: int, waits: bool,
                  notes: list[str]) -> None:
    """Writes the ego and trial features below the top bar, then the notes, one per line."""
    own = observation.own
    if waits and not observation.present:
        lines = [f"{name}: {STATE_TEXT[state]}, removed", "observation 0"]
    else:
        lines = [f"{name}: {STATE_TEXT[state]}" + (", waits; its last observation" if waits else ""),
                 f"speed {own['ego/speed']:.1f} m/s, {own['ego/acceleration']:+.1f} m/s2",
                 f"wheel {np.degrees(own['ego/steering']):+.0f} deg, {_goal_text(observation)}",
                 f"observes {len(observation.slots['partners'])} vehicles, {len(observation.slots['roads'])} segments"]
        lines += [f"and {', '.join(more)}"] if (more := _further_sets(observation)) else []
        lines += [f"previous trial: {STATE_TEXT[outcome]}" for outcome, outcome_name in enumerate(colours.STATE_NAMES)
                  if own.get(f"trial/outcome_{outcome_name}", 0.0) > 0]
    lines += notes
    line_px = round(1.45 * sizes.text)
    width = max(text_width(text, sizes.text) for text in lines) + 2 * sizes.gap
    canvas.bar(0, sizes.top, width, sizes.top + line_px * len(lines) + 0.5 * sizes.gap, colours.PAPER)
    for number, text in enumerate(lines):
        canvas.text(sizes.gap, sizes.top + line_px * (number + 0.5), text, sizes.text, colours.INK)


def _goal_text(observation):
    return f"goal {observation.own['ego/goal_distance']:.0f} m" if observation.has_goal else "goal not observed"


def _further_sets(observation):
    """How many slots are filled of each set that only some configs have, as texts; none for a set without any."""
    names = {"candidates": "candidate goals", "controls": "lights and signs", "goals": "goals in order",
             "route": "points of the route"}
    return [f"{len(observation.slots[name])} {text}" for name, text in names.items() if len(observation.slots[name])]
