"""Is a drive comfortable? Smoothed accelerations, jerks, yaw rates and yaw accelerations, within bounds."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ...errors import ConfigError
from ...names import named_arguments
from ...realism.logged_scene import checked_array
from .driven_scene import check_step_time
from .savitzky_golay import savitzky_golay

ACCELERATION_WINDOW, JERK_WINDOW, YAW_WINDOW = 8, 15, 5
"""Samples in each window, as in nuPlan."""

DECIMALS = 8
"""Decimals to which a signal is rounded before it is compared with a bound, as in nuPlan."""

COMFORT_BOUNDS = MappingProxyType({
    "longitudinal_mps2": (-4.05, 2.40), "lateral_mps2": (-4.89, 4.89), "yaw_rate_radps": (-0.95, 0.95),
    "yaw_acceleration_radps2": (-1.93, 1.93), "longitudinal_jerk_mps3": (-4.13, 4.13), "jerk_mps3": (-8.37, 8.37)})
"""The bounds of nuPlan for each signal of `ComfortSignals`; a value on a bound is not comfortable."""

VMAX_BOUNDS = MappingProxyType({
    "acceleration": (-4.05, 2.40), "jerk": (-8.3, 8.3), "yaw_rate": (-0.95, 0.95), "yaw_acceleration": (-2.2, 2.2)})
"""The bounds of V-Max; a value on a bound is comfortable."""


class ComfortSignals(NamedTuple):
    """Signals of a drive, (t,) each, smoothed as in nuPlan. `jerk_mps3` is the rate of the absolute acceleration."""

    longitudinal_mps2: np.ndarray
    lateral_mps2: np.ndarray
    yaw_rate_radps: np.ndarray
    yaw_acceleration_radps2: np.ndarray
    longitudinal_jerk_mps3: np.ndarray
    jerk_mps3: np.ndarray


@named_arguments
def comfort_signals(speed_mps: np.ndarray, heading_rad: np.ndarray, dt_s: float) -> ComfortSignals:
    """The signals of a drive.

    The accelerations before smoothing are central differences: of the speed, and of the heading times the speed.

    Args:
        speed_mps: (t,) float, of two steps or more, along the heading.
        heading_rad: (t,) float; it may jump by whole turns.
        dt_s: time between two steps.

    Raises:
        ConfigError: an array has another dtype or shape than allowed, there are fewer than 2 steps, or `dt_s` is out of
            its range.
    """
    steps = len(checked_array("speed_mps", speed_mps, "f", (None,)))
    checked_array("heading_rad", heading_rad, "f", (steps,))
    if steps < 2:
        raise ConfigError(f"speed_mps has {steps} steps; it must have 2 or more")
    check_step_time(dt_s)
    heading_rad = np.unwrap(heading_rad)
    ahead_mps2 = np.gradient(speed_mps, dt_s)
    left_mps2 = speed_mps * np.gradient(heading_rad, dt_s)
    smooth = [savitzky_golay(values, ACCELERATION_WINDOW)
              for values in (ahead_mps2, left_mps2, np.hypot(ahead_mps2, left_mps2))]
    jerks = [savitzky_golay(values, JERK_WINDOW, dt_s, 1) for values in (smooth[0], smooth[2])]
    turns = [savitzky_golay(heading_rad, YAW_WINDOW, dt_s, order) for order in (1, 2)]
    return ComfortSignals(*(np.round(one, DECIMALS) for one in (*smooth[:2], *turns, *jerks)))


def comfortable_steps(signals: ComfortSignals) -> np.ndarray:
    """(t,) bool, whether all signals are within the bounds of nuPlan."""
    within = [(low < getattr(signals, name)) & (getattr(signals, name) < high)
              for name, (low, high) in COMFORT_BOUNDS.items()]
    return np.all(within, axis=0)


def is_comfortable_by_vmax(speed_mps: np.ndarray, heading_rad: np.ndarray, dt_s: float) -> bool:
    """Whether a drive is comfortable by V-Max.

    V-Max tests windows of 10 steps without the two steps at each end of a window, so that every step counts but two at
    each end of the drive. Its lateral acceleration is the rate of the velocity across the heading, which is 0 for
    vehicles without sideslip, so that its bound always holds.
    """
    heading_rad = np.unwrap(heading_rad)
    signals = {"acceleration": savitzky_golay(speed_mps, YAW_WINDOW, dt_s, 1),
               "jerk": savitzky_golay(speed_mps, YAW_WINDOW, dt_s, 2, degree=3),
               "yaw_rate": savitzky_golay(heading_rad, YAW_WINDOW, dt_s, 1),
               "yaw_acceleration": savitzky_golay(heading_rad, YAW_WINDOW, dt_s, 2, degree=3)}
    inner = slice(YAW_WINDOW // 2, -(YAW_WINDOW // 2)) if len(speed_mps) >= YAW_WINDOW else slice(None)
    for name, (low, high) in VMAX_BOUNDS.items():
        values = np.round(signals[name][inner], DECIMALS)
        if not ((low <= values) & (values <= high)).all():
            return False
    return True
