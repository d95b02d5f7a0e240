"""Acceleration and steering as actions of the config's action type."""

from __future__ import annotations

import numpy as np

from ..action_space import action_dimensions, index_of_bins
from ..config import DriveConfig


def actions_of(acceleration_mps2: np.ndarray, steering_rad: np.ndarray, config: DriveConfig) -> np.ndarray:
    """The actions nearest to these controls.

    Args:
        acceleration_mps2, steering_rad: (n,) each; values beyond the config's limits are clipped.
        config: sets the limits and the action type.

    Returns:
        (n,) or (n, 2), in the form of `Batch.actions`.
    """
    throttle = np.clip(acceleration_mps2 / config.dynamics.max_acceleration_mps2, -1.0, 1.0)
    steering = np.clip(steering_rad / config.dynamics.max_steering_rad, -1.0, 1.0)
    if config.action_type == "continuous":
        return np.stack([throttle, steering], axis=1)
    dimensions = action_dimensions(config)
    bins = np.stack([np.rint((share + 1.0) * (dimension.bins // 2)).astype(np.int64)
                     for share, dimension in zip((throttle, steering), dimensions, strict=True)], axis=1)
    return bins if config.action_type == "multi_discrete" else index_of_bins(bins, dimensions)
