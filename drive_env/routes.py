"""Which lanes lead a vehicle to its goal? The core's shortest path in the lane graph, as a polyline."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .binding import check, ffi, lib, per_thread

REPEATED_M = 1e-3
"""Points nearer than this to the previous one are dropped, since they determine no direction."""

CAPACITY = 256
"""Initial capacity for the lanes of a route and the points of a lane."""


class RouteLane(NamedTuple):
    """A lane of a route: its road index, and the part of it that is driven, m along the lane."""

    road: int
    from_m: float
    to_m: float


ANY_HEIGHT = math.nan
"""Of a start or goal whose lane may be on any level."""


def lane_route(scene: Any, start_xy: Any, start_heading: float, goal_xy: Any, *, start_z: float = ANY_HEIGHT,
               goal_z: float = ANY_HEIGHT) -> np.ndarray | None:
    """The path from the start to the goal along lane centres, without lane changes.

    Args:
        scene: from `native_scene`, with its lane graph.
        start_xy: (2,) m, position of the vehicle.
        start_heading: rad.
        goal_xy: (2,) m.
        start_z, goal_z: m, heights of the road there; they matter where roads lie above each other.

    Returns:
        (m, 2) float32 points from the lane point nearest the start to the one nearest the goal; m is 1 if these are the
        same point. None if no lane is near one of them, or no lane sequence connects them.

    Raises:
        CallError: the scene has no lane graph, or a coordinate is beyond its limit.
    """
    found = lane_route_roads(scene, start_xy, start_heading, goal_xy, start_z=start_z, goal_z=goal_z)
    return None if found is None else found[0]


def lane_route_roads(scene: Any, start_xy: Any, start_heading: float, goal_xy: Any, *, start_z: float = ANY_HEIGHT,
                     goal_z: float = ANY_HEIGHT) -> tuple[np.ndarray, np.ndarray] | None:
    """The points of `lane_route`, and (m,) the road of the lane of each. Args and errors as there."""
    lanes = route_lanes(scene, start_xy, start_heading, goal_xy, start_z=start_z, goal_z=goal_z)
    if not lanes:
        return None
    parts = [_lane_points(scene, lane) for lane in lanes]
    points = np.concatenate(parts)
    roads = np.repeat([lane.road for lane in lanes], [len(part) for part in parts])
    kept = [0]
    for index in range(1, len(points)):
        if np.abs(points[index] - points[kept[-1]]).max() >= REPEATED_M:
            kept.append(index)
    return points[kept], roads[kept]


def route_lanes(scene: Any, start_xy: Any, start_heading: float, goal_xy: Any, *, start_z: float = ANY_HEIGHT,
                goal_z: float = ANY_HEIGHT) -> list[RouteLane]:
    """The lanes of the path, in order; empty without a path. Args and errors as in `lane_route`."""
    ends = ffi.new("drv_route_ends *", (*map(float, start_xy), float(start_heading), *map(float, goal_xy),
                                        float(start_z), float(goal_z)))
    count, message, capacity = ffi.new("int32_t *"), per_thread.message, CAPACITY
    while True:
        lanes = ffi.new("drv_route_lane[]", capacity)
        check(lib.drv_scene_route(scene, ends, capacity, lanes, count, message), message)
        if count[0] <= capacity:
            return [RouteLane(lane.road, lane.from_m, lane.to_m) for lane in lanes[0 : count[0]]]
        capacity = count[0]


def _lane_points(scene: Any, lane: RouteLane) -> np.ndarray:
    """(n, 2) float32, the points of a lane of a route."""
    count, message, capacity = ffi.new("int32_t *"), per_thread.message, CAPACITY
    while True:
        points = np.empty((2, capacity), np.float32)
        x_m, y_m = (ffi.from_buffer("float[]", axis) for axis in points)
        check(lib.drv_scene_lane_points(scene, lane, capacity, x_m, y_m, count, message), message)
        if count[0] <= capacity:
            return points[:, : count[0]].T
        capacity = count[0]


def lane_heading_rad(scene: Any, lane: int, along_m: float) -> float:
    """The direction of a lane at a length along it; NaN for the lane -1, and where the lane has no direction there.

    Args:
        scene: from `native_scene`, with its lane graph.

    Raises:
        CallError: the road is no lane, or the lane is shorter.
    """
    if lane < 0:
        return math.nan
    ahead, message = ffi.new("float[2]"), per_thread.message
    check(lib.drv_scene_lane_direction(scene, lane, along_m, ahead, ahead + 1, message), message)
    x, y = ahead
    return math.nan if x == y == 0 else math.atan2(y, x)
