"""How does a trained network drive a batch? With a memory of its own, once it is checked to fit the batch's config."""

from __future__ import annotations

import numpy as np

from ..batch import Batch
from ..errors import ConfigError
from .network import Memory, modes
from .policy_file import (
    PolicyFile, cause_of_other_observations, difference_of_actions, meaning_of_actions, meaning_of_observations)
from .trained_policy import Act, TrainedPolicy


def policy_of(file: PolicyFile, name: str) -> TrainedPolicy:
    """The policy of a file.

    Args:
        file: its content.
        name: of the policy, for errors.
    """
    def for_batch(batch: Batch) -> Act:
        check_fits(file, name, batch)
        shape, memory, actions = file.shape, Memory(file.shape, batch.num_agents), np.zeros_like(batch.actions)

        def act(batch: Batch) -> np.ndarray:
            memory.reset(batch.first)
            agents = np.flatnonzero(~batch.waits)
            if len(agents):
                observations = batch.observations[agents].astype(np.float32)
                found = modes(shape, file.weights, observations, memory, agents)
                found = found.clip(*shape.bounds) if not shape.sizes else found
                actions[agents] = found.reshape(len(agents), *actions.shape[1:])
            return actions

        return act

    return TrainedPolicy(for_batch, file.checkpoint, file.config, file.scenes)


def check_fits(file: PolicyFile, name: str, batch: Batch) -> None:
    """Raises a `ConfigError` unless observations and actions of a batch mean the same as in the training."""
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
