"""How does a log, or a played trial, become a drive that can be scored?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, SupportsIndex

import numpy as np

from ...behaviours import TrialLog, TrialMotion
from ...config import GOAL_RESPONSES
from ...errors import ConfigError, a_type, checked_int
from ...names import named_arguments
from ...native import native_scene
from ...roles import Roles
from ...routes import lane_route
from ...scenes import Scene
from ...scenes.limits import SPEED_LIMIT_MPS
from ...scenes.scene import TrafficControls
from .driven_scene import DrivenScene
from .line_crossings import violations_of
from .scene_map import driven_map, has_levels


@named_arguments
def driven_scene(scene: Scene, ego: SupportsIndex | None = None) -> DrivenScene:
    """The drive of an object in the log of a scene, which is its own expert.

    Args:
        scene: with a log of two frames or more.
        ego: index of the object; None: the recording vehicle.

    Raises:
        ConfigError: `scene` is no `Scene`, has no such object or names no recording vehicle; or as for `DrivenScene`.
    """
    if not isinstance(scene, Scene):
        raise ConfigError(f"scene is {a_type(type(scene))}; it must be a Scene")
    if ego is None and scene.sdc < 0:
        raise ConfigError(f"ego is None; scene {scene.name} names no recording vehicle, so it must be the index of an "
                          "object")
    objects = scene.objects
    index = checked_int("ego", scene.sdc if ego is None else ego, 0, objects.count - 1)
    along_mps = objects.vx_mps * np.cos(objects.heading_rad) + objects.vy_mps * np.sin(objects.heading_rad)
    expert_m = np.stack([objects.x_m[:, index], objects.y_m[:, index]], axis=1)
    return _driven(
        scene.traffic_controls, scene.traffic_controls.state,
        x_m=objects.x_m, y_m=objects.y_m, heading_rad=objects.heading_rad,
        speed_mps=np.copysign(np.hypot(objects.vx_mps, objects.vy_mps), along_mps), valid=objects.valid,
        size_m=np.stack([objects.length_m, objects.width_m], axis=1), kind=objects.kind, dt_s=float(scene.dt_s),
        road_map=driven_map(scene), ego=index, expert_m=np.where(objects.valid[:, index, None], expert_m, np.nan),
        z_m=objects.z_m - 0.5 * objects.height_m if has_levels(scene) else None)


@named_arguments
def driven_trial(log: TrialLog, agent: SupportsIndex = 0) -> DrivenScene:
    """The drive of an agent in a played trial, until an event stops or removes it.

    The expert is the log of the vehicle in the scene, up to the length of a trial. Without a log, there is a route
    along lanes to the goal of the agent, or straight to it where no lanes lead there.

    Args:
        log: with two captures or more. Without `DriveConfig(traffic_controls=True)`, traffic lights and signs do not
            count.
        agent: index of the agent in its world.

    Raises:
        ConfigError: `log` is no `TrialLog`, there is no such agent, or agents respawn; or as for `DrivenScene`.
        CallError: nothing was captured.
    """
    if not isinstance(log, TrialLog):
        raise ConfigError(f"log is {a_type(type(log))}; it must be a TrialLog")
    roles, motion, config = log.roles, log.motion(), log.batch.config
    ego = checked_int("agent", agent, 0, roles.num_agents - 1)
    if config.on_goal == "respawn":
        raise ConfigError("on_goal is 'respawn'; a drive is scored from its start to its end, so it must be one of "
                          + ", ".join(repr(one) for one in GOAL_RESPONSES if one != "respawn"))
    objects, own = roles.scene.objects, roles.objects
    expert_m = _expert_m(roles, int(own[ego]))
    speed_mps, valid = _with_last_steps(motion, roles.dt_s)
    halted = np.flatnonzero(~motion.driving[:, ego])
    valid[halted[0] + 1 if len(halted) else len(valid) :, ego] = False
    controls = roles.scene.traffic_controls
    return _driven(
        controls if config.traffic_controls else None, motion.light, x_m=motion.x_m, y_m=motion.y_m,
        heading_rad=motion.heading_rad, speed_mps=speed_mps, valid=valid,
        size_m=np.stack([objects.length_m[own], objects.width_m[own]], axis=1), kind=objects.kind[own],
        dt_s=float(roles.dt_s), road_map=driven_map(roles.scene), ego=ego, expert_m=expert_m,
        route_m=_route_m(roles, motion, ego) if expert_m is None else None,
        z_m=motion.z_m if has_levels(roles.scene) else None)


def _driven(controls: TrafficControls | None, light: np.ndarray, **tracks: Any) -> DrivenScene:
    """The drive, with the numbers of lights and signs that the ego disobeyed; 0 if `controls` is None."""
    driven = DrivenScene(**tracks)
    if controls is None or not controls.count:
        return driven
    return replace(driven, **violations_of(driven, controls, light)._asdict())


def _with_last_steps(motion: TrialMotion, dt_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Speeds and validity of all vehicles, in which agents still move in the step of the event that halts them.

    The core sets their speed to 0 in that step, and removes some of them from the map.
    """
    speed_mps, valid = motion.speed_mps.astype(np.float64), motion.present.copy()
    for agent in range(motion.driving.shape[1]):
        frames = np.flatnonzero(motion.driving[:-1, agent] & ~motion.driving[1:, agent]) + 1
        for frame in frames.tolist():
            before_mps = speed_mps[frame - 1, agent]
            moved_m = np.hypot(*(getattr(motion, name)[frame, agent] - getattr(motion, name)[frame - 1, agent]
                                 for name in ("x_m", "y_m")))
            speed_mps[frame, agent] = event_speed_mps(before_mps, moved_m, dt_s)
            valid[frame, agent] = True
    return speed_mps, valid


def event_speed_mps(before_mps: Any, moved_m: Any, dt_s: Any) -> np.ndarray:
    """The speed to which a constant acceleration over a step leads, from the speed before it and the distance driven,
    numbers or arrays.

    The core sets the speed of a vehicle to 0 in the step of an event that stops or removes it. Where no vehicle has
    such a speed, the step was a jump, as the vehicle model "state" allows, and its speed is the one before it.
    """
    speed_mps = np.copysign(np.maximum(2.0 * moved_m / dt_s - np.abs(before_mps), 0.0), before_mps)
    return np.where(np.abs(speed_mps) <= SPEED_LIMIT_MPS, speed_mps, before_mps)


def _expert_m(roles: Roles, own: int) -> np.ndarray | None:
    """(f, 2) where the log has an object, NaN where it is not on the map; None without a log of 2 frames."""
    frames, last = roles.frames, roles.trial_steps + 1
    valid = frames.valid[:last, own]
    if roles.scene.generated or valid.sum() < 2:
        return None
    points_m = np.stack([frames.x_m[:last, own], frames.y_m[:last, own]], axis=1)
    return np.where(valid[:, None], points_m, np.nan)


def _route_m(roles: Roles, motion: TrialMotion, ego: int) -> np.ndarray:
    """(r, 2) the route from the first place of the ego to its goal."""
    scene, own = roles.scene, int(roles.objects[ego])
    start_m = np.array([motion.x_m[0, ego], motion.y_m[0, ego]], np.float64)
    goal_m = scene.objects.goal_m[own].astype(np.float64)
    heights = {}
    if has_levels(scene):
        goal_z_m = float(scene.objects.goal_z_m[own] - 0.5 * scene.objects.height_m[own])
        heights = {"start_z": float(motion.z_m[0, ego]), "goal_z": goal_z_m}
    route_m = lane_route(native_scene(roles, lane_graph=True), start_m, float(motion.heading_rad[0, ego]), goal_m,
                         **heights)
    return np.stack([start_m, goal_m]) if route_m is None or len(route_m) < 2 else route_m.astype(np.float64)
