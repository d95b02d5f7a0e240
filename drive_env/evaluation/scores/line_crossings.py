"""Which red lights and stop signs did a vehicle disobey? By the rule of the core, from recorded light states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...binding import lib
from ...scenes.scene import CONTROL_KIND_CODES, LIGHT_STATE_CODES, TrafficControls
from .driven_scene import DrivenScene

STOPPED_MPS, STOP_ZONE_M = lib.DRV_STOP_CMPS / 100, float(lib.DRV_STOP_ZONE_M)
"""A vehicle stops at a sign if it is slower than `STOPPED_MPS` with the front bumper at most `STOP_ZONE_M` before the
line."""


class Violations(NamedTuple):
    """Numbers of steps in which a vehicle ran red lights, and passed stop signs without a stop."""

    red_lights: int
    stop_signs: int


def violations_of(driven: DrivenScene, controls: TrafficControls, light: np.ndarray) -> Violations:
    """The violations of the ego.

    Args:
        controls: of c lights and signs; their heights are not considered.
        light: (t, c) uint8, what lights showed in each step of the scene.
    """
    passes, before = _by_lines(driven, controls)
    is_light, is_sign = (controls.kind == CONTROL_KIND_CODES[name] for name in ("light", "stop"))

    # The states at the start of a step count. Crossing the line of a light that is not red excuses those that are red.
    steps = driven.ego_steps
    red = light[steps.start : steps.stop - 1] == LIGHT_STATE_CODES["red"]
    runs_red = (passes & is_light & red).any(axis=1) & ~(passes & is_light & ~red).any(axis=1)

    # A stop counts as long as the vehicle stays before the line.
    near, slow = (before & is_sign).any(axis=1), np.abs(driven.speed_mps[steps, driven.ego]) < STOPPED_MPS
    stop_signs, has_stopped = 0, False
    for step in range(len(near)):
        passes_sign = step > 0 and bool((passes[step - 1] & is_sign).any())
        stop_signs += passes_sign and not has_stopped
        has_stopped = bool(near[step] and (has_stopped or slow[step]))
    return Violations(int(runs_red.sum()), stop_signs)


def _by_lines(driven: DrivenScene, controls: TrafficControls) -> tuple[np.ndarray, np.ndarray]:
    """(t - 1, c) whether the front bumper passes a line in a step; (t, c) whether it is in the zone before the line."""
    line_m = controls.line_m.astype(np.float64)
    along = line_m[:, 2:] - line_m[:, :2]
    length_m = np.maximum(np.hypot(*along.T), 1e-9)
    along /= length_m[:, None]
    x_m, y_m, heading_rad = (np.asarray(getattr(driven, name)[driven.ego_steps, driven.ego], np.float64)
                             for name in ("x_m", "y_m", "heading_rad"))
    front_m = 0.5 * float(driven.size_m[driven.ego, 0])
    shift_x = (x_m + front_m * np.cos(heading_rad))[:, None] - line_m[:, 0]
    shift_y = (y_m + front_m * np.sin(heading_rad))[:, None] - line_m[:, 1]
    from_left_m = shift_x * along[:, 0] + shift_y * along[:, 1]
    beyond_m = shift_y * along[:, 0] - shift_x * along[:, 1]

    crosses = (beyond_m[:-1] < 0.0) & (beyond_m[1:] >= 0.0)
    share = beyond_m[:-1] / np.where(crosses, beyond_m[:-1] - beyond_m[1:], 1.0)
    at_m = from_left_m[:-1] + share * np.diff(from_left_m, axis=0)
    before = (beyond_m < 0.0) & (beyond_m >= -STOP_ZONE_M) & (from_left_m >= 0.0) & (from_left_m <= length_m)
    return crosses & (at_m >= 0.0) & (at_m <= length_m), before
