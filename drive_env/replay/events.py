"""Which events did a reward pay for? Told from the reward and from what the row has met in its trial."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..config import RewardConfig
from .recording import EVENTS

COMBINATIONS = np.array(list(product((False, True), repeat=len(EVENTS))))
"""(8, 3) bool: all that may happen to a row in one step, the uneventful first."""


def paid_events(rewards: np.ndarray, met: np.ndarray, met_before: np.ndarray,
                weights: RewardConfig) -> np.ndarray:
    """The events of a step: all that came for the first time, and those others that the reward pays for.

    Only where weights are 0 or alike can it stay open which event came again; then the fewest are taken.

    Args:
        rewards: (R,) float32.
        met, met_before: (R, 3) bool, what each row has met in its trial, with and without this step.
        weights: of the config.

    Returns:
        (R, 3) bool, in the order of `EVENTS`.
    """
    sums = np.zeros(len(COMBINATIONS), np.float32)
    for term, event in enumerate(EVENTS):
        sums += COMBINATIONS[:, term] * np.float32(getattr(weights, event))
    is_possible = (COMBINATIONS <= met[:, None]) & (COMBINATIONS >= (met & ~met_before)[:, None])
    # The nearest sum stands for the equal one, so that a reward of another making still gets an answer.
    misses = np.where(is_possible.all(axis=2), np.abs(rewards[:, None] - sums), np.inf)
    explains = misses == misses.min(axis=1, keepdims=True)
    return COMBINATIONS[np.argmin(np.where(explains, COMBINATIONS.sum(axis=1), np.inf), axis=1)]
