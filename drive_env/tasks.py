"""Tasks in which a later trial is worth something: what a trial reveals decides whether the next one succeeds.

A task has scenes, a config, and the success rates of optimal policies in each trial. Their differences show what an
agent has learned within an episode, and from what: from its memory, or from the trial features of the observation,
which carry the outcome of the previous trial.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import SupportsIndex

from .config import DriveConfig, ObservationConfig, RewardConfig
from .errors import ConfigError, checked_int, plain, value_text
from .fields import number
from .names import named_arguments
from .scenes import Scene, resolve_scenes

__all__ = ["KNOWLEDGE", "Task", "hidden_exit", "optimal_scores"]

KNOWLEDGE = ("memory", "trial_features", "none")
"""What an optimal policy knows of earlier trials: all of them; the index of the trial and the outcome of the previous
one, as the trial features show them; or nothing."""

HIDDEN_EXIT_SEEDS = range(64)
TRIALS_LIMIT = 5
REVEAL_LIMIT_S = 0.9
"""A goal that is revealed later than this before the end of a trial is out of reach in it from every other exit."""


@dataclass(frozen=True)
class Task:
    """Scenes, a config, and what can be achieved.

    Attributes:
        name: of the task.
        scenes: the scenes.
        config: the config to play them with.
        optimal_scores: by an entry of `KNOWLEDGE`, the success rate of an optimal policy in each trial, from 0.
    """

    name: str
    scenes: tuple[Scene, ...]
    config: DriveConfig
    optimal_scores: dict[str, tuple[float, ...]]


@named_arguments
def hidden_exit(exits: SupportsIndex = 3, trials: SupportsIndex = 3, seeds: Iterable[int] = HIDDEN_EXIT_SEEDS,
                reveal_s: float = 0.0) -> Task:
    """One of several exits is the goal, the same in all trials of an episode; an agent learns which by trying.

    The observation shows all exits as candidate goals and, with `reveal_s` 0, never which of them is the goal. Only the
    goal is rewarded. A trial is too short for two exits.

    Args:
        exits: number of exits, 2 to 5.
        trials: in an episode, 1 to 5.
        seeds: of the scenes, see the generator `exits`; others for training than for evaluation.
        reveal_s: the goal is observed in this time before the end of a trial, too late to drive there, 0 to 0.9 s. An
            agent that remembers it needs no further guess.

    Raises:
        ConfigError: `trials` or `reveal_s` is out of its range.
        SceneError: `exits` is out of its range, or `seeds` are no whole numbers.
    """
    trials = checked_int("trials", trials, 1, TRIALS_LIMIT)
    in_range, reveal_s = number(0.0, REVEAL_LIMIT_S), plain(reveal_s)
    if not in_range.fits(reveal_s):
        raise ConfigError(f"reveal_s is {value_text(reveal_s)}; it must be {in_range.allowed}")
    scenes = resolve_scenes("exits", seeds=seeds, parameters={"exits": exits})
    count = len(scenes[0].candidate_goals_m) if scenes else int(exits)
    config = DriveConfig(
        max_trials=trials, dt_s=0.2, trial_steps=30, dynamics={"max_speed_mps": 6.5}, goal_radius_m=2.5,
        reward=RewardConfig(goal=1.0, collision=0.0, offroad=0.0),
        observation=ObservationConfig(partners=0, roads=32, candidates=count, goal_reveal_s=reveal_s))
    return Task("hidden_exit", scenes, config,
                {knowledge: optimal_scores(count, trials, knowledge, revealed=reveal_s > 0) for knowledge in KNOWLEDGE})


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

    if knowledge == "none":
        successes = (1,) * trials
    elif knowledge == "memory" and revealed:
        successes = (1,) + (choices,) * (trials - 1)
    elif knowledge == "memory":
        successes = _with_memory(choices, trials)
    else:
        successes = _with_trial_features(choices, frozenset(), trials)
    return tuple(count / choices for count in successes)


@cache
def _with_memory(possible: int, trials: int) -> tuple[int, ...]:
    """For how many hidden values each trial succeeds, of the `possible` ones that are consistent with what was seen."""
    if not trials:
        return ()
    if not possible:
        return (0,) * trials
    tried = zip((1,) * trials, (0, *_with_memory(possible - 1, trials - 1)), strict=True)
    return _best([tuple(map(sum, tried)), (0, *_with_memory(possible, trials - 1))])


@cache
def _with_trial_features(choices: int, succeeded: frozenset[int], trials: int) -> tuple[int, ...]:
    """The same of all hidden values, where the previous trial succeeded with those in `succeeded`: a policy has one
    choice after a success and one after a failure."""
    if not trials:
        return ()
    failed = frozenset(range(choices)) - succeeded
    following = {succeeded & {after_success} | failed & {after_failure}
                 for after_success, after_failure in product(range(choices), repeat=2)}
    return _best([(len(now), *_with_trial_features(choices, now, trials - 1)) for now in following])


def _best(policies: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The most successes in all trials; of equal sums, more in earlier trials."""
    return max(policies, key=lambda successes: (sum(successes), successes))
