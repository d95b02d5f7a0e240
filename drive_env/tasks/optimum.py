"""How well can a policy do in each trial, by what it remembers of earlier ones? By enumeration of all policies."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import SupportsIndex

from ..errors import ConfigError, checked_int, value_text

KNOWLEDGE = ("memory", "trial_features", "none")
"""What an optimal policy can use of earlier trials: all of them; the index of the trial and whether the previous one
succeeded, which the trial features show; or nothing."""

TRIALS_LIMIT = 5

SUCCESS = -1
"""What a successful trial shows."""

Trials = tuple[tuple[int, ...], ...]
"""What a trial shows, by the choice of the policy and the hidden value: SUCCESS, or the kind of a failure, from 0. All
hidden values are equally probable."""


def optimal_scores(choices: SupportsIndex, trials: SupportsIndex, knowledge: str, *,
                   revealed: bool = False) -> tuple[float, ...]:
    """The success rate in each trial of a policy that maximises their sum, by enumeration of all policies.

    One of `choices` equally probable choices succeeds, the same in all trials; each trial makes one choice.

    Args:
        choices: their number, 2 to 5.
        trials: their number, 1 to 5.
        knowledge: an entry of `KNOWLEDGE`.
        revealed: whether the end of each trial shows which choice succeeds. Only a policy with memory can use that.

    Raises:
        ConfigError: an argument is out of its range.
    """
    choices = checked_int("choices", choices, 2, 5)
    trials = checked_int("trials", trials, 1, TRIALS_LIMIT)
    if knowledge not in KNOWLEDGE:
        raise ConfigError(f"knowledge is {value_text(knowledge)}; it must be one of "
                          + ", ".join(repr(known) for known in KNOWLEDGE))
    if not isinstance(revealed, bool):
        raise ConfigError(f"revealed is {value_text(revealed)}; it must be True or False")
    return optimum(one_of(choices, revealed), trials, knowledge)


def one_of(choices: int, revealed: bool) -> Trials:
    """One choice succeeds; a failure shows which one, or nothing."""
    return tuple(tuple(SUCCESS if choice == hidden else hidden if revealed else 0 for hidden in range(choices))
                 for choice in range(choices))


def in_a_row(places: int) -> Trials:
    """A choice has one bit for each place, all of which have to be right; the trial ends at the first wrong one."""
    def shown(choice, hidden):
        wrong = [place for place in range(places) if (choice ^ hidden) >> place & 1]
        return min(wrong, default=SUCCESS)
    return tuple(tuple(shown(choice, hidden) for hidden in range(2**places)) for choice in range(2**places))


def all_but(closed: int, choices: int) -> Trials:
    """All choices succeed but `closed` of them; a failure shows nothing else."""
    return tuple(tuple(0 if choice in hidden else SUCCESS for hidden in combinations(range(choices), closed))
                 for choice in range(choices))


def optimum(shown: Trials, trials: int, knowledge: str) -> tuple[float, ...]:
    """The success rate in each trial of a policy with this knowledge that maximises their sum."""
    values = len(shown[0])
    if knowledge == "none":
        successes = (max(choice.count(SUCCESS) for choice in shown),) * trials
    elif knowledge == "memory":
        successes = _with_memory(shown, frozenset(range(values)), trials)
    else:
        successes = _with_trial_features(shown, frozenset(), trials)
    return tuple(count / values for count in successes)


@cache
def _with_memory(shown: Trials, possible: frozenset[int], trials: int) -> tuple[int, ...]:
    """For how many hidden values each trial succeeds, of the `possible` ones that fit what earlier trials showed."""
    if not trials:
        return ()
    policies = []
    for choice in shown:
        parts = [frozenset(value for value in possible if choice[value] == outcome)
                 for outcome in sorted({choice[value] for value in possible})]
        following = [_with_memory(shown, part, trials - 1) for part in parts]
        policies.append((sum(choice[value] == SUCCESS for value in possible), *map(sum, zip(*following, strict=True))))
    return _best(policies)


@cache
def _with_trial_features(shown: Trials, succeeded: frozenset[int], trials: int) -> tuple[int, ...]:
    """The same of all hidden values, where the previous trial succeeded with those in `succeeded`: a policy has one
    choice after a success and one after a failure."""
    if not trials:
        return ()
    succeeding = [frozenset(value for value, outcome in enumerate(choice) if outcome == SUCCESS) for choice in shown]
    following = {succeeded & after_success | after_failure - succeeded
                 for after_success, after_failure in product(succeeding, repeat=2)}
    return _best([(len(now), *_with_trial_features(shown, now, trials - 1)) for now in following])


def _best(policies: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The most successes in all trials; of equal sums, more in earlier trials."""
    return max(policies, key=lambda successes: (sum(successes), successes))
