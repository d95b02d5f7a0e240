"""Reference paths: the route of every agent of a scene as equally spaced points, with a speed for each point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..config import DriveConfig
from ..native import native_scene
from ..roles import Roles
from ..routes import lane_route
from .idm import COMFORTABLE_BRAKING_MPS2

PITCH_M = 1.0
"""Distance between points of a path: short enough for the sharpest bend that a car can drive."""

LOOKAHEAD_POINTS = 60
"""Points of a path ahead of an agent that are considered: twice the stopping distance at the top speed of generated
scenes."""

RUN_OUT_M = 80.0
"""Length by which paths continue straight past the goal, so that an agent which misses it still has a path ahead."""

OFF_LANE_M = 1.0
"""A goal farther than this from the end of its lane is connected to it by a straight line."""

WRONG_WAY_M = 6.0
"""Cost of opposing a path's direction in the search for an agent's place on it, where the path crosses itself."""

BEND_POINTS = 6
"""Points over which curvature is measured: fewer would show the corners of polylines."""

STRAIGHT_PER_M = 1e-4
"""Curvature of a straight line; it keeps a division from 0."""

CRUISE_MPS, FASTEST_MPS = 9.0, 25.0

SPARE_SPEED = 1.15
"""Where `CRUISE_MPS` does not finish a path within a trial: the speed relative to the one that just does."""

LATERAL_MPS2 = 3.0
"""Comfortable lateral acceleration: 4.9 m/s at the radius of 8 m of a right turn."""

GOAL_SPEED_SHARE, CREEP_MPS = 0.8, 0.1
"""Speed at the goal as a share of `goal_max_speed_mps`, and its lower bound, since a car at rest never arrives."""


class ReferencePaths:
    """The paths of the agents of one scene, as points `PITCH_M` apart, all of one length.

    A path follows the shortest route along lanes; where no lanes lead to the goal, the object's logged track; where it
    has none, the straight line.

    Args:
        roles: the scene and its agents.
        config: bounds the speeds.

    Attributes:
        count: number of agents.
        xy_m: (agents, points, 2).
        heading_rad: (agents, points), to the next point.
        speed_mps: (agents, points), the desired speed, which brakes in time for every bend ahead.
    """

    def __init__(self, roles: Roles, config: DriveConfig) -> None:
        self.count, self.dt_s = roles.num_agents, roles.dt_s
        self.moving_count = roles.log_replay_count + roles.rule_based_count
        lanes = native_scene(roles, lane_graph=True)
        polylines = [_route(roles, lanes, agent) for agent in range(roles.num_agents)]
        lengths_m = [float(np.hypot(*np.diff(line, axis=0).T).sum()) for line in polylines]
        points = int((max(lengths_m) + RUN_OUT_M) / PITCH_M) + 1
        self.xy_m = np.stack([_resampled(line, points) for line in polylines])
        self.heading_rad = headings_of(self.xy_m)
        trial_s = roles.trial_steps * roles.dt_s
        cruise_mps = np.clip(SPARE_SPEED * np.array(lengths_m) / trial_s, CRUISE_MPS, FASTEST_MPS)
        self.speed_mps = _speed_profile(self.heading_rad, cruise_mps, np.array(lengths_m), config)

    def places(self, vehicles: dict[str, np.ndarray]) -> np.ndarray:
        """(agents,) the index of the point of its path that each agent is at.

        Args:
            vehicles: of `Batch.vehicles`.
        """
        x_m, y_m, heading_rad = (vehicles[name][: self.count, None] for name in ("x_m", "y_m", "heading_rad"))
        away_m = np.hypot(self.xy_m[..., 0] - x_m, self.xy_m[..., 1] - y_m)
        away_m = away_m + WRONG_WAY_M * (1.0 - np.cos(self.heading_rad - heading_rad))
        return np.argmin(away_m[:, :-LOOKAHEAD_POINTS], axis=1)


def headings_of(xy_m: np.ndarray) -> np.ndarray:
    """(agents, points) directions from each point of (agents, points, 2) to the next, rad."""
    step_m = np.diff(xy_m, axis=1, append=2 * xy_m[:, -1:] - xy_m[:, -2:-1])
    return np.arctan2(step_m[..., 1], step_m[..., 0])


def _route(roles: Roles, lanes: Any, agent: int) -> np.ndarray:
    """(n, 2) float64 with n of at least 2, from an agent's start to its goal, m; `lanes` is the core's scene."""
    scene, item = roles.scene, roles.objects[agent]
    frames, goal_m = roles.frames, scene.objects.goal_m[item].astype(np.float64)
    start_m = np.array([frames.x_m[0, item], frames.y_m[0, item]], np.float64)

    # Along lanes, else along the log, and from there straight to the goal.
    line = lane_route(lanes, start_m, float(frames.heading_rad[0, item]), goal_m)
    if line is None:
        valid = frames.valid[:, item]
        line = np.stack([frames.x_m[valid, item], frames.y_m[valid, item]], axis=1)
    line = line.astype(np.float64)
    if np.linalg.norm(line[-1] - goal_m) > OFF_LANE_M:
        line = np.concatenate([line, goal_m[None]])

    # Logged cars at rest jitter; points closer than half a pitch give no direction.
    kept = [line[0]]
    for point in line[1:]:
        if np.linalg.norm(point - kept[-1]) >= 0.5 * PITCH_M:
            kept.append(point)
    if len(kept) == 1:
        heading_rad = float(frames.heading_rad[0, item])
        kept.append(line[0] + [math.cos(heading_rad), math.sin(heading_rad)])
    return np.array(kept)


def _resampled(line: np.ndarray, points: int) -> np.ndarray:
    """(points, 2), `PITCH_M` apart along the line (n, 2) and straight on past its end."""
    ahead = (line[-1] - line[-2]) / np.linalg.norm(line[-1] - line[-2])
    line = np.concatenate([line, line[-1:] + ahead * points * PITCH_M])
    along_m = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    at_m = np.arange(points) * PITCH_M
    return np.stack([np.interp(at_m, along_m, line[:, axis]) for axis in (0, 1)], axis=1)


def _speed_profile(heading_rad: np.ndarray, cruise_mps: np.ndarray, length_m: np.ndarray, config: DriveConfig
                   ) -> np.ndarray:
    """(agents, points) cruise speed, limited by lateral acceleration in bends and by braking in time for them."""
    reach = BEND_POINTS // 2
    curvature = np.full_like(heading_rad, STRAIGHT_PER_M)
    turn_rad = (heading_rad[:, 2 * reach :] - heading_rad[:, : -2 * reach] + math.pi) % (2 * math.pi) - math.pi
    curvature[:, reach:-reach] += np.abs(turn_rad) / (2 * reach * PITCH_M)
    speed_mps = np.minimum(cruise_mps[:, None], np.sqrt(LATERAL_MPS2 / curvature))
    if config.goal_max_speed_mps is not None:
        at_goal = np.arange(heading_rad.shape[1]) * PITCH_M >= length_m[:, None] - config.goal_radius_m
        slow_mps = max(GOAL_SPEED_SHARE * config.goal_max_speed_mps, CREEP_MPS)
        speed_mps = np.where(at_goal, np.minimum(speed_mps, slow_mps), speed_mps)
    for point in range(speed_mps.shape[1] - 2, -1, -1):
        braking_mps = np.sqrt(speed_mps[:, point + 1] ** 2 + 2 * COMFORTABLE_BRAKING_MPS2 * PITCH_M)
        speed_mps[:, point] = np.minimum(speed_mps[:, point], braking_mps)
    return np.minimum(speed_mps, config.dynamics.max_speed_mps)
