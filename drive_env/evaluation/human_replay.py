"""How well does a policy drive among logged traffic? It drives one vehicle, the others replay their logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..errors import SceneError
from ..roles import assign_roles
from ..scenes import Scene
from .base import Evaluator
from .episodes import Probe


class HumanReplay(Evaluator):
    """Drives the recording vehicle (sdc) of logged scenes; in a scene without one, each eligible vehicle in turn.

    Eligible vehicles are those that are agents with `control="vehicles"`. With the option `vehicles` "each", each of
    them is driven in turn in every scene. The metric `log_divergence_m` of a trial is the mean distance from the log
    over the steps in which the vehicle drove and has a logged position. The option `scores` is True by default.
    """

    type = "human_replay"
    options = {"vehicles": "sdc", "scores": True}
    allowed = {"vehicles": ("sdc", "each")}

    def env_overrides(self) -> dict[str, Any]:
        """The policy drives one vehicle; the config's `others` determines what all others do."""
        return {"control": "sdc", "agents_per_world": None}

    def variants(self, scene: Scene) -> Sequence[Scene]:
        """One scene for each vehicle that is driven, with that vehicle as its sdc.

        Raises:
            SceneError: it has no log, or no vehicle that can drive.
        """
        if scene.objects.frame_count == 1 or scene.generated:
            raise SceneError(f"scene {scene.name} has no log; an evaluator of type {self.type!r} needs one")
        if scene.sdc >= 0 and self.chosen["vehicles"] == "sdc":
            return [scene]
        roles = assign_roles(scene, self.env.replace(control="vehicles"))
        return [replace(scene, sdc=int(vehicle)) for vehicle in roles.objects[: roles.num_agents]]

    def probe(self, batch: Batch) -> Probe:
        """Measures the distance from the log while `batch` is played."""
        return LogDivergence(batch)


class LogDivergence(Probe):
    """The mean distance of each agent from its log in each trial."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._total_m, self._steps = np.zeros((2, batch.num_agents, batch.config.max_trials))

    def after_step(self, playing: npt.NDArray[np.bool_]) -> None:
        """Adds the distances of the agents that acted."""
        batch = self._batch
        acted = ~batch.invalid_step.reshape(batch.num_worlds, -1)
        for world in np.flatnonzero(playing & acted.any(axis=1)).tolist():
            # The frame of the log at the time of the trial; none after the end of the log.
            roles, frames = batch.roles[batch.scene_index[world]], batch.roles[batch.scene_index[world]].frames
            step = batch.trial_state(world)["steps"]
            if step >= len(frames.valid):
                continue

            # The distance of each agent from the logged position of its object.
            agents = np.arange(roles.num_agents)
            objects, vehicles = roles.objects[: roles.num_agents], batch.vehicles(world)
            distance_m = np.hypot(*(vehicles[name][agents].astype(np.float64) - getattr(frames, name)[step, objects]
                                    for name in ("x_m", "y_m")))
            counts = acted[world, agents] & frames.valid[step, objects]

            # The last step of an agent counts, too: an agent that is removed keeps the position after it.
            rows = world * batch.agents_per_world + agents[counts]
            trial = batch.trial_index[rows]
            self._total_m[rows, trial] += distance_m[counts]
            self._steps[rows, trial] += 1

    def columns(self) -> dict[str, npt.NDArray[np.float32]]:
        """`log_divergence_m`, NaN in trials without a step that counts."""
        with np.errstate(invalid="ignore"):
            return {"log_divergence_m": (self._total_m / self._steps).astype(np.float32)}
