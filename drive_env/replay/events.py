"""Which events did a reward pay for? Told from the channels alone."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..batch import OUTCOMES
from ..config import RewardConfig
from .recording import EVENTS

COMBINATIONS = np.array(list(product((False, True), repeat=len(EVENTS))))
"""(8, 3) bool: all that may happen to a row in one step, the uneventful first."""

NEEDED = np.array([[outcome == event for event in EVENTS] for outcome in OUTCOMES])
"""(outcomes, 3) bool: an outcome that is an event's happens in the step of the event."""

NEED_WEIGHT = 10
"""An outcome outweighs all that the observation suggests."""


def paid_events(rewards: np.ndarray, outcome: np.ndarray, began: np.ndarray, weights: RewardConfig) -> np.ndarray:
    """The events whose weights add up to each reward.

    Where several sets of events do, because weights are 0 or alike, the one that fits the outcome and `began` best.

    Args:
        rewards: (R,) float32. outcome: (R,) index into `OUTCOMES`.
        began: (R, 3) bool, what the observation shows to have begun.
        weights: of the config.

    Returns:
        (R, 3) bool, in the order of `EVENTS`.
    """
    sums = np.zeros(len(COMBINATIONS), np.float32)
    for term, event in enumerate(EVENTS):
        sums += COMBINATIONS[:, term] * np.float32(getattr(weights, event))
    # The nearest sum stands for the equal one, so that a reward of another making still gets an answer.
    misses = np.abs(rewards[:, None] - sums)
    explains = misses == misses.min(axis=1, keepdims=True)
    lacks = (NEEDED[outcome][:, None] & ~COMBINATIONS).sum(axis=2)
    differs = (began[:, None] ^ COMBINATIONS).sum(axis=2)
    doubt = np.where(explains, NEED_WEIGHT * lacks + differs, np.inf)
    return COMBINATIONS[np.argmin(doubt, axis=1)]
