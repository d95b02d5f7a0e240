"""Where does each block of a map lie? At a socket of the block before it, where it overlaps no earlier one.

Blocks are placed in their order. One that overlaps is tried again, with other parameters and at another socket; after
`TRIES` the block before it is taken away and tried again, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import SceneError
from .blocks import BLOCKS, Block, RoadKind, Socket
from .blocks.block import START, frame_at
from .blocks.lane_counts import taper
from .blocks.straights import straight
from .curves import Pose
from .lane_map import LaneMap
from .overlap import Rectangles, caps, joined, overlap, swept
from .rng import Rng

FIRST_M = 50.0
"""Length of the road before the first block: that of MetaDrive."""

TRIES, MEAN_TRIES = 6, 40
"""Tries of a block before the one before it is tried again; and the limit on tries of all blocks, per block of the
map."""


class BlockSpec(NamedTuple):
    """A block of a map, before what is left open is drawn.

    Attributes:
        values: names and values of those parameters that are not drawn.
        socket: of the block before, from left to right; None: it is drawn.
    """

    letter: str
    values: tuple[tuple[str, Any], ...] = ()
    socket: int | None = None


class Placed(NamedTuple):
    """A block of a map.

    Attributes:
        frame: in the coordinates of the map.
        before: number of the block that it continues, and of the socket there; None for the first one.
        area: what it covers, in the coordinates of the map.
        ends: what has to be clear beyond each socket that no block continues.
    """

    block: Block
    frame: Pose
    before: tuple[int, int] | None
    area: Rectangles
    ends: list[Rectangles]


class Stage(NamedTuple):
    """A map up to one of its blocks.

    Attributes:
        placed: all blocks up to this one, tapers between them included.
        lanes: that the next block has, one way.
    """

    placed: tuple[Placed, ...]
    lanes: int


def chain(rng: Rng, spec_of: Callable[[int], BlockSpec], count: int, lanes: int, road: RoadKind) -> tuple[Placed, ...]:
    """The blocks of a map, with a first road before them.

    Args:
        spec_of: returns the spec of a block by its number; it is called for every try.
        lanes: of the first road, one way.

    Raises:
        SceneError: a block overlaps others in every try; names the block.
    """
    stages = [Stage((_placed(straight(rng, lanes, road, FIRST_M), START, None),), lanes)]
    tries, left, reached, letter = [0] * count, MEAN_TRIES * count, -1, ""
    while len(stages) <= count:
        at = len(stages) - 1
        if left == 0 or (at == 0 and tries[at] == TRIES):
            raise SceneError(f"blocks[{reached}], {letter!r}, overlaps earlier blocks wherever it was tried; other "
                             "parameters, another order or another seed may fit")
        # One more try of this block, or, after the last one, of the block before it.
        left -= 1
        if tries[at] == TRIES:
            tries[at] = 0
            stages.pop()
            continue
        tries[at] += 1
        spec = spec_of(at)
        if at > reached:
            reached, letter = at, spec.letter
        if stage := _continued(rng, stages[-1], at, spec, road):
            stages.append(stage)
    return stages[-1].placed


def assembled(placed: tuple[Placed, ...]) -> tuple[LaneMap, list[int]]:
    """One map of all blocks, and the lanes of it where cars start and have their goals."""
    roads, streets, firsts = LaneMap(), list[int](), list[int]()
    for own in placed:
        first = roads.add(own.block.roads, own.frame)
        firsts.append(first)
        streets += [first + lane for lane in own.block.streets]
        if own.before is None:
            continue
        number, socket = own.before
        here, there, before = own.block.sockets[0], placed[number].block.sockets[socket], firsts[number]
        for leaving, arriving in zip(there.leaving, here.arriving, strict=True):
            roads.link(before + leaving, first + arriving)
        for leaving, arriving in zip(here.leaving, there.arriving, strict=True):
            roads.link(first + leaving, before + arriving)
    return roads, streets


def _continued(rng, stage, at, spec, road) -> Stage | None:
    """The map with one more block, at a socket of the last one; None where it overlaps earlier ones."""
    placed, kind = stage.placed, BLOCKS[spec.letter]
    socket, lanes = _socket(rng, placed, at, spec), 1 if kind.single else stage.lanes
    given = dict(spec.values)
    values = {name: given[name] if name in given else choice.draw(rng) for name, choice in kind.choices.items()}
    try:
        block = kind.build(rng, lanes, road, **values)
    except SceneError as error:
        raise SceneError(f"blocks[{at}], {spec.letter!r}: {error}") from None
    before = placed[-1].block.sockets[socket].lanes
    for new in [block] if before == lanes else [taper(before, lanes, road), block]:
        # At its first socket, to the one of the last block, or to the other end of the taper.
        number = len(placed) - 1
        pose = placed[number].block.sockets[socket].pose.from_frame(placed[number].frame)
        own = _placed(new, frame_at(pose, new.sockets[0]), (number, socket))
        if overlap(joined([own.area, *own.ends[1:]]), _occupied(placed, (number, socket))):
            return None
        placed, socket = (*placed, own), 1
    return Stage(placed, stage.lanes if kind.single else block.sockets[1].lanes)


def _socket(rng, placed, at, spec):
    """The socket of the last block at which the next one begins."""
    count = len(placed[-1].block.sockets) - 1
    if spec.socket is None:
        return 1 + rng.below(count)
    if spec.socket >= count:
        raise SceneError(f"blocks[{at}], {spec.letter!r}, has socket {spec.socket}; the block before it has sockets 0 "
                         f"to {count - 1}")
    return 1 + spec.socket


def _placed(block: Block, frame: Pose, before: tuple[int, int] | None) -> Placed:
    """The block, with the area that it covers."""
    # Where the end of a road is no socket, it is a part of the area.
    roads = block.roads
    starts = set(range(len(roads.lanes))) - {after for _, after in roads.links}
    ends = set(range(len(roads.lanes))) - {lane for lane, _ in roads.links}
    for socket in block.sockets:
        starts -= {*socket.arriving}
        ends -= {*socket.leaving}
    area = joined([swept(roads), caps(roads, sorted(starts), sorted(ends))])
    return Placed(block, frame, before, area.moved(frame), [_end(roads, socket).moved(frame)
                                                             for socket in block.sockets])


def _end(roads: LaneMap, socket: Socket) -> Rectangles:
    return caps(roads, socket.arriving, socket.leaving)


def _occupied(placed, socket):
    """The areas of all blocks, and what has to be clear beyond their sockets, except beyond this one."""
    used = {socket, *(own.before for own in placed), *((number, 0) for number in range(1, len(placed)))}
    ends = [end for number, own in enumerate(placed) for i, end in enumerate(own.ends) if (number, i) not in used]
    return joined([*(own.area for own in placed), *ends])
