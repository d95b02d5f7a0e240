"""What does an index observation stand for? The floats of an agent, out of a few numbers and two tables.

An agent of `DriveConfig(observation_type="index")` holds the features of the agent itself as floats, and for every slot
which vehicle or road segment it shows. `floats_of` rebuilds the float32 observations bit for bit, with numpy arrays or
torch tensors alike, so a GPU can do it: some 400 bytes an agent have to reach it instead of 5,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .config import DriveConfig
from .core import lib, native_config
from .errors import ConfigError

if TYPE_CHECKING:
    from .batch import Batch

__all__ = ["RECORD_FLOATS", "Parts", "SceneTable", "floats_of", "parts_of"]

RECORD_FLOATS = lib.DRV_RECORD_FLOATS
"""Numbers of a record: x, y, the direction's x and y, then four that are the same from everywhere, the kind last."""


class SceneTable(NamedTuple):
    """The road segments of all scenes of a batch, as index observations name them; numpy arrays, to be copied to a device once.

    records: (S, 8) float32 in each scene's frame, already scaled where they look the same from everywhere; the first of
        each scene is zeros, for an empty slot. first: (scenes,) int64, where the records of each scene begin.
    """

    records: npt.NDArray[np.float32]
    first: npt.NDArray[np.int64]


class Parts(NamedTuple):
    """Index observations by their parts, numpy arrays or torch tensors as given.

    own: (n, own features) float32. partners, roads: (n, slots) int64, 0 for nobody.
    """

    own: Any
    partners: Any
    roads: Any


def parts_of(config: DriveConfig, agents: Any) -> Parts:
    """Takes index observations apart.

    Args:
        config: the batch's.
        agents: (n, bytes) uint8 as in `Batch.observations`, a numpy array or a torch tensor.

    Raises:
        ConfigError: the config is for other observations, or `agents` are not its index observations.
    """
    if config.observation_type != "index":
        raise ConfigError(f"observation_type is {config.observation_type!r}; it must be 'index'")
    place = lib.drv_index_observation(native_config(config))
    head_end, partners_end = place.partners_bytes, place.roads_bytes
    roads_end = partners_end + 2 * config.roads
    if len(agents.shape) != 2 or agents.shape[1] != place.observation_bytes or str(agents.dtype).rpartition(".")[2] != "uint8":
        raise ConfigError(f"agents are {agents.dtype} of shape {tuple(agents.shape)}; "
                          f"they must be uint8 of shape (n, {place.observation_bytes})")
    if isinstance(agents, np.ndarray):
        return Parts(_numpy_view(agents, 0, head_end, np.float32),
                     _numpy_view(agents, head_end, partners_end, np.uint16).astype(np.int64),
                     _numpy_view(agents, partners_end, roads_end, np.uint16).astype(np.int64))
    import torch  # whoever has a tensor has torch

    # Not every operation knows uint16, so it is read as int16 and what that takes for negative is mended.
    return Parts(agents[:, :head_end].contiguous().view(torch.float32),
                 agents[:, head_end:partners_end].contiguous().view(torch.int16).long() & 0xFFFF,
                 agents[:, partners_end:roads_end].contiguous().view(torch.int16).long() & 0xFFFF)


def floats_of(config: DriveConfig, agents: Any, world: Any, vehicle: Any, scene: Any, scene_records: Any,
              vehicle_table: Any, out: Any) -> Any:
    """Rebuilds float32 observations out of index observations; returns `out`.

    Bit-equal to the observations of the same batch with `observation_type="float32"` for every agent that takes part in
    the step. An agent that waits keeps the slots of its last observation, but they show the others where they are now. All
    arrays are numpy's, or all are tensors of one device.

    Args:
        config: the batch's.
        agents: (n, bytes) uint8, agents of `Batch.observations`.
        world: (n,) int64, the world of each of these agents: `Batch.world_of_agent`.
        vehicle: (n,) int64, the entry of each agent in its world's part of `vehicle_table`: 1 + its number in the world.
        scene: (n,) int64, where the records of the agent's scene begin: `first[scene_index[world]]`.
        scene_records: (S, 8) float32, the records of `Batch.scene_table()`.
        vehicle_table: (W, 1 + vehicles, 8) float32, `Batch.vehicle_table`.
        out: (n, observation size) float32 to fill.

    Raises:
        ConfigError: the config is for other observations, or `agents` are not its index observations.
    """
    own, partners, roads = parts_of(config, agents)
    ego = vehicle_table[world, vehicle]
    head = own.shape[1]
    end = head + RECORD_FLOATS * config.partners
    out[:, :head] = own
    shown = (*partners.shape, RECORD_FLOATS), (*roads.shape, RECORD_FLOATS)
    scale = lib.drv_position_scale(native_config(config))
    _show(vehicle_table[world[:, None], partners], ego, scale, out[:, head:end].reshape(shown[0]))
    _show(scene_records[scene[:, None] + roads], ego, scale, out[:, end:].reshape(shown[1]))
    return out


def float_agents(batch: Batch, agents: Any) -> npt.NDArray[np.float32]:
    """The float32 observations of some `agents` (an index, a slice, indices) of a `batch` of index observations."""
    chosen = np.arange(batch.num_agents)[agents]
    flat = chosen.reshape(-1)
    world = batch.world_of_agent[flat].astype(np.int64)
    table = batch.scene_table()
    out = np.empty((flat.size, batch.observation_size), np.float32)
    floats_of(batch.config, batch.observations[flat], world, 1 + flat % batch.agents_per_world,
              table.first[batch.scene_index[world]], table.records, batch.vehicle_table, out)
    return out.reshape(*chosen.shape, batch.observation_size)


def _show(records: Any, ego: Any, scale: float, out: Any) -> None:
    """What (n, slots, 8) records look like from (n, 8) own ones, in the order of operations of the core."""
    x, y = records[..., 0] - ego[:, None, 0], records[..., 1] - ego[:, None, 1]
    ahead_x, ahead_y = records[..., 2], records[..., 3]
    cosine, sine = ego[:, None, 2], ego[:, None, 3]
    out[..., 0] = (x * (cosine * scale) + y * (sine * scale)).clip(-1, 1)
    out[..., 1] = (y * (cosine * scale) + x * (-sine * scale)).clip(-1, 1)
    out[..., 2] = (ahead_x * cosine + ahead_y * sine).clip(-1, 1)
    out[..., 3] = (ahead_y * cosine + ahead_x * -sine).clip(-1, 1)
    out[..., 4:] = records[..., 4:]
    out[records[..., -1] == 0] = 0


def _numpy_view(agents: npt.NDArray[np.uint8], first: int, end: int, dtype: Any) -> npt.NDArray[Any]:
    return np.ascontiguousarray(agents[:, first:end]).view(dtype)
