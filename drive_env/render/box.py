"""Which area of a scene does a picture cover? The traffic, a generated map, or the area that the caller sets."""

from __future__ import annotations

import numpy as np

from ..errors import ConfigError, value_text
from ..roles import Roles
from ..scenes.limits import COORDINATE_LIMIT_M

Box = tuple[float, float, float, float]
"""Low x, low y, high x and high y of an area, m."""

MARGIN_M = 12.0
"""Margin around all starts, logs and goals."""

ROAD_MARGIN_M = 6.0
"""Margin around all roads of a generated scene."""


def box_of(roles: Roles) -> Box:
    """The area of all starts, logs and goals of a scene, and of a generated scene also of all roads, with a margin.

    The roads of a logged scene are left out, since they can reach much farther than its traffic.
    """
    scene, frames, valid = roles.scene, roles.frames, roles.frames.valid[:, roles.objects]
    points = [
        np.stack([frames.x_m[:, roles.objects][valid], frames.y_m[:, roles.objects][valid]], axis=1),
        scene.objects.goal_m[roles.objects[: roles.num_agents]], scene.candidate_goals_m, roles.goal_lists.goal_m]
    margin_m = MARGIN_M
    if scene.generated and scene.roads.count:
        points.append(np.stack([scene.roads.x_m, scene.roads.y_m], axis=1))
        margin_m = ROAD_MARGIN_M
    found = np.concatenate(points)
    low, high = found.min(axis=0) - margin_m, found.max(axis=0) + margin_m
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def checked_box(box_m: Box) -> Box:
    """The box as a tuple of floats.

    Raises:
        ConfigError: it is not four numbers in their range, or has no area.
    """
    limit_m = COORDINATE_LIMIT_M
    try:
        low_x, low_y, high_x, high_y = map(float, box_m)
    except (TypeError, ValueError):
        low_x = low_y = high_x = high_y = np.nan
    if not (-limit_m <= low_x < high_x <= limit_m and -limit_m <= low_y < high_y <= limit_m):
        raise ConfigError(f"box_m is {value_text(box_m)}; it must be low x, low y, high x and high y in metres from "
                          f"{-limit_m:g} to {limit_m:g}, each low one below the high one")
    return low_x, low_y, high_x, high_y
