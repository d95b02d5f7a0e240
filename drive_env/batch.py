"""`Batch`: many worlds stepped in one call, with every channel as an array."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from . import reports
from .binding import ffi, lib, table, text
from .config import ConfigSource, checked_config
from .errors import CallError, ConfigError, checked_int, value_text
from .expert_actions import agents_expert_actions
from .index_observations import SceneTable, floats_of, scene_table
from .layout import Feature, critic_layout, observation_layout
from .machine import usable_threads
from .names import named_arguments
from .native_batch import NativeBatch
from .own_reward import RewardFunction, checked_reward
from .per_world import SEED_LIMIT, checked_world_ids
from .reports import MetricValue
from .roles import assign_roles
from .scenes import ExpertActions, Report, Scenes, resolve_scenes
from .state import load_state, saved_state
from .sub_batch import BatchPart
from .trial_records import check_group, check_of, held_records, trial_metrics
from .world_state import ReadableWorlds

if TYPE_CHECKING:
    from typing_extensions import Self

WORLD_LIMIT, THREAD_LIMIT = lib.DRV_WORLD_LIMIT, lib.DRV_THREAD_LIMIT

OUTCOMES = ("", "goal", "collision", "offroad", "timeout", "other")
"""Names of the codes in `Batch.outcome`; the empty name is 0."""

REWARD_TERMS = tuple(text(name) for name in table(lib.drv_term_names, "const char *"))
"""Names of the terms of the reward, in the order of the columns of `Batch.reward_terms`."""


class Batch(ReadableWorlds):
    """Many worlds stepped together; every array has one entry per agent, and an agent's index never changes.

    A world is a running instance of a scene with its own clock, an agent one of its controlled vehicles. An episode is
    `config.max_trials` trials of the same scene. The step that ends a trial returns the trial's last observations; the
    next step ignores the actions of the world and returns the first observations of the next trial or episode.
    docs/channels.md defines every channel.

    Args:
        scenes: a generator's name ("town": seeds 0 to 63), "example_log", a path, a `Scene`, or a list of these.
        num_worlds: number of worlds.
        config: a `DriveConfig`, or a mapping of its fields; None: the defaults.
        seed: a whole number from 0 to 2**64 - 1; None draws one, available as `seed`.
        threads: threads that step worlds, including the calling one; 0: as many as this process may use. A step in
            flight runs on threads - 1 of them, at least one.
        arrays: the caller's arrays (such as pinned memory), by the name of the attribute that they become. All but the
            actions are zeroed.
        world_ids: one id per world; None: 0, 1, ... A world is a function of its seed and its id, whatever else is in
            the batch.
        restart: "auto", or "caller": then the caller must call `reset(worlds=mask)` after the end of an episode.
        parts: number of parts of consecutive worlds that can be called separately, from 1 to 16 and at most one per
            world. All parts share the threads.
        trial_records: number of finished trials per world whose records are held until `trial_records()` returns them;
            0: none.
        reward: a function that is called once after every step with the `Batch` or `BatchPart` that was stepped, and
            returns the reward of each of its agents, (R,) float32; or its path, "package.module:name". `rewards`, the
            metric `reward`, trial records and replay pages then have what it returns (docs/your_own.md). None: the
            config's reward.

    Arrays are views of shared memory that the next call overwrites. R is the number of agents, W that of worlds.

    Attributes:
        actions: the array that the core reads: int64 (R,) for "discrete", int64 (R, n) for "multi_discrete", float32
            (R, n) for "continuous", where an action of the vehicle model has n numbers (2; 3 in `delta_local`, 4 in
            `state`). Fill it and pass it to `step`. The attribute may be set to another array; `bound_actions` stays
            this one.
        observations: (R, observation size) float32 or float16; or index observations, (R, bytes) uint8, which refer to
            `vehicle_table`, (W, 1 + vehicles, 8) float32 (see docs/index_observations.md).
        images: (R, layers, size, size) uint8, with `config.observation.type` "image" only: what each agent observes as
            an image; `observations` are float32 then.
        critic_observations: (R, n) float32, with `config.critic_observations` only: what a critic may observe and the
            agent may not, the features of `critic_layout()`.
        action_mask: (R, n) bool, with `config.action_mask` only: which actions are valid next, one flag for each index
            of "discrete", or for each bin of all numbers of "multi_discrete".
        rewards: (R,) float32.
        reward_terms: (R, T) float32, with `config.reward_terms` only: the fact of each term of `REWARD_TERMS` in the
            last step, without its weight; zeros for agents that did not act.
        terminations, truncations, trial_ended, truncation, invalid_step: (R,) bool, of the action just taken.
        outcome: (R,) uint8, index into `OUTCOMES` in the step that decides the agent's trial, else 0.
        first, removed, stopped, waits: (R,) bool, of the observation just returned.
        trial_index: (R,) int32, the trial of that observation, from 0.
        code: (R,) uint16, the flags of an agent as bits of one integer.
        coplayer: (R,) bool, with `config.coplayers` only: the agent is a co-player in this episode.
        scene_index: (W,) int32, index into `scenes` of the current scene of each world.
        world_of_agent: (R,) int32, the index of each agent's world.
        num_agents, agents_per_world, num_worlds: R, R / W and W.
        observation_size: floats of one observation vector.
        seed: that of the constructor, or of the last `reset` of all worlds to a single seed; `seeds` has each world's.
        scenes, roles: the scenes, and the `Roles` of the objects of each.
        parts: one `BatchPart` per part, of consecutive worlds; their numbers of worlds differ by at most one.
        single_observation_space, single_action_space: Gymnasium spaces of one agent.

    Raises:
        ConfigError, SceneError: an argument is out of its range, or a scene has no object that could drive.
    """

    parts: tuple[BatchPart, ...]

    @named_arguments
    def __init__(self, scenes: Scenes = "town", num_worlds: int = 1, config: ConfigSource | None = None,
                 seed: SupportsIndex | None = 0, threads: int = 0, arrays: Mapping[str, npt.NDArray[Any]] | None = None,
                 world_ids: npt.ArrayLike | None = None, restart: str = "auto", parts: SupportsIndex = 1,
                 trial_records: SupportsIndex = 0, reward: RewardFunction | str | None = None) -> None:
        config = checked_config(config)
        if not isinstance(restart, str) or restart not in ("auto", "caller"):
            raise ConfigError(f"restart is {value_text(restart)}; it must be 'auto' or 'caller'")
        num_worlds = checked_int("num_worlds", num_worlds, 1, WORLD_LIMIT)
        seed = secrets.randbits(64) if seed is None else checked_int("seed", seed, 0, SEED_LIMIT)
        self.threads: int = checked_int("threads", threads, 0, THREAD_LIMIT) or min(usable_threads(), THREAD_LIMIT)
        ids = checked_world_ids(world_ids, num_worlds)
        part_count = checked_int("parts", parts, 1, min(num_worlds, lib.DRV_PART_LIMIT))
        roles = tuple(assign_roles(scene, config) for scene in resolve_scenes(scenes, config.agents_per_world))
        capacity = checked_int("trial_records", trial_records, 0, lib.DRV_RECORD_LIMIT)
        native = NativeBatch(config, restart, roles, num_worlds, seed, self.threads, ids, part_count, capacity, arrays,
                             checked_reward(reward))
        self._open(native, seed)

    def _open(self, core: NativeBatch, seed: int) -> None:
        super().__init__(core, lib.DRV_WHOLE_BATCH, seed)
        self.parts = tuple(BatchPart(core, index, seed) for index in range(core.part_count))
        self._scene_table: SceneTable | None = None

    # ---- open and closed ----

    def close(self) -> None:
        """Ends steps in flight and frees threads and memory; arrays stay readable. A second call does nothing."""
        if self._is_open:
            self._core.close()
            self._is_open = False

    def reopen(self) -> bool:
        """After `close`, makes the worlds again, in the state before the first reset, with newly allocated arrays.

        Returns:
            Whether the batch was closed; for an open one the call does nothing.
        """
        if self._is_open:
            return False
        core = self._core
        self._open(self._core_like(self.seed, len(self.parts), core.record_capacity, core.reward), self.seed)
        return True

    def _core_like(self, seed: int, part_count: int, record_capacity: int, reward: RewardFunction | None
                   ) -> NativeBatch:
        return NativeBatch(self.config, self.restart, self.roles, self.num_worlds, seed, self.threads, self.world_ids,
                           part_count, record_capacity, reward=reward)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (f"Batch({self.num_worlds} worlds x {self.agents_per_world} agents on {len(self.scenes)} scenes, "
                f"max_trials={self.config.max_trials})")

    # ---- reports ----

    @overload
    def metrics(self, by: None = None, of: str = "ego") -> dict[str, MetricValue]: ...

    @overload
    def metrics(self, by: str, of: str = "ego") -> dict[int, dict[str, MetricValue]]: ...

    def metrics(self, by: str | None = None, of: str = "ego"
                ) -> dict[str, MetricValue] | dict[int, dict[str, MetricValue]]:
        """The report of docs/metrics.md: each metric is the mean over the agents that have data. Resets nothing.

        The trials of all agents of a world are recorded together, in the step that ends the world's trial.

        Args:
            by: None for the moving averages of all agents; "scene" or "world" for `trial_metrics` over the records
                that are held now, by the index of each scene or world that has any.
            of: "ego" for the trials of egos, "coplayer" for those of co-players.

        Raises:
            ConfigError: `by` or `of` is none of the above, or the batch was made with `trial_records` 0.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        self._check_open()
        check_of(of)
        if by is None:
            return reports.metrics_report(self._core, of == "coplayer")
        check_group(by)
        return trial_metrics(held_records(self._core, clear=False), by, of)

    def trial_records(self) -> npt.NDArray[np.void]:
        """Returns and clears the records of finished trials: one per agent and trial, world by world, oldest first.

        The trials of all agents of a world are recorded in the step that ends the world's trial; trials that a reset
        cut, or that began with an initial age, are not recorded. A world that holds `trial_records` trials drops later
        ones; a `RuntimeWarning` then reports the number of lost records.

        Returns:
            (n,) structured array with the fields episode, world, scene, trial, agent (indices in this batch), outcome
            (index into `OUTCOMES`), coplayer (bool: the agent was a co-player), and every metric of docs/metrics.md
            by name, float32.

        Raises:
            ConfigError: the batch was made with `trial_records` 0.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        self._check_open()
        return held_records(self._core, clear=True)

    def phase_times(self, on: bool) -> dict[str, float]:
        """Seconds spent in each phase since timing was switched on, summed over threads.

        Args:
            on: whether timing is on from now on.

        Raises:
            ConfigError: `on` is not a bool.
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        self._check_open()
        if not isinstance(on, (bool, np.bool_)):
            raise ConfigError(f"on is {value_text(on)}; it must be True or False")
        return reports.phase_seconds(self._core, bool(on))

    def scene_report(self, scene: int = 0) -> Report:
        """The number of objects in each role, and of agents that start in contact, on an edge or inside their goals.

        Objects that are no agents are counted by the reason. Traffic lights and signs, scripts, candidate goals and
        goal lists are counted where a scene has any, or where the config has a use for them.

        Args:
            scene: index into `scenes`.

        Raises:
            ConfigError: there is no such scene.
        """
        roles = self.roles[checked_int("scene", scene, 0, len(self.scenes) - 1)]
        return reports.full_report(self.scenes[scene], roles, self.config)

    def expert_actions(self) -> ExpertActions:
        """The actions with which the agents replay their logs: entry t is that of step t of a trial.

        They are those of the worlds' current scenes, under the batch's config. Steps after the end of a log, agents
        without a log (those of generated scenes) and absent agents have no valid action. docs/actions.md has the
        distance between log and replay.

        Returns:
            Actions and their flags for as many steps as the longest trial of all scenes has, (steps, R) each.

        Raises:
            CallError: the batch is closed or was never reset, a step is in flight, or another thread is in a call.
        """
        worlds = [self._world(world) for world in range(self.num_worlds)]
        if any(world["episode"][0] < 0 for world in worlds):
            raise CallError("expert_actions was called before reset; call reset first")
        scenes = [int(world["scene_index"][0]) for world in worlds]
        steps = max(roles.trial_steps for roles in self.roles)
        of_scene = {index: agents_expert_actions(self.roles[index], self.config, steps, self.agents_per_world)
                    for index in set(scenes)}
        parts = [of_scene[index] for index in scenes]
        return ExpertActions(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts)))

    @property
    def instruction_set(self) -> str:
        """The instruction set of the step that this batch runs: "baseline", "v3" or "v4"; all give the same bytes."""
        self._check_open()
        return ffi.string(lib.drv_batch_instruction_set(self._core.handle)).decode()

    @property
    def seeds(self) -> npt.NDArray[np.uint64]:
        """(W,) uint64, the seed of each world."""
        return self._core.state["seed"][:, 0].copy()

    # ---- observations ----

    def observation_layout(self) -> dict[str, Feature]:
        """The offset, unit and scale of each feature of an observation vector, by name."""
        return observation_layout(self.config)

    def critic_layout(self) -> dict[str, Feature]:
        """The offset, unit and scale of each feature of `critic_observations`, by name."""
        return critic_layout(self.config)

    def scene_table(self) -> SceneTable:
        """The records of all scenes, in the order of their indices in index observations. It never changes."""
        if self._scene_table is None:
            self._check_open()
            self._scene_table = scene_table(self.config, self._core.scene_handles)
        return self._scene_table

    def float_observations(self, agents: Any = slice(None)) -> npt.NDArray[np.float32]:
        """A copy of the observations of some agents as float32, (n, observation size), for any observation type.

        It reads the arrays, so it must not be called while a step of these agents is in flight.

        Args:
            agents: an index, a slice or indices, as in numpy; a single index gives (observation size,).

        Raises:
            ConfigError: `agents` does not select agents of the batch.
        """
        try:
            chosen = np.arange(self.num_agents)[agents]
        except IndexError:
            raise ConfigError(f"agents is {value_text(agents)}; it must be an index, a slice or indices, from 0 to "
                              f"{self.num_agents - 1}") from None
        if self.config.observation.type != "index":
            return self.observations[agents].astype(np.float32)
        flat = chosen.reshape(-1)
        world, table = self.world_of_agent[flat].astype(np.int64), self.scene_table()
        out = np.empty((flat.size, self.observation_size), np.float32)
        floats_of(self.config, self.observations[flat], world, 1 + flat % self.agents_per_world,
                  table.first[self.scene_index[world]], table.records, self.vehicle_table, out)
        return out.reshape(*chosen.shape, self.observation_size)

    # ---- state ----

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """A copy of the whole state as plain numpy arrays by name, which can be stored without pickle.

        Keys: "seed", (1 + parts,) uint64, the `seed` of the batch and of each part; "scenes", a hash of the scenes;
        "arrays/..." and the name of each shared array; "state/..." and the name of each array of the core, (W, n). It
        can be loaded only by the version of the package that made it.

        Raises:
            CallError: the batch is closed, a step is in flight, or another thread is in a call.
        """
        self._check_open()
        return saved_state(self._core, [one.seed for one in (self, *self.parts)])

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restores a saved state; the batch then continues bit for bit as the one that was saved.

        Args:
            state: from `state_dict` of a batch with the same scenes, config, restart, number of parts and world_ids.
                Names, types, shapes and ranges are checked, so that no array from a file can make the core read or
                write outside of its memory.

        Raises:
            CallError: `state` does not fit, the batch is closed, a step is in flight, or another thread is in a call;
                nothing has changed.
        """
        self._check_open()
        ranges = (self, *self.parts)
        for one, seed in zip(ranges, load_state(self._core, state, [one.seed for one in ranges])):
            one.seed = seed

    def __getstate__(self) -> dict:
        """The whole state: a copy made from it continues bit for bit as this batch.

        Raises:
            CallError: a step is in flight, or the batch is closed.
        """
        self._check_open()
        kept = ("config", "restart", "num_worlds", "seed", "threads", "world_ids", "roles")
        block, arrays = self._core.copy()
        return {**{name: getattr(self, name) for name in kept}, "part_seeds": [part.seed for part in self.parts],
                "record_capacity": self._core.record_capacity, "reward": self._core.reward, "block": block,
                "arrays": arrays}

    def __setstate__(self, state: dict) -> None:
        block, arrays, part_seeds, capacity, reward = (
            state.pop(name) for name in ("block", "arrays", "part_seeds", "record_capacity", "reward"))
        self.__dict__.update(state)
        self._open(self._core_like(self.seed, len(part_seeds), capacity, reward), self.seed)
        for part, seed in zip(self.parts, part_seeds):
            part.seed = seed
        self._core.block[:] = block
        for name, array in arrays.items():
            self._core.arrays[name][...] = array
