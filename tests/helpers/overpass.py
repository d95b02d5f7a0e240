"""How do tests stage an overpass? Two straight roads that cross, the second at a height."""

from __future__ import annotations

import numpy as np
from scripted_scenes import Actor, driver, log_replay, stage
from small_scene import changed
from staged_controls import OFF, STOP, controls_of

from drive_env.scenes import Scene

HALF_ROAD_M, HALF_WIDTH_M, SPEED_MPS = 100.0, 4.0, 10.0
BELOW = [("lane", [(-HALF_ROAD_M, 0.0), (HALF_ROAD_M, 0.0)]),
         *[("edge", [(-HALF_ROAD_M, y_m), (HALF_ROAD_M, y_m)]) for y_m in (-HALF_WIDTH_M, HALF_WIDTH_M)]]
ABOVE = [(kind, [(y_m, x_m) for x_m, y_m in line]) for kind, line in BELOW]
"""The two roads, along x and along y, each a lane between two edges."""


def raised(scene: Scene, objects_m, points_m, goals_m=None) -> Scene:
    """The scene with the heights of the road under its objects, at its points, and under the goals of its objects."""
    half_m = 0.5 * scene.objects.height_m
    z_m = np.where(scene.objects.valid, np.asarray(objects_m, np.float32) + half_m, 0).astype(np.float32)
    goal_z_m = (np.asarray(objects_m if goals_m is None else goals_m) + half_m).astype(np.float32)
    return changed(scene, objects={"z_m": z_m, "goal_z_m": goal_z_m},
                   roads={"z_m": np.asarray(points_m, np.float32)})


def overpass(height_m: float, actors: list[Actor] | None = None, on_bridge=(False, True)) -> Scene:
    """By default two cars that are at the crossing at the same time, the second one on the bridge.

    Args:
        height_m: of the second road above the first.
        on_bridge: for each actor, whether it and its goal are on the second road.
    """
    cars = [driver(-20.0, 0.0, 0.0, SPEED_MPS), driver(0.0, -20.0, np.pi / 2, SPEED_MPS)]
    scene = stage(cars if actors is None else actors, BELOW + ABOVE)
    points_m = np.repeat([0.0, height_m], len(scene.roads.x_m) // 2)
    return raised(scene, height_m * np.array(on_bridge), points_m)


def crossing_logs(frames: int = 60) -> list[Actor]:
    """A car that waits aside, and two that drive on their logs at the same time over the crossing."""
    path_m = SPEED_MPS * 0.1 * np.arange(frames) - 30.0
    east = [(x_m, 0.0, 0.0, SPEED_MPS) for x_m in path_m]
    north = [(0.0, y_m, np.pi / 2, SPEED_MPS) for y_m in path_m]
    aside = [(-90.0, 0.0, 0.0, 0.0)] * frames
    return [Actor(log=tuple(aside), goal_m=(80.0, 0.0)), log_replay(east), log_replay(north)]


def stop_sign(scene: Scene, line_m, lane: int) -> Scene:
    """The scene with a stop sign of one lane."""
    states = [[OFF]] * scene.objects.frame_count
    return changed(scene, traffic_controls=controls_of([STOP], [line_m], states, lanes=[lane]))
