"""Arguments with one entry per world: seeds, world ids, masks, ages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import CallError, ConfigError, checked_int, value_text

SEED_LIMIT = (1 << 64) - 1


def is_one_seed(seed: Any) -> bool:
    """Whether this is a single seed rather than one for each world."""
    return not isinstance(seed, (list, tuple, np.ndarray)) or getattr(seed, "ndim", 1) == 0


def checked_seeds(seed: Any, num_worlds: int) -> npt.NDArray[np.uint64]:
    """(W,) uint64 of a single seed or of one for each world.

    Raises:
        ConfigError: an entry is not a whole number from 0 to 2**64 - 1, or their number is not that of the worlds.
    """
    if is_one_seed(seed):
        return np.full(num_worlds, checked_int("seed", seed, 0, SEED_LIMIT), np.uint64)
    if len(seed) != num_worlds:
        raise ConfigError(f"seed has {len(seed)} entries; "
                          f"it must be one whole number, or one for each of {num_worlds} worlds")
    return np.array([checked_int("seed", entry, 0, SEED_LIMIT) for entry in seed], np.uint64)


def checked_world_ids(world_ids: Any, num_worlds: int) -> npt.NDArray[np.int64]:
    """(W,) int64 world ids; 0, 1, ... for None.

    Raises:
        ConfigError: they are not (W,) whole numbers from 0 to 2**63 - 1.
    """
    if world_ids is None:
        return np.arange(num_worlds, dtype=np.int64)
    return _whole_numbers("world_ids", world_ids, num_worlds, np.int64, "ids must be 0 to 2**63 - 1", ConfigError)


def checked_mask(worlds: Any, num_worlds: int) -> npt.NDArray[np.bool_] | None:
    """(W,) bool, or None for None.

    Raises:
        CallError: it is not (W,) bool.
    """
    if worlds is None:
        return None
    found = _as_array("worlds", worlds, CallError)
    if found.dtype != np.bool_ or found.shape != (num_worlds,):
        raise CallError(f"worlds is {found.dtype} of shape {found.shape}; it must be bool of shape ({num_worlds},)")
    return np.ascontiguousarray(found)


def checked_ages(ages: Any, num_worlds: int) -> npt.NDArray[np.int32] | None:
    """(W,) int32 driving steps, or None for None; the core compares them with the steps of a trial.

    Raises:
        CallError: they are not (W,) whole numbers from 0 on.
    """
    if ages is None:
        return None
    return _whole_numbers("initial_ages", ages, num_worlds, np.int32,
                          "every entry must be 0 or more and below the trial's steps", CallError)


def _as_array(name: str, values: Any, error: type[Exception]) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # ragged
        raise error(f"{name} is {value_text(values)}; it must form an array") from None


def _whole_numbers(name: str, values: npt.ArrayLike, num_worlds: int, dtype: Any, allowed: str,
                   error: type[Exception]) -> npt.NDArray[Any]:
    """One number from 0 to the dtype's highest per world; `error`, with the range in words, where they are not."""
    found = _as_array(name, values, error)
    if not np.issubdtype(found.dtype, np.integer) or found.shape != (num_worlds,):
        raise error(f"{name} is {found.dtype} of shape {found.shape}; "
                    f"it must be whole numbers of shape ({num_worlds},)")
    if found.min() < 0 or found.max() > np.iinfo(dtype).max:
        worst = found.min() if found.min() < 0 else found.max()
        raise error(f"{name} has {worst}; {allowed}")
    return np.ascontiguousarray(found, dtype)
