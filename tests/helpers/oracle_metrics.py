"""Which metrics must a batch report? Moving averages again, slow and plain, written from docs/metrics.md."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

METRICS = (
    "score", "goal", "collision", "offroad", "timeout", "trial_length",
    "reward", "reward_goal", "reward_collision", "reward_offroad",
)
"""What the trial of an agent adds to the metrics."""


class MetricValue(NamedTuple):
    value: float
    n: int


class Metrics:
    """Moving averages per agent and trial index, of whole trials of a world; a report weighs every agent alike."""

    def __init__(self, num_agents, ema_alpha):
        self.num_agents = num_agents
        self.ema_alpha = ema_alpha
        self.averages = defaultdict(dict)  # (name, agent) to trial index to average
        self.trials = 0

    def record(self, agent, trial, values):
        self.trials += 1
        for name, value in values.items():
            of_trials = self.averages[name, agent]
            past = of_trials.get(trial)
            of_trials[trial] = value if past is None else self.ema_alpha * past + (1.0 - self.ema_alpha) * value

    @staticmethod
    def _mean(values):
        return MetricValue(math.fsum(values) / len(values) if values else math.nan, len(values))

    def metric(self, name, trial=None):
        """Over all trial indices of an agent, or over one."""
        values = []
        for agent in range(self.num_agents):
            of_trials = self.averages[name, agent]
            if trial is not None:
                of_trials = {k: value for k, value in of_trials.items() if k == trial}
            if of_trials:
                values.append(math.fsum(of_trials.values()) / len(of_trials))
        return self._mean(values)

    def adaptation(self, trial):
        """Score of `trial` minus score of trial 0, over the agents that have both."""
        differences = []
        for agent in range(self.num_agents):
            of_trials = self.averages["score", agent]
            if 0 in of_trials and trial in of_trials:
                differences.append(of_trials[trial] - of_trials[0])
        return self._mean(differences)
