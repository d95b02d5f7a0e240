"""How close are the drives of a policy to logged ones? Many rollouts of each scene, compared with its log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..errors import DriveError, SceneError, checked_int
from ..realism import RealismScore, realism_features, score_features
from ..realism.logged_scene import CURRENT_STEP
from ..realism.weights import YEARS
from ..roles import assign_roles, resampled
from ..scenes import Scene
from .base import Evaluator
from .episodes import Probe
from .logged_worlds import RolloutCapture, check_frames, check_logged, evaluated_agents, logged_scene

ROLLOUTS = 32
"""Rollouts of a scene in the Waymo Open Sim Agents Challenge."""

SIMULATED_STEPS = 80
"""Steps of a rollout there."""

DT_S = 0.1
"""Time of a step there; the speeds of the features depend on it."""

ROLLOUT_LIMIT = 1024
"""Largest number of rollouts of a scene, all of which are worlds of one batch."""

STEP_LIMIT = 10_000


class Realism(Evaluator):
    """Drives all objects of logged scenes that are valid at the current step, `episodes` times each, and compares the
    rollouts with the log.

    The options are those of a rollout: it begins at frame `current_step` of the log, the history being the frames
    before, and has `simulated_steps`, or as many as the log has left. `control` determines which objects the policy
    drives; what the others do is `env.others`. Scored are the agents among the recording vehicle and the tracks to
    predict, or all agents of a scene that names none of them; only they have rows. Agents drive on after a goal, a
    collision or any other event. A rollout is the first trial of an episode; later ones, with which a policy may have
    been trained, are played and not compared with the log. With `published`, the features have the errors of the
    published implementation, in the coordinates of the source. The log of a scene with another time step than 0.1 s is
    interpolated.
    """

    type = "realism"
    defaults = {"episodes": ROLLOUTS}
    options = {"control": "all", "current_step": CURRENT_STEP, "simulated_steps": SIMULATED_STEPS, "published": False}
    allowed = {"control": ("all", "vehicles", "tracks_to_predict", "sdc"), "current_step": range(STEP_LIMIT + 1),
               "simulated_steps": range(1, STEP_LIMIT + 1), "published": (True, False)}

    def env_overrides(self) -> dict[str, Any]:
        """Rollouts from the current step on, which no event ends."""
        checked_int("episodes", self.config.episodes, 1, ROLLOUT_LIMIT)
        return {"control": self.chosen["control"], "agents_per_world": None, "coplayers": 0, "dt_s": DT_S,
                "start_step": self.chosen["current_step"], "trial_steps": self.chosen["simulated_steps"],
                "stopped_share_limit": None,
                **{name: "ignore" for name in ("on_goal", "on_collision", "on_offroad", "on_red_light",
                                               "on_stop_sign")}}

    @property
    def worlds_at_once(self) -> int:
        """The rollouts of one scene."""
        return self.config.episodes

    def variants(self, scene: Scene) -> Sequence[Scene]:
        """The scene with a time step of 0.1 s.

        Raises:
            SceneError: it has no log, or none that can be compared with, such as one that ends at `current_step`.
        """
        if scene.objects.frame_count == 1 or scene.generated:
            raise SceneError(f"scene {scene.name} has no log; an evaluator of type {self.type!r} needs one")
        form = resampled(scene, DT_S)
        check_frames(form, self.chosen["current_step"])  # before the roles at this frame are assigned
        try:
            roles = assign_roles(form, self.env)
        except DriveError as error:  # it names the field that the option sets
            raise type(error)(re.sub(r"\bstart_step (?=is |\d)", "eval.current_step ", str(error), count=1)) from None
        check_logged(roles, self.chosen["current_step"], self.chosen["simulated_steps"])
        return [form]

    def measured(self, batch: Batch) -> npt.NDArray[np.bool_]:
        """(R,) bool, the evaluated agents of `batch`."""
        found = np.zeros((batch.num_worlds, batch.agents_per_world), bool)
        for world, scene in enumerate(batch.scene_index.tolist()):
            found[world, evaluated_agents(batch.roles[scene])] = True
        return found.reshape(-1)

    def probe(self, batch: Batch) -> Probe:
        """Captures the rollouts of the scene that `batch` plays, and scores them."""
        return ScoredRollouts(batch, **{name: self.chosen[name] for name in (
            "current_step", "simulated_steps", "published")})


class ScoredRollouts(Probe):
    """The realism of the rollouts of one scene, one in each world of a batch.

    The first evaluated agent of the first world has the values of the scene, all others have NaN, so that a mean over
    agents is a mean over scenes.

    Args:
        batch: all of its worlds play the same scene.
        current_step, simulated_steps, published: options of `Realism`.
    """

    def __init__(self, batch: Batch, current_step: int, simulated_steps: int, published: bool) -> None:
        self._batch, self._published = batch, published
        self._steps = current_step, simulated_steps

    def after_reset(self) -> None:
        """Captures where the rollouts begin."""
        self._capture = RolloutCapture(self._batch)
        self._capture.capture()

    def after_step(self, playing: npt.NDArray[np.bool_]) -> None:
        """Captures the poses after a step of the first trial."""
        if playing.any() and (self._batch.trial_index == 0).any():
            self._capture.capture()

    def columns(self) -> dict[str, npt.NDArray[np.float32]]:
        """The scores by the names of docs/evaluation.md."""
        roles = self._capture.roles
        scene = logged_scene(roles, *self._steps, self._published)
        simulated = self._capture.poses(scene.simulated_steps, self._published)
        logged, rollouts = (realism_features(scene, poses, self._published) for poses in (None, simulated))
        values: dict[str, float] = {}
        for year in YEARS:
            values |= _named(score_features(logged, rollouts, year))
        first = int(evaluated_agents(roles)[0])
        found = {}
        for name, value in values.items():
            found[name] = np.full((self._batch.num_agents, self._batch.config.max_trials), np.nan, np.float32)
            found[name][first, 0] = value
        return found


def _named(score: RealismScore) -> dict[str, float]:
    """The values of a score by the names of metrics; those that depend on the weights have the year in their names."""
    return {f"realism_{score.year}": score.realism,
            **{f"realism_{score.year}_{bucket}": value for bucket, value in score.buckets.items()},
            **{f"likelihood_{name}": value for name, value in score.likelihoods.items()},
            **{name: getattr(score, name) for name in (
                "average_displacement_error_m", "min_average_displacement_error_m", "collision_rate", "offroad_rate",
                "traffic_light_violation_rate")}}
