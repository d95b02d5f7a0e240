"""Acceleration and steering as actions of the config's vehicle model and action type."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..action_space import action_dimensions, index_of_bins
from ..binding import lib
from ..config import DriveConfig
from ..errors import ConfigError

WHEELBASE_SHARE = lib.DRV_WHEELBASE_PERCENT / 100
"""Wheelbase as a share of the vehicle's length, of the core's vehicle model."""

CONTROLS = ("acceleration", "steering", "curvature")
"""The dimensions of an action that `actions_of` can set."""


def check_controls(config: DriveConfig) -> None:
    """Raises a `ConfigError` if `actions_of` cannot set the actions of the config's vehicle model."""
    other = [dimension.name for dimension in action_dimensions(config) if dimension.name not in CONTROLS]
    if other:
        raise ConfigError(f"dynamics.model is {config.dynamics.model!r}, whose actions set {', '.join(other)}; they "
                          f"must be of {', '.join(CONTROLS)} for a rule-based driver or a person")


def action_of_shares(shares: Mapping[str, float], config: DriveConfig) -> np.ndarray:
    """The action of one agent with these shares of the limits, or their nearest bins, in the form of `batch.actions`.

    Args:
        shares: from -1 to 1 by the name of the quantity; 0 for all others.
    """
    dimensions = action_dimensions(config)
    wanted = [shares.get(dimension.name, 0.0) for dimension in dimensions]
    if config.action_type == "continuous":
        return np.array(wanted, np.float32)
    bins = np.array([np.abs(dimension.shares - share).argmin()
                     for dimension, share in zip(dimensions, wanted, strict=True)], np.int64)
    return bins if config.action_type == "multi_discrete" else index_of_bins(bins, dimensions)


def hand_action(pedal: float, wheel: float, config: DriveConfig) -> np.ndarray:
    """The action of one agent that a person drives, in the form of `batch.actions`.

    Args:
        pedal: from -1, full brake, to 1, full acceleration. wheel: from -1, full right, to 1, full left.

    Raises:
        ConfigError: the actions of the vehicle model set something else.
    """
    check_controls(config)
    return action_of_shares(dict(zip(CONTROLS, (pedal, wheel, wheel), strict=True)), config)


def actions_of(acceleration_mps2: np.ndarray, steering_rad: np.ndarray, length_m: np.ndarray, config: DriveConfig
               ) -> np.ndarray:
    """The actions nearest to these controls.

    Args:
        acceleration_mps2, steering_rad: (n,) each; values beyond the config's limits are clipped.
        length_m: (n,) of the vehicles.
        config: sets the vehicle model with its limits, and the action type.

    Returns:
        (n,) or (n, dimensions), in the form of `Batch.actions`.
    """
    # In a bend the midpoint between the axles moves at the sideslip angle of the kinematic bicycle.
    sideslip_rad = np.arctan(0.5 * np.tan(steering_rad))
    curvature_per_m = 2.0 * np.sin(sideslip_rad) / (WHEELBASE_SHARE * length_m)
    values = dict(zip(CONTROLS, (acceleration_mps2, steering_rad, curvature_per_m)))
    dimensions = action_dimensions(config)
    shares = [dimension.share_of(values[dimension.name]) for dimension in dimensions]
    if config.action_type == "continuous":
        return np.stack(shares, axis=1)
    bins = np.stack([np.rint((share + 1.0) * (dimension.bins // 2)).astype(np.int64)
                     for share, dimension in zip(shares, dimensions, strict=True)], axis=1)
    return bins if config.action_type == "multi_discrete" else index_of_bins(bins, dimensions)
