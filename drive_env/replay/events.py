"""Which events did a reward pay for? Told from the reward and from what is known of the trial."""

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


def paid_events(rewards: np.ndarray, outcome: np.ndarray, first_time: np.ndarray, weights: RewardConfig) -> np.ndarray:
    """The events whose weights add up to each reward.

    Where several sets of events do, because weights are 0 or alike, the smallest that has all which is known: what is
    left open is only whether an event that was ignored earlier in the trial came again.

    Args:
        rewards: (R,) float32. outcome: (R,) index into `OUTCOMES`.
        first_time: (R, 3) bool, what the row met for the first time in its trial.
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
    known = first_time | NEEDED[outcome]
    differs = (known[:, None] ^ COMBINATIONS).sum(axis=2)
    return COMBINATIONS[np.argmin(np.where(explains, differs, np.inf), axis=1)]
