"""Many worlds, one call a step: the fast face of the core."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from .arrays import aligned_block, allocate, shared_table
from .config import ConfigSource, checked_config
from .core import OF_THREAD, NativeBatch, check, ffi, lib, native_config, native_scene
from .errors import ConfigError, checked_int, shown
from .index_observations import SceneTable, float_agents
from .layout import Feature, observation_layout
from .machine import usable_threads
from .part import SEED_LIMIT, BatchPart, as_array
from .roles import assign_roles
from .scenes import Report, Scenes, resolve_scenes
from .spaces import action_space, observation_space
from .state import checked_state, scenes_hash

if TYPE_CHECKING:
    from typing_extensions import Self

WORLD_LIMIT, THREAD_LIMIT = 1 << 20, 1024

ISA_VARIABLE = "DRIVE_ENV_ISA"
"""Environment variable that forces an instruction set: "baseline", "v3" or "v4" (levels of x86-64)."""

OUTCOMES = ("", "goal", "collision", "offroad", "timeout", "other")
"""Names of the codes in `Batch.outcome`; the empty name is 0."""


class Figure(NamedTuple):
    """A figure of a report: the mean over `n` agents, NaN while n is 0."""

    value: float
    n: int


class Batch(BatchPart):
    """Many worlds stepped together; every array has one entry an agent, and an agent's index never changes.

    A world is a running copy of a scene, an agent a controlled agent of a world. Episodes are made of
    `config.max_trials` trials of the same scene. The step that ends a trial returns its true last observations; the
    next step ignores the actions of that world and returns the first observations of the next trial or episode. What
    each channel says stands in docs/channels.md.

    Args:
        scenes: a generator's name ("town": seeds 0 to 63), a path, a `Scene`, or a list of these.
        num_worlds: how many worlds.
        config: a `DriveConfig`, or a mapping of its fields; None takes the defaults.
        seed: a whole number from 0 to 2**64 - 1; None draws a fresh one, readable as `seed`.
        threads: threads that step worlds, the caller's included; 0 takes as many as this process may use. A step in
            flight, whose caller is elsewhere, has threads - 1 of them, but at least one.
        arrays: arrays of your own (such as pinned memory) by the name of the attribute they are to be. All but the
            actions are zeroed.
        world_ids: one id a world, default 0, 1, ...; a world plays by (seed, id) whatever else is in the batch.
        restart: "auto", or "caller": then `reset(worlds=mask)` must follow the end of an episode.
        parts: in how many parts the worlds can be called apart, from 1 to 16 and at most one a world. The threads are
            at whichever part has work.

    Arrays are views of shared memory that the next call overwrites. R is the number of agents, W that of worlds.

    Attributes:
        actions: the bound array: int64 (R,), int64 (R, 2) or float32 (R, 2), by `config.action_type`. Fill it; who
            puts another array in its place steps with that one (`bound_actions` stays).
        observations: (R, observation size) float32 or float16; or index observations, (R, bytes) uint8 with `vehicle_table`
            beside them, (W, 1 + vehicles, 8) float32 (see docs/index_observations.md).
        rewards: (R,) float32.
        terminations, truncations, trial_ended, truncation, invalid_step: (R,) bool, of the action just taken.
        outcome: (R,) uint8, index into `OUTCOMES` on the step that decides the agent's trial, else 0.
        first, removed, stopped, waits: (R,) bool, of the observation just returned.
        trial_index: (R,) int32, the trial it belongs to, from 0.
        code: (R,) uint16, the flags of an agent in one number.
        scene_index: (W,) int32, which of `scenes` each world plays.
        world_of_agent: (R,) int32.
        num_agents, agents_per_world, num_worlds: R, R / W and W.
        observation_size: floats of one agent.
        seed: of the constructor, or of the last `reset(seed=one)` of all worlds at once; `seeds` has each world's.
        scenes, casts: the scenes in play, and who plays which part in each.
        parts: as many `BatchPart` as asked for: consecutive worlds, in numbers that differ by one at most.
        single_observation_space, single_action_space: Gymnasium spaces of one agent.

    Raises:
        ConfigError, SceneError: an argument is out of its range, or a scene has nobody who could drive.
    """

    def __init__(self, scenes: Scenes = "town", num_worlds: int = 1, config: ConfigSource | None = None,
                 seed: SupportsIndex | None = 0, threads: int = 0, arrays: Mapping[str, npt.NDArray[Any]] | None = None,
                 world_ids: npt.ArrayLike | None = None, restart: str = "auto", parts: SupportsIndex = 1) -> None:
        self._handle = ffi.NULL
        config = checked_config(config)
        if not isinstance(restart, str) or restart not in ("auto", "caller"):
            raise ConfigError(f"restart is {shown(restart)}; it must be 'auto' or 'caller'")
        self.config, self.restart = config, restart
        self.num_worlds = checked_int("num_worlds", num_worlds, 1, WORLD_LIMIT)
        self.seed = secrets.randbits(64) if seed is None else checked_int("seed", seed, 0, SEED_LIMIT)
        self.threads: int = checked_int("threads", threads, 0, THREAD_LIMIT) or min(usable_threads(), THREAD_LIMIT)
        self.world_ids = _world_ids(world_ids, self.num_worlds)
        part_count = checked_int("parts", parts, 1, min(self.num_worlds, lib.DRV_PART_LIMIT))
        self.scenes = resolve_scenes(scenes, config.agents_per_world)
        self.roles = tuple(assign_roles(scene, config) for scene in self.scenes)
        self._begin(arrays, part_count)

    def _begin(self, arrays, part_count: int) -> None:
        """Hands everything to the core: scenes, one block of state, the shared arrays."""
        config, message = self.config, OF_THREAD.message
        native = native_config(config, self.restart)
        self._scene_table: SceneTable | None = None
        self._scene_handles = [native_scene(roles) for roles in self.roles]
        self.agents_per_world = config.agents_per_world or max(roles.num_agents for roles in self.roles)
        setup = ffi.new("drv_batch_setup *", dict(
            config=native[0], num_worlds=self.num_worlds, agents_per_world=self.agents_per_world,
            scene_count=len(self.scenes), seed=self.seed, part_count=part_count,
            thread_count=min(self.threads, self.num_worlds + 1),  # one more than worlds, whose caller may be elsewhere
            scenes=(scene_list := ffi.new("drv_scene *[]", self._scene_handles)),
            world_ids=ffi.from_buffer("int64_t[]", self.world_ids),
            instruction_set=(isa := ffi.new("char[]", os.fsencode(os.environ.get(ISA_VARIABLE, ""))))))
        needs = ffi.new("drv_batch_needs *")
        check(lib.drv_batch_plan(setup, needs, message), message)
        self.num_agents, self.observation_size = needs.num_agents, needs.observation_size
        self.world_slice, self.agent_slice = slice(0, self.num_worlds), slice(0, self.num_agents)
        self._block = aligned_block(needs.block_bytes)
        out = ffi.new("drv_batch **")
        check(lib.drv_batch_create(setup, ffi.from_buffer(self._block), needs.block_bytes, out, message), message)
        del scene_list, isa
        self._handle, self._index = ffi.gc(out[0], lib.drv_batch_free), lib.DRV_WHOLE_BATCH
        for roles, scene in zip(self.roles, self._scene_handles, strict=True):
            if clipped := lib.drv_scene_clipped_start_speeds(scene, native):
                # Set, not added: a batch that is opened again reports once.
                roles.report.imputed["start speeds brought within min_speed_mps and max_speed_mps"] = clipped
        self._bind(arrays, needs)
        self._core = NativeBatch(self._handle, (self._block, self._shared))
        self._fields = _state_fields(self._handle)
        self._state = _state_views(self._fields, self._block, self.num_worlds)
        self.world_of_agent = np.repeat(np.arange(self.num_worlds, dtype=np.int32), self.agents_per_world)
        self.single_observation_space = observation_space(config, self.observations.shape[1])
        self.single_action_space = action_space(config)
        self.parts = tuple(self._part(index) for index in range(part_count))

    def _bind(self, arrays, needs) -> None:
        table = shared_table(self.config)
        in_bytes = self.config.observation_type == "index"
        sizes = {"R": needs.num_agents, "W": self.num_worlds, "A": needs.action_width,
                 "V": 1 + needs.vehicles_per_world,
                 "O": needs.observation_bytes if in_bytes else needs.observation_size}
        self._shared = allocate(table, sizes, arrays)
        for name, array in self._shared.items():
            setattr(self, name, array)
        # Whoever puts another array into `actions` steps with that array; the core's own is this one.
        self._bind_actions(self._shared["actions"])
        lib.drv_batch_bind(self._handle, self._native_arrays(self._shared))

    def _part(self, index: int) -> BatchPart:
        """A part that holds all it needs itself: who drops the batch may go on with its parts."""
        part = BatchPart.__new__(BatchPart)
        of_core = lib.drv_batch_part(self._handle, index)
        worlds = slice(of_core.first, of_core.first + of_core.count)
        agents = slice(worlds.start * self.agents_per_world, worlds.stop * self.agents_per_world)
        part._core, part._handle, part._index = self._core, self._handle, index
        for name in ("config", "restart", "scenes", "roles", "agents_per_world", "observation_size",
                     "seed", "single_observation_space", "single_action_space"):
            setattr(part, name, getattr(self, name))
        part.world_slice, part.num_worlds = worlds, of_core.count
        part.agent_slice, part.num_agents = agents, agents.stop - agents.start
        part.world_ids, part.world_of_agent = self.world_ids[worlds], self.world_of_agent[: part.num_agents]
        for shared in shared_table(self.config):
            setattr(part, shared.name, self._shared[shared.name][worlds if shared.shape.startswith("W") else agents])
        part._bind_actions(part.actions)
        return part

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

    def metrics(self) -> dict[str, Figure]:
        """The report of docs/metrics.md: each figure the mean over the agents that have data. Resets nothing.

        It holds whole trials of a world: all its agents enter in the step that ends the trial, none before.

        Raises:
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
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
        """Ends steps in flight, gives threads and memory back; arrays stay readable. A second call does nothing."""
        if self._handle:
            lib.drv_batch_close(self._handle)
            self._handle = ffi.NULL
            self._scene_handles = []

    def _reopen(self) -> bool:
        """After `close` makes the worlds anew, as they were before any reset; whether there was anything to do."""
        if self._handle:
            return False
        self._begin(None, len(self.parts))
        return True

    # ---- looking ----

    def observation_layout(self) -> dict[str, Feature]:
        """Where each feature of an agent stands, its unit and scale, by name."""
        return observation_layout(self.config)

    def scene_table(self) -> SceneTable:
        """What index observations name on the map: the road segments of all scenes. It never changes."""
        if self._scene_table is None:
            self._check_open()
            native = native_config(self.config, self.restart)
            counts = [1 + lib.drv_scene_describe(scene).segment_count for scene in self._scene_handles]
            ends = np.cumsum(counts)
            records = np.empty((ends[-1], lib.DRV_RECORD_FLOATS), np.float32)
            for scene, start, end in zip(self._scene_handles, ends - counts, ends):
                lib.drv_scene_records(scene, native, ffi.from_buffer("float[]", records[start:end]))
            self._scene_table = SceneTable(records, (ends - counts).astype(np.int64))
        return self._scene_table

    def float_observations(self, agents: Any = slice(None)) -> npt.NDArray[np.float32]:
        """A copy of the observations of some agents as float32, (n, observation size), whatever their type.

        It reads the arrays as anybody does: not while a step of these agents is in flight.

        Args:
            agents: an index, a slice or indices, as numpy takes them; one index gives (observation size,).

        Raises:
            IndexError: there is no such agent.
        """
        if self.config.observation_type == "index":
            return float_agents(self, agents)
        return self.observations[agents].astype(np.float32)

    def vehicles(self, world: int = 0) -> dict[str, npt.NDArray[Any]]:
        """A copy of the vehicles of a world as they are now; vehicle i is agent i of the world, then log-replay vehicles, static vehicles.

        Keys, all (vehicles,): x_m, y_m, heading_rad, speed_mps, length_m, width_m (float32), kind (uint8, as in
        `drive_env.scenes.scene.OBJECT_KINDS`) and present (bool: on the map).

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        state = self._world(world)
        roles = self.roles[state["scene_index"][0]]
        count, objects = len(roles.objects), roles.scene.objects
        moving = {name: state[name][:count] for name in ("x_m", "y_m", "heading_rad", "speed_mps")}
        return moving | {
            "length_m": objects.length_m[roles.objects], "width_m": objects.width_m[roles.objects],
            "kind": objects.kind[roles.objects], "present": state["present"][:count].astype(bool)}

    def trial_state(self, world: int = 0) -> dict[str, Any]:
        """A copy of where a world is in its episode, and of what this trial has brought its agents.

        Keys: episode (-1 before the first reset), trial, steps (driven in this trial; what `initial_ages` put before
        it counts) as int; for each agent of the world outcome (uint8, index into `OUTCOMES`, 0 while undecided) and
        had_goal, had_collision, had_offroad (bool).

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        state = self._world(world)
        agents = {name: state[name].astype(bool) for name in ("had_goal", "had_collision", "had_offroad")}
        return {"episode": int(state["episode"][0]), "trial": int(state["trial"][0]),
                "steps": int(state["clock_steps"][0] + state["age_steps"][0]), "outcome": state["outcome"], **agents}

    def step_events(self, world: int = 0) -> dict[str, npt.NDArray[Any]]:
        """A copy of what began for the agents of a world in the last step: goal, collision, offroad (bool), and
        collision_vehicle (int32: the lowest index into `vehicles` of those it began to touch, -1 for none), all (agents,).

        All False and -1 for agents that did not act.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        state = self._world(world)
        facts = {"goal": "goal_onset", "collision": "collision_onset", "offroad": "offroad_onset"}
        events = {name: state[fact].astype(bool) for name, fact in facts.items()}
        return events | {"collision_vehicle": np.where(events["collision"], state["collision_vehicle"], -1)}

    def scene_report(self, scene: int = 0) -> Report:
        """Who got which part in a scene and why, and what overlaps already at its start (no event until apart).

        Args:
            scene: index into `scenes`.

        Raises:
            ConfigError: there is no such scene.
        """
        roles = self.roles[checked_int("scene", scene, 0, len(self.scenes) - 1)]
        with_start = Report(dict(roles.report.dropped), dict(roles.report.imputed), list(roles.report.notes))
        with Batch(scenes=[roles.scene], config=self.config, threads=1) as alone:
            alone.reset()
            contacts = alone._state["overlapping"].reshape(alone.agents_per_world, -1).any(axis=1)
            starts = (("in contact with a vehicle", contacts), ("over a road edge", alone._state["on_road_edge"]),
                      ("inside its goal", alone._state["goal_spent"]))
            with_start.notes += [f"agents that start {what}: {int(agents.sum())}" for what, agents in starts]
        return with_start

    def phase_times(self, on: bool) -> dict[str, float]:
        """Seconds spent in each phase since timing was switched on, summed over threads; `on` sets what follows.

        Raises:
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        self._check_open()
        spent_ns, message = ffi.new("int64_t[]", lib.drv_phase_count()), OF_THREAD.message
        check(lib.drv_batch_time_phases(self._handle, on, spent_ns, message), message)
        return {ffi.string(lib.drv_phase_name(phase)).decode(): ns * 1e-9 for phase, ns in enumerate(spent_ns)}

    # ---- keeping ----

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """A copy of the whole state as plain numpy arrays by name, to be kept in a file that runs no code when read.

        Keys: "seed", (1 + parts,) uint64, the `seed` of the batch and of each part; "scenes", a hash of the scenes;
        "arrays/..." and the name of each shared array; "state/..." and the name of each array of the core, (W, n). For
        the version of the package that made it.

        Raises:
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        block, arrays = self._copy()
        state = _state_views(self._fields, block, self.num_worlds)
        return {"seed": np.array([of.seed for of in (self, *self.parts)], np.uint64), "scenes": scenes_hash(self.roles),
                **{f"arrays/{name}": array for name, array in arrays.items()},
                **{f"state/{name}": view.copy() for name, view in state.items()}}

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Goes on bit for bit where another batch was, as a pickled copy of that would.

        Args:
            state: of `state_dict`, of a batch with the same scenes, config, restart, number of parts and world_ids.
                Names, types, shapes and ranges are checked, so that no array from a file makes the core read or write
                outside of its memory.

        Raises:
            CallError: `state` does not fit, the batch is closed, a step is in flight, or another thread is in a call;
                nothing has changed.
        """
        found = checked_state(self, state, self.state_dict())
        for name, array in self._shared.items():
            array[...] = found[f"arrays/{name}"]
        for name, view in self._state.items():
            view[...] = found[f"state/{name}"]
        for of, seed in zip((self, *self.parts), found["seed"].tolist()):
            of.seed = seed

    def _copy(self) -> tuple[npt.NDArray[np.uint8], dict[str, npt.NDArray[Any]]]:
        """The core's block and the shared arrays, all of one moment."""
        block, arrays, message = np.empty_like(self._block), {}, OF_THREAD.message
        for name, array in self._shared.items():
            arrays[name] = np.empty_like(array)
        check(lib.drv_batch_copy(self._handle, ffi.from_buffer(block), self._native_arrays(arrays), message), message)
        return block, arrays

    # ---- life ----

    def _world(self, world: int) -> dict[str, np.ndarray]:
        """A copy of one world's state, all of one moment, by the core's names."""
        world = checked_int("world", world, 0, self.num_worlds - 1)
        stride = len(self._block) // self.num_worlds
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
        return (f"Batch({self.num_worlds} worlds x {self.agents_per_world} agents on {len(self.scenes)} scenes, "
                f"max_trials={self.config.max_trials})")

    def __getstate__(self) -> dict:
        """The whole state: a copy made from it goes on bit for bit as this batch would.

        Raises:
            CallError: a step is in flight, or the batch is closed.
        """
        kept = ("config", "restart", "num_worlds", "seed", "threads", "world_ids", "scenes", "roles")
        block, arrays = self._copy()
        part_seeds = [part.seed for part in self.parts]
        return {**{name: getattr(self, name) for name in kept}, "part_seeds": part_seeds, "block": block,
                "arrays": arrays}

    def __setstate__(self, state: dict) -> None:
        block, arrays, part_seeds = (state.pop(name) for name in ("block", "arrays", "part_seeds"))
        self.__dict__.update(state)
        self._begin(None, len(part_seeds))
        for part, seed in zip(self.parts, part_seeds):
            part.seed = seed
        self._block[:] = block
        for name, array in arrays.items():
            self._shared[name][...] = array


def _world_ids(world_ids, num_worlds: int) -> np.ndarray:
    if world_ids is None:
        return np.arange(num_worlds, dtype=np.int64)
    found = as_array("world_ids", world_ids, ConfigError)
    if not np.issubdtype(found.dtype, np.integer) or found.shape != (num_worlds,):
        raise ConfigError(f"world_ids is {found.dtype} of shape {found.shape}; "
                          f"it must be whole numbers of shape ({num_worlds},)")
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


def _state_views(fields: list, block: np.ndarray, num_worlds: int) -> dict[str, np.ndarray]:
    """The arrays of a block as numpy views, (W, n) each, by the names the core gives them."""
    return {name: np.ndarray((num_worlds, count), dtype, block.data, offset, (stride, dtype.itemsize))
            for name, dtype, offset, stride, count in fields}
