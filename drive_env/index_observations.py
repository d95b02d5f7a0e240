"""Decoding of index observations: slots hold indices of vehicles, road segments, lights and signs in two tables.

An index observation, of `DriveConfig(observation={"type": "index"})`, holds the agent's own features as floats and one
index per slot. `floats_of` rebuilds the float32 observations bit for bit from numpy arrays or torch tensors, so a GPU
can decode them: with the default slots 416 bytes per agent are copied to it instead of 5,184.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .binding import ffi, lib
from .config import DriveConfig
from .errors import ConfigError, a_type, value_text
from .layout import observation_sets
from .native_config import native_config

__all__ = ["RECORD_FLOATS", "Parts", "SceneTable", "floats_of", "parts_of"]

RECORD_FLOATS = lib.DRV_RECORD_FLOATS
"""Floats of a transform record: x, y, x and y of the direction, or of the other end of a stop line, then four that do
not depend on the frame; the kind is the last one."""


class SceneTable(NamedTuple):
    """The records of all scenes of a batch, to which index observations refer; copy it to a device once.

    records: (S, 8) float32 in each scene's frame, the last four already scaled; the first record of each scene is all
        zeros and represents an empty slot. Road segments follow, then, if `observation.controls` is above 0, traffic
        lights and signs, each with one record per state of a light. first: (scenes,) int64, the index of each scene's
        first record.
    """

    records: npt.NDArray[np.float32]
    first: npt.NDArray[np.int64]


class Parts(NamedTuple):
    """The parts of index observations: numpy arrays or torch tensors, like the input.

    own: (n, own features) float32. partners, roads, controls: (n, slots) int64, 0 for an empty slot.
    """

    own: Any
    partners: Any
    roads: Any
    controls: Any


def parts_of(config: DriveConfig, observations: Any) -> Parts:
    """Splits index observations into their parts.

    Args:
        config: the config of the batch.
        observations: (n, bytes) uint8 as in `Batch.observations`, a numpy array or a torch tensor.

    Raises:
        ConfigError: the config has another observation type, or `observations` are not its index observations.
    """
    if not isinstance(config, DriveConfig):
        raise ConfigError(f"config is {a_type(type(config))}; it must be a DriveConfig")
    if config.observation.type != "index":
        raise ConfigError(f"observation.type is {config.observation.type!r}; it must be 'index'")
    # Where each part lies, and whether the array has that form.
    place = lib.drv_index_observation(native_config(config))
    ends = {each.name: (each.index_offset_bytes, each.index_offset_bytes + 2 * each.slots)
            for each in observation_sets(config) if each.name in Parts._fields}
    own_end = ends["partners"][0]
    shape, dtype = getattr(observations, "shape", None), str(getattr(observations, "dtype", None)).rpartition(".")[2]
    if shape is None:
        raise ConfigError(f"observations are {value_text(observations)}; they must be a numpy array or a torch tensor")
    if len(shape) != 2 or shape[1] != place.observation_bytes or dtype != "uint8":
        raise ConfigError(f"observations are {dtype} of shape {tuple(shape)}; "
                          f"they must be uint8 of shape (n, {place.observation_bytes})")
    if isinstance(observations, np.ndarray):
        return Parts(_numpy_view(observations, 0, own_end, np.float32), **{
            name: _numpy_view(observations, first, end, np.uint16).astype(np.int64)
            for name, (first, end) in ends.items()})
    import torch  # present wherever a tensor is

    # Few torch operations support uint16: read as int16, and clear the sign extension.
    return Parts(observations[:, :own_end].contiguous().view(torch.float32), **{
        name: observations[:, first:end].contiguous().view(torch.int16).long() & 0xFFFF
        for name, (first, end) in ends.items()})


def floats_of(config: DriveConfig, observations: Any, world: Any, vehicle: Any, scene: Any, scene_records: Any,
              vehicle_table: Any, out: Any) -> Any:
    """Rebuilds float32 observations from index observations; returns `out`.

    Bit-equal to the observations of the same batch with `observation={"type": "float32"}` for every agent that acts in
    the step. An agent that waits keeps the indices of its last observation, which are decoded with the current poses
    of the vehicles. All arrays are numpy arrays, or all are tensors on one device.

    Args:
        config: the config of the batch.
        observations: (n, bytes) uint8, from `Batch.observations`.
        world: (n,) int64, the world of each of these agents: `Batch.world_of_agent`.
        vehicle: (n,) int64, the index of each agent in its world's entries of `vehicle_table`: 1 + its index in the
            world.
        scene: (n,) int64, the first record of the agent's scene: `first[scene_index[world]]`.
        scene_records: (S, 8) float32, the records of `Batch.scene_table()`.
        vehicle_table: (W, 1 + vehicles, 8) float32, `Batch.vehicle_table`.
        out: (n, observation size) float32 to fill.

    Raises:
        ConfigError: the config has another observation type, or `observations` are not its index observations.
    """
    parts = parts_of(config, observations)
    ego = vehicle_table[world, vehicle]
    scale = lib.drv_position_scale(native_config(config))
    out[:, : parts.own.shape[1]] = parts.own
    sets = {each.name: out[:, each.offset : each.offset + each.slots * each.record_floats]
            .reshape(len(out), each.slots, each.record_floats) for each in observation_sets(config)}
    _transform(vehicle_table[world[:, None], parts.partners], ego, scale, _turn, sets["partners"])
    _transform(scene_records[scene[:, None] + parts.roads], ego, scale, _turn, sets["roads"])
    _transform(scene_records[scene[:, None] + parts.controls], ego, scale, _place, sets["controls"])
    return out


def scene_table(config: DriveConfig, scene_handles: list[Any]) -> SceneTable:
    """The records of all scenes of a batch.

    Args:
        config: the batch's, which sets the scales.
        scene_handles: `NativeBatch.scene_handles`.
    """
    native = native_config(config)
    counts = [1 + lib.drv_scene_record_count(scene, native) for scene in scene_handles]
    ends = np.cumsum(counts)
    records = np.empty((ends[-1], RECORD_FLOATS), np.float32)
    for scene, start, end in zip(scene_handles, ends - counts, ends):
        lib.drv_scene_records(scene, native, ffi.from_buffer("float[]", records[start:end]))
    return SceneTable(records, (ends - counts).astype(np.int64))


def _transform(records: Any, ego: Any, scale: float, second: Callable[..., None], out: Any) -> None:
    """Records (n, slots, 8) in the frames of the records `ego`, (n, 8); `second` transforms their second pair."""
    _place(records[..., 0:2], ego, scale, out[..., 0:2])
    second(records[..., 2:4], ego, scale, out[..., 2:4])
    out[..., 4:] = records[..., 4:]
    out[records[..., -1] == 0] = 0


def _place(points_m: Any, ego: Any, scale: float, out: Any) -> None:
    """Points (n, slots, 2) in the frames of `ego`, scaled, in the core's order of operations."""
    x, y = points_m[..., 0] - ego[:, None, 0], points_m[..., 1] - ego[:, None, 1]
    cosine, sine = ego[:, None, 2], ego[:, None, 3]
    out[..., 0] = (x * (cosine * scale) + y * (sine * scale)).clip(-1, 1)
    out[..., 1] = (y * (cosine * scale) + x * (-sine * scale)).clip(-1, 1)


def _turn(directions: Any, ego: Any, scale: float, out: Any) -> None:
    """The same for directions, which are not scaled."""
    ahead_x, ahead_y = directions[..., 0], directions[..., 1]
    cosine, sine = ego[:, None, 2], ego[:, None, 3]
    out[..., 0] = (ahead_x * cosine + ahead_y * sine).clip(-1, 1)
    out[..., 1] = (ahead_y * cosine + ahead_x * -sine).clip(-1, 1)


def _numpy_view(observations: npt.NDArray[np.uint8], first: int, end: int, dtype: Any) -> npt.NDArray[Any]:
    return np.ascontiguousarray(observations[:, first:end]).view(dtype)
