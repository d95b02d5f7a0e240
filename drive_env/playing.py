"""How does one play a policy for others to look at? One world, some trials, told how far along they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .batch import Batch
from .drivers import LaneDriver, RandomDriver
from .errors import ConfigError, shown

__all__ = ["Policy", "Progress"]

Policy = str | Callable[[Batch], np.ndarray]
"""A name, or a function that is given the batch and returns actions for every agent, also where the step is a restart."""

Progress = Callable[[int, int], None]
"""Called after every step with the steps done and the most there can be."""

POLICIES = ("lane", "random")
"""Drives by rule; draws actions."""


def check_policy(policy: Policy, offered: tuple[str, ...] = POLICIES) -> None:
    """A `ConfigError` unless the policy is a function or a name on offer."""
    if not callable(policy) and (not isinstance(policy, str) or policy not in offered):
        names = ", ".join(map(repr, offered))
        raise ConfigError(f"policy is {shown(policy)}; it must be a function or one of {names}")


def actor(batch: Batch, policy: Policy, seed: int) -> Callable[[], np.ndarray]:
    """What gives the actions of all agents at each call."""
    if callable(policy):
        return lambda: policy(batch)
    return (RandomDriver(batch, seed) if policy == "random" else LaneDriver(batch)).act_all


def play_trials(batch: Batch, act: Callable[[], np.ndarray], trials: int,
                progress: Progress | None = None) -> Iterator[bool]:
    """Steps until so many trials of world 0 have ended; yields after each step whether it ended one."""
    calls = max(roles.trial_steps for roles in batch.roles) + 1  # a restart is a step of its own
    done = ended = 0
    while ended < trials:
        batch.step(act())
        closes = bool(batch.trial_ended[0])
        ended += closes
        done = ended * calls - 1 if closes else done + 1  # a trial that ended early counts whole
        if progress:
            progress(done, trials * calls - 1)
        yield closes
