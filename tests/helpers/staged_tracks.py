"""How do tests stage logs of objects whose positions are functions of time?"""

from __future__ import annotations

import numpy as np
from small_scene import roads_of

from drive_env import Scene
from drive_env.behaviours import classify
from drive_env.scenes.lane_links import graph_of
from drive_env.scenes.scene import (
    CONTROL_KIND_CODES, LIGHT_STATE_CODES, OBJECT_KIND_CODES, ROAD_KIND_CODES, Objects, TrafficControls)
from drive_env.scenes.validate import validate_scene

FRAME_S = 0.1


def times(duration_s):
    """The times of the frames of a duration."""
    return FRAME_S * np.arange(round(duration_s / FRAME_S) + 1)


class Moving:
    """An object on a path: x and y of every frame, from which heading and speed follow.

    Args:
        heading_rad: while it stands at the start.
        first: frame in which it appears.
    """

    def __init__(self, x_m, y_m, heading_rad=0.0, kind="vehicle", first=0, length_m=4.5, width_m=2.0):
        self.x_m, self.y_m = np.broadcast_arrays(np.asarray(x_m, float), np.asarray(y_m, float))
        self.kind, self.first, self.length_m, self.width_m = kind, first, length_m, width_m
        self.vx_mps, self.vy_mps = np.gradient(self.x_m, FRAME_S), np.gradient(self.y_m, FRAME_S)
        self.heading_rad = np.empty(len(self.x_m))
        for frame, (vx, vy) in enumerate(zip(self.vx_mps, self.vy_mps, strict=True)):
            if np.hypot(vx, vy) > 0.2:
                heading_rad = np.arctan2(vy, vx)
            self.heading_rad[frame] = heading_rad


def straight(speed_mps, duration_s, y_m=0.0, start_m=0.0, **more):
    """An object that drives along x at a speed, of which there may be one a frame."""
    speed_mps = np.broadcast_to(np.asarray(speed_mps, float), len(times(duration_s)))
    driven_m = np.cumsum(speed_mps) * FRAME_S
    return Moving(start_m + driven_m - driven_m[0], y_m, np.pi if speed_mps.mean() < 0 else 0.0, **more)


def resting(x_m, y_m, duration_s, heading_rad=0.0, **more):
    """An object at rest."""
    return Moving(np.full(len(times(duration_s)), x_m), y_m, heading_rad, **more)


def along(points_m, speed_mps, duration_s, **more):
    """An object that drives along a polyline."""
    points_m = np.asarray(points_m, float)
    at_m = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points_m, axis=0), axis=1))])
    driven_m = np.minimum(speed_mps * times(duration_s), at_m[-1])
    return Moving(*(np.interp(driven_m, at_m, points_m[:, axis]) for axis in (0, 1)), **more)


def arc(centre_m, radius_m, from_deg, to_deg, step_deg=2.0):
    """Points of an arc."""
    angle = np.radians(np.linspace(from_deg, to_deg, max(2, round(abs(to_deg - from_deg) / step_deg) + 1)))
    return np.stack([centre_m[0] + radius_m * np.cos(angle), centre_m[1] + radius_m * np.sin(angle)], axis=1)


def shifted(x_m, at_m, length_m, from_m, to_m):
    """y of a path that shifts sideways by a half cosine wave over `length_m` from `at_m` on."""
    share = np.clip((np.asarray(x_m) - at_m) / length_m, 0.0, 1.0)
    return from_m + (to_m - from_m) * 0.5 * (1.0 - np.cos(np.pi * share))


def scene_of(lanes, objects, links=(), edges=(), controls=()):
    """A scene.

    Args:
        lanes, edges: polylines.
        links: pairs of lanes.
        controls: of each its kind, its line (left x, left y, right x, right y), and the state of every frame.
    """
    roads = roads_of([*((ROAD_KIND_CODES["lane"], line) for line in lanes),
                      *((ROAD_KIND_CODES["edge"], line) for line in edges)])
    count = max(one.first + len(one.x_m) for one in objects)

    def tracks(name):
        values = np.zeros((count, len(objects)), np.float32)
        for index, one in enumerate(objects):
            values[one.first:one.first + len(one.x_m), index] = getattr(one, name)
        return values

    valid = np.zeros((count, len(objects)), bool)
    for index, one in enumerate(objects):
        valid[one.first:one.first + len(one.x_m), index] = True
    number = len(objects)
    table = Objects(
        id=np.arange(number, dtype=np.int64),
        kind=np.array([OBJECT_KIND_CODES[one.kind] for one in objects], np.uint8),
        length_m=np.array([one.length_m for one in objects], np.float32),
        width_m=np.array([one.width_m for one in objects], np.float32), height_m=np.full(number, 1.5, np.float32),
        goal_m=np.array([(one.x_m[-1], one.y_m[-1]) for one in objects], np.float32),
        marked_expert=np.zeros(number, bool), valid=valid,
        **{name: tracks(name) for name in ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps")})
    before, after = np.array(links, np.int32).reshape(-1, 2).T
    return validate_scene(Scene(
        name="staged", source="tests", generated=False, dt_s=FRAME_S, origin_m=np.zeros(2), objects=table, roads=roads,
        lanes=graph_of(before, after, roads.count), traffic_controls=_controls(controls, count) if controls else None))


def _controls(controls, frames):
    count = len(controls)
    state = np.zeros((frames, count), np.uint8)
    for index, (_, _, states) in enumerate(controls):
        state[:, index] = [LIGHT_STATE_CODES[one] for one in states] if states else 0
    return TrafficControls(
        kind=np.array([CONTROL_KIND_CODES[kind] for kind, _, _ in controls], np.uint8),
        line_m=np.array([line for _, line, _ in controls], np.float32), start=np.arange(count + 1, dtype=np.int32),
        lane=np.zeros(count, np.int32), state=state, phase_start=np.zeros(count + 1, np.int32),
        phase_state=np.zeros(0, np.uint8), phase_s=np.zeros(0, np.float32), offset_s=np.zeros(count, np.float32),
        junction=np.full(count, -1, np.int32))


def shows(name, *arguments, **more):
    """The objects that show a behaviour in a scene made by `scene_of`."""
    return classify(scene_of(*arguments, **more))[name]
