"""How does a ramp join a road, or leave it? At a small angle, by a straight between a wide bend and a narrow one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from .curves import Curve, Path, Pose, Taper, line, turn
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


def add_entrance(roads: LaneMap, middle: Path, ends_m: Sequence[float], parts: Sequence[Sequence[int]], ramp: Path,
                 ramp_limit_mps: float) -> tuple[int, int]:
    """Adds a ramp, its lane beside a highway in four parts, and the taper that leads into the last lane.

    Args:
        middle, ends_m, parts: of `add_highway`. The ramp's lane is beside the second part, the taper beside the third.
        ramp: ends where the second part begins, beside the last lane.

    Returns:
        The ramp and its lane.
    """
    lane_width_m, limit_mps = roads.lanes[parts[0][0]][1:3]
    beside_m = -(len(parts[0]) + 0.5) * lane_width_m
    own = roads.lane(ramp, lane_width_m, ramp_limit_mps)
    parallel = roads.lane(Curve(middle.part(*ends_m[1:3]), beside_m), lane_width_m, limit_mps, after=[own])
    tapers = (Taper(0.0, ends_m[3] - ends_m[2], lane_width_m),)
    taper = roads.lane(Curve(middle.part(*ends_m[2:4]), beside_m, tapers), lane_width_m, limit_mps, after=[parallel])
    roads.link(taper, parts[3][-1])
    roads.neighbours.append((parts[1][-1], parallel))
    roads.line(Curve(middle.part(*ends_m[1:3]), beside_m + lane_width_m / 2))
    return own, parallel


def add_exit(roads: LaneMap, middle: Path, ends_m: Sequence[float], parts: Sequence[Sequence[int]], ramp: Path,
             ramp_limit_mps: float) -> int:
    """Adds a taper out of the last lane of a highway in four parts, the lane that it becomes, and a ramp.

    Args:
        middle, ends_m, parts: of `add_highway`. The taper is beside the second part, the lane beside the third.
        ramp: begins where the third part ends, beside the last lane.

    Returns:
        The ramp.
    """
    lane_width_m, limit_mps = roads.lanes[parts[0][0]][1:3]
    beside_m = -(len(parts[0]) + 0.5) * lane_width_m
    tapers = (Taper(0.0, ends_m[2] - ends_m[1], -lane_width_m),)
    opening = roads.lane(Curve(middle.part(*ends_m[1:3]), beside_m + lane_width_m, tapers), lane_width_m, limit_mps,
                         after=[parts[0][-1]])
    parallel = roads.lane(Curve(middle.part(*ends_m[2:4]), beside_m), lane_width_m, limit_mps, after=[opening])
    own = roads.lane(ramp, lane_width_m, ramp_limit_mps, after=[parallel])
    roads.neighbours.append((parts[2][-1], parallel))
    roads.line(Curve(middle.part(*ends_m[2:4]), beside_m + lane_width_m / 2))
    return own
