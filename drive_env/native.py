"""Configs and scenes in the core's own form."""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

import numpy as np

from .binding import check, ffi, lib, per_thread
from .config import DriveConfig
from .roles import Roles

__all__ = ["native_config", "native_scene"]


def native_config(config: DriveConfig, restart: str = "auto"):
    """The config as the core reads it, a drv_config pointer."""
    answers = {"ignore": lib.DRV_IGNORE, "stop": lib.DRV_STOP, "remove": lib.DRV_REMOVE}
    return ffi.new("drv_config *", dict(
        max_trials=config.max_trials,
        action_type={"discrete": lib.DRV_DISCRETE, "multi_discrete": lib.DRV_MULTI_DISCRETE,
                     "continuous": lib.DRV_CONTINUOUS}[config.action_type],
        dynamics={"bicycle": lib.DRV_BICYCLE}[config.dynamics],
        max_acceleration_mps2=config.max_acceleration_mps2,
        max_steering_rad=config.max_steering_rad,
        max_speed_mps=config.max_speed_mps,
        min_speed_mps=config.min_speed_mps,
        goal_radius_m=config.goal_radius_m,
        goal_max_speed_mps=-1.0 if config.goal_max_speed_mps is None else config.goal_max_speed_mps,
        on_goal=answers[config.on_goal],
        on_collision=answers[config.on_collision],
        on_offroad=answers[config.on_offroad],
        stopped_share_limit=config.stopped_share_limit or 0.0,
        partners=config.partners,
        roads=config.roads,
        road_selection={"exact": lib.DRV_ROADS_EXACT, "near": lib.DRV_ROADS_NEAR}[config.road_selection],
        road_memory_mib=config.road_memory_mib,
        observation_type={"float32": lib.DRV_FLOAT32, "float16": lib.DRV_FLOAT16,
                          "index": lib.DRV_INDEX}[config.observation_type],
        view_radius_m=config.view_radius_m,
        time_left={"off": lib.DRV_TIME_LEFT_OFF, "actor": lib.DRV_TIME_LEFT_ACTOR}[config.time_left],
        scene_order={"random": lib.DRV_ORDER_RANDOM, "cycle": lib.DRV_ORDER_CYCLE}[config.scene_order],
        restart={"auto": lib.DRV_RESTART_AUTO, "caller": lib.DRV_RESTART_CALLER}[restart],
        reward_goal=config.reward.goal,
        reward_collision=config.reward.collision,
        reward_offroad=config.reward.offroad,
        reward_progress_per_m=config.reward.progress_per_m,
        log_ema_alpha=config.log_ema_alpha,
    ))


_scenes_in_use: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
"""The core's scenes by a digest of all that they are made of: they never change, so batches can share them."""


def native_scene(roles: Roles):
    """The core's scene of these roles, which frees itself.

    A scene made of the same arrays that another batch still holds, whatever its config, is returned instead of a new
    one.
    """
    scene, objects, frames = roles.scene, roles.scene.objects, roles.frames
    agents = roles.objects[: roles.num_agents]
    log_replays = roles.objects[roles.num_agents : roles.num_agents + roles.log_replay_count]
    kept = []  # the core copies; until then the arrays must live
    digest = hashlib.sha256()

    def pointer(kind: str, array: np.ndarray):
        types = {"float": np.float32, "uint8_t": np.uint8, "int32_t": np.int32}
        array = np.ascontiguousarray(array, types[kind])
        kept.append(array)
        digest.update(array.data)
        return ffi.from_buffer(f"{kind}[]", array) if array.size else ffi.NULL

    numbers = dict(
        dt_s=roles.dt_s,
        trial_steps=roles.trial_steps,
        num_agents=roles.num_agents,
        log_replay_count=roles.log_replay_count,
        vehicle_count=len(roles.objects),
        frame_count=len(frames.valid),
        road_count=scene.roads.count,
        point_count=len(scene.roads.x_m),
    )
    digest.update(repr((scene.name, numbers)).encode())  # the counts say where one array ends and the next begins
    source = ffi.new("drv_scene_input *", dict(
        **numbers,
        name=(name := ffi.new("char[]", scene.name.encode())),
        kind=pointer("uint8_t", objects.kind[roles.objects]),
        length_m=pointer("float", objects.length_m[roles.objects]),
        width_m=pointer("float", objects.width_m[roles.objects]),
        start_x_m=pointer("float", frames.x_m[0, roles.objects]),
        start_y_m=pointer("float", frames.y_m[0, roles.objects]),
        start_heading_rad=pointer("float", frames.heading_rad[0, roles.objects]),
        start_vx_mps=pointer("float", frames.vx_mps[0, roles.objects]),
        start_vy_mps=pointer("float", frames.vy_mps[0, roles.objects]),
        goal_x_m=pointer("float", objects.goal_m[agents, 0]),
        goal_y_m=pointer("float", objects.goal_m[agents, 1]),
        log_x_m=pointer("float", frames.x_m[:, log_replays]),
        log_y_m=pointer("float", frames.y_m[:, log_replays]),
        log_heading_rad=pointer("float", frames.heading_rad[:, log_replays]),
        log_vx_mps=pointer("float", frames.vx_mps[:, log_replays]),
        log_vy_mps=pointer("float", frames.vy_mps[:, log_replays]),
        log_valid=pointer("uint8_t", frames.valid[:, log_replays]),
        road_start=pointer("int32_t", scene.roads.start),
        road_kind=pointer("uint8_t", scene.roads.kind),
        road_width_m=pointer("float", scene.roads.width_m),
        road_speed_limit_mps=pointer("float", scene.roads.speed_limit_mps),
        point_x_m=pointer("float", scene.roads.x_m),
        point_y_m=pointer("float", scene.roads.y_m),
    ))
    kept.append(name)
    handle = _scenes_in_use.get(digest.digest())
    if handle is None:
        out, message = ffi.new("drv_scene **"), per_thread.message
        check(lib.drv_scene_create(source, out, message), message)
        handle = ffi.gc(out[0], lib.drv_scene_release, lib.drv_scene_describe(out[0]).bytes)
        _scenes_in_use[digest.digest()] = handle
    return handle
