"""What do later trials gain, and how much of it needs a memory? Scores by trial, with the memory and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..batch import Batch
from ..errors import ConfigError
from ..policies import Act, Policy, TrainedPolicy
from . import episodes
from .metrics import FULL_GROUP
from .multi_scenario import MultiScenario

REDRAWN = "redrawn"
"""The ablation by which a later trial starts with the memory of another episode of the scene: it needs several."""


class Adaptation(MultiScenario):
    """Drives all agents of a list of scenes in episodes of several trials: with the policy as it is (group "full"), and
    in the same worlds under each ablation of its memory, if it is a trained policy with one.

    The metric `score_over_<ablation>` is the score in the last trial minus that under the ablation: what the policy
    gains from what it remembers of earlier trials. The ablation "redrawn" is played where `episodes` is 2 or more.
    """

    type = "adaptation"

    def env_overrides(self) -> dict[str, Any]:
        """Sets no field; checks the number of trials.

        Raises:
            ConfigError: an episode has one trial.
        """
        if self.config.env.max_trials == 1:
            raise ConfigError("env.max_trials is 1; an evaluator of type 'adaptation' needs 2 or more trials")
        return {}

    @property
    def worlds_at_once(self) -> int:
        """All episodes of as many scenes as keep a machine busy, since those of a scene may exchange memories."""
        count = self.config.episodes
        return count * max(episodes.WORLDS_AT_ONCE // count, 1)

    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """The policy as it is."""
        return {FULL_GROUP: {}}

    def conditions_of(self, policy: Policy) -> Mapping[str, Mapping[str, Any]]:
        """The `policy` as it is, and under each of its ablations."""
        if not isinstance(policy, TrainedPolicy):
            return self.conditions()
        return {FULL_GROUP: {}, **{name: {} for name in policy.ablated
                                   if name != REDRAWN or self.config.episodes > 1}}

    def policy_under(self, policy: Policy, condition: str) -> Policy:
        """The `policy` as it is, or under the ablation that the `condition` names.

        Its actions are in the form of `batch.actions`.
        """
        if condition == FULL_GROUP or not isinstance(policy, TrainedPolicy):
            return policy
        return replace(policy, for_batch=policy.ablated[condition])

    def open_episode(self, policy: Policy, world: int, group: str = "") -> tuple[Batch, Act]:
        """As of every evaluator, but not in the group "redrawn".

        Args:
            policy, world, group: as for `Evaluator.open_episode`.

        Returns:
            The batch, and a function that returns actions in the form of `batch.actions`.

        Raises:
            ConfigError: as there, or the episode has the memory of another one.
            SceneError: as there.
        """
        if group == REDRAWN:
            raise ConfigError(f"group is {REDRAWN!r}; its episodes need the memory of others, so it must be another "
                              "group")
        return super().open_episode(policy, world, group)
