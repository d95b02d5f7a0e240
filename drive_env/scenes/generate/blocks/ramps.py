"""Which blocks have a ramp? One where it joins the road that leads on, and one where it leaves."""

from __future__ import annotations

import math
from itertools import accumulate

from ..curves import Path, Pose, line, turn
from ..lane_map import LaneMap
from ..parameters import Parameter
from ..ramps import GORE_RAD, add_entrance, add_exit, add_highway
from ..rng import Rng
from .block import START, Block, BlockKind, Choice, RoadKind, ends_of
from .lane_counts import TAPER_M

LIMIT_MPS, RADIUS_M, GORE_M = 12.0, 40.0, 20.0
"""Of MetaDrive's ramps: their speed limit, and the radius of their bends and the length of the straight between."""

RAMP_M = 30.0
"""Of the straight part of a ramp, beside the road: cars start or arrive there."""

BEFORE_M, AFTER_M, ROOM_M = 10.0, 20.0, 15.0
"""Of the road: before a ramp or the taper of its lane; beyond the taper of a ramp that joins; beyond the end of one
that leaves, so that the next block is clear of it."""

LENGTH_M = Choice(Parameter(30.0, "m", "length of the ramp's lane beside the road, without its taper", 20.0, 150.0),
                  (20.0, 40.0))


def away(start: Pose, side: int) -> Path:
    """A ramp that leaves a road, to the right (side -1) or left, and is parallel to it in the end."""
    angle_rad = side * GORE_RAD
    return Path(start, (turn(RADIUS_M, angle_rad), line(GORE_M), turn(RADIUS_M, -angle_rad), line(RAMP_M)))


def in_ramp(rng: Rng, lanes: int, road: RoadKind, length_m: float) -> Block:
    """A ramp becomes a lane beside the road, which tapers into its last lane."""
    beside_m = -(lanes + 0.5) * road.lane_width_m
    along_m = _along_m()
    ends_m = list(accumulate([0.0, BEFORE_M + along_m, length_m, TAPER_M, AFTER_M]))
    block, middle, parts = _road(lanes, road, ends_m)
    ramp = away(Pose(ends_m[1], beside_m, math.pi), 1).reversed()
    own, _ = add_entrance(block.roads, middle, ends_m, parts, ramp, road.limit(LIMIT_MPS))
    return block._replace(streets=[*block.streets, own])


def out_ramp(rng: Rng, lanes: int, road: RoadKind, length_m: float) -> Block:
    """A lane opens beside the road and becomes a ramp."""
    beside_m = -(lanes + 0.5) * road.lane_width_m
    ends_m = list(accumulate([0.0, BEFORE_M, TAPER_M, length_m, _along_m() + ROOM_M]))
    block, middle, parts = _road(lanes, road, ends_m)
    ramp = add_exit(block.roads, middle, ends_m, parts, away(Pose(ends_m[3], beside_m, 0.0), -1),
                    road.limit(LIMIT_MPS))
    return block._replace(streets=[*block.streets, ramp])


def _along_m():
    """Length of the road beside a ramp."""
    return away(START, 1).end.x_m


def _road(lanes, road, ends_m):
    """A straight road whose lanes towards the ramp are in four parts; also its middle, and the lanes of each part."""
    roads, middle = LaneMap(), Path(START, (line(ends_m[-1]),))
    parts = add_highway(roads, middle, ends_m, lanes, road.lane_width_m, road.speed_limit_mps)
    back = roads.along(middle.reversed(), lanes, road.lane_width_m, road.speed_limit_mps)
    roads.line(middle)
    sockets = ends_of(middle, (parts[0], back), (parts[3], back))
    return Block(roads, sockets, [lane for part in parts for lane in part] + back), middle, parts


KINDS = {"r": BlockKind("in_ramp", in_ramp, {"length_m": LENGTH_M}, 0.1),
         "R": BlockKind("out_ramp", out_ramp, {"length_m": LENGTH_M}, 0.1)}
