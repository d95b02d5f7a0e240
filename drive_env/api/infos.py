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
"""All keys of an info, bools and ints; docs/channels.md defines them. With `config.reward_terms` an info has one more
key, "reward_terms", (terms,) float32: the agent's row of `Batch.reward_terms`."""


def info_of(code: int, trial: int) -> dict[str, bool | int]:
    """The info of one agent.

    Args:
        code: its entry in `Batch.code`.
        trial: its entry in `Batch.trial_index`.
    """
    info: dict[str, bool | int] = {name: bool(code & bit) for name, bit in INFO_FLAGS.items()}
    return info | {"trial_index": trial, "outcome": code >> lib.DRV_CODE_OUTCOME_SHIFT}


def add_reward_terms(infos: Iterable[dict[str, Any]], batch: Batch, agents: Any = slice(None)) -> None:
    """Adds the key "reward_terms" to the infos of some agents, if the config asks for it.

    Args:
        infos: one for each of these agents.
        agents: their indices in the batch.
    """
    if batch.config.reward_terms:
        for info, terms in zip(infos, batch.reward_terms[agents].copy()):
            info["reward_terms"] = terms
