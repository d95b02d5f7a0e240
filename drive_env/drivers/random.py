"""The random policy: actions sampled uniformly from the action space."""

from __future__ import annotations

import math

import numpy as np

from ..action_space import action_dimensions
from ..batch import Batch
from ..config import DriveConfig
from ..errors import ConfigError, checked_int, value_text
from ..per_world import SEED_LIMIT
from ..world_range import WorldRange


class RandomDriver:
    """Samples actions uniformly from the action space; the same seed gives the same actions.

    Args:
        batch: any batch; `env.batch` for an env.
        seed: from 0 to 2**64 - 1.

    Raises:
        ConfigError: the seed is out of its range, or `batch` is not a `Batch`.
    """

    def __init__(self, batch: Batch, seed: int = 0) -> None:
        if not isinstance(batch, WorldRange):
            raise ConfigError(f"batch is {value_text(batch)}; it must be a Batch, such as the `batch` of an env")
        self.batch = batch
        self._rng = np.random.default_rng(checked_int("seed", seed, 0, SEED_LIMIT))

    def act(self, world: int = 0) -> np.ndarray:
        """Actions for the agents of one world, in the form of `batch.actions`.

        Args:
            world: a world of the batch; the draw does not depend on it.

        Raises:
            ConfigError: there is no such world.
        """
        checked_int("world", world, 0, self.batch.num_worlds - 1)
        return self._draw(self.batch.agents_per_world)

    def act_all(self) -> np.ndarray:
        """Actions for every agent of the batch, in the form of `batch.actions`."""
        return self._draw(self.batch.num_agents)

    def _draw(self, count: int) -> np.ndarray:
        return sampled_actions(self.batch.config, self._rng, count)


def sampled_actions(config: DriveConfig, rng: np.random.Generator, count: int) -> np.ndarray:
    """(count,) or (count, dimensions) actions sampled uniformly from the action space, in the form of `batch.actions`.
    """
    dimensions = action_dimensions(config)
    if config.action_type == "continuous":
        return rng.uniform(-1.0, 1.0, (count, len(dimensions))).astype(np.float32)
    bins = [dimension.bins for dimension in dimensions]
    if config.action_type == "multi_discrete":
        return rng.integers(0, bins, (count, len(bins)))
    return rng.integers(0, math.prod(bins), count)
