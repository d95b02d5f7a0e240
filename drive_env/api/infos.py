"""The keys of an info dict, and the info that an agent's code encodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..action_space import action_dimensions
from ..batch import Batch
from ..binding import lib

INFO_FLAGS = {
    "trial_ended": lib.DRV_CODE_TRIAL_ENDED,
    "truncation": lib.DRV_CODE_TRUNCATION,
    "removed": lib.DRV_CODE_REMOVED,
    "invalid_step": lib.DRV_CODE_INVALID_STEP,
    "stopped": lib.DRV_CODE_STOPPED,
    "first": lib.DRV_CODE_FIRST,
}
"""Bits of `Batch.code`, by key of the info."""

INFO_CHANNELS = (*INFO_FLAGS, "trial_index", "outcome")
"""The keys that every info has, bools and ints; docs/channels.md defines them."""

OPTIONAL_CHANNELS = {"reward_terms": "reward_terms", "critic_observations": "critic_observations",
                     "action_mask": "action_mask", "coplayer": "coplayers"}
"""Further keys, and the field of the config that adds each. A value is the agent's entry of the array of `Batch` of
that name; a mask has the form that `Space.sample` takes."""


def info_of(code: int, trial: int) -> dict[str, bool | int]:
    """The info of one agent.

    Args:
        code: its entry in `Batch.code`.
        trial: its entry in `Batch.trial_index`.
    """
    info: dict[str, bool | int] = {name: bool(code & bit) for name, bit in INFO_FLAGS.items()}
    return info | {"trial_index": trial, "outcome": code >> lib.DRV_CODE_OUTCOME_SHIFT}


def optional_channels(batch: Batch) -> list[str]:
    """Those of `OPTIONAL_CHANNELS` that the config of a batch turns on."""
    return [name for name, field in OPTIONAL_CHANNELS.items() if getattr(batch.config, field)]


def add_optional_channels(infos: Iterable[dict[str, Any]], batch: Batch, channels: Iterable[str],
                          agents: Any = slice(None)) -> None:
    """Adds copies of the optional channels of a batch to the infos of some agents.

    Args:
        infos: one for each of these agents.
        channels: `optional_channels(batch)`, which an adapter stores instead of computing it in every step.
        agents: their indices in the batch.
    """
    for name in channels:
        found = getattr(batch, name)[agents].copy()
        rows = sample_masks(batch, found) if name == "action_mask" else found if found.ndim > 1 else found.tolist()
        for info, row in zip(infos, rows):
            info[name] = row


def sample_masks(batch: Batch, masks: npt.NDArray[np.bool_]) -> list[Any]:
    """Rows of `Batch.action_mask` as `Space.sample` takes them: int8, one array, or a tuple of one per number."""
    flags = masks.view(np.int8)
    if batch.config.action_type == "discrete":
        return list(flags)
    ends = np.cumsum([dimension.bins for dimension in action_dimensions(batch.config)])[:-1]
    return [tuple(np.split(row, ends)) for row in flags]
