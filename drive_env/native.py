"""Configs and scenes in the core's own form."""

from __future__ import annotations

import hashlib
import weakref
from typing import Any, NamedTuple

import numpy as np

from .binding import check, ffi, lib, per_thread, table, text
from .config import DriveConfig
from .fields import flat_values
from .roles import Roles

__all__ = ["native_config", "native_scene"]


class _Member(NamedTuple):
    """A member of the core's config: its name, the number that encodes None, and the names of its codes."""

    name: str
    none: float
    choices: tuple[str, ...]

    def coded(self, value: Any) -> Any:
        """The number by which the core represents a value."""
        if self.choices:
            return self.choices.index(value)
        return self.none if value is None else value


_MEMBERS = tuple(_Member(text(field.name), field.none, tuple(text(field.choices).split()))
                 for field in table(lib.drv_config_fields, "drv_config_field"))


def native_config(config: DriveConfig, restart: str = "auto"):
    """The config as a drv_config pointer."""
    values = {**flat_values(config), "restart": restart}
    return ffi.new("drv_config *", {member.name: member.coded(values[member.name]) for member in _MEMBERS})


_scenes_in_use: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
"""The core's scenes by a digest of the data they are made of; they never change, so batches share them."""


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
