"""Reference paths: the polyline that leads each agent of a scene to its goal, and its speed on a straight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..binding import check, ffi, lib, per_thread
from ..config import DriveConfig
from ..native import native_scene
from ..roles import Roles
from ..routes import ANY_HEIGHT, lane_route

SHORTEST_M = 0.5
"""Points nearer to the one before are dropped: logged cars at rest jitter."""

OFF_LANE_M = 1.0
"""A goal farther than this from the end of its lane is connected to it by a straight line."""

CRUISE_MPS, FASTEST_MPS = 13.9, 25.0

SPARE_SPEED = 1.15
"""Where `CRUISE_MPS` does not finish a path within a trial: the speed relative to the one that just does."""

GOAL_SPEED_SHARE, CREEP_MPS = 0.8, 0.1
"""Speed at the goal as a share of `goal_max_speed_mps`, and its lower bound, since a car at rest never arrives."""


def native_driver(roles: Roles, scene: Any, config: DriveConfig, drawn_m: np.ndarray | None = None) -> Any:
    """The core's driver of the agents of a scene, a drv_lane_driver that frees itself.

    Args:
        roles: the scene and its agents.
        scene: the core's form of it, as the batch plays it.
        config: bounds the speeds.
        drawn_m: (agents, 3) x_m, y_m and height of the road of the goals to drive to, the height NaN where roads do not
            lie above each other; None for those of the scene.
    """
    lanes = native_scene(roles, lane_graph=True)
    goals_m = _goals_m(roles) if drawn_m is None else drawn_m
    lines = [reference_path(roles, lanes, agent, goals_m[agent]) for agent in range(roles.num_agents)]
    points = np.concatenate([*lines, np.zeros((0, 2))]).astype(np.float32)
    start = np.cumsum([0, *map(len, lines)], dtype=np.int32)
    arrays = {"point_start": start, "x_m": points[:, 0].copy(), "y_m": points[:, 1].copy(),
              "speed_mps": _cruise_mps(roles, lines, config)}
    goal_mps = FASTEST_MPS
    if config.goal_max_speed_mps is not None:
        goal_mps = max(GOAL_SPEED_SHARE * config.goal_max_speed_mps, CREEP_MPS)
    pointers = {name: ffi.from_buffer("int32_t[]" if name == "point_start" else "float[]", array)
                for name, array in arrays.items()}
    setup = ffi.new("drv_lane_driver_setup *", dict(scene=scene, lane_scene=lanes, goal_mps=goal_mps, goal_reach_m=config.goal_radius_m,
                                                    **pointers))
    out, message = ffi.new("drv_lane_driver **"), per_thread.message
    check(lib.drv_lane_driver_create(setup, out, message), message)
    return ffi.gc(out[0], lib.drv_lane_driver_free)


def _goals_m(roles: Roles) -> np.ndarray:
    """(agents, 3) float64, as `drawn_m` of `native_driver`, of the goals of the scene."""
    objects, items = roles.scene.objects, roles.objects[: roles.num_agents]
    road_z_m = objects.goal_z_m[items] - 0.5 * objects.height_m[items]  # the road is below the centre
    return np.concatenate([objects.goal_m[items], road_z_m[:, None]], axis=1).astype(np.float64)


def reference_path(roles: Roles, lanes: Any, agent: int, goal: np.ndarray) -> np.ndarray:
    """(n, 2) float64 with n of at least 2, from an agent's start to its goal, m; `lanes` is the core's scene, and
    `goal` a row of `drawn_m`, see `native_driver`.

    The path follows the shortest route along lanes; where no lanes lead to the goal, the object's logged track; where
    it has none, the straight line.
    """
    scene, item = roles.scene, roles.objects[agent]
    frames, goal_m = roles.frames, goal[:2]
    start_m = np.array([frames.x_m[0, item], frames.y_m[0, item]], np.float64)

    # Along lanes, else along the log, and from there straight to the goal.
    half_m = 0.5 * scene.objects.height_m[item]  # the road is below the centre
    line = lane_route(lanes, start_m, float(frames.heading_rad[0, item]), goal_m,
                      start_z=frames.z_m[0, item] - half_m, goal_z=ANY_HEIGHT if np.isnan(goal[2]) else goal[2])
    if line is None:
        valid = frames.valid[:, item]
        line = np.stack([frames.x_m[valid, item], frames.y_m[valid, item]], axis=1)
    line = line.astype(np.float64)
    if np.linalg.norm(line[-1] - goal_m) > OFF_LANE_M:
        line = np.concatenate([line, goal_m[None]])

    # Points too near to each other give no direction.
    kept = [line[0]]
    for point in line[1:]:
        if np.linalg.norm(point - kept[-1]) >= SHORTEST_M:
            kept.append(point)
    if len(kept) == 1:
        heading_rad = float(frames.heading_rad[0, item])
        kept.append(line[0] + [math.cos(heading_rad), math.sin(heading_rad)])
    return np.array(kept)


def _cruise_mps(roles: Roles, lines: list[np.ndarray], config: DriveConfig) -> np.ndarray:
    """(agents,) float32 speed on a straight, m/s, which finishes the path within a trial."""
    length_m = np.array([np.hypot(*np.diff(line, axis=0).T).sum() for line in lines])
    trial_s = roles.trial_steps * roles.dt_s
    cruise_mps = np.clip(SPARE_SPEED * length_m / trial_s, CRUISE_MPS, FASTEST_MPS)
    return np.minimum(cruise_mps, config.dynamics.max_speed_mps).astype(np.float32)
