"""The calls that `Batch` and `BatchPart` share: reset, step and wait, over consecutive worlds of one core batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from numpy import ndarray  # by name: an attribute lookup less in every step

from .action_array import action_array
from .arrays import aligned_block
from .binding import check, ffi, lib, per_thread
from .config import HIDDEN_PARAMETERS, DriveConfig
from .errors import CallError, value_text
from .native_batch import NativeBatch
from .native_config import native_config
from .own_reward import RewardFunction, rewards_of
from .per_world import checked_ages, checked_mask, checked_seeds, is_one_seed
from .roles import Roles
from .scenes import Scene
from .spaces import action_space, observation_space, vector_type


class _Optional:
    """Placeholder of an array that only some configs have; where the array exists, it hides this descriptor.

    Args:
        setting: path of the field of the config that makes the array.
        value: the value with which it does, or several in words.
    """

    def __init__(self, setting: str, value: Any) -> None:
        self._setting, self._value = setting, value

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, batch: WorldRange | None, owner: type) -> _Optional:
        if batch is None:
            return self
        raise AttributeError(f"a Batch has {self._name} with {self._setting} {self._value} only; that of this one is "
                             f"{attrgetter(self._setting)(batch.config)!r}")


class WorldRange:
    """Consecutive worlds of a core batch that are stepped together.

    The base of `Batch`, whose range is all worlds, and of `BatchPart`.

    Args:
        core: the core's batch with its memory.
        index: of the part, or `DRV_WHOLE_BATCH` for all worlds.
        seed: the value of `seed`.

    Raises:
        CallError: `core` is not a core batch.
    """

    config: DriveConfig
    restart: str
    scenes: tuple[Scene, ...]
    roles: tuple[Roles, ...]
    seed: int
    parts: tuple[WorldRange, ...] = ()
    world_slice: slice
    agent_slice: slice
    num_worlds: int
    num_agents: int
    agents_per_world: int
    observation_size: int
    world_ids: npt.NDArray[np.int64]
    world_of_agent: npt.NDArray[np.int32]
    single_observation_space: spaces.Box
    single_action_space: spaces.Space[Any]
    bound_actions: npt.NDArray[Any]

    actions: npt.NDArray[Any]
    observations: npt.NDArray[Any]
    vehicle_table: npt.NDArray[np.float32]
    images: npt.NDArray[np.uint8]
    critic_observations: npt.NDArray[np.float32]
    action_mask: npt.NDArray[np.bool_]
    rewards: npt.NDArray[np.float32]
    reward_terms: npt.NDArray[np.float32]
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
    coplayer: npt.NDArray[np.bool_]
    scene_index: npt.NDArray[np.int32]

    if not TYPE_CHECKING:
        vehicle_table = _Optional("observation.type", "'index'")
        images = _Optional("observation.type", "'image'")
        critic_observations = _Optional("critic_observations", True)
        action_mask = _Optional("action_mask", True)
        reward_terms = _Optional("reward_terms", True)
        coplayer = _Optional("coplayers", "above 0")

    _core: NativeBatch
    _reward: RewardFunction | None
    _is_open = False
    _index: int
    _action_form: tuple[np.dtype[Any], tuple[int, ...]]

    def __init__(self, core: NativeBatch, index: int, seed: int) -> None:
        if not isinstance(core, NativeBatch):
            raise CallError(f"core is {value_text(core)}; a Batch makes its parts itself, as in Batch(parts=2).parts")
        self._core, self._is_open, self._index, self.seed = core, True, index, seed
        self._reward = core.reward
        self.config, self.restart, self.scenes, self.roles = core.config, core.restart, core.scenes, core.roles
        self.agents_per_world, self.observation_size = core.agents_per_world, core.observation_size

        # Worlds and agents of the range, and its share of every array.
        is_whole = index == lib.DRV_WHOLE_BATCH
        worlds = slice(0, core.num_worlds) if is_whole else core.part_worlds(index)
        agents = slice(worlds.start * core.agents_per_world, worlds.stop * core.agents_per_world)
        self.world_slice, self.num_worlds = worlds, worlds.stop - worlds.start
        self.agent_slice, self.num_agents = agents, agents.stop - agents.start
        self.world_ids = core.world_ids[worlds]
        self.world_of_agent = np.repeat(np.arange(self.num_worlds, dtype=np.int32), core.agents_per_world)
        for shared in core.table:
            array = core.arrays[shared.name]
            if not is_whole:
                array = array[worlds if shared.per_world else agents]
            setattr(self, shared.name, array)

        # `actions` may be replaced by the caller; `bound_actions` stays the array that the core reads.
        self.bound_actions = self.actions
        self._action_form = self.actions.dtype, self.actions.shape
        self.single_observation_space = observation_space(core.config, self.observations.shape[1])
        self.single_action_space = action_space(core.config)

    def reset(self, seed: SupportsIndex | Sequence[SupportsIndex] | npt.NDArray[Any] | None = None,
              worlds: npt.ArrayLike | None = None, initial_ages: npt.ArrayLike | None = None) -> None:
        """Opens an episode in these worlds: the first one of `seed`, or, without a seed, each world's next one.

        Args:
            seed: a whole number from 0 to 2**64 - 1, or one for each world: episode 0 of that seed. None: each
                world's next episode; the first call opens episode 0 of the constructor's seed.
            worlds: (W,) bool, the worlds to reset; the arrays of the others stay unchanged. The first call must reset
                all worlds.
            initial_ages: (W,) number of driving steps, below the trial's, at which the clock of the first trial starts,
                so that the time limits of different worlds do not coincide. Such a trial is not recorded in the
                metrics.

        Raises:
            CallError: the batch is closed, a step is in flight, or `worlds` or `initial_ages` does not fit; nothing
                has changed.
            ConfigError: the seed does not fit; nothing has changed.
        """
        seeds = None if seed is None else checked_seeds(seed, self.num_worlds)
        mask, ages = checked_mask(worlds, self.num_worlds), checked_ages(initial_ages, self.num_worlds)
        message = per_thread.message
        check(lib.drv_batch_reset(
            self._core.handle, self._index, ffi.NULL if seeds is None else ffi.from_buffer("uint64_t[]", seeds),
            ffi.NULL if mask is None else ffi.from_buffer("uint8_t[]", mask),
            ffi.NULL if ages is None else ffi.from_buffer("int32_t[]", ages), message), message)
        if seeds is not None and mask is None and is_one_seed(seed):
            for one in (self, *self.parts):
                one.seed = int(seeds[0])

    def step(self, actions: npt.ArrayLike) -> None:
        """Advances every world by one step, or restarts the worlds whose trial has ended.

        Args:
            actions: one for each agent, in the form of `actions`; passing that array itself copies nothing. The
                entries of agents that wait are not read.

        Raises:
            ActionError: the action of a driving agent is not finite or out of range, or the array has the wrong
                shape or type. No world has advanced.
            CallError: before `reset`, after `close`, while a step is in flight, or where the caller must first call
                `reset(worlds=mask)`. Also where the function `reward` of the batch returned an array of the wrong type
                or shape, or a number out of range: then the worlds have advanced, and the next call must be `reset`, as
                after an exception of that function.
        """
        pointer = ffi.NULL if actions is self.bound_actions else self._pointer_to(actions)
        message = per_thread.message
        check(lib.drv_batch_step(self._core.handle, self._index, pointer, message), message)
        if self._reward is not None:
            self._reward_step(self._reward)

    def step_async(self, actions: npt.ArrayLike) -> None:
        """Starts a step on worker threads and returns; `wait` blocks until it is complete.

        Until then the arrays must not be read, and every other call on these worlds is an error. The actions are copied
        before this returns and may be overwritten at once, the bound array too.

        Args:
            actions: as for `step`.

        Raises:
            ActionError: as from `step`. No world has advanced, and no step is in flight.
            CallError: as from `step`.
        """
        pointer = ffi.NULL if actions is self.bound_actions else self._pointer_to(actions)
        message = per_thread.message
        check(lib.drv_batch_step_async(self._core.handle, self._index, pointer, message), message)

    def wait(self) -> None:
        """Completes the step that `step_async` started in this or another thread; the calling thread steps worlds, too.

        Raises:
            CallError: no step is in flight, or the batch is closed; also, as from `step`, where the function `reward`
                returned a wrong array.
        """
        message = per_thread.message
        check(lib.drv_batch_wait(self._core.handle, self._index, message), message)
        if self._reward is not None:
            self._reward_step(self._reward)

    @property
    def has_own_reward(self) -> bool:
        """Whether `Batch(reward=...)` computes the rewards."""
        return self._reward is not None

    @property
    def hidden(self) -> dict[str, npt.NDArray[np.float32]]:
        """The hidden values in effect, by the names of `HiddenConfig`, (R,) float32 each; a copy.

        A parameter that does not vary has its value without variation: a gain or factor of 1, an offset or delay of 0,
        the friction of the config. A `steering_gain` below 0 turns the vehicle to the other side. If any parameter
        varies, all values are 0 until the first reset. Not to be read while a step is in flight.
        """
        shape, core = (self.num_agents, lib.DRV_HIDDEN_COUNT), self._core
        if core.state["hidden"].shape[1]:
            values = core.state["hidden"][self.world_slice].reshape(shape)
        else:
            native = native_config(self.config)
            values = np.broadcast_to([lib.drv_hidden_neutral(native, code) for code in range(shape[1])], shape)
        return {name: np.array(values[:, code], np.float32) for code, name in enumerate(HIDDEN_PARAMETERS)}

    @property
    def reward_weights(self) -> npt.NDArray[np.float32]:
        """(R, terms) float32, the weight of each reward term for each agent, in the order of `REWARD_TERMS`; a copy.

        A weight is a reward per unit of the term's fact (docs/config.md). Where weights are drawn, all are 0 until the
        first reset. Not to be read while a step is in flight.
        """
        shape, drawn = (self.num_agents, lib.DRV_TERM_COUNT), self._core.state["reward_weight"]
        if drawn.shape[1]:
            return drawn[self.world_slice].reshape(shape).copy()
        return np.tile(np.array(list(self.config.reward.to_dict().values()), np.float32), (shape[0], 1))

    def restart_observations(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """The observation of each waiting agent after its world's next inner restart, (R, observation size) floats.

        The floats have the type of `observations`, float32 where those are index observations; images have no such
        counterpart. The entries of agents that drive, of absent agents and of all agents in the last trial are zeros.
        With these a learner can compute the value of the state after a wait before the wait is over.

        Args:
            out: a C-contiguous array of that type and shape to fill; None allocates one.

        Raises:
            CallError: `out` does not fit, a step is in flight, or the batch was never reset or is closed.
            DriveMemoryError: there is no memory for a new array.
        """
        self._check_open()
        dtype = np.dtype(vector_type(self.config))
        shape = (self.num_agents, self.observation_size)
        if out is None:
            out = aligned_block(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
        elif not (isinstance(out, np.ndarray) and out.dtype == dtype and out.flags.c_contiguous
                and out.flags.writeable and out.flags.aligned and out.shape == shape):
            found = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise CallError(f"out is {found}; it must be writeable, aligned, C-contiguous {dtype} of shape {shape}")
        elif taken := [shared.name for shared in self._core.table
                       if np.may_share_memory(out, getattr(self, shared.name))]:
            raise CallError(f"out shares memory with {taken[0]}; it must have its own")
        message = per_thread.message
        buffer = ffi.from_buffer(out)
        check(lib.drv_batch_restart_observations(self._core.handle, self._index, buffer, message), message)
        return out

    def _reward_step(self, reward: RewardFunction) -> None:
        """Replaces the rewards of the step that has just ended by those that the function returns."""
        rewards, message = rewards_of(reward, self), per_thread.message
        check(lib.drv_batch_reward(self._core.handle, self._index, ffi.from_buffer("float[]", rewards), message),
              message)

    def _pointer_to(self, actions):
        """A pointer to actions in the form of the bound array; the core copies them before a step begins."""
        dtype, shape = self._action_form
        if type(actions) is ndarray and actions.dtype is dtype and actions.shape == shape:
            try:
                return ffi.from_buffer(actions)
            except (BufferError, ValueError):  # not contiguous
                pass
        return ffi.from_buffer(np.ascontiguousarray(action_array(actions, self.bound_actions)))

    def _check_open(self) -> None:
        if not (self._is_open and self._core.handle):
            raise CallError("this batch is closed; make a new one")
