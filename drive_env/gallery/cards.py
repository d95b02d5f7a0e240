"""Which facts does the gallery show about each scene? One card per generator, from its module, envs and task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from .. import tasks
from ..api.scene_envs import SCENE_ENVS, SceneEnv
from ..batch import Batch
from ..config import DriveConfig
from ..drivers import LaneDriver, ParkingDriver
from ..errors import ConfigError, value_text
from ..scenes import generate_scene
from ..scenes.generate import DIFFICULTY, GENERATORS, POLICY_OF, TASK_OF

DRIVER_OF = {"lane": LaneDriver.__name__, "parking": ParkingDriver.__name__}
"""The reference driver by the name of its policy."""

OF_OTHERS = ("others", "idm_lane_changes")
"""Fields of an env about rule-based vehicles, which cards omit: there, the reference driver drives all cars."""


class Card(NamedTuple):
    """A generator, and the config with which its scenes are played.

    Attributes:
        name: of the generator.
        envs: the ids of its envs, each for one agent.
        task: name of its function in `drive_env.tasks`; "" without a task.
        difficulty: what is hard, a sentence.
        policy: name of the reference driver, as for `drive_env.render.play`.
        config: of a world in which all cars are agents, with the horizon, actions and rewards of the first env, or of
            the task.
        agents: number of agents. Vehicles with logs or scripts, and parked ones, are not counted.
        steps: time limit of a trial, steps.
        dt_s: duration of a step.
        optimum: for a task, the optimal score with memory in each trial of an episode.
    """

    name: str
    envs: tuple[str, ...]
    task: str
    difficulty: str
    policy: str
    config: DriveConfig
    agents: int
    steps: int
    dt_s: float
    optimum: tuple[float, ...] = ()

    @property
    def horizon_s(self) -> float:
        """Time limit of a trial."""
        return self.steps * self.dt_s

    @property
    def trials(self) -> int:
        """Number of trials of an episode."""
        return self.config.max_trials

    @property
    def laps(self) -> bool:
        """Whether goals follow one another until the time limit."""
        return self.config.on_goal == "next"

    @property
    def driver(self) -> str:
        """The class of the reference driver."""
        return DRIVER_OF[self.policy]


@cache
def cards() -> Mapping[str, Card]:
    """The cards by the name of the generator; those without a task come first."""
    names = sorted(GENERATORS, key=lambda name: name in TASK_OF)
    return {name: _card(name) for name in names}


def named_cards(names: list[str] | None) -> list[Card]:
    """The cards of these generators, in this order, each once; None or an empty list: all.

    Raises:
        ConfigError: there is no such generator.
    """
    found = cards()
    for name in names or ():
        if name not in found:
            raise ConfigError(f"scenes has {value_text(name)}; it must be one of {', '.join(map(repr, found))}")
    return [found[name] for name in dict.fromkeys(names or found)]


def _card(name: str) -> Card:
    if name in TASK_OF:
        task = getattr(tasks, TASK_OF[name])()
        envs, optimum, config = [], task.optimal_scores["memory"], task.config
    else:
        envs, optimum = [row for row in SCENE_ENVS if row.scenes == name], ()
        config = DriveConfig.from_dict(_without_others(envs[0]))
    scene = generate_scene(name)
    with Batch(scene, config=config) as batch:
        roles = batch.roles[0]
    return Card(name, tuple(row.id for row in envs), TASK_OF.get(name, ""), DIFFICULTY[name], POLICY_OF[name], config,
                roles.num_agents, roles.trial_steps, roles.dt_s, tuple(optimum))


def _without_others(row: SceneEnv) -> dict[str, Any]:
    return {key: value for key, value in row.defaults.items() if key not in OF_OTHERS}
