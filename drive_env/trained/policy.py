"""How does a trained network drive a batch? With a memory of its own, once it is checked to fit the batch."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..batch import Batch
from ..errors import ConfigError
from .network import Memory, modes
from .policy_file import (
    PolicyFile, cause_of_other_observations, difference_of_actions, meaning_of_actions, meaning_of_observations)
from .trained_policy import Act, TrainedPolicy


def policy_of(file: PolicyFile, name: str) -> TrainedPolicy:
    """The policy of a file; if it has a memory, also under the ablation `wiped`, which empties it before each trial.

    Args:
        file: its content.
        name: of the policy, for errors.
    """
    def for_batch(batch: Batch, wipes: bool = False) -> Act:
        check_fits(file, name, batch)
        shape, memory, actions = file.shape, Memory(file.shape, batch.num_agents), np.zeros_like(batch.actions)
        trial_before = batch.trial_index.copy()

        def act(batch: Batch) -> np.ndarray:
            memory.reset(batch.first)
            if wipes:
                memory.reset(batch.trial_index != trial_before)
                trial_before[:] = batch.trial_index
            agents = np.flatnonzero(~batch.waits)
            if len(agents):
                observations = batch.observations[agents].astype(np.float32)
                found = modes(shape, file.weights, observations, memory, agents)
                found = found.clip(*shape.bounds) if not shape.sizes else found
                actions[agents] = found.reshape(len(agents), *actions.shape[1:])
            return actions

        return act

    ablated = {"wiped": partial(for_batch, wipes=True)} if file.shape.heads else {}
    return TrainedPolicy(for_batch, file.checkpoint, file.config, file.scenes, ablated)


def check_fits(file: PolicyFile, name: str, batch: Batch) -> None:
    """Raises a `ConfigError` unless observations and actions of a batch mean the same as in the training, and its
    scenes have the candidate goals that it needs."""
    _check_goals(file, name, batch)
    if batch.config.observation.type not in ("float32", "float16"):
        raise ConfigError(f"observation.type is {batch.config.observation.type!r}; for the policy {name} it must be "
                          "'float32' or 'float16'")
    then, now = ({one[0]: list(one[1:]) for one in layout}
                 for layout in (file.layout, meaning_of_observations(batch.config)))
    for feature in [*then, *now]:
        if then.get(feature) != now.get(feature):
            raise ConfigError(f"the policy {name} was trained on other observations than those of this batch, which "
                              f"differ in {feature!r}{cause_of_other_observations(file.config, batch.config)}; the "
                              "config of its training is in its attribute `config`")
    if difference := difference_of_actions(file.actions, meaning_of_actions(batch.config)):
        raise ConfigError(f"the policy {name} was trained with {difference}")


def _check_goals(file: PolicyFile, name: str, batch: Batch) -> None:
    """Refuses a scene without candidate goals for a policy that observed candidates and never its goal: no feature of
    its observations would depend on where the goals are."""
    observed = file.config.observation
    if not observed.candidates or observed.goal_reveal_s != 0 or observed.goal_reveal_share != 0:
        return
    without = next((roles.scene.name for roles in batch.roles if not len(roles.scene.candidate_goals_m)), None)
    if without is not None:
        known = ", ".join(map(repr, file.scenes.get("scenes", ())))
        raise ConfigError(f"scene {without} has no candidate goals; the policy {name} does not observe its goal and "
                          f"tries the candidates, as in the scenes of its training{known and f', {known}'}")
