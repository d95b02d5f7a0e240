"""How does a ramp join a road, or leave it? At a small angle, by a straight between a wide bend and a narrow one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from .curves import Path, Pose, line, turn
from .lane_map import LaneMap
from .parameters import Parameter

GORE_RAD = math.radians(10.0)
"""Between the ramp and the road, where they meet."""

GORE_M, GORE_RADIUS_M = 40.0, 120.0
"""Length of the straight, and radius of the bend beside the road: 2 m/s2 at 15 m/s."""

BEND_RAD = math.radians(50.0)
"""By how much more a ramp turns away from the road."""

RAMP_RADIUS_M = Parameter(50.0, "m", "radius of the ramp's bend", 40.0, 60.0)
RAMP_LIMIT_MPS = Parameter(15.0, "m/s", "speed limit of the ramp", 10.0, 20.0)


def leaving(start: Pose, radius_m: float, straight_m: float, side: int = -1) -> Path:
    """A ramp that leaves a road, to the right, or for side 1 to the left.

    Args:
        start: on the road's last lane, along the road.
        straight_m: of the ramp's end.
    """
    return Path(start, (turn(GORE_RADIUS_M, side * GORE_RAD), line(GORE_M), turn(radius_m, side * BEND_RAD),
                        line(straight_m)))


def joining(end: Pose, radius_m: float, straight_m: float) -> Path:
    """A ramp that joins a road from the right, at this pose."""
    return leaving(end.reversed(), radius_m, straight_m, side=1).reversed()


def add_highway(roads: LaneMap, middle: Path, ends_m: Sequence[float], lanes: int, lane_width_m: float,
                speed_limit_mps: float) -> list[list[int]]:
    """Adds lanes to the right of a path, divided where ramps begin and end; returns the lanes of each part.

    Args:
        ends_m: stations of the path, from the start of the first part to the end of the last one.
    """
    parts: list[list[int]] = []
    for from_m, to_m in pairwise(ends_m):
        parts.append(roads.along(middle.part(from_m, to_m), lanes, lane_width_m, speed_limit_mps,
                                 after=parts[-1] if parts else ()))
    return parts
