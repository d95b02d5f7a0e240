"""What does an agent see and do, as Gymnasium spaces?"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from .binding import lib
from .config import DriveConfig


def observation_space(config: DriveConfig, size: int) -> spaces.Box:
    """Observations of `size` entries: floats in [-1, 1], or the bytes of index observations."""
    if config.observation_type == "index":
        return spaces.Box(0, 255, (size,), np.uint8)
    return spaces.Box(-1.0, 1.0, (size,), np.dtype(config.observation_type))


def action_space(config: DriveConfig) -> spaces.Space:
    """One agent's action: an index, two indices, or throttle and steering in [-1, 1]."""
    if config.action_type == "discrete":
        return spaces.Discrete(lib.DRV_ACCELERATION_BINS * lib.DRV_STEERING_BINS)
    if config.action_type == "multi_discrete":
        return spaces.MultiDiscrete([lib.DRV_ACCELERATION_BINS, lib.DRV_STEERING_BINS])
    return spaces.Box(-1.0, 1.0, (2,), np.float32)
