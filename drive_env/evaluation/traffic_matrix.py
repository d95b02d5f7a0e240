"""How well does a policy drive among traffic that it has not trained with? One row of the matrix ego x traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..policies import Act, MakeAct, policy_maker
from ..roles import assign_roles
from ..scenes import Scene
from .base import Evaluator

ALONE: dict[str, Any] = {"control": "sdc", "agents_per_world": None}
"""The ego is the only agent; the config's `others` determines what all others do."""

CONDITIONS: dict[str, dict[str, Any]] = {
    "replay": {**ALONE, "others": "replay"}, "static": {**ALONE, "others": "static"},
    "idm": {**ALONE, "others": "idm"}, "lane": {"control": "vehicles", "others": "replay"},
    "self": {"control": "vehicles", "others": "replay"}}
"""Changes of the worlds' config by the kind of traffic."""


class TrafficMatrix(Evaluator):
    """Drives one vehicle of each scene, the ego, among each kind of traffic in turn; each kind is a group.

    Traffic replays its logs, stands still, follows rules (`others="idm"`), or consists of agents that are driven by the
    lane driver or by the policy itself. The ego is the sdc, or the first vehicle that can drive; only it is measured.
    The results of several policies are the rows of the matrix ego x traffic.
    """

    type = "traffic_matrix"

    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """Changes of the worlds' config by the kind of traffic."""
        return CONDITIONS

    def variants(self, scene: Scene) -> Sequence[Scene]:
        """The scene with the ego as its sdc.

        Raises:
            SceneError: no vehicle can drive.
        """
        roles = assign_roles(scene, self.env.replace(control="vehicles"))
        drivable = roles.objects[: roles.num_agents]
        return [scene if scene.sdc in drivable else replace(scene, sdc=int(drivable[0]))]

    def act_maker(self, make_act: MakeAct, condition: str) -> MakeAct:
        """`make_act`; under the `condition` "lane", with a lane driver for all agents except the egos.

        The actions are in the form of `batch.actions`.

        Raises:
            ConfigError: from the lane driver, if the vehicle model does not fit.
        """
        if condition != "lane":
            return make_act
        make_traffic = policy_maker("lane", self.config.seed)

        def make(batch: Batch) -> Act:
            act, traffic = make_act(batch), make_traffic(batch)

            def together(batch: Batch) -> np.ndarray:
                actions = np.array(traffic(batch))
                is_ego = self.measured(batch)
                actions[is_ego] = np.asarray(act(batch))[is_ego]
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
