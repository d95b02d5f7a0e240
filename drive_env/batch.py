"""Many worlds, one call a step: the fast face of the core."""

from __future__ import annotations

import math
import os
import secrets
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .arrays import aligned_block, allocate, shared_table
from .cast import Cast, cast_scene
from .config import DriveConfig, checked_config
from .core import OF_THREAD, check, ffi, lib, native_config, native_scene
from .errors import ActionError, CallError, ConfigError, shown, whole
from .index_rows import SceneTable, float_rows
from .layout import Feature, observation_layout
from .machine import usable_threads
from .scenes import Report, Scene, Scenes, resolve_scenes
from .spaces import action_space, observation_space

if TYPE_CHECKING:
    from typing_extensions import Self

WORLD_LIMIT, THREAD_LIMIT, SEED_LIMIT = 1 << 20, 1024, (1 << 64) - 1

ISA_VARIABLE = "DRIVE_ENV_ISA"
"""Environment variable that forces an instruction set: "baseline", "v3" or "v4" (levels of x86-64)."""

OUTCOMES = ("", "goal", "collision", "offroad", "timeout", "other")
"""Names of the codes in `Batch.outcome`; the empty name is 0."""


class Figure(NamedTuple):
    """A figure of a report: the mean over `n` rows, NaN while n is 0."""

    value: float
    n: int


class _OfIndexRows:
    """What a batch of floats has in the place of an array that only index rows need; the array itself hides it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, batch: Batch | None, owner: type) -> _OfIndexRows:
        if batch is None:
            return self
        raise AttributeError(f"a Batch has {self._name} with observation_type 'index' only; that of this one is "
                             f"{batch.config.observation_type!r}")


class Batch:
    """Many worlds stepped together; every array has one entry a row, and a row's index never changes.

    A world is a running copy of a scene, a row a controlled agent of a world. Episodes are made of
    `config.max_trials` trials of the same scene. The step that ends a trial returns its true last observations; the
    next step ignores the actions of that world and returns the first observations of the next trial or episode. What
    each channel says stands in docs/channels.md.

    Args:
        scenes: a generator's name ("town": seeds 0 to 63), a path, a `Scene`, or a list of these.
        worlds: how many worlds.
        config: a `DriveConfig`; None takes the defaults.
        seed: a whole number from 0 to 2**64 - 1; None draws a fresh one, readable as `seed`.
        threads: threads that step worlds, the caller's included; 0 takes as many as this process may use.
        arrays: arrays of your own (such as pinned memory) by the name of the attribute they are to be.
        world_ids: one id a world, default 0, 1, ...; a world plays by (seed, id) whatever else is in the batch.
        restart: "auto", or "caller": then `reset(worlds=mask)` must follow the end of an episode.

    Arrays are views of shared memory that the next call overwrites. R is the number of rows, W that of worlds.

    Attributes:
        actions: the bound array: int64 (R,), int64 (R, 2) or float32 (R, 2), by `config.action_type`. Fill it; who
            puts another array in its place steps with that one (`bound_actions` stays).
        observations: (R, observation size) float32 or float16; or index rows, (R, bytes) uint8 with `vehicle_table`
            beside them, (W, 1 + vehicles, 8) float32 (see docs/index_rows.md).
        rewards: (R,) float32.
        terminations, truncations, trial_ended, truncation, invalid_step: (R,) bool, of the action just taken.
        outcome: (R,) uint8, index into `OUTCOMES` on the step that decides the row's trial, else 0.
        first, removed, stopped, waits: (R,) bool, of the observation just returned.
        trial_index: (R,) int32, the trial it belongs to, from 0.
        code: (R,) uint16, the flags of a row in one number.
        scene_index: (W,) int32, which of `scenes` each world plays.
        world_of_row: (R,) int32.
        row_count, rows_per_world, world_count: R, R / W and W.
        observation_size: floats of one row.
        seed: of the constructor, or of the last `reset(seed=one)` of all worlds; `seeds` has each world's.
        scenes, casts: the scenes in play, and who plays which part in each.
        single_observation_space, single_action_space: Gymnasium spaces of one row.

    Raises:
        ConfigError, SceneError: an argument is out of its range, or a scene has nobody who could drive.
    """

    actions: npt.NDArray[Any]
    observations: npt.NDArray[Any]
    vehicle_table: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float32]
    terminations: npt.NDArray[np.bool_]
    truncations: npt.NDArray[np.bool_]
    trial_ended: npt.NDArray[np.bool_]
    truncation: npt.NDArray[np.bool_]
    invalid_step: npt.NDArray[np.bool_]
    outcome: npt.NDArray[np.uint8]
    first: npt.NDArray[np.bool_]
    removed: npt.NDArray[np.bool_]
    stopped: npt.NDArray[np.bool_]
    waits: npt.NDArray[np.bool_]
    trial_index: npt.NDArray[np.int32]
    code: npt.NDArray[np.uint16]
    scene_index: npt.NDArray[np.int32]

    if not TYPE_CHECKING:
        vehicle_table = _OfIndexRows()

    def __init__(self, scenes: Scenes = "town", worlds: int = 1, config: DriveConfig | None = None,
                 seed: SupportsIndex | None = 0, threads: int = 0, arrays: Mapping[str, npt.NDArray[Any]] | None = None,
                 world_ids: npt.ArrayLike | None = None, restart: str = "auto") -> None:
        self._handle = ffi.NULL
        config = checked_config(config)
        if not isinstance(restart, str) or restart not in ("auto", "caller"):
            raise ConfigError(f"restart is {shown(restart)}; it must be 'auto' or 'caller'")
        self.config: DriveConfig = config
        self.restart: str = restart
        self.world_count: int = whole("worlds", worlds, 1, WORLD_LIMIT)
        self.seed: int = secrets.randbits(64) if seed is None else whole("seed", seed, 0, SEED_LIMIT)
        self.threads: int = whole("threads", threads, 0, THREAD_LIMIT) or min(usable_threads(), THREAD_LIMIT)
        self.world_ids: npt.NDArray[np.int64] = _world_ids(world_ids, self.world_count)
        self.scenes: tuple[Scene, ...] = resolve_scenes(scenes, config.agents_per_world)
        self.casts: tuple[Cast, ...] = tuple(cast_scene(scene, config) for scene in self.scenes)
        self._begin(arrays)

    def _begin(self, arrays) -> None:
        """Hands everything to the core: scenes, one block of state, the shared arrays."""
        config, message = self.config, OF_THREAD.message
        native = native_config(config, self.restart)
        self._scene_table: SceneTable | None = None
        self._scene_handles = [native_scene(cast, native) for cast in self.casts]
        self.rows_per_world: int = config.agents_per_world or max(cast.row_count for cast in self.casts)
        setup = ffi.new("drv_batch_setup *", dict(
            config=native[0], world_count=self.world_count, rows_per_world=self.rows_per_world,
            scene_count=len(self.scenes), seed=self.seed, thread_count=min(self.threads, self.world_count),
            scenes=(scene_list := ffi.new("drv_scene *[]", self._scene_handles)),
            world_ids=ffi.from_buffer("int64_t[]", self.world_ids),
            instruction_set=(isa := ffi.new("char[]", os.fsencode(os.environ.get(ISA_VARIABLE, ""))))))
        needs = ffi.new("drv_batch_needs *")
        check(lib.drv_batch_plan(setup, needs, message), message)
        self.row_count: int = needs.row_count
        self.observation_size: int = needs.observation_size
        self._block = aligned_block(needs.block_bytes)
        out = ffi.new("drv_batch **")
        check(lib.drv_batch_create(setup, ffi.from_buffer(self._block), needs.block_bytes, out, message), message)
        del scene_list, isa
        self._handle = ffi.gc(out[0], lib.drv_batch_free)
        self._bind(arrays, needs)
        self._fields = _state_fields(self._handle)
        self._state = _state_views(self._fields, self._block, self.world_count)
        worlds = np.arange(self.world_count, dtype=np.int32)
        self.world_of_row: npt.NDArray[np.int32] = np.repeat(worlds, self.rows_per_world)
        self.single_observation_space: spaces.Box = observation_space(config, self.observations.shape[1])
        self.single_action_space: spaces.Space[Any] = action_space(config)
        _alive.add(self)

    def _bind(self, arrays, needs) -> None:
        table = shared_table(self.config)
        in_bytes = self.config.observation_type == "index"
        sizes = {"R": needs.row_count, "W": self.world_count, "A": needs.action_width,
                 "V": 1 + needs.vehicles_per_world,
                 "O": needs.observation_bytes if in_bytes else needs.observation_size}
        self._shared = allocate(table, sizes, arrays)
        for name, array in self._shared.items():
            setattr(self, name, array)
        # Whoever puts another array into `actions` steps with that array; the core's own is this one.
        self.bound_actions: npt.NDArray[Any] = self._shared["actions"]
        lib.drv_batch_bind(self._handle, self._native_arrays(self._shared))

    def _native_arrays(self, arrays: dict[str, np.ndarray]):
        """Pointers to arrays like the shared ones, for as long as those live."""
        pointers = {"discrete_actions": ffi.NULL, "continuous_actions": ffi.NULL, "vehicle_table": ffi.NULL}
        for shared in shared_table(self.config):
            name = shared.name
            if name == "actions":
                name = "continuous_actions" if self.config.action_type == "continuous" else "discrete_actions"
            pointers[name] = ffi.from_buffer(shared.ctype, arrays[shared.name], require_writable=True)
        return ffi.new("drv_arrays *", pointers)

    # ---- calls ----

    def reset(self, seed: SupportsIndex | Sequence[SupportsIndex] | npt.NDArray[Any] | None = None,
              worlds: npt.ArrayLike | None = None, initial_ages: npt.ArrayLike | None = None) -> None:
        """Opens an episode: the first of `seed`, or, without one, the next of each world's stream.

        Args:
            seed: a whole number from 0 to 2**64 - 1, or one a world: episode 0 of that seed. None: each world's next
                episode; the first call opens episode 0 of the constructor's seed.
            worlds: (W,) bool, the worlds to reset; the others' arrays stay as they are. The first call needs all.
            initial_ages: (W,) driving steps, each below the trial's steps, that the clock of the first trial has
                behind it already, so that time limits do not fall together. Such a trial enters no metric.

        Raises:
            CallError: the batch is closed, or `worlds` or `initial_ages` does not fit; nothing has changed.
            ConfigError: the seed does not fit; nothing has changed.
        """
        seeds = None if seed is None else _seeds(seed, self.world_count)
        worlds = _per_world("worlds", worlds, self.world_count, np.bool_)
        ages = _per_world("initial_ages", initial_ages, self.world_count, np.int32)
        self._check_open()
        message = OF_THREAD.message
        check(lib.drv_batch_reset(
            self._handle, ffi.NULL if seeds is None else ffi.from_buffer("uint64_t[]", seeds),
            ffi.NULL if worlds is None else ffi.from_buffer("uint8_t[]", worlds),
            ffi.NULL if ages is None else ffi.from_buffer("int32_t[]", ages), message), message)
        if seeds is not None and worlds is None and _is_one_seed(seed):
            self.seed = int(seeds[0])

    def step(self, actions: npt.ArrayLike) -> None:
        """Advances every world by one step, or restarts those whose trial has ended.

        Args:
            actions: one a row, in the form of `actions`; filling `batch.actions` and passing it copies nothing.
                Entries of rows that wait are neither read nor checked.

        Raises:
            ActionError: the action of a driving row is not finite or out of range, or the array has the wrong
                shape or type. Nothing has moved.
            CallError: before `reset`, after `close`, or where the caller owes a `reset(worlds=mask)`.
        """
        pointer = ffi.NULL if actions is self.bound_actions else self._pointer_to(actions)
        message = OF_THREAD.message
        check(lib.drv_batch_step(self._handle, pointer, message), message)

    def _pointer_to(self, actions):
        """Foreign actions in the form of the bound array; the core copies them once it has the batch to itself."""
        bound = self.bound_actions
        try:
            actions = np.asarray(actions)
        except ValueError:
            raise ActionError(f"actions are ragged; they must form an array of shape {bound.shape}") from None
        if actions.shape != bound.shape:
            raise ActionError(f"actions have shape {actions.shape}; it must be {bound.shape}")
        if actions.dtype != bound.dtype:
            if not np.can_cast(actions.dtype, bound.dtype, "same_kind") or actions.dtype == np.bool_:
                kind = "a whole number type" if bound.dtype == np.int64 else "a floating point type"
                raise ActionError(f"actions are {actions.dtype}; they must be {kind}")
            if actions.dtype == np.uint64:  # beyond int64 is beyond every table, and must not wrap into one
                actions = np.minimum(actions, np.uint64(np.iinfo(np.int64).max))
            with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite, which the core refuses
                actions = actions.astype(bound.dtype)
        return ffi.from_buffer(np.ascontiguousarray(actions))

    def restart_observations(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """What each row that waits will see at its world's next inner restart, (R, observation size) floats.

        The floats are of the type of `observations`, float32 where those are index rows.

        Zeros for rows that drive, for absent rows and in the last trial. What comes after a wait can so be valued
        before the wait is over.

        Args:
            out: a C-contiguous array of that type and shape to fill; None makes a new one.

        Raises:
            CallError: `out` does not fit, or the batch was never reset or is closed.
            DriveMemoryError: there is no memory for a new one.
        """
        self._check_open()
        dtype = np.dtype(np.float16 if self.config.observation_type == "float16" else np.float32)
        shape = (self.row_count, self.observation_size)
        if out is None:
            out = aligned_block(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
        if not (isinstance(out, np.ndarray) and out.dtype == dtype and out.flags.c_contiguous
                and out.flags.writeable and out.shape == shape):
            found = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise CallError(f"out is {found}; it must be writeable, C-contiguous {dtype} of shape {shape}")
        message = OF_THREAD.message
        check(lib.drv_batch_restart_observations(self._handle, ffi.from_buffer(out), message), message)
        return out

    def metrics(self) -> dict[str, Figure]:
        """The report of docs/metrics.md: each figure the mean over the rows that have data. Resets nothing."""
        self._check_open()
        report = {"trials": self._figure(lib.drv_batch_trials)}
        for metric in range(lib.drv_metric_count()):
            name = ffi.string(lib.drv_metric_name(metric)).decode()
            report[name] = self._figure(lib.drv_batch_metric, metric, -1)
        for trial in range(self.config.max_trials):
            report[f"trial_{trial}_score"] = self._figure(lib.drv_batch_metric, lib.DRV_METRIC_SCORE, trial)
        for trial in range(1, self.config.max_trials):
            report[f"ada_delta_trial_{trial}_minus_0"] = self._figure(lib.drv_batch_adaptation, trial)
        return report

    def _figure(self, of, *which) -> Figure:
        found, message = ffi.new("drv_figure *"), OF_THREAD.message
        check(of(self._handle, *which, found, message), message)
        return Figure(found.value, found.n)

    @property
    def instruction_set(self) -> str:
        """Which copy of the step this batch runs: "baseline", "v3" or "v4"; all give the same bytes."""
        self._check_open()
        return ffi.string(lib.drv_batch_instruction_set(self._handle)).decode()

    def close(self) -> None:
        """Gives threads and memory back; arrays stay readable. A second call does nothing."""
        if self._handle:
            lib.drv_batch_close(self._handle)
            self._handle = ffi.NULL
            self._scene_handles = []

    # ---- looking ----

    def observation_layout(self) -> dict[str, Feature]:
        """Where each feature of a row stands, its unit and scale, by name."""
        return observation_layout(self.config)

    def scene_table(self) -> SceneTable:
        """What index rows name on the map: the road segments of all scenes. It never changes."""
        if self._scene_table is None:
            self._check_open()
            counts = [1 + lib.drv_scene_describe(scene).segment_count for scene in self._scene_handles]
            ends = np.cumsum(counts)
            records = np.empty((ends[-1], lib.DRV_RECORD_FLOATS), np.float32)
            for scene, start, end in zip(self._scene_handles, ends - counts, ends):
                lib.drv_scene_records(scene, ffi.from_buffer("float[]", records[start:end]))
            self._scene_table = SceneTable(records, (ends - counts).astype(np.int64))
        return self._scene_table

    def float_observations(self, rows: Any = slice(None)) -> npt.NDArray[np.float32]:
        """A copy of the observations of some rows as float32, (n, observation size), whatever their type.

        Args:
            rows: an index, a slice or indices, as numpy takes them; one index gives (observation size,).

        Raises:
            IndexError: there is no such row.
        """
        if self.config.observation_type == "index":
            return float_rows(self, rows)
        return self.observations[rows].astype(np.float32)

    def vehicles(self, world: int = 0) -> dict[str, npt.NDArray[Any]]:
        """A copy of the vehicles of a world as they are now; vehicle i is row i of the world, then experts, statics.

        Keys, all (vehicles,): x_m, y_m, heading_rad, speed_mps, length_m, width_m (float32), kind (uint8, as in
        `drive_env.scenes.scene.OBJECT_KINDS`) and present (bool: on the map).

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed.
        """
        state = self._world(world)
        cast = self.casts[state["scene_index"][0]]
        count, objects = len(cast.objects), cast.scene.objects
        moving = {name: state[name][:count] for name in ("x_m", "y_m", "heading_rad", "speed_mps")}
        return moving | {
            "length_m": objects.length_m[cast.objects], "width_m": objects.width_m[cast.objects],
            "kind": objects.kind[cast.objects], "present": state["present"][:count].astype(bool)}

    def trial_state(self, world: int = 0) -> dict[str, Any]:
        """A copy of where a world is in its episode, and of what this trial has brought its rows.

        Keys: episode (-1 before the first reset), trial, steps (driven in this trial; what `initial_ages` put before
        it counts) as int; for each row of the world outcome (uint8, index into `OUTCOMES`, 0 while undecided) and
        had_goal, had_collision, had_offroad (bool).

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed.
        """
        state = self._world(world)
        rows = {name: state[name].astype(bool) for name in ("had_goal", "had_collision", "had_offroad")}
        return {"episode": int(state["episode"][0]), "trial": int(state["trial"][0]),
                "steps": int(state["clock_steps"][0] + state["age_steps"][0]), "outcome": state["outcome"], **rows}

    def step_events(self, world: int = 0) -> dict[str, npt.NDArray[Any]]:
        """A copy of what began for the rows of a world in the last step: goal, collision, offroad (bool), and
        hit_vehicle (int32: the lowest index into `vehicles` of those it began to touch, -1 for none), all (rows,).

        All False and -1 for rows that did not act.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed.
        """
        state = self._world(world)
        facts = {"goal": "reached", "collision": "hit", "offroad": "crossed"}
        events = {name: state[fact].astype(bool) for name, fact in facts.items()}
        return events | {"hit_vehicle": np.where(events["collision"], state["hit_vehicle"], -1)}

    def scene_report(self, scene: int = 0) -> Report:
        """Who got which part in a scene and why, and what overlaps already at its start (no event until apart).

        Args:
            scene: index into `scenes`.

        Raises:
            ConfigError: there is no such scene.
        """
        cast = self.casts[whole("scene", scene, 0, len(self.scenes) - 1)]
        with_start = Report(dict(cast.report.dropped), dict(cast.report.made_up), list(cast.report.notes))
        with Batch(scenes=[cast.scene], config=self.config, threads=1) as alone:
            alone.reset()
            contacts = alone._state["touching"].reshape(alone.rows_per_world, -1).any(axis=1)
            starts = (("in contact with a vehicle", contacts), ("over a road edge", alone._state["over_edge"]),
                      ("inside its goal", alone._state["goal_spent"]))
            with_start.notes += [f"rows that start {what}: {int(rows.sum())}" for what, rows in starts]
        return with_start

    def phase_times(self, on: bool) -> dict[str, float]:
        """Seconds spent in each phase since timing was switched on, summed over threads; `on` sets what follows.

        Raises:
            CallError: the batch is closed.
        """
        self._check_open()
        spent_ns, message = ffi.new("int64_t[]", lib.drv_phase_count()), OF_THREAD.message
        check(lib.drv_batch_time_phases(self._handle, on, spent_ns, message), message)
        return {ffi.string(lib.drv_phase_name(phase)).decode(): ns * 1e-9 for phase, ns in enumerate(spent_ns)}

    # ---- life ----

    def _check_open(self) -> None:
        if not self._handle:
            raise CallError("this batch is closed; make a new one")

    def _world(self, world: int) -> dict[str, np.ndarray]:
        """A copy of one world's state, all of one moment, by the core's names."""
        world = whole("world", world, 0, self.world_count - 1)
        stride = len(self._block) // self.world_count
        copy, message = aligned_block(stride), OF_THREAD.message
        check(lib.drv_batch_copy_world(self._handle, world, ffi.from_buffer(copy), message), message)
        return {name: view[0] for name, view in _state_views(self._fields, copy, 1).items()}

    @property
    def seeds(self) -> npt.NDArray[np.uint64]:
        """(W,) uint64, the seed whose stream each world plays."""
        return self._state["seed"][:, 0].copy()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (f"Batch({self.world_count} worlds x {self.rows_per_world} rows on {len(self.scenes)} scenes, "
                f"max_trials={self.config.max_trials})")

    def __getstate__(self) -> dict:
        """The whole state: a copy made from it goes on bit for bit as this batch would."""
        kept = ("config", "restart", "world_count", "seed", "threads", "world_ids", "scenes", "casts")
        block, arrays, message = np.empty_like(self._block), {}, OF_THREAD.message
        for name, array in self._shared.items():
            arrays[name] = np.empty_like(array)
        check(lib.drv_batch_copy(self._handle, ffi.from_buffer(block), self._native_arrays(arrays), message), message)
        return {**{name: getattr(self, name) for name in kept}, "block": block, "arrays": arrays}

    def __setstate__(self, state: dict) -> None:
        block, arrays = state.pop("block"), state.pop("arrays")
        self.__dict__.update(state)
        self._begin(None)
        self._block[:] = block
        for name, array in arrays.items():
            self._shared[name][...] = array
        if self._state["episode"][0, 0] >= 0:
            lib.drv_batch_resume(self._handle)


_alive: weakref.WeakSet[Batch] = weakref.WeakSet()


def _forget_threads() -> None:
    for batch in list(_alive):
        if batch._handle:
            lib.drv_batch_forked(batch._handle)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _array(name: str, values, error) -> np.ndarray:
    """What a caller gave for an array; ragged lists are no array."""
    try:
        return np.asarray(values)
    except ValueError:
        raise error(f"{name} is {shown(values)}; it must form an array") from None


def _is_one_seed(seed: Any) -> bool:
    return not isinstance(seed, (list, tuple, np.ndarray)) or getattr(seed, "ndim", 1) == 0


def _seeds(seed: Any, world_count: int) -> np.ndarray:
    if _is_one_seed(seed):
        return np.full(world_count, whole("seed", seed, 0, SEED_LIMIT), np.uint64)
    if len(seed) != world_count:
        raise ConfigError(f"seed has {len(seed)} entries; "
                          f"it must be one whole number, or one for each of {world_count} worlds")
    return np.array([whole("seed", entry, 0, SEED_LIMIT) for entry in seed], np.uint64)


def _per_world(name: str, values, world_count: int, dtype) -> np.ndarray | None:
    if values is None:
        return None
    found = _array(name, values, CallError)
    fits = found.dtype == np.bool_ if dtype is np.bool_ else np.issubdtype(found.dtype, np.integer)
    if not fits or found.shape != (world_count,):
        wanted = "bool" if dtype is np.bool_ else "whole numbers"
        raise CallError(f"{name} is {found.dtype} of shape {found.shape}; "
                        f"it must be {wanted} of shape ({world_count},)")
    if dtype is not np.bool_ and (found.min() < 0 or found.max() > np.iinfo(dtype).max):
        worst = found.min() if found.min() < 0 else found.max()
        raise CallError(f"{name} has {worst}; every entry must be 0 or more and below the trial's steps")
    return np.ascontiguousarray(found, dtype)


def _world_ids(world_ids, world_count: int) -> np.ndarray:
    if world_ids is None:
        return np.arange(world_count, dtype=np.int64)
    found = _array("world_ids", world_ids, ConfigError)
    if not np.issubdtype(found.dtype, np.integer) or found.shape != (world_count,):
        raise ConfigError(f"world_ids is {found.dtype} of shape {found.shape}; "
                          f"it must be whole numbers of shape ({world_count},)")
    if found.min() < 0 or found.max() > np.iinfo(np.int64).max:
        worst = found.min() if found.min() < 0 else found.max()
        raise ConfigError(f"world_ids has {worst}; ids must be 0 to 2**63 - 1")
    return np.ascontiguousarray(found, np.int64)


def _state_fields(handle) -> list:
    """The core's table of its state arrays."""
    count = lib.drv_batch_state_fields(handle, ffi.NULL, 0)
    fields = ffi.new("drv_state_field[]", count)
    lib.drv_batch_state_fields(handle, fields, count)
    return [(ffi.string(field.name).decode(), np.dtype(ffi.string(field.type).decode()), field.offset,
             field.world_stride, field.count) for field in fields]


def _state_views(fields: list, block: np.ndarray, world_count: int) -> dict[str, np.ndarray]:
    """The arrays of a block as numpy views, (W, n) each, by the names the core gives them."""
    return {name: np.ndarray((world_count, count), dtype, block.data, offset, (stride, dtype.itemsize))
            for name, dtype, offset, stride, count in fields}
