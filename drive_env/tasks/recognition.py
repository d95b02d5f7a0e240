"""Which optimal scores hold for the scenes of a generator and a config? Those of a task, if the config is as strict."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ..config import ConfigSource, DriveConfig, RewardConfig, checked_config
from ..errors import ArgumentError, ConfigError, value_text
from ..names import named_arguments
from .task import Task, gates, hidden_closure, hidden_exit, occluded_crossing

TASKS: dict[str, tuple[Callable[..., Task], str]] = {
    "exits": (hidden_exit, "exits"), "gates": (gates, "gates"), "occluded": (occluded_crossing, "vans"),
    "closures": (hidden_closure, "closed")}
"""By generator: its task, and the one parameter of the generator that is also a parameter of the task."""

DECISIVE = ("dt_s", "trial_steps", "control", "others", "dynamics", "goal_radius_m", "on_goal", "on_collision",
            "on_offroad", "reward_ranges")
"""Fields of a config that decide what can be achieved in a trial. `control` and `others` decide which scripts exist."""

DECISIVE_OBSERVATIONS = ("steps_share", "goal_reveal_s", "goal_reveal_share", "reveal_hidden")
"""Fields of its `observation` that decide what an agent observes of earlier trials."""

OUTCOME_TERMS = ("goal", "collision", "offroad")
"""Reward terms that reveal no more than the outcome of a trial, which is a trial feature already."""


@named_arguments
def optimal_scores_on(generator: str, parameters: Mapping[str, Any],
                      config: ConfigSource) -> dict[str, tuple[float, ...]]:
    """The optimal scores of a generator's task, if they also hold for these parameters and this config.

    The config may differ from that of the task in the number of trials, in the weights of goal, collision and off-road,
    in the slots of its observations, and in other fields that neither ease a trial nor show more of the one before.

    Args:
        generator: a name of `generate_scene`.
        parameters: of the generator; those that are missing have their defaults.
        config: with which the scenes are played.

    Returns:
        As `Task.optimal_scores`; empty where they are not known.

    Raises:
        ArgumentError: `parameters` is no mapping.
        ConfigError: `config` is no config.
        SceneError: a parameter is out of its range.
    """
    config = checked_config(config)
    if not isinstance(parameters, Mapping):
        raise ArgumentError(f"parameters is {value_text(parameters)}; it must be a dict of values by name")
    make, parameter = TASKS.get(generator, (None, "")) if isinstance(generator, str) else (None, "")
    if make is None or not set(parameters) <= {parameter}:
        return {}
    revealed = {"reveal_s": config.observation.goal_reveal_s} if make is hidden_exit else {}
    try:
        task = make(**parameters, **revealed, trials=config.max_trials, seeds=[0])
    except ConfigError:  # more trials than are enumerated, or a goal that is revealed early
        return {}
    return task.optimal_scores if _is_as_strict(config, task.config) else {}


def _is_as_strict(config: DriveConfig, of_task: DriveConfig) -> bool:
    """Whether a config makes trials as hard as that of the task, and shows no more of earlier trials."""
    terms = [term.name for term in dataclasses.fields(RewardConfig) if term.name not in OUTCOME_TERMS]
    compared = ((config, of_task, DECISIVE), (config.observation, of_task.observation, DECISIVE_OBSERVATIONS),
                (config.reward, of_task.reward, terms))
    return all(getattr(own, name) == getattr(other, name) for own, other, names in compared for name in names)
