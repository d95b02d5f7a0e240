"""What was each step worth? Advantages over the agents that acted, by the channels' rules."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

CREDIT = ("through", "per_trial", "stop")
"""Does credit flow from one trial of an episode into the one before it?

`through`: it does. `per_trial`: it ends with the trial; a trial cut while driving is bootstrapped. `stop`: it ends
with the trial, and no inner trial is bootstrapped. With all three the clock of the last trial is: it cuts the episode.
"""


class Steps(NamedTuple):
    """A segment as the returns see it. (agents, steps) each, or (agents,) where it speaks of the segment's end.

    Entries of steps with `invalid` may be anything, save the value right after a `truncation`.
    """

    rewards: Tensor
    values: Tensor
    invalid: Tensor
    terminations: Tensor
    truncations: Tensor
    truncation: Tensor
    trial_ended: Tensor
    first: Tensor
    """Of the observation before the step, as `values` is."""
    last_value: Tensor
    """Value of the observation after the last step, peeked by the rollout's own step."""
    last_waits: Tensor
    last_first: Tensor
    restart_value: Tensor
    """Value of what a waiting agent will see at its next restart, peeked in its frozen context."""


def advantages(steps: Steps, gamma: float, lam: float, credit: str = "through",
               gamma_trial: float | None = None) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimates (Schulman et al. 2016) from each kept step to the agent's next kept step.

    Steps that are not kept (`invalid`: the agent waited, or its world restarted) cost no discount.

    Args:
        steps: the segment.
        gamma: discount of a step.
        lam: lambda of the estimator.
        credit: one of `CREDIT`.
        gamma_trial: discount of a step behind which the trial ends, where it goes on into the next; None: `gamma`.

    Returns:
        Advantages and returns, (agents, steps); 0 where a step is not kept.

    Raises:
        ValueError: credit is unknown, or an episode opens behind a kept step with neither flag between.
    """
    if credit not in CREDIT:
        raise ValueError(f"credit is {credit!r}; it must be one of {', '.join(map(repr, CREDIT))}")
    check_openings(steps)
    kept = ~steps.invalid
    end = kept.shape[1]
    follower = _next_kept(kept)
    values = torch.cat([steps.values, steps.last_value[:, None]], 1)
    waits_after = torch.cat([steps.invalid[:, 1:], steps.last_waits[:, None]], 1)
    waits_at_end = (follower == end) & steps.last_waits[:, None]
    event = kept & waits_after & ~steps.truncation

    # The lines of the table from the last to the first: a later one here wins.
    target = values.gather(1, follower)
    discount = torch.full_like(target, gamma)
    if gamma_trial is not None:
        crosses = _found(steps.trial_ended, follower) | waits_at_end
        discount = torch.where(crosses, gamma_trial, discount)
    target = torch.where(waits_at_end, steps.restart_value[:, None], target)
    cut = follower == end
    resolved = torch.zeros_like(cut)
    bootstrapped = steps.truncations
    if credit == "stop":
        resolved = event | steps.truncation
    elif credit == "per_trial":
        resolved = event
        bootstrapped = bootstrapped | steps.truncation
    for bootstraps, line in ((False, resolved & ~steps.truncations), (True, bootstrapped)):
        target = torch.where(line, values[:, 1:] if bootstraps else 0.0, target)
        discount = torch.where(line, gamma, discount)
        cut = cut | line
    ended = _found(steps.terminations, follower)
    target = torch.where(ended, 0.0, target)
    cut = cut | ended

    # A step that is not kept hands on what comes after it; `where`, since 0 * NaN is NaN.
    delta = torch.where(kept, steps.rewards + discount * target - steps.values, 0.0)
    decay = torch.where(kept, torch.where(cut, 0.0, discount * lam), 1.0)
    estimate, estimates = torch.zeros_like(delta[:, 0]), []
    for step in reversed(range(end)):
        estimate = torch.addcmul(delta[:, step], decay[:, step], estimate)
        estimates.append(estimate)
    advantage = torch.where(kept, torch.stack(estimates[::-1], 1), 0.0)
    return advantage, torch.where(kept, advantage + steps.values, 0.0)


def check_openings(steps: Steps) -> None:
    """A ValueError where an episode opens though the agent was neither terminated nor truncated: a reset cut it."""
    first = torch.cat([steps.first, steps.last_first[:, None]], 1)
    index = torch.arange(first.shape[1] - 1, device=first.device)
    last_kept = torch.where(steps.invalid, -1, index).cummax(1).values  # at or before each step
    before = torch.cat([torch.full_like(last_kept[:, :1], -1), last_kept], 1)
    flags = _running(steps.terminations | steps.truncations)
    wrong = first & (before >= 0) & (flags == flags.gather(1, before.clamp(min=0)))
    if wrong.any():
        agent, step = wrong.nonzero()[0].tolist()
        raise ValueError(f"agent {agent} opens an episode at step {step} of the segment, though its step "
                         f"{int(before[agent, step])} was neither terminated nor truncated; reset once, before the "
                         "first step, and leave restarts to the batch")


def _next_kept(kept: Tensor) -> Tensor:
    """Index of the next kept step behind each, the number of steps where there is none."""
    end = kept.shape[1]
    index = torch.where(kept, torch.arange(end, device=kept.device), end)
    behind = torch.cat([index[:, 1:], torch.full_like(index[:, :1], end)], 1)
    return behind.flip(1).cummin(1).values.flip(1)


def _running(flag: Tensor) -> Tensor:
    """How often a flag was set before each step, and before the end: (agents, steps + 1)."""
    return torch.nn.functional.pad(flag.long().cumsum(1), (1, 0))


def _found(flag: Tensor, follower: Tensor) -> Tensor:
    """Is the flag set at a step from each one to that before its follower?"""
    count = _running(flag)
    return count.gather(1, follower) > count[:, :-1]
