"""Which blocks are a road without junctions? A straight one, a bend, a toll, and a street between parking bays."""

from __future__ import annotations

import math

from ..bottleneck import TOLL_LIMIT_MPS
from ..curves import Path, Piece, Pose, line, turn
from ..lane_map import LaneMap
from ..parameters import Parameter
from ..rng import Rng
from .block import START, Block, BlockKind, Choice, RoadKind, add_street, ends_of

PARKING_LIMIT_MPS = 5.0

BAY_WIDTH_M, BAY_DEPTH_M = 2.5, 5.0

BAYS_BACK_M = 8.0
"""From both ends of the block to the first bay and the last one."""

UNDER_M = 0.5
"""By how much the area of bays reaches into that of the street."""


def plain(lanes: int, road: RoadKind, *pieces: Piece) -> Block:
    """A road along pieces."""
    roads, path = LaneMap(), Path(START, pieces)
    own = add_street(roads, path, lanes, road)
    return Block(roads, ends_of(path, own, own), [*own[0], *own[1]])


def straight(rng: Rng, lanes: int, road: RoadKind, length_m: float) -> Block:
    """A straight road."""
    return plain(lanes, road, line(length_m))


def curve(rng: Rng, lanes: int, road: RoadKind, radius_m: float, angle_deg: float, side: str, length_m: float
          ) -> Block:
    """A bend, and a straight road after it."""
    angle_rad = math.radians(angle_deg)
    return plain(lanes, road, turn(radius_m, angle_rad if side == "left" else -angle_rad), line(length_m))


def toll(rng: Rng, lanes: int, road: RoadKind, length_m: float) -> Block:
    """A stop line across every lane in its middle."""
    roads, path = LaneMap(), Path(START, (line(length_m),))
    halves = path.part(0.0, length_m / 2), path.part(length_m / 2, length_m)
    first = add_street(roads, halves[0], lanes, road, TOLL_LIMIT_MPS)
    last = add_street(roads, halves[1], lanes, road, TOLL_LIMIT_MPS, ahead_after=first[0], back_before=first[1])
    for lane in (*first[0], *last[1]):
        roads.control("stop", (lane,))
    return Block(roads, ends_of(path, first, last), [lane for part in (first, last) for way in part for lane in way])


def parking(rng: Rng, lanes: int, road: RoadKind, bays: int) -> Block:
    """Bays at right angles to the street, on both sides."""
    roads, path = LaneMap(), Path(START, (line(2 * BAYS_BACK_M + bays * BAY_WIDTH_M),))
    own = add_street(roads, path, lanes, road, PARKING_LIMIT_MPS)
    near_m = lanes * road.lane_width_m
    for side in (path, path.reversed()):
        first = side.start.moved(BAYS_BACK_M)
        corners = [(0.0, -near_m - BAY_DEPTH_M), (bays * BAY_WIDTH_M, -near_m - BAY_DEPTH_M),
                   (bays * BAY_WIDTH_M, -near_m + UNDER_M), (0.0, -near_m + UNDER_M)]
        roads.pave([first.moved(*corner)[:2] for corner in corners])
        for bay in range(1, bays):
            start: Pose = first.moved(bay * BAY_WIDTH_M, -near_m, -math.pi / 2)
            roads.line(Path(start, (line(BAY_DEPTH_M),)))
    return Block(roads, ends_of(path, own, own), [*own[0], *own[1]])


KINDS = {
    "S": BlockKind("straight", straight, {
        "length_m": Choice(Parameter(60.0, "m", "length", 20.0, 400.0), (40.0, 80.0))}, 0.1),
    "C": BlockKind("curve", curve, {
        "radius_m": Choice(Parameter(40.0, "m", "radius of the middle of the road in the bend", 25.0, 200.0),
                           (25.0, 60.0)),
        "angle_deg": Choice(Parameter(90.0, "deg", "by which the road turns", 10.0, 180.0), (45.0, 135.0)),
        "side": Choice(Parameter("left", "", "to which it turns", choices=("left", "right")), ("left", "right")),
        "length_m": Choice(Parameter(60.0, "m", "length of the straight road after the bend", 20.0, 400.0),
                           (40.0, 80.0))}, 0.3),
    "$": BlockKind("toll", toll, {
        "length_m": Choice(Parameter(30.0, "m", "length", 20.0, 50.0), (20.0, 50.0))}),
    "P": BlockKind("parking", parking, {
        "bays": Choice(Parameter(6, "bays", "bays on each side", 2, 20), (2, 10))}, single=True),
}
