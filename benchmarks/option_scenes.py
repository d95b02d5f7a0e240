"""On which scenes are the options of a config measured? Towns of 14 agents that differ in one thing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from drive_env import Batch, DriveConfig, Scene, generate_scene
from drive_env.drivers import LaneDriver
from drive_env.scenes import Scripts
from drive_env.scenes.scene import CONTROL_KIND_CODES, ROAD_KIND_CODES

LOG_FRAMES = 201
"""20 s: as long as a trial of a generated scene."""

BRIDGE_WIDTH_M = 8.0
LINE_AHEAD_M, LINE_HALF_WIDTH_M = 4.0, 2.0
"""Where the line of a script is, ahead of the object whose log waits until an agent crosses it; half of its length."""

CANDIDATES = 4


def town(lights: bool = False) -> Scene:
    """The plain town, or with traffic lights."""
    return generate_scene("town", seed=0, agents=14, lights=lights)


def with_stop_signs() -> Scene:
    """The town with lights, each replaced by a stop sign."""
    scene = town(lights=True)
    controls = scene.traffic_controls
    none = np.zeros(0, np.float32)
    return replace(scene, traffic_controls=replace(
        controls, kind=np.full(controls.count, CONTROL_KIND_CODES["stop"], np.uint8),
        phase_start=np.zeros(controls.count + 1, np.int32), phase_state=none.astype(np.uint8), phase_s=none,
        offset_s=np.zeros(controls.count, np.float32), junction=np.full(controls.count, -1, np.int32)))


def with_candidates() -> Scene:
    """The town with four candidate goals, those of its first agents."""
    scene = town()
    return replace(scene, candidate_goals_m=scene.objects.goal_m[:CANDIDATES].copy())


def with_bridge(height_m: float) -> Scene:
    """The town with a straight road across it, at a height."""
    scene = town()
    roads, lanes = scene.roads, scene.lanes
    low, high = roads.x_m.min(), roads.x_m.max()
    sides_m = np.repeat(np.array([0.0, BRIDGE_WIDTH_M / 2, -BRIDGE_WIDTH_M / 2], np.float32), 2)
    points = len(roads.x_m)
    return replace(
        scene,
        roads=replace(
            roads, id=np.append(roads.id, roads.id.max() + 1 + np.arange(3)),
            kind=np.append(roads.kind, [ROAD_KIND_CODES[kind] for kind in ("lane", "edge", "edge")]).astype(np.uint8),
            start=np.append(roads.start, points + np.array([2, 4, 6])).astype(np.int32),
            x_m=np.append(roads.x_m, np.tile([low, high], 3)).astype(np.float32),
            y_m=np.append(roads.y_m, np.float32(np.median(roads.y_m)) + sides_m),
            z_m=np.append(roads.z_m, np.full(6, height_m)).astype(np.float32),
            width_m=np.append(roads.width_m, np.zeros(3, np.float32)),
            speed_limit_mps=np.append(roads.speed_limit_mps, np.zeros(3, np.float32))),
        lanes=replace(lanes, start=np.append(lanes.start, np.repeat(lanes.start[-1], 3)).astype(np.int32)))


def with_logs() -> Scene:
    """The town with a log of each vehicle: what `LaneDriver` drove."""
    scene, frames = town(), []
    config = DriveConfig(on_goal="ignore", on_collision="ignore", on_offroad="ignore", trial_steps=LOG_FRAMES)
    with Batch(scene, config=config, seed=0, threads=1) as batch:
        batch.reset()
        driver = LaneDriver(batch)
        for _ in range(LOG_FRAMES):
            frames.append(batch.vehicles())
            batch.step(driver.act_all())
    tracks = {name: np.stack([frame[name] for frame in frames]) for name in ("x_m", "y_m", "heading_rad", "speed_mps")}
    return replace(scene, generated=False, traffic_controls=None, objects=replace(
        scene.objects, x_m=tracks["x_m"], y_m=tracks["y_m"], heading_rad=tracks["heading_rad"],
        vx_mps=tracks["speed_mps"] * np.cos(tracks["heading_rad"]),
        vy_mps=tracks["speed_mps"] * np.sin(tracks["heading_rad"]),
        valid=np.ones(tracks["x_m"].shape, bool), z_m=None))


def with_scripts() -> Scene:
    """The same, with a script of each object, whose log waits for an agent that crosses a line ahead of it. The object
    itself is in the way, so that all wait, and lines are tested, in every step."""
    scene = with_logs()
    objects, count = scene.objects, scene.objects.count
    ahead = np.stack([np.cos(objects.heading_rad[0]), np.sin(objects.heading_rad[0])], axis=1)
    left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    middle_m = np.stack([objects.x_m[0], objects.y_m[0]], axis=1) + LINE_AHEAD_M * ahead
    line_m = np.concatenate([middle_m + LINE_HALF_WIDTH_M * left, middle_m - LINE_HALF_WIDTH_M * left], axis=1)
    return replace(scene, scripts=Scripts(np.arange(count, dtype=np.int32), np.arange(count, dtype=np.int32),
                                          np.zeros(count, np.int32), line_m.astype(np.float32)))
