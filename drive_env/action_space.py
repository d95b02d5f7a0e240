"""The numbers that form an action, from the core's table for a config."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .binding import ffi, lib
from .config import DriveConfig
from .native_config import native_config

__all__ = ["ActionDimension", "action_dimensions", "bins_of_index", "index_of_bins"]


@dataclass(frozen=True, eq=False)
class ActionDimension:
    """One number of an action, such as acceleration.

    Attributes:
        name, unit: of the quantity that it controls.
        low, high: the values that a continuous action of -1 and of 1 stands for; 0 stands for 0.
        shares: (bins,) float32, the continuous action of each bin of the discrete action types; empty without them.
    """

    name: str
    unit: str
    low: float
    high: float
    shares: np.ndarray

    def __post_init__(self):
        self.shares.flags.writeable = False

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.shares)

    def share_of(self, value: np.ndarray) -> np.ndarray:
        """The continuous actions that stand for values of the quantity, limited to [-1, 1]."""
        return np.clip(value / np.where(value < 0.0, -self.low, self.high), -1.0, 1.0)


@lru_cache(maxsize=64)
def action_dimensions(config: DriveConfig) -> tuple[ActionDimension, ...]:
    """The numbers of an action, in order."""
    space = lib.drv_action_space_of(native_config(config))
    return tuple(ActionDimension(ffi.string(dimension.name).decode(), ffi.string(dimension.unit).decode(),
                                 dimension.low, dimension.high,
                                 np.array(list(dimension.share)[: dimension.bins], np.float32))
                 for dimension in list(space.dimension)[: space.dimensions])


def bins_of_index(index, dimensions: tuple[ActionDimension, ...]) -> np.ndarray:
    """(..., dimensions) int64 bins of discrete actions (...,)."""
    return np.stack(np.unravel_index(index, [dimension.bins for dimension in dimensions]), axis=-1)


def index_of_bins(bins, dimensions: tuple[ActionDimension, ...]) -> np.ndarray:
    """(...,) int64 discrete actions of bins (..., dimensions)."""
    return np.ravel_multi_index(np.moveaxis(np.asarray(bins), -1, 0), [dimension.bins for dimension in dimensions])
