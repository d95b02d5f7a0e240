"""Reference paths: the polyline that leads each agent of a scene to its goal, and its speed on a straight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

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

GOAL_SPEED_SHARE, SLOWEST_GOAL_MPS = 0.8, 0.1
"""Speed at the goal as a share of `goal_max_speed_mps`, and its lower bound, since a car at rest never arrives."""


class Plan(NamedTuple):
    """Where a path starts, and the goals that it leads to.

    Attributes:
        goals_m: (n, 3) x_m, y_m and height of the road of each, the height NaN where roads do not lie above each other.
        pose: x_m, y_m and heading_rad; None: the agent's start.
    """

    goals_m: np.ndarray
    pose: tuple[float, float, float] | None = None


class Planner:
    """Finds the paths of the agents of a scene."""

    def __init__(self, roles: Roles) -> None:
        self.roles, self.net = roles, LaneNet(roles.scene)
        self.lanes = native_scene(roles, lane_graph=True)

    def scene_plan(self, agent: int) -> Plan:
        """The plan from the agent's start to its goal in the scene."""
        objects, item = self.roles.scene.objects, self.roles.objects[agent]
        road_z_m = objects.goal_z_m[item] - 0.5 * objects.height_m[item]  # the road is below the centre
        return Plan(np.append(objects.goal_m[item], road_z_m)[None].astype(np.float64))

    def paths(self, agent: int, plan: Plan) -> list[ReferencePath]:
        """The paths along a plan, each of at least 2 points; the last one goes on to the further goals along lanes.

        They follow the shortest route along lanes. Where no lanes lead to the first goal, the path is the object's
        logged track; without a log, or from another place than its start, there is one path along each of several
        lanes side by side; without such lanes, the path is the straight line.
        """
        # From where, and in which direction.
        roles, item = self.roles, self.roles.objects[agent]
        frames, half_m = roles.frames, 0.5 * roles.scene.objects.height_m[item]
        start_z = ANY_HEIGHT if plan.pose else frames.z_m[0, item] - half_m
        pose = plan.pose or (frames.x_m[0, item], frames.y_m[0, item], frames.heading_rad[0, item])
        start_m, heading_rad = np.array(pose[:2], np.float64), float(pose[2])
        ahead = np.array([math.cos(heading_rad), math.sin(heading_rad)])

        # Along lanes, else along lanes side by side, else along the log; from there straight to the goal.
        goal_m, goal_z = plan.goals_m[0, :2], plan.goals_m[0, 2]
        found = lane_route_roads(self.lanes, start_m, heading_rad, goal_m, start_z=start_z, goal_z=goal_z)
        valid = frames.valid[:, item]
        paths = None
        if found is not None:
            paths = [ReferencePath(*found, (0.0, 0.0))]
        elif plan.pose or np.count_nonzero(valid) == 1:
            paths = self.net.paths(start_m, ahead, goal_m)
        if paths is None:
            log_m = np.stack([frames.x_m[valid, item], frames.y_m[valid, item]], axis=1)
            line_m = start_m[None] if plan.pose else log_m
            paths = [ReferencePath(line_m, np.full(len(line_m), -1), (0.0, 0.0))]
        paths[-1] = _joined(paths[-1], goal_m)

        # On to further goals, as far as lanes lead there from the path's end.
        for before, after in pairwise(plan.goals_m):
            step_m = paths[-1].points_m[-1] - paths[-1].points_m[-2] if len(paths[-1].points_m) > 1 else ahead
            further = lane_route_roads(self.lanes, before[:2], math.atan2(step_m[1], step_m[0]), after[:2],
                                       start_z=before[2], goal_z=after[2])
            if further is None:
                break
            last = paths[-1]
            paths[-1] = _joined(ReferencePath(np.concatenate([last.points_m, further[0]]),
                                              np.append(last.roads, further[1]), last.window_m), after[:2])
        return [_without_jitter(path, ahead) for path in paths]


def _joined(path: ReferencePath, goal_m: np.ndarray) -> ReferencePath:
    """The path, extended by a straight line to a goal that is not at its end."""
    if np.linalg.norm(path.points_m[-1] - goal_m) <= OFF_LANE_M:
        return path
    return ReferencePath(np.concatenate([path.points_m, goal_m[None]]), np.append(path.roads, path.roads[-1]),
                         path.window_m)


def native_driver(planner: Planner, scene: Any, config: DriveConfig, paths_of: Sequence[list[ReferencePath]],
                  overtakes: bool) -> Any:
    """The core's driver of the agents of a scene, a drv_lane_driver that frees itself.

    Args:
        planner: of the scene.
        scene: the core's form of it, as the batch plays it.
        config: bounds the speeds.
        paths_of: the paths of each agent.
        overtakes: whether agents overtake in a generated scene.
    """
    # The paths of each agent, and their speeds.
    roles, lanes = planner.roles, planner.lanes
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
        goal_mps = max(GOAL_SPEED_SHARE * config.goal_max_speed_mps, SLOWEST_GOAL_MPS)

    # The driver.
    pointers = {name: ffi.from_buffer("int32_t[]" if array.dtype == np.int32 else "float[]", array)
                for name, array in arrays.items()}
    setup = ffi.new("drv_lane_driver_setup *", dict(scene=scene, lane_scene=lanes, goal_mps=goal_mps,
                                                    goal_reach_m=config.goal_radius_m,
                                                    overtakes=int(overtakes and roles.scene.generated), **pointers))
    out, message = ffi.new("drv_lane_driver **"), per_thread.message
    check(lib.drv_lane_driver_create(setup, out, message), message)
    return ffi.gc(out[0], lib.drv_lane_driver_free)


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
