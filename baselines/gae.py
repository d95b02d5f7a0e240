"""What is the advantage of each step? Generalised advantage estimation by the rules of the channels.

It differs from textbook GAE in three ways: `invalid` steps, in which an agent waits or is disturbed, are skipped
without a discount, time limits are bootstrapped from the true last observation, and `credit` selects whether credit
flows from one trial into the one before.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

import torch
from torch import Tensor

from .config import Credit, TimeLimits

CREDIT: tuple[str, ...] = get_args(Credit)
"""Does credit flow from one trial of an episode into the one before it?

`through`: yes. `per_trial`: it ends with the trial, and a trial that its time limit cuts is bootstrapped. `stop`: it
ends with the trial, and an inner trial is never bootstrapped. The time limit of the last trial cuts the episode and is
bootstrapped with all three, unless time limits are terminal.
"""

TIME_LIMITS: tuple[str, ...] = get_args(TimeLimits)
"""What is the value after a time limit that cuts credit?

`bootstrap`: that of the last observation, as if the agent drove on, since the limit is one of the simulation, not of
the task (Pardo et al. 2018). `terminal`: 0, since the limit is part of the task, and an agent that is late has failed.
Where many trials fail by their time limit, nothing anchors a bootstrapped value: that of the last trial's end can then
exceed the reward of the goal, and the policy unlearns to reach it.
"""


class Steps(NamedTuple):
    """The inputs of a segment: (agents, steps) each, or (agents,) where they describe its end.

    Entries of `invalid` steps may hold anything, except for the value right after a `truncation`.
    """

    rewards: Tensor
    values: Tensor
    waits: Tensor
    """Of the observation before the step, as `values` is. A disturbed agent drives on, so it does not wait."""
    invalid: Tensor
    terminations: Tensor
    truncations: Tensor
    truncation: Tensor
    trial_ended: Tensor
    first: Tensor
    """As `waits`."""
    last_value: Tensor
    """Value of the observation after the last step."""
    last_waits: Tensor
    last_first: Tensor
    restart_value: Tensor
    """Value of the observation with which a waiting agent will restart, computed in its unchanged context."""


def advantages(steps: Steps, gamma: float, gae_lambda: float, credit: str = "through",
               gamma_trial: float | None = None, time_limits: str = "bootstrap") -> tuple[Tensor, Tensor]:
    """Generalised advantage estimates (Schulman et al. 2016), from each valid step to the agent's next valid step.

    Args:
        steps: the segment.
        gamma: discount of a step.
        gae_lambda: lambda of the estimator.
        credit: one of `CREDIT`.
        gamma_trial: discount across the end of a trial that continues into the next one; None: `gamma`.
        time_limits: one of `TIME_LIMITS`.

    Returns:
        Advantages and returns, (agents, steps); 0 at invalid steps.

    Raises:
        ValueError: `credit` or `time_limits` is unknown, or an episode opens after a valid step without a flag between
            them.
    """
    for name, value, allowed in (("credit", credit, CREDIT), ("time_limits", time_limits, TIME_LIMITS)):
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")
    check_openings(steps)

    # A terminal time limit ends an episode as an event does, and a trial without a bootstrap.
    if time_limits == "terminal":
        steps = steps._replace(terminations=steps.terminations | steps.truncations,
                               truncations=torch.zeros_like(steps.truncations))
        credit = "stop" if credit == "per_trial" else credit

    # Of each step: the agent's next valid step.
    valid = ~steps.invalid
    end = valid.shape[1]
    next_valid = _next_valid(valid)
    values = torch.cat([steps.values, steps.last_value[:, None]], 1)

    # Whether its trial ends before that, by an event or a time limit, and when: later than in the step itself if the
    # agent is disturbed meanwhile.
    waits_after = torch.cat([steps.waits[:, 1:], steps.last_waits[:, None]], 1)
    end_of_trial = _first_from(~steps.waits & (waits_after | steps.truncation))
    ends = end_of_trial < next_valid
    end_of_trial = end_of_trial.clamp(max=end - 1)
    truncation, truncations = (ends & flag.gather(1, end_of_trial) for flag in (steps.truncation, steps.truncations))
    event = ends & ~truncation
    last_value = values[:, 1:].gather(1, end_of_trial)
    waits_at_end = (next_valid == end) & steps.last_waits[:, None]

    # Bootstrap value, discount and cuts of the chain. Cases are in order of precedence: a later one overrides.
    target = values.gather(1, next_valid)
    discount = torch.full_like(target, gamma)
    if gamma_trial is not None:
        crosses = _set_between(steps.trial_ended, next_valid) | waits_at_end
        discount = torch.where(crosses, gamma_trial, discount)
    target = torch.where(waits_at_end, steps.restart_value[:, None], target)
    cut = next_valid == end
    resolved = torch.zeros_like(cut)
    bootstrapped = truncations
    if credit == "stop":
        resolved = event | truncation
    elif credit == "per_trial":
        resolved = event
        bootstrapped = bootstrapped | truncation
    for bootstraps, case in ((False, resolved & ~truncations), (True, bootstrapped)):
        target = torch.where(case, last_value if bootstraps else 0.0, target)
        discount = torch.where(case, gamma, discount)
        cut = cut | case
    terminated = _set_between(steps.terminations, next_valid)
    target = torch.where(terminated, 0.0, target)
    cut = cut | terminated

    # The recursion, backwards. An invalid step passes on the estimate after it; `where`, since 0 * NaN is NaN.
    delta = torch.where(valid, steps.rewards + discount * target - steps.values, 0.0)
    decay = torch.where(valid, torch.where(cut, 0.0, discount * gae_lambda), 1.0)
    estimate, estimates = torch.zeros_like(delta[:, 0]), []
    for step in reversed(range(end)):
        estimate = torch.addcmul(delta[:, step], decay[:, step], estimate)
        estimates.append(estimate)
    advantage = torch.where(valid, torch.stack(estimates[::-1], 1), 0.0)
    return advantage, torch.where(valid, advantage + steps.values, 0.0)


def check_openings(steps: Steps) -> None:
    """Raises a ValueError if an episode opens though the agent was neither terminated nor truncated: a reset cut it."""
    first = torch.cat([steps.first, steps.last_first[:, None]], 1)
    index = torch.arange(first.shape[1] - 1, device=first.device)
    last_valid = torch.where(steps.invalid, -1, index).cummax(1).values  # at or before each step
    before = torch.cat([torch.full_like(last_valid[:, :1], -1), last_valid], 1)
    flags = _count_before(steps.terminations | steps.truncations)
    wrong = first & (before >= 0) & (flags == flags.gather(1, before.clamp(min=0)))
    if wrong.any():
        agent, step = wrong.nonzero()[0].tolist()
        raise ValueError(f"agent {agent} opens an episode at step {step} of the segment, though its step "
                         f"{int(before[agent, step])} was neither terminated nor truncated; reset once, before the "
                         "first step, and leave restarts to the batch")


def _next_valid(valid: Tensor) -> Tensor:
    """Index of the next valid step after each one; the number of steps where there is none."""
    first = _first_from(valid)
    return torch.cat([first[:, 1:], torch.full_like(first[:, :1], valid.shape[1])], 1)


def _first_from(flag: Tensor) -> Tensor:
    """Index of the first step with the flag at or after each one; the number of steps where there is none."""
    end = flag.shape[1]
    index = torch.where(flag, torch.arange(end, device=flag.device), end)
    return index.flip(1).cummin(1).values.flip(1)


def _count_before(flag: Tensor) -> Tensor:
    """(agents, steps + 1): how often the flag is set before each step, and before the end."""
    return torch.nn.functional.pad(flag.long().cumsum(1), (1, 0))


def _set_between(flag: Tensor, next_valid: Tensor) -> Tensor:
    """Whether the flag is set at any step from each one up to, not including, the next valid one."""
    count = _count_before(flag)
    return count.gather(1, next_valid) > count[:, :-1]
