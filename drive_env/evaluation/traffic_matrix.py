"""How well does a policy drive among traffic that it has not trained with? One row of the matrix ego x traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..action_array import action_array
from ..batch import Batch
from ..errors import ConfigError
from ..policies import Act, MakeAct, load_policy, policy_maker
from ..roles import assign_roles
from ..scenes import Scene
from .base import Evaluator
from .settings import EvaluatorConfig

ALONE: dict[str, Any] = {"control": "sdc", "agents_per_world": None}
"""The ego is the only agent; the config's `others` determines what all others do."""

CONDITIONS: dict[str, dict[str, Any]] = {
    "replay": {**ALONE, "others": "replay"}, "static": {**ALONE, "others": "static"},
    "idm": {**ALONE, "others": "idm"}, "lane": {"control": "vehicles", "others": "replay"},
    "self": {"control": "vehicles", "others": "replay"}}
"""Changes of the worlds' config by the kind of traffic."""

WITH_CHECKPOINT: dict[str, dict[str, Any]] = {"checkpoint": CONDITIONS["self"], **CONDITIONS}
"""The same where the option `checkpoint` is set. That group is the first: if the checkpoint does not fit the config,
nothing is played."""


class TrafficMatrix(Evaluator):
    """Drives one vehicle of each scene, the ego, among each kind of traffic in turn; each kind is a group.

    Traffic replays its logs, stands still, follows rules (`others="idm"`), or consists of agents that are driven by the
    lane driver, by the policy itself, or with the option `checkpoint` by a trained policy, whose observations and
    actions must mean the same under the config as in its training. The ego is the sdc, or the first vehicle that can
    drive; only it is measured. The results of several policies are the rows of the matrix ego x traffic.

    Args:
        name, config: as for `Evaluator`.

    Raises:
        ConfigError: as from `Evaluator`, or the option `checkpoint` is the path of no trained policy.
        MissingExtraError: it is a checkpoint, and a package of the extra `train` is not installed.
    """

    type = "traffic_matrix"
    options = {"checkpoint": None}
    allowed = {"checkpoint": str}

    def __init__(self, name: str, config: EvaluatorConfig | Mapping[str, Any] | None = None) -> None:
        super().__init__(name, config)
        path = self.chosen["checkpoint"]
        try:
            self._trained = None if path is None else load_policy(path)
        except ConfigError as error:
            raise ConfigError(f"eval.checkpoint is {path!r}, which is no trained policy: {error}") from None

    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """Changes of the worlds' config by the kind of traffic."""
        return CONDITIONS if self.chosen["checkpoint"] is None else WITH_CHECKPOINT

    def hashed(self) -> dict[str, Any]:
        """The settings in results, with hash, update and steps of the checkpoint in place of its path."""
        found = super().hashed()
        if self._trained is not None:
            identity = {name: value for name, value in self._trained.checkpoint.items() if name != "path"}
            found["options"] = found["options"] | {"checkpoint": identity}
        return found

    def variants(self, scene: Scene) -> Sequence[Scene]:
        """The scene with the ego as its sdc.

        Raises:
            SceneError: no vehicle can drive.
        """
        roles = assign_roles(scene, self.env.replace(control="vehicles"))
        drivable = roles.objects[: roles.num_agents]
        return [scene if scene.sdc in drivable else replace(scene, sdc=int(drivable[0]))]

    def act_maker(self, make_act: MakeAct, condition: str) -> MakeAct:
        """`make_act`; under the `condition` "lane" or "checkpoint", with that traffic for all agents except the egos.

        The actions are in the form of `batch.actions`.

        Raises:
            ConfigError: from the lane driver, if the vehicle model does not fit, or from the checkpoint. The actions
                raise an ActionError if those of the policy are wrong.
        """
        if condition not in ("lane", "checkpoint"):
            return make_act
        make_traffic = policy_maker("lane" if condition == "lane" or self._trained is None else self._trained)

        def make(batch: Batch) -> Act:
            act, traffic = make_act(batch), make_traffic(batch)

            def together(batch: Batch) -> np.ndarray:
                actions = np.array(traffic(batch))
                is_ego = self.measured(batch)
                actions[is_ego] = action_array(act(batch), batch.bound_actions)[is_ego]
                return actions

            return together

        return make

    def measured(self, batch: Batch) -> npt.NDArray[np.bool_]:
        """(R,) bool, the egos of `batch`."""
        found = np.zeros((batch.num_worlds, batch.agents_per_world), bool)
        for world, scene in enumerate(batch.scene_index.tolist()):
            roles = batch.roles[scene]
            found[world, : roles.num_agents] = roles.objects[: roles.num_agents] == roles.scene.sdc
        return found.reshape(-1)
