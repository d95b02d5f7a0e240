"""Reference paths: the polyline that leads each agent of a scene to its goal, and its speed on a straight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..binding import check, ffi, lib, per_thread
from ..config import DriveConfig
from ..native import native_scene
from ..roles import Roles
from ..routes import ANY_HEIGHT, lane_route_roads
from .lane_changes import LaneNet, ReferencePath

SHORTEST_M = 0.5
"""Points nearer to the one before are dropped: logged cars at rest jitter."""

OFF_LANE_M = 1.0
"""A goal farther than this from the end of its lane is connected to it by a straight line."""

CRUISE_MPS, FASTEST_MPS = 13.9, 30.0
"""Lowest and highest speed where no limit is known, and in logs, whose drivers choose their own; the lowest is 50 km/h,
the limit in towns. The highest also bounds the limits of lanes."""

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
    # The paths of each agent, and their speeds.
    lanes, net = native_scene(roles, lane_graph=True), LaneNet(roles.scene)
    goals_m = _goals_m(roles) if drawn_m is None else drawn_m
    paths_of = [reference_paths(roles, lanes, net, agent, goals_m[agent]) for agent in range(roles.num_agents)]
    paths = [path for of_agent in paths_of for path in of_agent]
    points = np.concatenate([*(path.points_m for path in paths), np.zeros((0, 2))]).astype(np.float32)
    arrays = {
        "point_start": np.cumsum([0, *(len(path.points_m) for path in paths)], dtype=np.int32),
        "path_start": np.cumsum([0, *map(len, paths_of)], dtype=np.int32),
        "x_m": points[:, 0].copy(), "y_m": points[:, 1].copy(),
        "speed_mps": np.concatenate([*(_speed_mps(roles, of_agent, config) for of_agent in paths_of), np.zeros(0)]
                                    ).astype(np.float32),
        **{name: np.array([path.window_m[end] for path in paths], np.float32)
           for end, name in enumerate(("change_from_m", "change_to_m"))}}
    goal_mps = FASTEST_MPS
    if config.goal_max_speed_mps is not None:
        goal_mps = max(GOAL_SPEED_SHARE * config.goal_max_speed_mps, CREEP_MPS)

    # The driver.
    pointers = {name: ffi.from_buffer("int32_t[]" if array.dtype == np.int32 else "float[]", array)
                for name, array in arrays.items()}
    setup = ffi.new("drv_lane_driver_setup *", dict(scene=scene, lane_scene=lanes, goal_mps=goal_mps,
                                                    goal_reach_m=config.goal_radius_m, **pointers))
    out, message = ffi.new("drv_lane_driver **"), per_thread.message
    check(lib.drv_lane_driver_create(setup, out, message), message)
    return ffi.gc(out[0], lib.drv_lane_driver_free)


def _goals_m(roles: Roles) -> np.ndarray:
    """(agents, 3) float64, as `drawn_m` of `native_driver`, of the goals of the scene."""
    objects, items = roles.scene.objects, roles.objects[: roles.num_agents]
    road_z_m = objects.goal_z_m[items] - 0.5 * objects.height_m[items]  # the road is below the centre
    return np.concatenate([objects.goal_m[items], road_z_m[:, None]], axis=1).astype(np.float64)


def reference_paths(roles: Roles, lanes: Any, net: LaneNet, agent: int, goal: np.ndarray) -> list[ReferencePath]:
    """The paths of an agent from its start to its goal, each of at least 2 points.

    They follow the shortest route along lanes. Where no lanes lead to the goal, the path is the object's logged track;
    without a log, there is one path along each of some lanes side by side; without such lanes, the straight line.

    Args:
        lanes: the core's scene, with its lane graph.
        net: the lanes.
        goal: a row of `drawn_m`, see `native_driver`.
    """
    scene, item = roles.scene, roles.objects[agent]
    frames, goal_m = roles.frames, goal[:2]
    start_m = np.array([frames.x_m[0, item], frames.y_m[0, item]], np.float64)
    heading_rad = float(frames.heading_rad[0, item])
    ahead = np.array([math.cos(heading_rad), math.sin(heading_rad)])

    # Along lanes, else along the log, else along lanes side by side; from there straight to the goal.
    half_m = 0.5 * scene.objects.height_m[item]  # the road is below the centre
    found = lane_route_roads(lanes, start_m, heading_rad, goal_m, start_z=frames.z_m[0, item] - half_m,
                             goal_z=ANY_HEIGHT if np.isnan(goal[2]) else goal[2])
    valid = frames.valid[:, item]
    paths = None
    if found is not None:
        paths = [ReferencePath(*found, (0.0, 0.0))]
    elif np.count_nonzero(valid) == 1:
        paths = net.paths(start_m, ahead, goal_m)
    if paths is None:
        log_m = np.stack([frames.x_m[valid, item], frames.y_m[valid, item]], axis=1)
        paths = [ReferencePath(log_m, np.full(len(log_m), -1), (0.0, 0.0))]
    last = paths[-1]
    if np.linalg.norm(last.points_m[-1] - goal_m) > OFF_LANE_M:
        paths[-1] = ReferencePath(np.concatenate([last.points_m, goal_m[None]]),
                                  np.append(last.roads, last.roads[-1]), last.window_m)
    return [_without_jitter(path, ahead) for path in paths]


def _without_jitter(path: ReferencePath, ahead: np.ndarray) -> ReferencePath:
    """The path without points too near to each other, which give no direction; it has at least 2."""
    line = path.points_m.astype(np.float64)
    kept = [0]
    for index in range(1, len(line)):
        if np.linalg.norm(line[index] - line[kept[-1]]) >= SHORTEST_M:
            kept.append(index)
    if len(kept) == 1:
        return ReferencePath(np.stack([line[0], line[0] + ahead]), np.repeat(path.roads[:1], 2), path.window_m)
    return ReferencePath(line[kept], path.roads[kept], path.window_m)


def _speed_mps(roles: Roles, paths: list[ReferencePath], config: DriveConfig) -> np.ndarray:
    """(points,) desired speed on the way to each point, m/s: the limit of its lane in a generated scene.

    Elsewhere it is one that finishes the paths within a trial.
    """
    length_m = sum(np.hypot(*np.diff(path.points_m, axis=0).T).sum() for path in paths)
    trial_s = roles.trial_steps * roles.dt_s
    cruise_mps = np.clip(SPARE_SPEED * length_m / trial_s, CRUISE_MPS, FASTEST_MPS)
    road = np.concatenate([path.roads for path in paths])
    limit_mps = np.append(roles.scene.roads.speed_limit_mps, np.float32(0.0))[road]  # 0 off the lanes, road -1
    is_limited = roles.scene.generated & (limit_mps > 0.0)
    return np.minimum(np.where(is_limited, np.minimum(limit_mps, FASTEST_MPS), cruise_mps),
                      config.dynamics.max_speed_mps)
