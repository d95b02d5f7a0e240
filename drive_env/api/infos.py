"""The keys of an info dict, and the info that an agent's code encodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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

OPTIONAL_CHANNELS = ("reward_terms", "critic_observations")
"""Further keys, each with the field of the config of that name only: the agent's row of the array of `Batch`."""


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
    return [name for name in OPTIONAL_CHANNELS if getattr(batch.config, name)]


def add_optional_channels(infos: Iterable[dict[str, Any]], batch: Batch, agents: Any = slice(None)) -> None:
    """Adds copies of the optional channels of a batch to the infos of some agents.

    Args:
        infos: one for each of these agents.
        agents: their indices in the batch.
    """
    for name in optional_channels(batch):
        for info, row in zip(infos, getattr(batch, name)[agents].copy()):
            info[name] = row
