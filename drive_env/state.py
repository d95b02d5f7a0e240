"""The state of a batch as plain arrays, and the checks of arrays that are loaded.

The core does not check its state, so every array has a range (`state_ranges`); slots without an agent or vehicle must
be marked absent, and the direction of a vehicle must be that of its heading.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .binding import lib
from .errors import CallError, value_text
from .native_batch import NativeBatch
from .native_config import native_config
from .scenes.scene import ROAD_KIND_CODES
from .state_ranges import (
    ABSENT, ANY, FLAG, GOES_ON, OPENS_EPISODE, OPENS_TRIAL, check_directions, check_hidden, check_indices,
    output_ranges, ranges)


def saved_state(core: NativeBatch, seeds: list[int]) -> dict[str, npt.NDArray[Any]]:
    """Copies of all arrays of a batch at one time, with `seeds` and a hash of the scenes; see `Batch.state_dict`."""
    block, arrays = core.copy()
    return {"seed": np.array(seeds, np.uint64), "scenes": scenes_hash(core),
            **{f"arrays/{name}": array for name, array in arrays.items()},
            **{f"state/{name}": view.copy() for name, view in core.state_views(block).items()}}


def load_state(core: NativeBatch, given: Any, seeds: list[int]) -> list[int]:
    """Writes a saved state into a batch after checking all of it.

    Args:
        core: the batch to write to.
        given: a result of `saved_state`, unchecked.
        seeds: the seeds of this batch; `given` must have as many.

    Returns:
        The seeds in `given`.

    Raises:
        CallError: an array does not fit, or the batch cannot be copied now; nothing has changed.
    """
    found = checked_state(core, given, saved_state(core, seeds))
    for name, array in core.arrays.items():
        array[...] = found[f"arrays/{name}"]
    for name, view in core.state.items():
        view[...] = found[f"state/{name}"]
    return found["seed"].tolist()


def checked_state(core: NativeBatch, given: Any, own: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The given arrays, each with the name, type, shape and range of the batch's own.

    Raises:
        CallError: an array does not fit, or the arrays belong to other scenes or worlds.
    """
    if not isinstance(given, Mapping):
        raise CallError(f"state is {value_text(given)}; it must be a dict of numpy arrays by name")
    for name in given:
        if name not in own:
            raise CallError(f"state has {value_text(name)}, which is not in the state of this batch")
    # Read once, without the mask or the methods of a subclass: what is checked is what is written.
    given = {name: np.asarray(array) if isinstance(array, np.ndarray) else array for name, array in given.items()}
    limits = {f"state/{name}": limit for name, limit in ranges(core).items()}
    limits |= {f"arrays/{name}": limit for name, limit in output_ranges(core).items()}
    for name, like in own.items():
        if name not in given:
            raise CallError(f"state lacks {name!r}")
        _check_array(name, given[name], like, limits.get(name, ANY))
    if (given["scenes"] != own["scenes"]).any():
        raise CallError("state['scenes'] is the hash of other scenes than those of this batch, or of their agents "
                        "under another config")
    if (given["state/id"] != own["state/id"]).any():
        raise CallError(f"state['state/id'] is {given['state/id'].ravel().tolist()[:8]}; it must be the world_ids of "
                        f"this batch, {core.world_ids.tolist()[:8]}")
    if (given["arrays/scene_index"] != given["state/scene_index"][:, 0]).any():
        raise CallError(f"state['arrays/scene_index'] is {given['arrays/scene_index'].tolist()[:8]}; it must be that "
                        f"of state['state/scene_index'], {given['state/scene_index'].ravel().tolist()[:8]}")
    played = given["state/episode"][:, 0] >= 0  # before its first reset the state of a world is zeros
    _check_pending(core, given)
    _check_absent(core, given, played)
    check_directions({name: given[f"state/{name}"] for name in ("heading_rad", "cos_heading", "sin_heading")}, played)
    check_hidden(core, given["state/hidden"], played)
    _check_goal_lanes(core, given, played)
    if core.config.observation.type == "index":
        check_indices(core, given["arrays/observations"], given["arrays/scene_index"])
    return given


def _check_array(name: str, array: Any, like: np.ndarray, limit: tuple[float, float]) -> None:
    if not isinstance(array, np.ndarray):
        raise CallError(f"state[{name!r}] is {value_text(array)}; it must be a numpy array")
    if array.dtype != like.dtype or array.shape != like.shape:
        raise CallError(f"state[{name!r}] is {array.dtype} of shape {array.shape}; it must be {like.dtype} of shape "
                        f"{like.shape}")
    if array.dtype == np.bool_:  # a byte other than 0 and 1 is true, yet unequal to true
        array, limit = np.ascontiguousarray(array).view(np.uint8), FLAG
    if array.dtype.kind == "f" and name != "arrays/actions":  # those of agents that wait may be anything
        if not np.isfinite(array).all():
            raise CallError(f"state[{name!r}] has {array[~np.isfinite(array)][0]}; every entry must be finite")
    if limit is not ANY and array.size and not limit[0] <= array.min() <= array.max() <= limit[1]:
        worst = array.min() if array.min() < limit[0] else array.max()
        raise CallError(f"state[{name!r}] has {worst}; every entry must be from {limit[0]} to {limit[1]}")


def _check_pending(core: NativeBatch, given: Mapping[str, np.ndarray]) -> None:
    """After the last trial of an episode another episode must follow: one more trial would have no averages."""
    trials, pending = given["state/trial"][:, 0], given["state/pending"][:, 0]
    follows = np.where(trials == core.config.max_trials - 1, OPENS_EPISODE, OPENS_TRIAL)
    wrong = (pending != GOES_ON) & (pending != follows)
    if wrong.any():
        world = int(np.flatnonzero(wrong)[0])
        raise CallError(f"state['state/pending'] of world {world} has {pending[world]}; in trial {trials[world]} of "
                        f"{core.config.max_trials} it must be {GOES_ON} or {follows[world]}")


def _check_goal_lanes(core: NativeBatch, given: Mapping[str, np.ndarray], played: np.ndarray) -> None:
    """The road of a goal must be a lane of the world's scene, or -1: the core reads its points."""
    scenes = given["state/scene_index"][:, 0]
    for world, (scene, lanes) in enumerate(zip(scenes, given["state/goal_lane"], strict=True)):
        kind = core.roles[scene].scene.roads.kind
        wrong = (lanes >= len(kind)) | np.isin(lanes, np.flatnonzero(kind != ROAD_KIND_CODES["lane"]))
        if played[world] and wrong.any():
            raise CallError(f"state['state/goal_lane'] of world {world} has {int(lanes[wrong][0])}; it must be -1 or "
                            f"the index of a lane among the {len(kind)} roads of {core.roles[scene].scene.name}")


def _check_absent(core: NativeBatch, given: Mapping[str, np.ndarray], played: np.ndarray) -> None:
    """Slots beyond the agents and vehicles of a world's scene must be marked absent: the core has no data for them.

    An agent's lane must be a road of that scene, and its start that of an agent there, for the same reason.
    """
    of_world = [core.roles[index] for index in given["state/scene_index"][:, 0]]
    agents = np.array([roles.num_agents for roles in of_world])[:, None]
    vehicles = np.array([len(roles.objects) for roles in of_world])[:, None]
    roads = np.array([roles.scene.roads.count for roles in of_world])[:, None]
    status = given["state/status"]
    absent = np.arange(status.shape[1]) >= agents
    words = np.ascontiguousarray(given["state/overlapping"], "<u8").view(np.uint8)
    overlapping = np.unpackbits(words.reshape(*status.shape, -1), axis=-1, bitorder="little").any(axis=1)
    beyond = np.arange(overlapping.shape[1]) >= vehicles
    count, lane = given["state/present"].shape[1], given["state/lane"]  # without entries where nothing uses lanes
    start_of = given["state/start_of"]  # likewise, where no agent respawns
    controlled = given["state/controller"] == lib.DRV_CONTROLLER_AGENT
    for name, wrong in (
            ("controller", (controlled != (np.arange(count) < agents)) & played[:, None]),
            ("status", ((status == ABSENT) != absent) & played[:, None]),
            ("present", given["state/present"].astype(bool) & beyond[:, :count]),
            ("overlapping", overlapping & beyond),
            ("lane", (lane >= roads) & ~absent[:, :lane.shape[1]] & played[:, None]),
            ("start_of", (start_of >= agents) & ~absent[:, :start_of.shape[1]] & played[:, None])):
        if wrong.any():
            world, index = (int(place[0]) for place in np.nonzero(wrong))
            raise CallError(f"state['state/{name}'] of world {world} does not fit its scene "
                            f"{of_world[world].scene.name}, which has {int(agents[world, 0])} agents, "
                            f"{int(vehicles[world, 0])} vehicles and {int(roads[world, 0])} roads, at index {index}")


def scenes_hash(core: NativeBatch) -> np.ndarray:
    """(32,) uint8, the SHA-256 of all data of the scenes that the core reads."""
    digest, parts = hashlib.sha256(), lib.drv_scene_parts_of(native_config(core.config))
    has_lane_graph = parts & (lib.DRV_SCENE_ROUTES | lib.DRV_SCENE_LANE_GRAPH)

    def add(value: Any) -> None:
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                part = getattr(value, field.name)
                if field.name != "goal_heading_rad" or not np.isnan(part).all():
                    add(part)
        elif isinstance(value, np.ndarray):
            digest.update(f"{value.dtype.str}{value.shape}".encode())
            digest.update(value.tobytes())
        else:
            digest.update(f"{value!r};".encode())

    # Parts that the core does not read, and those that a scene lacks, make no difference.
    for role in core.roles:
        for part in (role.objects, role.num_agents, role.log_replay_count, role.static_count, role.frames, role.dt_s,
                     role.trial_steps, role.scene.objects, role.scene.roads):
            add(part)
        if role.rule_based_count:
            add(role.rule_based_count)
        if role.rule_based_count or has_lane_graph:
            add(role.scene.lanes)
        if role.scene.traffic_controls.count:
            add(role.scene.traffic_controls)
            add(role.light_logs)
        if len(role.scene.candidate_goals_m):
            add(role.scene.candidate_goals_m)
        if len(role.scripts.vehicle):
            add(role.scripts)
        if len(role.goal_lists.goal_m):
            add(role.goal_lists)
    return np.frombuffer(digest.digest(), np.uint8).copy()
