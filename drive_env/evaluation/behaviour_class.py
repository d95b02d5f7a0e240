"""Which manoeuvres does a policy master? One group per class of behaviour, and the share of trials that show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..behaviours import BEHAVIOURS, TrialLog, behaviour_scenes
from ..behaviours.classify import subjects
from ..behaviours.sampling import SCENES, WORLDS, checked_class
from ..errors import checked_int
from ..scenes import Scene
from .base import Evaluator
from .episodes import Probe
from .probes import LoggedTrials
from .sources import Source, list_once


class BehaviourClass(Evaluator):
    """Drives the subject of each scene of some classes of behaviour, among vehicles that replay their logs.

    `scenes` has names of classes, by default all; `scene_count` is the number of scenes per class, at most 50. The
    metric `shows_behaviour` is 1 if the subject shows the class of the scene in the policy's trial, too, else 0.
    """

    type = "behaviour_class"
    defaults = {"scenes": tuple(BEHAVIOURS), "scene_count": SCENES}

    def env_overrides(self) -> dict[str, Any]:
        """The policy drives the subject; lights and signs are enforced."""
        return {"control": "sdc", "agents_per_world": None, "traffic_controls": True}

    def sources(self) -> list[Source]:
        """The scenes of each class.

        Raises:
            ConfigError: there is no such class, or it has fewer scenes than `scene_count`.
            SceneError: a class is listed twice.
        """
        count = checked_int("scene_count", self.config.scene_count, 1, SCENES)
        names, listed = [checked_class(name) for name in self.config.scenes], set[str]()
        for name in names:
            list_once(name, name, listed)
        return [Source(f"{name}/{index}", _reader(name, index, count), name)
                for name in names for index in range(count)]

    def probe(self, batch: Batch) -> Probe:
        """Logs the trials while `batch` is played, to find the behaviour in them."""
        return ShownBehaviours(batch)


@lru_cache(maxsize=2)
def _block(name: str, first: int, count: int) -> tuple[Scene, ...]:
    """The scenes of a class that are generated together, in one batch, of the `count` that are played."""
    return tuple(behaviour_scenes(name, range(first, min(first + WORLDS, count))))


def _reader(name: str, index: int, count: int) -> Callable[[], Sequence[Scene]]:
    return lambda: [_block(name, index - index % WORLDS, count)[index % WORLDS]]


class ShownBehaviours(LoggedTrials):
    """Whether the subject of each world shows the class of its scene, in each trial."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(batch)
        self._shown = np.full((batch.num_agents, batch.config.max_trials), np.nan, np.float32)

    def ended(self, world: int, log: TrialLog) -> None:
        """Finds the behaviours in the `log` of a trial of `world`."""
        batch, agent, played = self._batch, world * self._batch.agents_per_world, log.scene()
        kind = batch.scenes[batch.scene_index[world]].name.partition("/")[0]
        self._shown[agent, batch.trial_index[agent]] = played.sdc in subjects(played, kind)

    def columns(self) -> dict[str, npt.NDArray[np.float32]]:
        """`shows_behaviour`, 1 or 0; NaN in trials that did not end."""
        return {"shows_behaviour": self._shown}
