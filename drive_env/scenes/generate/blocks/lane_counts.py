"""Which blocks change the number of lanes? A merge, a split, and the taper between blocks of different numbers."""

from __future__ import annotations

from ..curves import Path, line
from ..lane_ends import end_lanes
from ..lane_map import LaneMap
from ..parameters import Parameter
from ..rng import Rng
from .block import START, Block, BlockKind, Choice, RoadKind, ends_of, numbers, turned

TAPER_M = 30.0
"""Length over which a lane begins or ends."""

LEAD_M = 5.0
"""Of the road before and beyond a taper."""

MOST_LANES = 5
"""One way, as in MetaDrive's maps."""

CHANGE = Choice(Parameter(1, "lanes", "lanes that end or begin, each way; at least 1 and at most 5 are left", 1, 4),
                (1, 2))
LENGTH_M = Choice(Parameter(30.0, "m", "length of the road with the new number of lanes", 20.0, 200.0), (20.0, 50.0))


def merge(rng: Rng, lanes: int, road: RoadKind, change: int, length_m: float) -> Block:
    """Lanes end, each way; the number of lanes is that of the next block, too."""
    return _narrowing(lanes, max(1, lanes - change), road, LEAD_M, length_m)


def split(rng: Rng, lanes: int, road: RoadKind, change: int, length_m: float) -> Block:
    """Lanes begin, each way; the number of lanes is that of the next block, too."""
    return turned(_narrowing(min(MOST_LANES, lanes + change), lanes, road, length_m, LEAD_M))


def taper(lanes: int, to_lanes: int, road: RoadKind) -> Block:
    """A road whose number of lanes changes from one to another."""
    if lanes > to_lanes:
        return _narrowing(lanes, to_lanes, road, LEAD_M, LEAD_M)
    return turned(_narrowing(to_lanes, lanes, road, LEAD_M, LEAD_M))


def _narrowing(lanes, to_lanes, road, before_m, after_m):
    """A road with fewer lanes at its end: those along it end, and those against it begin."""
    # The lanes along the road: before the tapers, beside them, and beyond.
    one_way, (width_m, limit_mps) = LaneMap(), road
    path = Path(START, tuple(line(length_m) for length_m in (before_m, (lanes - to_lanes) * TAPER_M, after_m)))
    ends_m = path.starts_m()
    first = one_way.along(path.part(ends_m[0], ends_m[1]), lanes, width_m, limit_mps)
    tapers = [path.part(ends_m[1] + i * TAPER_M, ends_m[1] + (i + 1) * TAPER_M) for i in range(lanes - to_lanes)]
    through, ending = end_lanes(one_way, tapers, lanes, width_m, limit_mps, after=first)
    last = one_way.along(path.part(ends_m[2], ends_m[3]), to_lanes, width_m, limit_mps, after=through)
    for lane in ending:
        one_way.link(lane, last[-1])

    # Those against it are their image.
    roads = LaneMap()
    roads.add(one_way)
    back = roads.add(_other_way(one_way))
    roads.line(path)
    sockets = ends_of(path, (first, [*numbers(back, first)]), (last, [*numbers(back, last)]))
    return Block(roads, sockets, [*first, *last, *numbers(back, first), *numbers(back, last)])


def _other_way(one_way):
    """The other side of a road: a mirror image whose lanes are driven from their ends to their starts."""
    image, found = one_way.mirrored(), LaneMap()
    found.lanes = [lane._replace(curve=lane.curve.reversed()) for lane in image.lanes]
    found.links = [(after, before) for before, after in image.links]
    found.neighbours = [(right, left) for left, right in image.neighbours]
    found.lines = image.lines
    return found


KINDS = {"y": BlockKind("merge", merge, {"change": CHANGE, "length_m": LENGTH_M}),
         "Y": BlockKind("split", split, {"change": CHANGE, "length_m": LENGTH_M})}
