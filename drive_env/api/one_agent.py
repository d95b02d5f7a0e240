"""Config, seeds, masks and resets of the adapters with one agent per world."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..config import ConfigSource, DriveConfig, adapter_config
from ..errors import CallError, ConfigError, checked_int, value_text
from ..per_world import SEED_LIMIT, is_one_seed


def one_agent_config(config: ConfigSource | None, alternative: str = "Batch or parallel_env") -> DriveConfig:
    """The config with one agent per world.

    Args:
        config: as for `Batch`.
        alternative: the API for more agents, named in the message.

    Raises:
        ConfigError: the config sets more than one agent, or does not fit an adapter.
    """
    config = adapter_config(config)
    if config.agents_per_world not in (None, 1):
        raise ConfigError(f"agents_per_world is {config.agents_per_world}; this API has 1, use {alternative} for more")
    if config.coplayers:
        raise ConfigError(f"coplayers is {config.coplayers}; this API has no other agent, use {alternative} for more")
    return config.replace(agents_per_world=1)


def open_episodes(batch: Batch, seeds: Sequence[int | None], worlds: npt.NDArray[np.bool_] | None,
                  was_reset: bool) -> None:
    """Resets worlds: a seed opens the first episode of that seed, None the next episode of the world's stream.

    Args:
        batch: the batch to reset.
        seeds: a seed or None for each world.
        worlds: (W,) bool, the worlds to reset; None for all.
        was_reset: whether the batch was reset before; if not, a world with None gets a fresh seed.
    """
    chosen = np.ones(batch.num_worlds, bool) if worlds is None else worlds
    given = np.array([seed is not None for seed in seeds])
    fresh = [secrets.randbits(64) if seed is None else seed for seed in seeds]
    if not was_reset:
        batch.reset(seed=fresh, worlds=worlds)
        return
    if (given & chosen).any():
        batch.reset(seed=fresh, worlds=given & chosen)
    if (~given & chosen).any():
        batch.reset(worlds=~given & chosen)


def seeds_of_envs(seed: Any, num_envs: int) -> list[int | None] | None:
    """One seed or None for each sub-environment: s + i for a single seed s; None where no seed is given.

    Raises:
        ConfigError: a seed is out of its range, or the number of seeds is not that of the envs.
    """
    if seed is None:
        return None
    if is_one_seed(seed):
        first = checked_int("seed", seed, 0, SEED_LIMIT - num_envs + 1)
        return [first + env for env in range(num_envs)]
    if len(seed) != num_envs:
        raise ConfigError(f"seed has {len(seed)} entries; "
                          f"it must be a whole number, or one entry for each of {num_envs}")
    return [entry if entry is None else checked_int("seed", entry, 0, SEED_LIMIT) for entry in seed]


def reset_mask_of(options: Any, num_envs: int) -> npt.NDArray[np.bool_] | None:
    """`options["reset_mask"]`, (num_envs,) bool with at least one True; None where there is none.

    Raises:
        ConfigError: `options` is not a dict.
        CallError: the mask does not fit.
    """
    if options is not None and not isinstance(options, dict):
        raise ConfigError(f"options is {value_text(options)}; it must be a dict or None")
    mask = None if options is None else options.get("reset_mask")
    if mask is None:
        return None
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        found = f"{mask.dtype} of shape {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise CallError(f"reset_mask is {found}; it must be a bool array of shape ({num_envs},) with at least one True")
    return mask
