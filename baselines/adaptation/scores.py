"""How high is the score of each trial, how certain is it, and how much of it needs a memory?

Intervals are those of a bootstrap over scenes (Efron 1979): the agents and episodes of a scene are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from drive_env import ConfigError, DriveConfig, Scene
from drive_env.tasks import KNOWLEDGE, optimal_scores, optimal_scores_on

from ..config import EnvConfig

RESAMPLES = 1000
"""Resamples of a bootstrap."""

SEED = 0
"""Of the resamples: policies on equally many scenes are compared on the same ones."""

COVERAGE = 0.95
"""Of the intervals."""

LEAST_SPAN = 1e-9
"""Optima that differ by less are equal up to rounding."""


@dataclass(frozen=True)
class Estimate:
    """A value, the ends of its 95% interval, and the number of episodes of agents that it is the mean of."""

    value: float
    low: float
    high: float
    n: int


class Scores:
    """The scores of a policy by scene and trial.

    Args:
        records: of `evaluate.episode_records`, on `scenes` scenes.
    """

    def __init__(self, records: np.ndarray, scenes: int):
        self.trials = int(records["trial"].max()) + 1
        self._total, self._count = np.zeros((2, scenes, self.trials))
        np.add.at(self._total, (records["scene"], records["trial"]), records["score"])
        np.add.at(self._count, (records["scene"], records["trial"]), 1)

    def of_trial(self, trial: int) -> Estimate:
        """The mean score of a trial."""
        return self._estimate(lambda mean: mean[..., trial])

    def gain(self, trial: int) -> Estimate:
        """The score of a trial minus that of the first."""
        return self._estimate(lambda mean: mean[..., trial] - mean[..., 0])

    def memory_share(self, trial: int, optimal: Mapping[str, Sequence[float]]) -> Estimate | None:
        """The score of a trial between two optima: 0 is that of the trial features alone, 1 that with memory.

        It is below 0 for a policy that is worse than the first optimum. None where a memory can add nothing.

        Args:
            optimal: of `optimal_curves`.
        """
        without, span = optimal["trial_features"][trial], optimal["memory"][trial] - optimal["trial_features"][trial]
        return self._estimate(lambda mean: (mean[..., trial] - without) / span) if span > LEAST_SPAN else None

    def excess(self, other: Scores, trial: int) -> Estimate:
        """The score of a trial minus that of another policy on the same scenes."""
        return self._estimate(lambda mean, of_other: mean[..., trial] - of_other[..., trial], other)

    def _estimate(self, value_of: Callable[..., np.ndarray], *others: Scores) -> Estimate:
        """A value computed from the mean score of each trial, (..., trials), of this policy and of others."""
        policies = (self, *others)
        resampled = value_of(*(policy._resampled() for policy in policies))
        low, high = np.quantile(resampled, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
        value = value_of(*(policy._mean() for policy in policies))
        return Estimate(float(value), float(low), float(high), int(self._count[:, 0].sum()))

    def _mean(self) -> np.ndarray:
        """(trials,): the mean score of each trial."""
        return self._total.sum(0) / self._count.sum(0)

    def _resampled(self) -> np.ndarray:
        """(RESAMPLES, trials): the same over scenes drawn with replacement."""
        scenes = len(self._total)
        drawn = np.random.default_rng(SEED).integers(0, scenes, (RESAMPLES, scenes))
        return self._total[drawn].sum(1) / self._count[drawn].sum(1)


def optimal_curves(env: EnvConfig, scenes: list[Scene]) -> dict[str, tuple[float, ...]]:
    """The scores of optimal policies in each trial, by what they know of earlier trials (`drive_env.tasks.KNOWLEDGE`).

    Args:
        env: the sources of the scenes, and the config with which they are played.
        scenes: the scenes of these sources.

    Returns:
        The means over the scenes; empty where they are not known. They are known if all scenes are of the generators of
        tasks (`drive_env.tasks.optimal_scores_on`), or if all have candidate goals of which none is shown to be the
        goal.
    """
    of_tasks = [optimal_scores_on(source, env.scene_parameters, env.drive) for source in env.scenes]
    if all(of_tasks):  # each generator has equally many scenes
        return {knowledge: _mean([scores[knowledge] for scores in of_tasks]) for knowledge in KNOWLEDGE}
    return _of_candidates(scenes, env.drive)


def _of_candidates(scenes: list[Scene], drive: DriveConfig) -> dict[str, tuple[float, ...]]:
    """The same for scenes with candidate goals that differ in nothing but their position; a trial has time for one."""
    if not scenes or drive.observation.goal_reveal_s != 0 or drive.observation.goal_reveal_share != 0:
        return {}
    try:
        return {knowledge: _mean([optimal_scores(len(scene.candidate_goals_m), drive.max_trials, knowledge)
                                  for scene in scenes]) for knowledge in KNOWLEDGE}
    except ConfigError:  # no or too many candidates, or more trials than are enumerated
        return {}


def _mean(scores: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(float, np.mean(scores, axis=0)))
