"""Which scenes do tests of pictures use? Vehicles at given poses, and optional lines."""

from __future__ import annotations

import numpy as np
from small_scene import roads_of

from drive_env import Batch, DriveConfig
from drive_env.scenes import LaneGraph, Objects, Scene
from drive_env.scenes.scene import OBJECT_KIND_CODES, ROAD_KIND_CODES

FAR = (500.0, 0.0)
"""A goal that no test reaches by accident."""

LENGTH_M, WIDTH_M = 4.6, 2.0

COAST, THROTTLE = 3 * 13 + 6, 6 * 13 + 6
"""Discrete actions, both straight on."""


def bare_scene(poses, goals=None, speeds=None, roads=(), logs=None, dt_s=0.1, name="bare") -> Scene:
    """One vehicle for each pose.

    Args:
        poses: (x_m, y_m, heading_rad) of each.
        goals: (x, y) of each; None: `FAR`.
        speeds: m/s along the heading.
        roads: (kind, [(x, y), ...]).
        logs: None for a scene of one frame, or for each vehicle a list of poses, None where it is invalid.
    """
    # (frames, vehicles) tracks
    count = len(poses)
    logs = [[pose] for pose in poses] if logs is None else logs
    frames = len(logs[0])
    track = np.array([[pose or (0.0, 0.0, 0.0) for pose in log] for log in logs], np.float32)
    valid = np.array([[pose is not None for pose in log] for log in logs]).T
    heading = np.array([pose[2] for pose in poses])
    speed = np.zeros(count) if speeds is None else np.array(speeds, float)
    # the scene
    objects = Objects(
        id=np.arange(count, dtype=np.int64), kind=np.full(count, OBJECT_KIND_CODES["vehicle"], np.uint8),
        length_m=np.full(count, LENGTH_M, np.float32), width_m=np.full(count, WIDTH_M, np.float32),
        height_m=np.full(count, 1.5, np.float32),
        goal_m=np.array(goals if goals is not None else [FAR] * count, np.float32).reshape(count, 2),
        marked_expert=np.zeros(count, bool), x_m=track[:, :, 0].T.copy(), y_m=track[:, :, 1].T.copy(),
        heading_rad=track[:, :, 2].T.copy(),
        vx_mps=np.repeat((speed * np.cos(heading))[None], frames, 0).astype(np.float32) * valid,
        vy_mps=np.repeat((speed * np.sin(heading))[None], frames, 0).astype(np.float32) * valid,
        valid=np.ascontiguousarray(valid))
    return Scene(
        name=name, source="a test", generated=frames == 1, dt_s=dt_s, origin_m=np.zeros(2), objects=objects,
        roads=roads_of([(ROAD_KIND_CODES[kind], line) for kind, line in roads]),
        lanes=LaneGraph(np.zeros(len(roads) + 1, np.int32), np.zeros(0, np.int32)))


def started(scene, **config) -> Batch:
    """A batch of one world on the scene, reset."""
    batch = Batch([scene], config=DriveConfig(**{"trial_steps": 50, **config}), threads=1)
    batch.reset()
    return batch


def drive(batch, steps=1, action=COAST) -> None:
    for _ in range(steps):
        batch.step(np.full(batch.num_agents, action))
