"""Tasks in which a later trial is worth something: what a trial reveals decides whether the next one succeeds.

A task has scenes, a config, and the success rates of optimal policies in each trial. Their differences show what an
agent has learned within an episode, and from what: from its memory, or from the trial features of the observation,
which carry the outcome of the previous trial.
"""

from typing import TYPE_CHECKING

from ..scenes.generate import TASK_OF
from .optimum import KNOWLEDGE, optimal_scores
from .recognition import optimal_scores_on
from .task import Task, gates, hidden_closure, hidden_exit, occluded_crossing

__all__ = ["KNOWLEDGE", "Task", "gates", "hidden_closure", "hidden_exit", "occluded_crossing", "optimal_scores",
           "optimal_scores_on"]


if not TYPE_CHECKING:  # a type checker would take this for a module that has every name
    def __getattr__(name: str) -> None:
        hint = f"the task on scenes of the generator {name!r} is {TASK_OF[name]}" if name in TASK_OF else (
            f"its tasks are {', '.join(TASK_OF.values())}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {hint}", name=name)
