"""One world with names: the PettingZoo face, a thin view of a one-world `Batch`."""

from __future__ import annotations

import marshal
import secrets
import struct
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import compress
from operator import itemgetter
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec

from .batch import OUTCOMES, Batch
from .binding import lib
from .config import ConfigSource, DriveConfig, adapter_config
from .errors import ActionError, CallError, ConfigError, checked_int, shown
from .render.screen import RENDER_MODES, Screen
from .scenes import Scenes
from .spaces import action_space, observation_space

INFO_FLAGS = {
    "trial_ended": lib.DRV_CODE_TRIAL_ENDED,
    "truncation": lib.DRV_CODE_TRUNCATION,
    "removed": lib.DRV_CODE_REMOVED,
    "invalid_step": lib.DRV_CODE_INVALID_STEP,
    "stopped": lib.DRV_CODE_STOPPED,
    "first": lib.DRV_CODE_FIRST,
}
"""Bits of `Batch.code` that `infos` shows by name."""


def parallel_env(scenes: Scenes = "town", config: ConfigSource | None = None, render_mode: str | None = None,
                 finished: str = "leave", copy: bool = True, max_cycles: int | None = None) -> DriveParallelEnv:
    """The PettingZoo env of one world; see `DriveParallelEnv`.

    Args:
        scenes, config, render_mode, finished, copy: as for `DriveParallelEnv`.
        max_cycles: what PettingZoo's tools call the driving steps of an episode of one trial, `config.trial_steps`.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """
    return DriveParallelEnv(scenes, _with_max_cycles(config, max_cycles), render_mode, finished, copy)


def aec_env(scenes: Scenes = "town", config: ConfigSource | None = None, render_mode: str | None = None,
            finished: str = "leave", copy: bool = True, max_cycles: int | None = None) -> AECEnv:
    """`parallel_env` with PettingZoo's other face, where agents take turns; the world moves when all have had theirs.

    Args:
        scenes, config, render_mode, finished, copy, max_cycles: as for `parallel_env`.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """
    return parallel_to_aec(parallel_env(scenes, config, render_mode, finished, copy, max_cycles))


env = aec_env
"""By PettingZoo's custom a module of an environment has `env` and `parallel_env`."""


def _with_max_cycles(config, max_cycles) -> DriveConfig:
    config = adapter_config(config)
    if max_cycles is None:
        return config
    if config.max_trials > 1 or config.trial_steps is not None:
        raise ConfigError(f"max_cycles is {shown(max_cycles)} beside max_trials {config.max_trials} and trial_steps "
                          f"{config.trial_steps}; it must be None where the config says either")
    return config.replace(trial_steps=checked_int("max_cycles", max_cycles, 1, 1_000_000))


class DriveParallelEnv(ParallelEnv):
    """One world as a PettingZoo `ParallelEnv`.

    Agent `agent_i` is index i of `batch`, a one-world `Batch`. An agent leaves `agents` when its termination or
    truncation is raised and does not come back before `reset`. An agent that waits for the next trial of the episode
    stays: its action is ignored and may be missing. After the end, `step({})` returns empty dicts. A `reset` after
    `close` opens the env again. Observations are float32, or float16 where `config.observation_type` says so.

    `infos[agent]` always holds `trial_ended`, `truncation`, `removed`, `invalid_step`, `stopped`, `first` (bool),
    `trial_index` and `outcome` (int, index into `drive_env.OUTCOMES`: 0 except on the step that decides the agent's
    trial); docs/channels.md says what they mean.

    `np_random` is for wrappers that draw, and `state` for learners that look at all agents at once.

    Args:
        scenes, config: as for `Batch`.
        render_mode: None, "rgb_array" (`render` returns a picture) or "human" (every step shows in a window); both need
            the extra [render].
        finished: "leave", or "wait": agents that are done stay until the episode ends for all and their flags are
            raised then, for clients that need a constant set of agents.
        copy: whether observations are copies; with False they are views that the next call overwrites.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
    """

    metadata = {"name": "drive_v0", "render_modes": list(RENDER_MODES), "render_fps": 10, "is_parallelizable": True}

    def __init__(self, scenes: Scenes = "town", config: ConfigSource | None = None, render_mode: str | None = None,
                 finished: str = "leave", copy: bool = True) -> None:
        if not isinstance(finished, str) or finished not in ("leave", "wait"):
            raise ConfigError(f"finished is {shown(finished)}; it must be 'leave' or 'wait'")
        if not isinstance(copy, bool):
            raise ConfigError(f"copy is {shown(copy)}; it must be True or False")
        self.finished = finished
        self.copy = copy
        self.batch = Batch(scenes, num_worlds=1, config=adapter_config(config), seed=None, threads=1, restart="caller")
        self.render_mode = render_mode
        self._screen = Screen(self.batch, render_mode)
        self.metadata = {**self.metadata, "render_fps": max(1, round(self._screen.fps))}
        self.possible_agents: list[str] = [f"agent_{index}" for index in range(self.batch.agents_per_world)]
        self.agents: list[str] = []
        config, size = self.batch.config, self.batch.observation_size
        self.observation_spaces = {agent: observation_space(config, size) for agent in self.possible_agents}
        self.action_spaces = {agent: action_space(self.batch.config) for agent in self.possible_agents}
        self._known = frozenset(self.possible_agents)
        self._was_reset = False
        self._np_random: np.random.Generator | None = None
        self._whole = True
        self._indices = np.empty(0, np.intp)
        self._flagged = np.zeros(self.batch.agents_per_world, bool)
        self._look()

    def _look(self) -> None:
        """What is derived from the batch's memory: views, and caches that are right at any time."""
        self._views = list(self.batch.observations)
        self._bound_bytes = memoryview(self.batch.bound_actions.data).cast("B")
        self._infos_of_code = _InfoTemplates()
        self._codes_seen: bytes | None = None
        self._info_of_agent: list[tuple[str, dict[str, bool | int]]] = []
        self._packed_infos: bytes | None = None
        self._acting: list[str] = []
        self._acting_indices = self._indices
        self._pick: Callable[[Mapping[str, Any]], tuple[Any, ...]] | None = None

    # ---- calls ----

    def reset(self, seed: SupportsIndex | None = None, options: dict[str, Any] | None = None
              ) -> tuple[dict[str, npt.NDArray[Any]], dict[str, dict[str, Any]]]:
        """Opens an episode: the first of `seed`, or the next of the stream; `options` are not used.

        After `close` it opens the env again, with a fresh stream.

        Returns:
            observations, (observation size,) each, and infos: one entry for each agent that has a vehicle.

        Raises:
            ConfigError: the seed is none from 0 to 2**64 - 1.
        """
        if self.batch.reopen():
            self._screen, self._was_reset = Screen(self.batch, self.render_mode), False
            self._look()
        if seed is None and not self._was_reset:
            seed = secrets.randbits(64)  # drawn now: copies of an env that has not begun must not all play the same
        self._whole = False
        self.batch.reset(seed=seed)
        self._was_reset = True
        if seed is not None:
            self._np_random = None
        self._keep(~self.batch.removed)
        self._flagged[:] = False
        self._see()
        self._whole = True
        if self.render_mode == "human":
            self.render()
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, Any]) -> tuple[
            dict[str, npt.NDArray[Any]], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One step of all agents.

        Args:
            actions: one for each agent that drives; those of waiting agents may be anything.

        Returns:
            observations, (observation size,) each, rewards, terminations, truncations, infos: one entry for each agent
            in `agents` at the call.

        Raises:
            ActionError: an action is missing, misshapen or out of range, or names no agent. Nothing has moved.
            CallError: before `reset` or after `close`.
        """
        if not self._was_reset:
            raise CallError("step was called before reset; call reset first")
        if not self._whole:
            self._mend()
        if not self.agents:
            if actions:
                raise CallError(f"the episode is over and step was given {len(actions)} actions; call reset first")
            return {}, {}, {}, {}, {}
        batch = self.batch
        self._read(actions)
        self._whole = False
        batch.step(batch.bound_actions)
        self._see()
        terminations, truncations = self._flags()
        returned = self._observations(), self._rewards(), terminations, truncations, self._infos()
        if self._staying is not None:
            self._keep(self._staying)
        self._whole = True
        if self.render_mode == "human":
            self.render()
        return returned

    def close(self) -> None:
        """Gives the world's memory back and closes the window, until the next `reset`; a second call does nothing."""
        self._screen.close()
        self.batch.close()

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The world as it is: (h, w, 3) uint8 for "rgb_array", None for "human", whose window shows it.

        Raises:
            CallError: the render mode is None, or no window opens here.
            MissingExtraError: the extra [render] is not installed.
        """
        return self._screen.show()

    def observation_space(self, agent: str) -> spaces.Box:
        """The space of what `agent` sees, the same object at every call; see docs/observation.md.

        Raises:
            KeyError: `agent` is not among `possible_agents`.
        """
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of what `agent` does, the same object at every call, by `config.action_type`.

        Raises:
            KeyError: `agent` is not among `possible_agents`.
        """
        return self.action_spaces[agent]

    @property
    def np_random(self) -> np.random.Generator:
        """A generator for wrappers, which every seeded `reset` begins anew; the world itself never draws from it."""
        if self._np_random is None:
            self._np_random, _ = seeding.np_random(self.batch.seed)
        return self._np_random

    def state(self) -> npt.NDArray[Any]:
        """The observations of all possible agents in one index, for learners that look at the whole world at once.

        Returns:
            (possible agents * observation size,) in the type of the observations.
        """
        return self.batch.observations.reshape(-1).copy()

    @cached_property
    def state_space(self) -> spaces.Box:
        """The space of `state`."""
        return observation_space(self.batch.config, self.batch.observations.size)

    # ---- in ----

    def _read(self, actions) -> None:
        """Puts the actions of the agents that drive into the batch's array."""
        batch = self.batch
        if type(actions) is not dict and not isinstance(actions, Mapping):
            raise ActionError(f"actions is a {type(actions).__name__}; it must be a dict by agent")
        pick = self._pick
        if pick is None:
            drives = ~batch.waits
            self._all_act = bool(drives.all())
            self._acting_indices = np.flatnonzero(drives)
            self._acting = list(compress(self.possible_agents, drives))
            self._packer = struct.Struct(f"{len(self._acting)}q")
            self._pick = pick = _picker(self._acting)
        try:
            values = pick(actions)
        except KeyError:
            raise ActionError(self._what_is_missing(actions)) from None
        if len(actions) != len(self._acting):
            unknown = [agent for agent in actions if agent not in self._known]
            if unknown:
                first, last = self.possible_agents[0], self.possible_agents[-1]
                raise ActionError(f"actions has {shown(unknown[0])}; agents are {first} to {last}")
        if not values:
            return
        bound = batch.bound_actions
        if bound.ndim == 1:
            try:  # takes whole numbers only, and in half the time that numpy needs to look at them
                if self._all_act:
                    self._packer.pack_into(self._bound_bytes, 0, *values)
                else:
                    bound[self._acting_indices] = np.frombuffer(self._packer.pack(*values), np.int64)
            except (struct.error, TypeError):
                raise ActionError(self._what_is_misshapen(values)) from None
        else:
            bound[self._acting_indices] = self._stacked(values, bound)

    def _stacked(self, values, bound: np.ndarray) -> np.ndarray:
        """Pairs of numbers as an array in the type of the bound one."""
        try:
            found = np.array(values)
        except ValueError:  # ragged
            found = np.empty(0)
        if found.shape != (len(values), *bound.shape[1:]) or not _fits(found.dtype, bound.dtype):
            raise ActionError(self._what_is_misshapen(values))
        with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite, which the core refuses
            return found.astype(bound.dtype)

    def _what_is_missing(self, actions) -> str:
        missing = [agent for agent in self._acting if agent not in actions]
        names = ", ".join(missing[:3]) + (" and others" if len(missing) > 3 else "")
        return f"actions has none for {names}, which {'drives' if len(missing) == 1 else 'drive'}"

    def _what_is_misshapen(self, values) -> str:
        space = self.action_spaces[self.possible_agents[0]]
        for agent, value in zip(self._acting, values):
            try:
                found = np.asarray(value)
            except ValueError:  # ragged
                found = np.empty(0, object)
            if found.shape != space.shape or not _fits(found.dtype, self.batch.bound_actions.dtype):
                return f"the action of {agent} is {shown(value)}; it must be in {space}"
        return f"the actions do not stack into one array; each must be in {space}"

    # ---- out ----

    def _keep(self, stays: np.ndarray) -> None:
        """Makes the indices that are marked the agents that can still act."""
        self._indices = np.flatnonzero(stays)
        self._all = len(self._indices) == len(stays)
        self.agents = list(compress(self.possible_agents, stays))
        # Most steps pay nothing and end nobody: copies of these are what they return.
        self._codes_seen = None
        self._all_false = dict.fromkeys(self.agents, False)
        self._all_unpaid = dict.fromkeys(self.agents, 0.0)
        self._no_reward = bytes(self.batch.rewards.nbytes)
        self._all_views = dict(zip(self.agents, compress(self._views, stays)))

    def _per_agent(self, channel: np.ndarray) -> dict:
        return dict(zip(self.agents, (channel if self._all else channel[self._indices]).tolist()))

    def _rewards(self) -> dict:
        rewards = self.batch.rewards
        return self._all_unpaid.copy() if rewards.tobytes() == self._no_reward else self._per_agent(rewards)

    def _observations(self) -> dict:
        if not self.copy:
            return self._all_views.copy()
        observations = self.batch.observations
        return dict(zip(self.agents, observations.copy() if self._all else observations[self._indices]))

    def _see(self) -> None:
        """Brings what is said of each agent up to date; most steps change nothing of it."""
        codes, trial = self.batch.code.tobytes(), self.batch.trial_index.item(0)
        if codes == self._codes_seen and trial == self._infos_of_code.trial:
            if self._packed_infos is None:
                self._packed_infos = marshal.dumps(dict(self._info_of_agent))
            return
        self._packed_infos = None
        self._infos_of_code.open(trial)
        self._pick = None  # who waits is written in the codes
        of_index = self.batch.code[self._indices].tolist()
        self._info_of_agent = [(agent, self._infos_of_code[code]) for agent, code in zip(self.agents, of_index)]
        self._decides = bool((self.batch.code >> lib.DRV_CODE_OUTCOME_SHIFT).any())
        self._codes_seen = codes

    def _infos(self) -> dict:
        if self._packed_infos is not None:
            return marshal.loads(self._packed_infos)  # fresh dicts, in less time than copying one by one
        return {agent: info.copy() for agent, info in self._info_of_agent}

    def _flags(self) -> tuple[dict, dict]:
        """Terminations and truncations by agent; also who stays, where somebody goes."""
        self._staying = None
        if not self._decides:
            return self._all_false.copy(), self._all_false.copy()
        terminated, truncated = self.batch.terminations, self.batch.truncations
        if self.finished == "wait":
            self._flagged |= terminated
            # The last trial's end is the episode's; flags are kept back until then.
            if self.batch.trial_ended.item(0) and self._infos_of_code.trial + 1 == self.batch.config.max_trials:
                self._staying = np.zeros_like(terminated)
                return self._per_agent(self._flagged), self._per_agent(truncated)
        elif terminated.any() or truncated.any():
            self._staying = np.zeros_like(terminated)
            self._staying[self._indices] = ~(terminated | truncated)[self._indices]
            return self._per_agent(terminated), self._per_agent(truncated)
        return self._all_false.copy(), self._all_false.copy()

    # ---- life ----

    def _mend(self) -> None:
        """After an exception in the middle of a call, such as Ctrl-C: the batch is whole, so all follows from it."""
        trial = self.batch.trial_state()
        present = np.arange(self.batch.agents_per_world) < self.batch.roles[self.batch.scene_index[0]].num_agents
        last = trial["trial"] + 1 == self.batch.config.max_trials
        decided = present & (trial["outcome"] != 0) if last else np.zeros_like(present)
        over = decided.sum() == present.sum()
        self._flagged[:] = decided & (trial["outcome"] != OUTCOMES.index("timeout"))
        self._keep(present & ~decided if self.finished == "leave" or over else present)
        self._see()
        self._whole = True

    def __getstate__(self) -> dict:
        derived = {"_views", "_bound_bytes", "_packer", "_all_act", "_all_views", "_infos_of_code", "_info_of_agent",
                   "_packed_infos", "_decides", "_codes_seen", "_acting", "_acting_indices", "_pick"}
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._look()
        self._all_views = {agent: self._views[index] for agent, index in zip(self.agents, self._indices)}

    def __repr__(self) -> str:
        return f"DriveParallelEnv({len(self.possible_agents)} agents on {len(self.batch.scenes)} scenes)"


def info_of(code: int, trial: int) -> dict[str, bool | int]:
    """What the info of a index says, by the index's code and the index of its trial."""
    info: dict[str, bool | int] = {name: bool(code & bit) for name, bit in INFO_FLAGS.items()}
    return info | {"trial_index": trial, "outcome": code >> lib.DRV_CODE_OUTCOME_SHIFT}


class _InfoTemplates(dict):
    """What an info says, by the index's code; made when first met in a trial, copied for each agent."""

    trial = -1

    def open(self, trial: int) -> None:
        """Forgets what was said of another trial."""
        if trial != self.trial:
            self.clear()
            self.trial = trial

    def __missing__(self, code: int) -> dict:
        self[code] = info = info_of(code, self.trial)
        return info


def _fits(given: np.dtype, bound: np.dtype) -> bool:
    """Whether actions of one type may be put into an array of the other without losing their meaning."""
    return given != np.bool_ and np.can_cast(given, bound, "same_kind")


def _picker(agents: list[str]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """What takes these agents' entries out of a dict as a tuple."""
    if not agents:
        return lambda actions: ()
    if len(agents) == 1:
        return lambda actions: (actions[agents[0]],)
    return itemgetter(*agents)
