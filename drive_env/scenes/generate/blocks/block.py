"""What is a block? A piece of a map, with sockets at which further blocks continue its roads.

Roads have as many lanes one way as the other, traffic keeps right. Every block is relative to a frame of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..curves import Path, Pose
from ..lane_map import LaneMap
from ..parameters import Parameter
from ..rng import Rng

START = Pose(0.0, 0.0, 0.0)
"""Where most blocks begin."""


class RoadKind(NamedTuple):
    """What the roads of all blocks of a map have in common."""

    lane_width_m: float
    speed_limit_mps: float

    def limit(self, most_mps: float) -> float:
        """The speed limit of a part of a road where it is lower."""
        return min(most_mps, self.speed_limit_mps)


class Socket(NamedTuple):
    """An end of a road.

    Attributes:
        pose: in the middle of the road, heading out of the block.
        leaving: lanes that end there, from the middle of the road to its side.
        arriving: lanes that start there, in the same order.
    """

    pose: Pose
    leaving: Sequence[int]
    arriving: Sequence[int]

    @property
    def lanes(self) -> int:
        """One way."""
        return len(self.leaving)


class Block(NamedTuple):
    """A piece of a map.

    Attributes:
        sockets: the first one joins the block to the one before it, unless it is turned round.
        streets: lanes where cars start and have their goals.
    """

    roads: LaneMap
    sockets: Sequence[Socket]
    streets: Sequence[int]


class Choice(NamedTuple):
    """A parameter of a block.

    Attributes:
        parameter: its values, as given by a caller.
        drawn: the range from which it is drawn where it is not given, or texts; (): it has its default.
    """

    parameter: Parameter
    drawn: tuple[Any, ...] = ()

    def draw(self, rng: Rng) -> Any:
        """A value."""
        if not self.drawn:
            return self.parameter.default
        if self.parameter.choices:
            return self.drawn[rng.below(len(self.drawn))]
        low, high = self.drawn
        if isinstance(self.parameter.default, int):
            return low + rng.below(high - low + 1)
        return float(rng.uniform(low, high, 1)[0])


class BlockKind(NamedTuple):
    """One letter of a map string.

        Attributes: name: a caller can pass it in place of the letter. build: makes the block from the rng, the number
        of lanes of the road that it continues, the kind of road, and the parameters of the block. choices: by the name
        of the parameter. probability: among random blocks. single: whether its roads have one lane each way. """

    name: str
    build: Callable[..., Block]
    choices: Mapping[str, Choice] = {}
    probability: float = 0.0
    single: bool = False


def add_street(roads: LaneMap, path: Path, lanes: int, road: RoadKind, most_mps: float | None = None, *,
               ahead_after: Sequence[int] = (), back_before: Sequence[int] = ()) -> tuple[list[int], list[int]]:
    """Adds a road with its middle along a path.

    Args:
        most_mps: its speed limit is at most this.
        ahead_after: lanes that lead into those along the path.
        back_before: lanes into which those against the path lead, one each, or none.

    Returns:
        The lanes along the path, and those against it.
    """
    limit_mps = road.speed_limit_mps if most_mps is None else road.limit(most_mps)
    ahead = roads.along(path, lanes, road.lane_width_m, limit_mps, after=ahead_after)
    back = roads.along(path.reversed(), lanes, road.lane_width_m, limit_mps)
    if back_before:
        for lane, after in zip(back, back_before, strict=True):
            roads.link(lane, after)
    roads.line(path)
    return ahead, back


def ends_of(path: Path, first: tuple[Sequence[int], Sequence[int]], last: tuple[Sequence[int], Sequence[int]]
            ) -> tuple[Socket, Socket]:
    """The sockets at both ends of a road.

    Args:
        first, last: lanes along the path and against it, where it begins and where it ends.
    """
    return Socket(path.start.reversed(), first[1], first[0]), Socket(path.end, last[0], last[1])


def turned(block: Block) -> Block:
    """The block, joined by its last socket."""
    return block._replace(sockets=block.sockets[::-1])


def frame_at(pose: Pose, socket: Socket) -> Pose:
    """The frame of a block whose socket meets the one at a pose."""
    facing = pose.reversed()
    turn_rad = facing.heading_rad - socket.pose.heading_rad
    at = socket.pose._replace(heading_rad=0.0).from_frame(Pose(0.0, 0.0, turn_rad))
    return Pose(facing.x_m - at.x_m, facing.y_m - at.y_m, turn_rad)


def numbers(first: int, lanes: Sequence[int]) -> Iterator[int]:
    """The numbers of lanes of a block in a map to which it was added."""
    return (first + lane for lane in lanes)
