"""One batch of the core: its memory, the arrays it shares with Python, and copies of both."""

from __future__ import annotations

import os
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import aligned_block, allocate, shared_table
from .binding import check, ffi, lib, per_thread, table, text
from .config import DriveConfig
from .native import native_scenes
from .native_config import native_config
from .own_reward import RewardFunction
from .roles import Roles

ISA_VARIABLE = "DRIVE_ENV_ISA"
"""Environment variable that forces an instruction set: "baseline", "v3" or "v4" (levels of x86-64)."""


class NativeBatch:
    """A batch of the core with all memory that its calls read or write.

    A `Batch` and its parts share one. Dropping the last reference closes the core's batch, which ends steps in flight
    while the memory they write to is still allocated.

    Args:
        config, restart, num_worlds, seed, threads, world_ids: as for `Batch`, already checked.
        roles: the agent roles of each scene.
        part_count: how many parts can be called separately.
        record_capacity: finished trials whose records a world can hold.
        arrays: arrays of the caller by name, or None; `allocate` checks them.
        reward: rewards each step, or None: the config does.

    Attributes:
        handle: drv_batch pointer, NULL once it is freed.
        scenes, scene_handles: the scenes, and the core's form of each; `close` drops the second.
        reward: the function that rewards each step, or None.
        num_agents, agents_per_world, observation_size: numbers of agents, and floats of one observation vector.
        block: (bytes,) uint8, the state of all worlds, one world after the other.
        table: name, type and shape of each shared array.
        arrays: every array of `table`, by name.
        state: views of the block, (W, n) each, by the core's names.

    Raises:
        ConfigError, SceneError, DriveMemoryError: the core rejects the setup, or an array does not fit.
    """

    handle: Any = ffi.NULL

    def __init__(self, config: DriveConfig, restart: str, roles: tuple[Roles, ...], num_worlds: int, seed: int,
                 threads: int, world_ids: npt.NDArray[np.int64], part_count: int,
                 record_capacity: int = 0, arrays: Any = None, reward: RewardFunction | None = None) -> None:
        self.config, self.restart, self.roles = config, restart, roles
        self.num_worlds, self.world_ids, self.part_count = num_worlds, world_ids, part_count
        self.record_capacity, self.reward = record_capacity, reward
        self.scenes = tuple(role.scene for role in roles)
        self.agents_per_world = config.agents_per_world or max(role.num_agents for role in roles)
        self._create(seed, threads)
        self._bind(arrays)
        _alive.add(self)

    def _create(self, seed: int, threads: int) -> None:
        """Makes the scenes, the block and the core's batch."""
        config, roles, num_worlds = self.config, self.roles, self.num_worlds

        # The core copies what the setup points to, so these objects are needed until drv_batch_create returns.
        native = native_config(config, self.restart)
        self.scene_handles = native_scenes(roles, lib.drv_scene_parts_of(native))
        scene_list = ffi.new("drv_scene *[]", self.scene_handles)
        isa = ffi.new("char[]", os.fsencode(os.environ.get(ISA_VARIABLE, "")))
        setup = ffi.new("drv_batch_setup *", dict(
            config=native[0], num_worlds=num_worlds, agents_per_world=self.agents_per_world, scene_count=len(roles),
            scenes=scene_list, seed=seed, part_count=self.part_count, instruction_set=isa,
            record_capacity=self.record_capacity, own_reward=self.reward is not None,
            thread_count=min(threads, num_worlds + 1),  # + 1: with `step_async` the calling thread steps no world
            world_ids=ffi.from_buffer("int64_t[]", self.world_ids)))
        needs, out, message = ffi.new("drv_batch_needs *"), ffi.new("drv_batch **"), per_thread.message
        check(lib.drv_batch_plan(setup, needs, message), message)
        self.num_agents, self.observation_size = needs.num_agents, needs.observation_size
        self.table = shared_table(native, needs, num_worlds)
        self.block = aligned_block(needs.block_bytes)
        check(lib.drv_batch_create(setup, ffi.from_buffer(self.block), needs.block_bytes, out, message), message)
        self.handle = out[0]
        del scene_list, isa

        for role, scene in zip(roles, self.scene_handles, strict=True):
            if clipped := lib.drv_scene_clipped_start_speeds(scene, native):
                # Set, not added: a batch that is opened again must not count its start speeds twice.
                role.report.imputed["start speeds brought within min_speed_mps and max_speed_mps"] = clipped
            if standing := role.rule_based_count - lib.drv_scene_describe(scene).path_count:
                role.report.imputed["rule-based vehicles on no lane, which stand"] = standing

    def _bind(self, arrays: Any) -> None:
        """Makes the arrays that the core shares with Python, and the views of its state."""
        self.arrays = allocate(self.table, arrays)
        lib.drv_batch_bind(self.handle, self._pointers(self.arrays))
        self._fields = _state_fields(self.handle)
        self.state = self.state_views(self.block)

    # Nothing else frees the handle: in a garbage cycle finalizers run in any order, and a later one may call the batch.
    # The defaults are bound here, since at interpreter exit the module's globals may be None.
    def __del__(self, free=lib.drv_batch_free, null=ffi.NULL):
        handle, self.handle = self.handle, null
        free(handle)

    def close(self) -> None:
        """Ends steps in flight, stops the threads and drops the scenes; the arrays stay readable."""
        if self.handle:
            lib.drv_batch_close(self.handle)
        self.scene_handles = []

    def part_worlds(self, index: int) -> slice:
        """The worlds of a part."""
        worlds = lib.drv_batch_part(self.handle, index)
        return slice(worlds.first, worlds.first + worlds.count)

    def copy(self) -> tuple[npt.NDArray[np.uint8], dict[str, npt.NDArray[Any]]]:
        """Copies of `block` and `arrays`, both of one moment.

        Raises:
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        block, message = np.empty_like(self.block), per_thread.message
        arrays = {name: np.empty_like(array) for name, array in self.arrays.items()}
        check(lib.drv_batch_copy(self.handle, ffi.from_buffer(block), self._pointers(arrays), message), message)
        return block, arrays

    def copy_world(self, world: int) -> WorldState:
        """A copy of one world's state; errors as of `copy`."""
        block, message = aligned_block(len(self.block) // self.num_worlds), per_thread.message
        check(lib.drv_batch_copy_world(self.handle, world, ffi.from_buffer(block), message), message)
        return WorldState(block, self._fields)

    def goals(self, world: int, capacity: int) -> tuple[np.ndarray, np.ndarray]:
        """The current goal of every agent of a world and those that will follow it, `capacity` at most.

        Returns:
            (agents, capacity, 3) float32 x_m, y_m and height of the road, NaN without heights; 0 where there is no such
            goal. (agents,) int32 how many each has.

        Raises:
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        goals_m = np.zeros((self.agents_per_world, capacity, 3), np.float32)
        counts, message = np.zeros(self.agents_per_world, np.int32), per_thread.message
        check(lib.drv_batch_goals(self.handle, world, capacity, ffi.from_buffer("float[]", goals_m),
                                  ffi.from_buffer("int32_t[]", counts), message), message)
        return goals_m, counts

    def drive(self, first: int, count: int, drivers: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Acceleration, m/s2, and wheel angle, rad, of every agent of `count` worlds, float32; 0 for those that wait.

        Args:
            first: the first of the worlds.
            drivers: the drv_lane_driver of each scene; NULL for scenes that none of these worlds is in.

        Raises:
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        controls = np.empty((2, count * self.agents_per_world), np.float32)
        acceleration_mps2, steering_rad = (ffi.from_buffer("float[]", each) for each in controls)
        message = per_thread.message
        check(lib.drv_batch_drive(self.handle, (first, count), ffi.new("drv_lane_driver *[]", drivers),
                                  acceleration_mps2, steering_rad, message), message)
        return controls[0], controls[1]

    def state_views(self, block: np.ndarray) -> dict[str, np.ndarray]:
        """The arrays of a block of one or all worlds as views, (worlds, n) each, by the core's names."""
        worlds = len(block) * self.num_worlds // len(self.block)
        return {name: np.ndarray((worlds, count), dtype, block.data, offset, (stride, dtype.itemsize))
                for name, (dtype, offset, stride, count) in self._fields.items()}

    def _pointers(self, arrays: dict[str, np.ndarray]):
        """A drv_arrays of pointers to arrays of the table; valid while the arrays live."""
        members = dict(ffi.typeof("drv_arrays").fields)
        return ffi.new("drv_arrays *", {
            name: ffi.cast(members[name].type, ffi.from_buffer(array, require_writable=True))
            for name, array in arrays.items()})


class WorldState:
    """The state of one world by the core's names, (n,) each.

    Each array is made where it is read: a caller reads a few of the hundred, all of which take longer than a step.
    """

    def __init__(self, block: np.ndarray, fields: dict[str, tuple]) -> None:
        self._block, self._fields = block, fields

    def __getitem__(self, name: str) -> np.ndarray:
        dtype, offset, _, count = self._fields[name]
        return np.ndarray(count, dtype, self._block.data, offset)


def _state_fields(handle) -> dict[str, tuple]:
    """The core's table of state arrays by name: dtype, offset in a world, bytes from world to world, entries."""
    return {text(field.name): (np.dtype(text(field.type)), field.offset, field.world_stride, field.count)
            for field in table(lib.drv_batch_state_fields, "drv_state_field", handle)}


_alive: weakref.WeakSet[NativeBatch] = weakref.WeakSet()


def _after_fork() -> None:
    """Marks the batches of a forked child, which has none of the parent's threads, before their next call."""
    for batch in list(_alive):
        if batch.handle:
            lib.drv_batch_forked(batch.handle)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
