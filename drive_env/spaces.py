"""The observation and action spaces of one agent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from .action_space import action_dimensions
from .config import DriveConfig


def observation_space(config: DriveConfig, size: int) -> spaces.Box:
    """The space of observation vectors of `size` entries: floats in [-1, 1], or the bytes of index observations."""
    if config.observation.type == "index":
        return spaces.Box(0, 255, (size,), np.uint8)
    return spaces.Box(-1.0, 1.0, (size,), vector_type(config))


def vector_type(config: DriveConfig) -> type[np.floating[Any]]:
    """The type of observation vectors: half floats where the config has them."""
    return np.float16 if config.observation.type == "float16" else np.float32


def image_space(config: DriveConfig) -> spaces.Box:
    """The space of images: (layers, size, size) bytes."""
    size = config.image.size
    return spaces.Box(0, 255, (len(config.image.layers), size, size), np.uint8)


def action_space(config: DriveConfig) -> spaces.Space:
    """The space of one agent's action: an index, an index for each dimension, or a number in [-1, 1] for each."""
    bins = [dimension.bins for dimension in action_dimensions(config)]
    if config.action_type == "discrete":
        return spaces.Discrete(math.prod(bins))
    if config.action_type == "multi_discrete":
        return spaces.MultiDiscrete(bins)
    return spaces.Box(-1.0, 1.0, (len(bins),), np.float32)
