"""Which small scene do tests modify? One car on a lane that leads into another."""

from __future__ import annotations

import dataclasses

import numpy as np

from drive_env.scenes import LaneGraph, Objects, Roads, Scene


def small_scene() -> Scene:
    one, frame = np.ones(1, np.float32), np.zeros((2, 1), np.float32)
    objects = Objects(
        id=np.array([7], np.int64), kind=np.array([1], np.uint8), length_m=4 * one,
        width_m=2 * one, height_m=one,
        goal_m=np.array([[40, 0]], np.float32), marked_expert=np.zeros(1, bool),
        x_m=frame + 5, y_m=frame.copy(), heading_rad=frame.copy(), vx_mps=frame + 3, vy_mps=frame.copy(),
        valid=np.ones((2, 1), bool))
    roads = roads_of([(1, [(0, 0), (20, 0)]), (1, [(20, 0), (50, 0)]), (3, [(0, -3), (25, -3), (50, -3)])])
    lanes = LaneGraph(np.array([0, 1, 1, 1], np.int32), np.array([1], np.int32))
    return Scene(name="small", source="a test", generated=False, dt_s=0.1, origin_m=np.zeros(2),
                 objects=objects, roads=roads, lanes=lanes)


def roads_of(polylines) -> Roads:
    """Roads from (kind code, [(x, y), ...])."""
    points = np.array([point for _, line in polylines for point in line], np.float32).reshape(-1, 2)
    count = len(polylines)
    return Roads(
        id=np.arange(count, dtype=np.int64), kind=np.array([kind for kind, _ in polylines], np.uint8),
        start=np.cumsum([0, *(len(line) for _, line in polylines)]).astype(np.int32),
        x_m=points[:, 0].copy(), y_m=points[:, 1].copy(),
        width_m=np.zeros(count, np.float32), speed_limit_mps=np.zeros(count, np.float32))


def changed(scene: Scene, **changes) -> Scene:
    """The scene with fields replaced; `objects`, `roads` and `lanes` take a dict of their own fields."""
    parts = {name: dataclasses.replace(getattr(scene, name), **value) if isinstance(value, dict) else value
             for name, value in changes.items()}
    return dataclasses.replace(scene, **parts)
