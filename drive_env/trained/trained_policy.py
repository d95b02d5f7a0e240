"""What does a trained policy consist of? Its function for a batch, its checkpoint, and the worlds of its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..batch import Batch
from ..config import DriveConfig
from ..errors import CallError, ConfigError, value_text

Act = Callable[[Batch], np.ndarray]
"""Takes a batch and returns the actions of all its agents."""

MakeAct = Callable[[Batch], Act]
"""Takes a batch that has not been reset yet and returns a policy for it."""


def with_reset(policy: Act) -> Act:
    """A policy whose method `reset(mask)`, if it has one, is called with the agents whose episode begins.

    Raises:
        ConfigError: it is no function, such as what a method `for_batch` has returned.
    """
    if not callable(policy):
        raise ConfigError(f"for_batch of the policy returned {value_text(policy)}; it must return a function from the "
                          "batch to the actions of all agents")
    if not callable(reset := getattr(policy, "reset", None)):
        return policy

    def act(batch: Batch) -> np.ndarray:
        if batch.first.any():
            reset(batch.first.copy())
        return policy(batch)

    return act


def bound(make_act: MakeAct) -> MakeAct:
    """`make_act` for policies that refuse every batch but their own, whose agents their memory belongs to."""
    def make(batch: Batch) -> Act:
        act = with_reset(make_act(batch))

        def own(given: Batch) -> np.ndarray:
            if given is not batch:
                raise CallError("the policy is called with another batch than the one that it was made for; each batch "
                                "needs a policy of its own, such as from for_batch(batch)")
            return act(given)

        return own

    return make


@dataclass(frozen=True)
class TrainedPolicy:
    """A policy from a training, with the checkpoint and the worlds of that training.

    Attributes:
        for_batch: makes the policy of a batch, which raises a `CallError` if it is called with another batch; raises a
            `ConfigError` if the policy does not fit the config of the batch.
        checkpoint: path, sha256, update and steps, as stored in results.
        config: of the worlds in the training.
        scenes: the scenes of the training as settings of an evaluator: scenes, scene_agents, scene_parameters.
        ablated: `for_batch` of the policy under ablations of its memory, by name.
    """

    for_batch: MakeAct = field(repr=False)
    checkpoint: Mapping[str, Any]
    config: DriveConfig = field(repr=False)
    scenes: Mapping[str, Any] = field(default_factory=dict)
    ablated: Mapping[str, MakeAct] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "for_batch", bound(self.for_batch))
        object.__setattr__(self, "ablated", {name: bound(make_act) for name, make_act in self.ablated.items()})
