"""Which worlds are called together? All of a batch, or a part of them; the calls are the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from numpy import ndarray  # by name: step is a microsecond's matter

from .arrays import aligned_block, shared_table
from .config import DriveConfig
from .core import OF_THREAD, NativeBatch, check, ffi, lib
from .errors import ActionError, CallError, ConfigError, checked_int, shown
from .roles import Roles
from .scenes import Scene

SEED_LIMIT = (1 << 64) - 1


class _OfIndexObservations:
    """What a batch of floats has in the place of an array that only index observations need; the array itself hides it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, batch: BatchPart | None, owner: type) -> _OfIndexObservations:
        if batch is None:
            return self
        raise AttributeError(f"a Batch has {self._name} with observation_type 'index' only; that of this one is "
                             f"{batch.config.observation_type!r}")


class BatchPart:
    """Consecutive worlds of a batch that are called apart from its other parts: two are `Batch(parts=2).parts`.

    Different parts can be called in any order, with steps of several in flight at once, from one thread or from
    several; every world plays as it would in a call of the whole batch. What shares a world with a step in flight, or
    with a call in another thread, is a `CallError` that changes nothing. Worlds and agents are numbered from 0 within the
    part. A `Batch` is itself the part of all its worlds.

    A part plays on for as long as its batch is not closed, also where nobody holds the batch any more. It has no
    copies: pickle the batch, whose copy has parts of its own.

    Attributes:
        world_slice, agent_slice: where its worlds and agents stand in the arrays of the batch.
        seed: of the constructor, or of the last `reset(seed=one)` of this part or of the whole batch.
        config, restart, scenes, casts: those of the batch.
        agents_per_world, observation_size, single_observation_space, single_action_space: those of the batch.
        num_worlds, num_agents, world_ids, world_of_agent: of these worlds and agents alone.
        actions, bound_actions, observations, vehicle_table, scene_index: views of those of the batch, as are all arrays
            with one entry an agent: rewards, terminations and the other channels.
    """

    config: DriveConfig
    restart: str
    scenes: tuple[Scene, ...]
    roles: tuple[Roles, ...]
    seed: int
    parts: tuple[BatchPart, ...] = ()
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
        vehicle_table = _OfIndexObservations()

    _core: NativeBatch
    _handle: Any
    _action_form: tuple[np.dtype[Any], tuple[int, ...]]
    _index: int
    """Of the part, as the core counts them."""

    def __init__(self) -> None:
        raise CallError("a part is not made by itself; Batch(parts=2).parts are two")

    def reset(self, seed: SupportsIndex | Sequence[SupportsIndex] | npt.NDArray[Any] | None = None,
              worlds: npt.ArrayLike | None = None, initial_ages: npt.ArrayLike | None = None) -> None:
        """Opens an episode in these worlds: the first of `seed`, or, without one, the next of each world's stream.

        Args:
            seed: a whole number from 0 to 2**64 - 1, or one a world: episode 0 of that seed. None: each world's next
                episode; the first call opens episode 0 of the constructor's seed.
            worlds: (W,) bool, the worlds to reset; the others' arrays stay as they are. The first call needs all.
            initial_ages: (W,) driving steps, each below the trial's steps, that the clock of the first trial has
                behind it already, so that time limits do not fall together. Such a trial enters no metric.

        Raises:
            CallError: the batch is closed, a step is in flight, or `worlds` or `initial_ages` does not fit; nothing
                has changed.
            ConfigError: the seed does not fit; nothing has changed.
        """
        seeds = None if seed is None else _seeds(seed, self.num_worlds)
        worlds = _per_world("worlds", worlds, self.num_worlds, np.bool_)
        ages = _per_world("initial_ages", initial_ages, self.num_worlds, np.int32)
        message = OF_THREAD.message
        check(lib.drv_batch_reset(
            self._handle, self._index, ffi.NULL if seeds is None else ffi.from_buffer("uint64_t[]", seeds),
            ffi.NULL if worlds is None else ffi.from_buffer("uint8_t[]", worlds),
            ffi.NULL if ages is None else ffi.from_buffer("int32_t[]", ages), message), message)
        if seeds is not None and worlds is None and _is_one_seed(seed):
            for one in (self, *self.parts):
                one.seed = int(seeds[0])

    def step(self, actions: npt.ArrayLike) -> None:
        """Advances every world by one step, or restarts those whose trial has ended.

        Args:
            actions: one an agent, in the form of `actions`; filling that array and passing it copies nothing. Entries of
                agents that wait may be anything.

        Raises:
            ActionError: the action of a driving agent is not finite or out of range, or the array has the wrong
                shape or type. Nothing has moved.
            CallError: before `reset`, after `close`, while a step is in flight, or where the caller owes a
                `reset(worlds=mask)`.
        """
        pointer = ffi.NULL if actions is self.bound_actions else self._pointer_to(actions)
        message = OF_THREAD.message
        check(lib.drv_batch_step(self._handle, self._index, pointer, message), message)

    def step_async(self, actions: npt.ArrayLike) -> None:
        """Begins a step and returns while other threads take it; `wait` ends it.

        Until then the arrays are being written and must not be read, and no other call at these worlds gets in. The
        actions were read before this returns: they may be overwritten, the bound array too.

        Args:
            actions: as for `step`.

        Raises:
            ActionError: as from `step`. Nothing has moved, and no step is in flight.
            CallError: as from `step`.
        """
        pointer = ffi.NULL if actions is self.bound_actions else self._pointer_to(actions)
        message = OF_THREAD.message
        check(lib.drv_batch_step_async(self._handle, self._index, pointer, message), message)

    def wait(self) -> None:
        """Ends the step that `step_async` began, in this thread or another; helps with the worlds that are left.

        Raises:
            CallError: no step is in flight, or the batch is closed.
        """
        message = OF_THREAD.message
        check(lib.drv_batch_wait(self._handle, self._index, message), message)

    def _bind_actions(self, actions: npt.NDArray[Any]) -> None:
        self.bound_actions = actions
        self._action_form = actions.dtype, actions.shape

    def _pointer_to(self, actions):
        """Foreign actions in the form of the bound array; the core copies them once it has the worlds to itself."""
        dtype, shape = self._action_form
        if type(actions) is ndarray and actions.dtype is dtype and actions.shape == shape:
            try:
                return ffi.from_buffer(actions)
            except (BufferError, ValueError):  # its agents do not lie one after the other
                pass
        return ffi.from_buffer(np.ascontiguousarray(self._like_the_bound(actions)))

    def _like_the_bound(self, given):
        """Anything that is an array of the bound one's shape, in its type."""
        bound = self.bound_actions
        try:
            actions = np.asarray(given)
        except ValueError:
            raise ActionError(f"actions are ragged; they must form an array of shape {bound.shape}") from None
        except Exception as error:
            raise ActionError(f"actions are a {type(given).__name__}, which numpy cannot read: {error}") from error
        if actions is not given and np.ma.is_masked(given):
            raise ActionError(f"actions are a masked array with {np.ma.count_masked(given)} masked; none may be, what "
                              "stands in agents that wait is not read")
        if actions.shape != bound.shape:
            what = f"actions are {shown(given)}" if actions.dtype == object else f"actions have shape {actions.shape}"
            raise ActionError(f"{what}; they must be an array of shape {bound.shape}")
        if actions.dtype != bound.dtype:
            if not np.can_cast(actions.dtype, bound.dtype, "same_kind") or actions.dtype == np.bool_:
                kind = "a whole number type" if bound.dtype == np.int64 else "a floating point type"
                raise ActionError(f"actions are {actions.dtype}; they must be {kind}")
            if actions.dtype == np.uint64:  # beyond int64 is beyond every table, and must not wrap into one
                actions = np.minimum(actions, np.uint64(np.iinfo(np.int64).max))
            with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite, which the core refuses
                actions = actions.astype(bound.dtype)
        return actions

    def restart_observations(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """What each agent that waits will see at its world's next inner restart, (R, observation size) floats.

        The floats are of the type of `observations`, float32 where those are index observations.

        Zeros for agents that drive, for absent agents and in the last trial. What comes after a wait can so be valued
        before the wait is over.

        Args:
            out: a C-contiguous array of that type and shape to fill; None makes a new one.

        Raises:
            CallError: `out` does not fit, a step is in flight, or the batch was never reset or is closed.
            DriveMemoryError: there is no memory for a new one.
        """
        self._check_open()
        dtype = np.dtype(np.float16 if self.config.observation_type == "float16" else np.float32)
        shape = (self.num_agents, self.observation_size)
        if out is None:
            out = aligned_block(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
        elif not (isinstance(out, np.ndarray) and out.dtype == dtype and out.flags.c_contiguous
                and out.flags.writeable and out.flags.aligned and out.shape == shape):
            found = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise CallError(f"out is {found}; it must be writeable, aligned, C-contiguous {dtype} of shape {shape}")
        elif taken := [shared.name for shared in shared_table(self.config)
                       if np.may_share_memory(out, getattr(self, shared.name))]:
            raise CallError(f"out shares memory with {taken[0]}; it must have its own")
        message = OF_THREAD.message
        check(lib.drv_batch_restart_observations(self._handle, self._index, ffi.from_buffer(out), message), message)
        return out

    def _check_open(self) -> None:
        if not self._handle:
            raise CallError("this batch is closed; make a new one")

    def __repr__(self) -> str:
        return (f"BatchPart(worlds {self.world_slice.start} to {self.world_slice.stop - 1} of a batch, "
                f"{self.agents_per_world} agents each)")

    def __getstate__(self) -> dict:
        raise CallError("a part has no copies; copy or pickle its batch, whose copy has parts of its own")


def _is_one_seed(seed: Any) -> bool:
    return not isinstance(seed, (list, tuple, np.ndarray)) or getattr(seed, "ndim", 1) == 0


def _seeds(seed: Any, num_worlds: int) -> np.ndarray:
    if _is_one_seed(seed):
        return np.full(num_worlds, checked_int("seed", seed, 0, SEED_LIMIT), np.uint64)
    if len(seed) != num_worlds:
        raise ConfigError(f"seed has {len(seed)} entries; "
                          f"it must be one whole number, or one for each of {num_worlds} worlds")
    return np.array([checked_int("seed", entry, 0, SEED_LIMIT) for entry in seed], np.uint64)


def check_whole(batch: BatchPart) -> None:
    """What looks at single worlds asks for more than a part can tell, and an env has its batch as `env.batch`."""
    if not isinstance(batch, BatchPart):
        raise ConfigError(f"batch is {shown(batch)}; it must be a Batch, such as the `batch` of an env")
    if type(batch) is BatchPart:
        first, last = batch.world_slice.start, batch.world_slice.stop - 1
        raise ConfigError(f"batch is a part, worlds {first} to {last}; it must be the whole batch, which has them "
                          "under these numbers")


def as_array(name: str, values, error) -> np.ndarray:
    """What a caller gave for an array; ragged lists are no array."""
    try:
        return np.asarray(values)
    except ValueError:
        raise error(f"{name} is {shown(values)}; it must form an array") from None


def _per_world(name: str, values, num_worlds: int, dtype) -> np.ndarray | None:
    if values is None:
        return None
    found = as_array(name, values, CallError)
    fits = found.dtype == np.bool_ if dtype is np.bool_ else np.issubdtype(found.dtype, np.integer)
    if not fits or found.shape != (num_worlds,):
        wanted = "bool" if dtype is np.bool_ else "whole numbers"
        raise CallError(f"{name} is {found.dtype} of shape {found.shape}; "
                        f"it must be {wanted} of shape ({num_worlds},)")
    if dtype is not np.bool_ and (found.min() < 0 or found.max() > np.iinfo(dtype).max):
        worst = found.min() if found.min() < 0 else found.max()
        raise CallError(f"{name} has {worst}; every entry must be 0 or more and below the trial's steps")
    return np.ascontiguousarray(found, dtype)
