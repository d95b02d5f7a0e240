"""Scenes in the core's own form."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .binding import check, ffi, lib, per_thread, table, text
from .roles import GoalListsInUse, Roles
from .scenes.levels import heights_near, levels_of
from .scenes.scene import Objects

__all__ = ["native_scene", "native_scenes"]


_scenes_in_use: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
"""The core's scenes by a digest of the data they are made of; they never change, so batches share them."""


_ARRAYS = tuple((text(field.name), np.dtype(text(field.type)))
                for field in table(lib.drv_scene_array_fields, "drv_scene_array_field"))
"""Name and type of every array that the core makes a scene of."""

_C_TYPES = {"u1": "uint8_t[]", "i4": "int32_t[]", "f4": "float[]"}


def _scene_array(roles: Roles, name: str) -> np.ndarray:
    """The array that the core calls `name`: its prefix names the part of the scene, the rest the attribute."""
    scene, frames = roles.scene, roles.frames
    prefix, _, attribute = name.partition("_")
    if attribute == "z_m":
        return _road_heights(roles, prefix)
    if prefix == "start":
        return getattr(frames, attribute)[0, roles.objects]
    if prefix == "goal":
        return _goal_array(scene.objects, roles.objects[: roles.num_agents], attribute)
    if prefix == "listed":
        return _goal_array(roles.goal_lists, slice(None), attribute)
    if prefix == "candidate":
        return scene.candidate_goals_m[:, ("x_m", "y_m").index(attribute)]
    if prefix == "script":
        return getattr(roles.scripts, attribute)
    if prefix == "agent":
        return getattr(frames, attribute.removeprefix("log_"))[:, roles.objects[: roles.num_agents]]
    if prefix == "log":
        columns = roles.objects[roles.num_agents : len(roles.objects) - roles.static_count]
        return getattr(frames, attribute)[:, columns]
    if prefix in ("road", "point"):
        return getattr(scene.roads, attribute)
    if prefix == "lane":
        return getattr(scene.lanes, attribute)
    if prefix == "control":
        return getattr(roles.light_logs if attribute in ("state", "offset_s") else scene.traffic_controls, attribute)
    return getattr(scene.objects, name)[roles.objects]


def _goal_array(goals: Objects | GoalListsInUse, chosen: np.ndarray | slice, attribute: str) -> np.ndarray:
    """An array of the goals of objects, or of those in lists; headings that are absent are 0."""
    if attribute in ("x_m", "y_m"):
        return goals.goal_m[chosen, ("x_m", "y_m").index(attribute)]
    if attribute == "has_heading":
        return ~np.isnan(goals.goal_heading_rad[chosen])
    if attribute == "heading_rad":
        return np.nan_to_num(goals.goal_heading_rad[chosen])
    return getattr(goals, attribute)


def _road_heights(roles: Roles, prefix: str) -> np.ndarray:
    """Heights of the road at starts, goals, logs and the rest; that under an object is its z minus half its height."""
    scene, agents = roles.scene, roles.objects[: roles.num_agents]
    half_m = 0.5 * scene.objects.height_m
    if prefix == "start":
        return (roles.frames.z_m[0] - half_m)[roles.objects]
    if prefix == "goal":
        return (scene.objects.goal_z_m - half_m)[agents]
    if prefix == "listed":
        return roles.goal_lists.road_z_m
    if prefix == "log":
        columns = roles.objects[roles.num_agents : len(roles.objects) - roles.static_count]
        return (roles.frames.z_m - half_m)[:, columns]
    if prefix == "candidate":
        return heights_near(scene.roads, scene.candidate_goals_m)
    if prefix == "control":
        controls = scene.traffic_controls
        middle_m = 0.5 * (controls.line_m[:, :2] + controls.line_m[:, 2:])
        lanes = [controls.lane[begin:end] for begin, end in zip(controls.start[:-1], controls.start[1:], strict=True)]
        return heights_near(scene.roads, middle_m, lanes)
    return scene.roads.z_m


def native_scene(roles: Roles, *, lane_graph: bool = False, parts: int = 0, arena: Any = ffi.NULL) -> Any:
    """The core's scene of these roles, which frees itself.

    A scene made of the same arrays that another batch still holds, whatever its config, is returned instead of a new
    one.

    Args:
        lane_graph: whether the scene has its lane graph where nothing in `parts` needs it. It adds 3 to 18 percent
            to the memory of a scene. One with rule-based vehicles always has it.
        parts: a sum of `lib.DRV_SCENE_AGENT_LOGS`, `lib.DRV_SCENE_ROUTES`, `lib.DRV_SCENE_LANE_GRAPH` and
            `lib.DRV_SCENE_LANE_CHANGES`, the parts that only some configs need, see `lib.drv_scene_parts_of`.
        arena: where a new scene is in memory, beside others of the same drv_arena; NULL: by itself.
    """
    # Which parts the scene has.
    agent_logs, routes = bool(parts & lib.DRV_SCENE_AGENT_LOGS), bool(parts & lib.DRV_SCENE_ROUTES)
    lane_changes = bool(parts & lib.DRV_SCENE_LANE_CHANGES) and roles.rule_based_count > 0
    lane_graph = lane_graph or routes or bool(parts & lib.DRV_SCENE_LANE_GRAPH) or roles.rule_based_count > 0
    has_height = len(levels_of(roles.scene.roads)) > 0
    agents = roles.objects[: roles.num_agents]
    has_goal_headings = not np.isnan(roles.scene.objects.goal_heading_rad[agents]).all()
    has = {"lane": lane_graph, "agent": agent_logs, "listed": len(roles.goal_lists.goal_m) > 0}

    # Its arrays and counts, as the core names them.
    arrays = {name: np.ascontiguousarray(_scene_array(roles, name), dtype) for name, dtype in _ARRAYS
              if has.get(name.partition("_")[0], True) and (has_height or not name.endswith("_z_m"))
              and (has_goal_headings or name not in ("goal_has_heading", "goal_heading_rad"))}
    numbers = dict(
        dt_s=roles.dt_s,
        trial_steps=roles.trial_steps,
        num_agents=roles.num_agents,
        log_replay_count=roles.log_replay_count,
        rule_based_count=roles.rule_based_count,
        vehicle_count=len(roles.objects),
        candidate_count=len(roles.scene.candidate_goals_m),
        listed_count=len(roles.goal_lists.goal_m),
        script_count=len(roles.scripts.vehicle),
        frame_count=len(roles.frames.valid),
        road_count=roles.scene.roads.count,
        point_count=len(roles.scene.roads.x_m),
        link_count=len(roles.scene.lanes.successor) if lane_graph else 0,
        control_count=roles.scene.traffic_controls.count,
        controlled_count=len(roles.scene.traffic_controls.lane),
        phase_count=len(roles.scene.traffic_controls.phase_state),
        agent_log_frames=len(roles.frames.valid) if agent_logs else 0,
        has_lane_changes=lane_changes,
        has_routes=routes,
        has_goal_headings=has_goal_headings,
        has_height=has_height,
    )

    # A digest of both; the counts separate the arrays.
    digest = hashlib.sha256(repr((roles.scene.name, numbers)).encode())
    for array in arrays.values():
        digest.update(array.data)

    # The scene of that digest, or a new one.
    handle = _scenes_in_use.get(digest.digest())
    if handle is None:
        name = ffi.new("char[]", roles.scene.name.encode())
        pointers = {key: ffi.from_buffer(_C_TYPES[array.dtype.str[1:]], array) if array.size else ffi.NULL
                    for key, array in arrays.items()}
        source = ffi.new("drv_scene_input *", dict(**numbers, name=name, **pointers))
        out, message = ffi.new("drv_scene **"), per_thread.message
        check(lib.drv_scene_create(source, arena, out, message), message)
        handle = ffi.gc(out[0], lib.drv_scene_release, lib.drv_scene_describe(out[0]).bytes)
        _scenes_in_use[digest.digest()] = handle
    return handle


def native_scenes(roles: Sequence[Roles], parts: int = 0) -> list[Any]:
    """`native_scene` of each, with these parts; new scenes lie side by side in memory."""
    arena = ffi.gc(lib.drv_arena_create(), lib.drv_arena_free)  # if NULL, each scene has memory of its own
    return [native_scene(each, parts=parts, arena=arena) for each in roles]
