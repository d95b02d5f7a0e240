"""How does a function of the caller reward a step? It is called after the step; its result is checked here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import CallError, ConfigError, value_text
from .imported import imported_function

RewardFunction = Callable[[Any], npt.NDArray[Any]]
"""From the `Batch` that was stepped, or the `BatchPart`, to the reward of each of its agents, (R,) float32."""


def checked_reward(reward: RewardFunction | str | None) -> RewardFunction | None:
    """The function of the argument `reward`, or the one that its path names.

    Raises:
        ConfigError: it is no function and not the path of one.
    """
    if isinstance(reward, str):
        return imported_function("reward", reward)
    if reward is not None and (isinstance(reward, type) or not callable(reward)):
        raise ConfigError(f"reward is {value_text(reward)}; it must be a function from the batch to the reward of each "
                          "agent, its path as 'package.module:name', or None")
    return reward


def rewards_of(reward: RewardFunction, batch: Any) -> npt.NDArray[np.float32]:
    """What the function returns for a batch that has just been stepped, (R,) float32.

    Raises:
        CallError: it returns no (R,) array of float32 or float64.
    """
    found, shape = reward(batch), (batch.num_agents,)
    if not (isinstance(found, np.ndarray) and found.dtype in (np.float32, np.float64) and found.shape == shape):
        what = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else value_text(found)
        raise CallError(f"reward returned {what}; it must return float32 or float64 of shape {shape}, one number for "
                        "each agent")
    with np.errstate(over="ignore"):  # the core refuses what is out of range
        return np.ascontiguousarray(found, np.float32)
