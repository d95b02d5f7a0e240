"""How do tests stage rule-based vehicles? Lanes with vehicles on them, junctions, and what to measure of a rollout."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scripted_scenes import IGNORE_ALL, Actor, discrete, driver, stage

from drive_env.scenes import LaneGraph

AWAY = driver(0.0, 500.0)
"""An agent that meets no vehicle."""

IDM = {"others": "idm", **IGNORE_ALL}
BRAKE = 0


def on_lanes(actors, lanes, successors=None, limits_mps=None):
    """A scene of actors and lanes; lane i leads into `successors[i]`."""
    scene = stage(actors, [("lane", line) for line in lanes])
    successors = successors or [[] for _ in lanes]
    graph = LaneGraph(np.cumsum([0, *map(len, successors)]).astype(np.int32),
                      np.array([to for of_lane in successors for to in of_lane], np.int32))
    limits = np.zeros(len(lanes)) if limits_mps is None else limits_mps
    return replace(scene, lanes=graph, roads=replace(scene.roads, speed_limit_mps=np.asarray(limits, np.float32)))


def play(batch, steps, acceleration_bin=BRAKE):
    """The vehicles of world 0 at the start and after every step, (steps + 1, vehicles) by name."""
    record = [batch.vehicles()]
    for _ in range(steps):
        batch.step(discrete(batch, acceleration_bin))
        record.append(batch.vehicles())
    return {name: np.array([now[name] for now in record]) for name in record[0]}


def parked(x_m, y_m=0.0, heading_rad=0.0, **more):
    """A vehicle that stands on its own goal, and so is no agent."""
    return Actor(x_m, y_m, heading_rad, **more)


FOUR_ARMS = [[(-60.0, -2.0), (100.0, -2.0)], [(2.0, -60.0), (2.0, 100.0)], [(60.0, 2.0), (-100.0, 2.0)],
             [(-2.0, 60.0), (-2.0, -100.0)]]
"""The lanes of a junction, each straight over it: from the west, south, east and north."""


def on_arm(arm, away_m, speed_mps=5.0):
    """A vehicle on an arm of the junction, so far from the middle."""
    (x0, y0), (x1, y1) = FOUR_ARMS[arm]
    heading_rad = math.atan2(y1 - y0, x1 - x0)
    if arm % 2 == 0:
        return parked(-away_m * math.cos(heading_rad), y0, heading_rad, speed_mps=speed_mps)
    return parked(x0, -away_m * math.sin(heading_rad), heading_rad, speed_mps=speed_mps)


def arm_line(arm):
    """The stop line of an arm of the junction, 8 m before its middle."""
    (x0, y0), (x1, y1) = FOUR_ARMS[arm]
    ahead = np.sign([x1 - x0, y1 - y0])
    at = np.array([x0, y0]) * (ahead == 0) - 8.0 * ahead
    left = np.array([-ahead[1], ahead[0]])
    return tuple(np.concatenate([at + 2.0 * left, at - 2.0 * left]))


def overlaps(found, step):
    """Pairs of vehicles whose boxes overlap, but for agents."""
    there = np.flatnonzero(found["present"][step])[1:]
    x_m, y_m, heading_rad, length_m, width_m = (
        found[name][step][there].astype(float) for name in ("x_m", "y_m", "heading_rad", "length_m", "width_m"))
    ahead = np.stack([np.cos(heading_rad), np.sin(heading_rad)], axis=1)
    left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    offset_m = np.stack([x_m[:, None] - x_m, y_m[:, None] - y_m], axis=2)
    # Separating axes: those of the first box, and by symmetry of the pair those of the second.
    apart = np.zeros((len(there), len(there)), bool)
    for axis in (ahead, left):
        half_m = (np.abs(axis @ ahead.T) * length_m + np.abs(axis @ left.T) * width_m) / 2
        apart |= np.abs((offset_m * axis[:, None]).sum(axis=2)) > half_m + np.diag(half_m)[:, None]
    return [(there[i], there[j]) for i, j in zip(*np.nonzero(np.triu(~(apart | apart.T), 1)))]


def far_passed_s(found, vehicle):
    """When a vehicle has passed the middle of the junction by 10 m."""
    along_m = found["x_m"][:, vehicle] * np.cos(found["heading_rad"][:, vehicle]) + (
        found["y_m"][:, vehicle] * np.sin(found["heading_rad"][:, vehicle]))
    passed = np.flatnonzero(along_m > 10.0)
    return passed[0] * 0.1 if len(passed) else math.inf
