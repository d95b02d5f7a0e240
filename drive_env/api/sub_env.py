"""Single envs of the stable-baselines3 adapter, for `get_attr`, `set_attr` and `env_method`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from ..arrays import CHANNELS
from ..batch import Batch

PER_AGENT = frozenset(CHANNELS)
"""Arrays of a batch with one entry per agent."""


class SubEnv:
    """One env of a `DriveVecEnv`, the object of `get_attr`, `set_attr` and `env_method`.

    It also has the agent's entry of every array of `Batch`, by the array's name: `trial_index`, `invalid_step`, ...

    Args:
        owner: the adapter.
        index: of the env.

    Attributes:
        batch: the adapter's `Batch`.
        index: index of the agent in the batch.
    """

    def __init__(self, owner: Any, index: int) -> None:
        self.batch: Batch = owner.batch
        self.index: int = index
        self._owner = owner

    @property
    def world(self) -> int:
        """The index of its world."""
        return self.index // self.batch.agents_per_world

    @property
    def render_mode(self) -> str | None:
        """The adapter's render mode."""
        return self._owner._render_mode

    @property
    def metadata(self) -> dict[str, Any]:
        """The adapter's metadata."""
        return self._owner.metadata

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The observation space of one agent."""
        return self._owner.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The action space of one agent."""
        return self.batch.single_action_space

    def vehicles(self) -> dict[str, npt.NDArray[Any]]:
        """`Batch.vehicles` of its world: (n,) arrays by name."""
        return self.batch.vehicles(self.world)

    def trial_state(self) -> dict[str, Any]:
        """`Batch.trial_state` of its world."""
        return self.batch.trial_state(self.world)

    def step_events(self) -> dict[str, npt.NDArray[Any]]:
        """`Batch.step_events` of its world: (n,) arrays by name."""
        return self.batch.step_events(self.world)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(flags,) bool, its entry of `Batch.action_mask`, as sb3-contrib's MaskablePPO reads it."""
        return self.batch.action_mask[self.index].copy()

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A picture of its world, (h, w, 3) uint8."""
        return self._owner._screens[self.world].picture()

    def __getattr__(self, name: str) -> Any:
        if name not in PER_AGENT:
            raise AttributeError(f"an env of DriveVecEnv has no attribute {name!r}")
        value = getattr(self.batch, name)[self.index]
        return value.item() if value.ndim == 0 else value.copy()
