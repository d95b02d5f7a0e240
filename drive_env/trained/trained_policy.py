"""What does a trained policy consist of? Its function for a batch, its checkpoint, and the worlds of its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..batch import Batch
from ..config import DriveConfig

Act = Callable[[Batch], np.ndarray]
"""Takes a batch and returns the actions of all its agents."""

MakeAct = Callable[[Batch], Act]
"""Takes a batch that has not been reset yet and returns a policy for it."""


@dataclass(frozen=True)
class TrainedPolicy:
    """A policy from a training, with the checkpoint and the worlds of that training.

    Attributes:
        for_batch: makes the policy of a batch; raises a `ConfigError` if the policy does not fit its config.
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
