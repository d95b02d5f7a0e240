"""Stepping one world with a policy for some trials, for pictures, films and replays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .batch import Batch
from .errors import CallError, ConfigError, value_text
from .policies import Act, Policy, policy_maker, trial_clock

__all__ = ["Progress"]

Progress = Callable[[int, int], None]
"""Called after every step with the number of steps done and the largest possible number."""


def actor(batch: Batch, policy: Policy, seed: int) -> Callable[[], np.ndarray]:
    """A function that returns the actions of all agents at each call; `seed` is that of the random policy."""
    act = policy_maker(policy, seed)(batch)
    return lambda: actions_of(act, batch)


def actions_of(act: Act, batch: Batch) -> Any:
    """What a policy returns for a batch, which it must leave as it is: its own steps would be in no figure or film.

    Raises:
        CallError: it has stepped or reset the batch.
    """
    before = trial_clock(batch)
    actions = act(batch)
    if (trial_clock(batch) != before).any():
        raise CallError("the policy has stepped or reset the batch; it must only return the actions of a step")
    return actions


def play_trials(batch: Batch, act: Callable[[], np.ndarray], trials: int,
                progress: Progress | None = None) -> Iterator[bool]:
    """Steps until `trials` trials of world 0 have ended; yields after each step whether it ended one.

    Raises:
        ConfigError: `progress` is neither None nor a function.
        CallError: a trial does not end, since the policy resets the batch.
    """
    if progress is not None and not callable(progress):
        raise ConfigError(f"progress is {value_text(progress)}; it must be a function or None")
    calls = max(roles.trial_steps for roles in batch.roles) + 1  # one more for the restart step
    done = ended = 0
    while ended < trials:
        batch.step(act())
        ends_trial = bool(batch.trial_ended[0])
        ended += ends_trial
        done = ended * calls - 1 if ends_trial else done + 1  # a trial that ends early counts as complete
        if done >= (ended + 1) * calls:
            raise CallError(f"trial {ended + 1} has not ended after its {calls} steps; the policy must not reset the "
                            "batch")
        if progress is not None:
            progress(done, trials * calls - 1)
        yield ends_trial
