"""Tasks in which a later trial is worth something: what a trial reveals decides whether the next one succeeds.

A task has scenes, a config, and the success rates of optimal policies in each trial. Their differences show what an
agent has learned within an episode, and from what: from its memory, or from the trial features of the observation,
which carry the outcome of the previous trial.
"""

from .optimum import KNOWLEDGE, optimal_scores
from .recognition import optimal_scores_on
from .task import Task, gates, hidden_closure, hidden_exit, occluded_crossing

__all__ = ["KNOWLEDGE", "Task", "gates", "hidden_closure", "hidden_exit", "occluded_crossing", "optimal_scores",
           "optimal_scores_on"]
