"""What does a row see and do, as Gymnasium spaces?"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from .config import DriveConfig
from .core import lib


def observation_space(size: int) -> spaces.Box:
    """One row of observations, `size` floats in [-1, 1]."""
    return spaces.Box(-1.0, 1.0, (size,), np.float32)


def action_space(config: DriveConfig) -> spaces.Space:
    """One row's action: an index, two indices, or throttle and steering in [-1, 1]."""
    if config.action_type == "discrete":
        return spaces.Discrete(lib.DRV_ACCELERATION_BINS * lib.DRV_STEERING_BINS)
    if config.action_type == "multi_discrete":
        return spaces.MultiDiscrete([lib.DRV_ACCELERATION_BINS, lib.DRV_STEERING_BINS])
    return spaces.Box(-1.0, 1.0, (2,), np.float32)
