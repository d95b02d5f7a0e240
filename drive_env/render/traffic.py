"""How are vehicles, their trails and their goals drawn?"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..scenes.scene import OBJECT_KIND_CODES
from . import colours
from .camera import Camera
from .canvas import Canvas, fixed
from .colours import mixed
from .snapshot import Snapshot

MIN_LENGTH_PX = 9.0
"""Shorter vehicles are drawn this long, so that they are visible in a picture 400 pixels wide."""

DETAIL_PIXELS_PER_M = 2.6
"""At smaller scales vehicles are drawn without outline and mark, which would hide their colour."""

INDEX_HEIGHT_M, MIN_INDEX_PX = 2.4, 9
"""Agent indices are as high as a car is wide, and omitted if that is too small to read."""

MIN_GOAL_PX = 3.0

GOAL_HEADING_LENGTH = 2.0
"""Length of the line that shows the heading of a goal, from its middle, as a multiple of the radius."""

PALETTE = colours.STATE_COLOURS + colours.AGENT_COLOURS
DARK_PALETTE = tuple(map(colours.outline, PALETTE))
"""Colours of vehicles and of their outlines, by `colour_keys`."""

GOAL_SHARE = 0.6
GOAL_PALETTE = tuple(mixed(colour, colours.ASPHALT, GOAL_SHARE) for colour in PALETTE)
"""Colours of goals, paler than those of the vehicles, by `colour_keys`."""

OPEN_GOAL, CLOSED_GOAL = GOAL_PALETTE[colours.DRIVING], GOAL_PALETTE[colours.STATIC]
"""Colours of the goals of driving agents without colours of their own, and of other agents."""

TRAIL_WIDTH_M = 0.35
TRAIL_BANDS = 3
"""A trail fades in this many bands; each takes one call per colour, for any number of vehicles."""

BODY = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, -0.5], [-0.5, 0.5]])
WINDSCREEN = np.array([[0.32, 0.36], [0.32, -0.36], [0.1, -0.4], [0.1, 0.4]])
STRIPE = np.array([[0.06, 0.13], [0.06, -0.13], [-0.44, -0.13], [-0.44, 0.13]])
CROSS = np.array([[0.42, 0.42], [-0.42, -0.42], [0.42, -0.42], [-0.42, 0.42]])
"""Shapes of a vehicle, as shares of its length ahead and of its width to the left."""

CROSS_STROKES = np.array([0, 1, 2, 2])
"""Strokes of the cross that marks infractions, by off-road + 2 x collision."""


def colour_keys(snapshot: Snapshot, by_agent: bool) -> np.ndarray:
    """(vehicles,) indices in `PALETTE`: states, or `by_agent` for driving agents colours of their own."""
    keys = snapshot.state.astype(np.int64)
    if by_agent:
        driving = np.flatnonzero(snapshot.agent_state == colours.DRIVING)
        keys[driving] = len(colours.STATE_COLOURS) + driving % len(colours.AGENT_COLOURS)
    return keys


def draw_trails(canvas: Canvas, camera: Camera, snapshot: Snapshot, past_xy_m: np.ndarray,
                by_agent: bool = False) -> None:
    """Draws the past positions of the vehicles on the map.

    Args:
        by_agent: as for `colour_keys`.
        past_xy_m: (times, vehicles, 2), oldest first, NaN where a vehicle was not on the map.
    """
    times = len(past_xy_m)
    if times < 2:
        return
    points = camera.to_pixels(past_xy_m)
    bounds = np.linspace(0, times - 1, TRAIL_BANDS + 1).round().astype(int)
    moving = np.flatnonzero(snapshot.present & (snapshot.state != colours.STATIC))
    keys = colour_keys(snapshot, by_agent)[moving]
    # Older bands are closer to the colour of asphalt.
    for band, (first, last) in enumerate(pairwise(bounds)):
        share = (band + 1) / (TRAIL_BANDS + 1)
        for key in np.unique(keys):
            lines = [points[first : last + 1, vehicle] for vehicle in moving[keys == key]]
            lines = [line[~np.isnan(line[:, 0])] for line in lines]
            colour = mixed(PALETTE[key], colours.ASPHALT, share)
            lines = [line for line in lines if len(line) > 1]
            canvas.lines(lines, colour, TRAIL_WIDTH_M * camera.pixels_per_m)


def draw_goals(canvas: Canvas, camera: Camera, snapshot: Snapshot, radius_m: float, by_agent: bool = False) -> None:
    """Draws a disc for a reached goal, a ring in the colour of its agent while it drives, a grey ring for any other.

    A line from the middle of a ring has the heading with which the goal counts as reached, unless any heading does.
    """
    radius = max(radius_m * camera.pixels_per_m, MIN_GOAL_PX)
    width = max(1.0, 0.25 * camera.pixels_per_m)
    length_m = GOAL_HEADING_LENGTH * radius / camera.pixels_per_m
    ahead = np.stack([np.cos(snapshot.goal_heading_rad), np.sin(snapshot.goal_heading_rad)], axis=1)
    tips = camera.to_pixels(snapshot.goal_m + length_m * ahead)
    keys = colour_keys(snapshot, by_agent)[: len(tips)].tolist()
    for place, tip, state, key, reached in zip(camera.to_pixels(snapshot.goal_m), tips, snapshot.agent_state.tolist(),
                                               keys, snapshot.goal_reached.tolist(), strict=True):
        colour = GOAL_PALETTE[key] if state == colours.DRIVING else CLOSED_GOAL
        if reached:
            canvas.disc(place, radius, colours.STATE_COLOURS[colours.GOAL])
            continue
        canvas.ring(place, radius, colour, width)
        if not np.isnan(tip).any():
            canvas.lines(np.stack([place, tip])[None], colour, width)


def draw_vehicles(canvas: Canvas, camera: Camera, snapshot: Snapshot, by_agent: bool = False) -> None:
    """Draws every vehicle on the map by its state, agents on top, co-players with a stripe along the roof.

    Args:
        by_agent: as for `colour_keys`.
    """
    # Shapes of all vehicles at once, short ones enlarged.
    length_px = snapshot.length_m * camera.pixels_per_m
    enlargement = np.maximum(1.0, MIN_LENGTH_PX / length_px)
    size_m = np.stack([snapshot.length_m, snapshot.width_m], axis=1) * enlargement[:, None]
    shapes = {"body": BODY, "windscreen": WINDSCREEN, "stripe": STRIPE, "cross": CROSS}
    placed = {name: fixed(camera.to_pixels(placed_shape(shape, snapshot.xy_m, snapshot.heading_rad, size_m)))
              for name, shape in shapes.items()}
    middles = camera.to_pixels(snapshot.xy_m)
    in_detail = camera.pixels_per_m >= DETAIL_PIXELS_PER_M
    strokes = CROSS_STROKES[snapshot.had_offroad + 2 * snapshot.had_collision]
    keys = colour_keys(snapshot, by_agent)
    # Draw in reverse order: agents have the lowest indices.
    for vehicle in np.flatnonzero(snapshot.present)[::-1]:
        state = snapshot.state[vehicle]
        colour, dark = PALETTE[keys[vehicle]], DARK_PALETTE[keys[vehicle]]
        if snapshot.kind[vehicle] == OBJECT_KIND_CODES["pedestrian"]:
            canvas.disc(middles[vehicle], max(length_px[vehicle] / 2, MIN_LENGTH_PX / 3), colour)
            continue
        canvas.fill(placed["body"][vehicle], colour)
        if in_detail:
            canvas.lines(placed["body"][vehicle, None], dark, 1, closed=True)
        if state != colours.STATIC:
            canvas.fill(placed["windscreen"][vehicle], colours.GLASS if in_detail else dark)
        if snapshot.coplayer[vehicle]:
            canvas.fill(placed["stripe"][vehicle], colours.INK)
        if in_detail and strokes[vehicle]:
            lines = placed["cross"][vehicle].reshape(-1, 2, 2)[: strokes[vehicle]]
            canvas.lines(lines, colours.INK, max(1.0, 0.25 * camera.pixels_per_m))


def placed_shape(shape: np.ndarray, xy_m: np.ndarray, heading_rad: np.ndarray,
                 size_m: np.ndarray) -> np.ndarray:
    """A shape at every pose, scaled by length and width.

    Args:
        shape: (n, 2), shares of length ahead and of width to the left. xy_m: (vehicles, 2). heading_rad: (vehicles,).
        size_m: (vehicles, 2), length and width.

    Returns:
        (vehicles, n, 2), in the frame of the poses.
    """
    cosine, sine = np.cos(heading_rad)[:, None], np.sin(heading_rad)[:, None]
    ahead, left = shape[:, 0] * size_m[:, :1], shape[:, 1] * size_m[:, 1:]
    return np.stack([ahead * cosine - left * sine, ahead * sine + left * cosine], axis=2) + xy_m[:, None]


def draw_agent_indices(canvas: Canvas, camera: Camera, snapshot: Snapshot, max_px: int) -> None:
    """Writes the index of each agent beside its vehicle, at most `max_px` pixels high, unless too small to read."""
    size = _index_size(camera, max_px)
    if not size:
        return
    agents = np.flatnonzero(snapshot.present[: snapshot.roles.num_agents])
    for agent, (x, y) in zip(agents.tolist(), camera.to_pixels(snapshot.xy_m[agents]), strict=True):
        canvas.text(x + 0.5 * size, y - 1.1 * size, str(agent), size, colours.INK)


def draw_goal_indices(canvas: Canvas, camera: Camera, snapshot: Snapshot, max_px: int) -> None:
    """Writes the indices of the driving agents in their goals, at most `max_px` pixels high, unless too small to read.

    The indices of agents with the same goal are on one line, separated by commas.
    """
    size = _index_size(camera, max_px)
    if not size:
        return
    agents_of: dict[tuple[float, ...], list[str]] = {}
    for agent in np.flatnonzero(snapshot.agent_state == colours.DRIVING).tolist():
        agents_of.setdefault(tuple(camera.to_pixels(snapshot.goal_m[agent]).tolist()), []).append(str(agent))
    for (x, y), agents in agents_of.items():
        canvas.text(x, y, ", ".join(agents), size, colours.INK, align=0.5)


def draw_next_goals(canvas: Canvas, camera: Camera, snapshot: Snapshot, radius_m: float, max_px: int) -> None:
    """Draws a thin ring for each goal that a driving agent observes after its current one, with how many are before it.

    The numbers are as high as their rings, at most `max_px` pixels, and omitted if that is too small to read.
    """
    radius = max(radius_m * camera.pixels_per_m, MIN_GOAL_PX)
    size = min(max_px, round(2 * radius))
    for agent in np.flatnonzero(snapshot.agent_state == colours.DRIVING):
        for number, (x, y) in enumerate(camera.to_pixels(snapshot.next_goals_m[agent]), 1):
            if np.isnan(x):
                break
            canvas.ring(np.array([x, y]), radius, OPEN_GOAL, 1.0)
            if size >= MIN_INDEX_PX:
                canvas.text(x, y, str(number), size, OPEN_GOAL, align=0.5)


def _index_size(camera, max_px):
    """Pixels; 0 if too small to read."""
    size = min(max_px, round(INDEX_HEIGHT_M * camera.pixels_per_m))
    return size if size >= MIN_INDEX_PX else 0
