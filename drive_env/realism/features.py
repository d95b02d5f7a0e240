"""Which features does a drive have? Motion, distances to others and to the road edge, and events, step by step."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError, a_type
from ..names import named_arguments
from ..scenes.scene import OBJECT_KIND_CODES
from .frames import Frames
from .logged_scene import POSE, LoggedScene, Poses, checked_rollouts
from .motion import acceleration, angular_acceleration, angular_speed, speed
from .nearest_object import nearest_object_distance
from .road_edges import make_road_edges, signed_distance_to_edges
from .time_to_collision import time_to_collision
from .traffic_lights import make_lanes, red_light_violations

INVALID_M = np.float32(-1e10)
"""Distance to the road edge in steps without a pose."""


@dataclass(frozen=True, eq=False)
class RealismFeatures:
    """Features of the evaluated objects in the steps after the history: r rollouts, e objects, s steps.

    A feature that needs a step after the last one is NaN there. Features of a log have no meaning where `valid` is
    False, nor speeds and accelerations in the steps beside.

    Attributes:
        valid: (e, s) bool, the log is valid.
        is_vehicle: (e,) bool.
        linear_speed: (r, e, s) float32, m/s, heights included.
        linear_acceleration: (r, e, s) float32, m/s2, negative where an object brakes.
        angular_speed: (r, e, s) float32, rad/s.
        angular_acceleration: (r, e, s) float32, rad/s2.
        distance_to_nearest_object: (r, e, s) float32, metres; negative in a collision; 1e10 where there is no other
            object.
        time_to_collision: (r, e, s) float32, seconds, at most 5.
        distance_to_road_edge: (r, e, s) float32, metres, of the corner of the box that is farthest beyond the edge;
            negative on the road.
        collision: (r, e, s) bool.
        offroad: (r, e, s) bool.
        traffic_light_violation: (r, e, s) bool, passes a stop point at red.
        displacement_error: (r, e) float32, metres between pose and log, the mean over the valid steps of the log with
            its history.
    """

    valid: np.ndarray
    is_vehicle: np.ndarray
    linear_speed: np.ndarray
    linear_acceleration: np.ndarray
    angular_speed: np.ndarray
    angular_acceleration: np.ndarray
    distance_to_nearest_object: np.ndarray
    time_to_collision: np.ndarray
    distance_to_road_edge: np.ndarray
    collision: np.ndarray
    offroad: np.ndarray
    traffic_light_violation: np.ndarray
    displacement_error: np.ndarray


@named_arguments
def realism_features(scene: LoggedScene, simulated: Poses | None = None, published: bool = True) -> RealismFeatures:
    """The features of rollouts, or of the log itself.

    Args:
        scene: the log, its map and its signals.
        simulated: `Poses` of (rollouts, objects, steps), with all objects of the scene and the steps after its history;
            those of objects that are not valid at its current step are not read. None: the log.
        published: as in the published implementation, with its errors in neighbours of road edges that are rings and
            in the nearest lane (see docs/realism.md); False: without them.

    Returns:
        `RealismFeatures`; r is 1 for the log.

    Raises:
        ConfigError: `scene` is no `LoggedScene`; `simulated` is no `Poses`, or has another shape or a value out of its
            range.
    """
    if not isinstance(scene, LoggedScene):
        raise ConfigError(f"scene is {a_type(type(scene))}; it must be a LoggedScene")
    poses, valid = _with_history(scene, simulated)
    first = scene.current_step + 1
    present = scene.present
    evaluated = np.flatnonzero(scene.evaluated[present])
    x_m, y_m, z_m, heading_rad = (values[:, evaluated] for values in poses)

    # Motion needs neighbours in time, also in the history; distances do not.
    speed_3d = speed(x_m, y_m, z_m)
    frames = _frames(scene, poses, valid, evaluated)
    rollouts, steps = len(x_m), scene.simulated_steps
    by_object = (rollouts, steps, len(evaluated))
    with ThreadPoolExecutor(max_workers=1) as pool:  # numpy releases the lock: this takes about half of the time
        pending = pool.submit(lambda: (nearest_object_distance(frames), time_to_collision(frames)))
        edge = _edge_distance(scene, poses, valid, evaluated, published)
        lanes = make_lanes(scene.lanes, published)
        passes_red = red_light_violations(x_m, y_m, valid[:, evaluated], lanes, scene.signals)
        nearest, collides_in = (np.ascontiguousarray(values.reshape(by_object).transpose(0, 2, 1))
                                for values in pending.result())
    return RealismFeatures(
        valid=scene.valid[present][evaluated, first:],
        is_vehicle=scene.kind[present][evaluated] == OBJECT_KIND_CODES["vehicle"],
        linear_speed=speed_3d[..., first:], linear_acceleration=acceleration(speed_3d)[..., first:],
        angular_speed=angular_speed(heading_rad)[..., first:],
        angular_acceleration=angular_acceleration(heading_rad)[..., first:],
        distance_to_nearest_object=nearest, time_to_collision=collides_in, distance_to_road_edge=edge,
        collision=nearest < 0, offroad=edge > 0, traffic_light_violation=passes_red[..., first:],
        displacement_error=_displacement_error(scene, x_m, y_m, z_m))


def _logged(scene: LoggedScene) -> tuple[np.ndarray, ...]:
    """x, y, z and heading of the log, (p, t) float32, of the objects that are present; 0 where they are not valid."""
    present = scene.present
    values = [getattr(scene.poses, name)[present] for name in POSE]
    return tuple(np.where(scene.valid[present], one, 0).astype(np.float32) for one in values)


def _with_history(scene: LoggedScene, simulated: Poses | None) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """x, y, z and heading, (r, p, t) float32, and where they are valid: after the history, rollouts always are."""
    logged, valid = _logged(scene), scene.valid[scene.present]
    if simulated is None:
        return tuple(values[None] for values in logged), valid[None]
    checked_rollouts(scene, simulated)
    first, rollouts = scene.current_step + 1, len(simulated.x_m)
    poses = []
    for name, history in zip(POSE, logged, strict=True):
        values = np.empty((rollouts, *history.shape), np.float32)
        values[..., :first] = history[:, :first]
        values[..., first:] = getattr(simulated, name)[:, scene.present]
        poses.append(values)
    valid = np.concatenate([valid[:, :first], np.ones_like(valid[:, first:])], axis=1)
    return tuple(poses), np.broadcast_to(valid, poses[0].shape)


def _frames(scene: LoggedScene, poses: tuple[np.ndarray, ...], valid: np.ndarray, evaluated: np.ndarray) -> Frames:
    """The steps after the history, frame by frame."""
    x_m, y_m, _, heading_rad = poses

    def by_frame(values):
        after = values[..., scene.current_step + 1 :]
        return np.ascontiguousarray(after.transpose(0, 2, 1)).reshape(-1, values.shape[1])

    heading_rad = by_frame(heading_rad)
    half_length_m, half_width_m = np.ascontiguousarray(scene.size_m[scene.present, :2].T / 2, np.float32)
    return Frames(by_frame(x_m), by_frame(y_m), heading_rad, np.cos(heading_rad), np.sin(heading_rad),
                  by_frame(speed(x_m, y_m)), by_frame(valid), half_length_m, half_width_m, evaluated)


def _edge_distance(scene: LoggedScene, poses: tuple[np.ndarray, ...], valid: np.ndarray, evaluated: np.ndarray,
                   published: bool) -> np.ndarray:
    """(r, e, s) metres, the largest one of the corners at the bottom of each box."""
    first = scene.current_step + 1
    x_m, y_m, z_m, heading_rad = (values[:, evaluated, first:] for values in poses)
    sizes_m = scene.size_m[scene.present][evaluated].astype(np.float32)
    half_length_m, half_width_m, half_height_m = sizes_m.T[..., None] / 2
    cos, sin = np.cos(heading_rad), np.sin(heading_rad)
    ahead_x, ahead_y, left_x, left_y = half_length_m * cos, half_length_m * sin, -half_width_m * sin, half_width_m * cos
    corners = [(x_m + front * ahead_x + left * left_x, y_m + front * ahead_y + left * left_y, z_m - half_height_m)
               for front in (1, -1) for left in (1, -1)]
    is_valid = valid[:, evaluated, first:]
    points_m = np.stack([np.stack([values[is_valid] for values in corner]) for corner in corners], axis=1)
    edges = make_road_edges(scene.road_edges, published)
    distance = np.full(x_m.shape, INVALID_M)
    distance[is_valid] = signed_distance_to_edges(points_m.reshape(3, -1), edges).reshape(4, -1).max(axis=0)
    return distance


def _displacement_error(scene: LoggedScene, *simulated_m: np.ndarray) -> np.ndarray:
    """(r, e) metres; the history of rollouts is that of the log, so that it counts as steps without an error."""
    present = scene.present
    evaluated = scene.evaluated[present]
    squares = [(values - logged[evaluated]) ** 2 for values, logged in zip(simulated_m, _logged(scene), strict=False)]
    is_valid = scene.valid[present][evaluated]
    return np.where(is_valid, np.sqrt(sum(squares[1:], squares[0])), 0).sum(axis=-1) / is_valid.sum(axis=-1).astype(
        np.float32)
