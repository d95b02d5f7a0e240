"""What do rule-based drivers have in common? They return actions for one world, or for the whole batch."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..batch import Batch
from ..errors import checked_int
from ..sub_batch import check_is_whole
from .controls import check_controls


class RuleBasedDriver(ABC):
    """A driver of all agents of a batch, by accelerations and wheel angles or curvatures.

    Args:
        batch: any batch; `env.batch` for an env.

    Raises:
        ConfigError: `batch` is not a whole `Batch`, or the actions of its vehicle model set other numbers than an
            acceleration and a wheel angle or curvature.
    """

    def __init__(self, batch: Batch) -> None:
        check_is_whole(batch)
        check_controls(batch.config)
        self.batch = batch

    def act(self, world: int = 0) -> np.ndarray:
        """Actions for the agents of one world, in the form of `batch.actions`; those of agents that wait are arbitrary.

        Args:
            world: a world of the batch.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed.
        """
        return self._actions(checked_int("world", world, 0, self.batch.num_worlds - 1), 1)

    def act_all(self) -> np.ndarray:
        """Actions for every agent of the batch, in the form of `batch.actions`.

        Raises:
            CallError: the batch is closed.
        """
        return self._actions(0, self.batch.num_worlds)

    @abstractmethod
    def _actions(self, first: int, count: int) -> np.ndarray:
        """Actions for the agents of successive worlds."""
