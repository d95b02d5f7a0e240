"""What do junctions and roundabouts have in common? Arms, at which streets with one lane each way end.

A node has arms at directions from its centre. Its lanes join the streets that end there::

    node = Junction(Pose(0.0, 0.0, 0.0), {EAST: 0.0, WEST: math.pi}, lane_width_m=3.5, half_box_m=9.75,
                    speed_limit_mps=13.9)
    entries, exits = open_arms(roads, node, length_m=60.0, speed_limit_mps=13.9)   # streets that end in the open
    node.connect(roads, entries, exits)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from .curves import Path, Piece, Pose, line
from .lane_map import LaneMap


class Node(Protocol):
    """Where streets meet.

    Attributes:
        centre: its heading is 0.
        headings_rad: of each arm, away from the centre.
        lane_width_m: of all lanes.
        entry_reach_m, exit_reach_m: from the centre to where the straight part of the lane towards the node ends, and
            to where that of the lane away from it begins.
        entry_pieces: by which the lane towards the node goes on beyond its straight part.
    """

    @property
    def centre(self) -> Pose: ...
    @property
    def headings_rad(self) -> Mapping[int, float]: ...
    @property
    def lane_width_m(self) -> float: ...
    @property
    def entry_reach_m(self) -> float: ...
    @property
    def exit_reach_m(self) -> float: ...
    @property
    def entry_pieces(self) -> tuple[Piece, ...]: ...

    def connect(self, roads: LaneMap, entries: Mapping[int, int], exits: Mapping[int, int]) -> None:
        """Adds the lanes from the streets' lanes towards the node, by arm, to those away from it."""


def axis(node: Node, arm: int) -> Pose:
    """The centre of a node, heading along an arm."""
    return node.centre._replace(heading_rad=node.headings_rad[arm])


def street(roads: LaneMap, node: Node, arm: int, to: Node, length_m: float, speed_limit_mps: float) -> int:
    """Adds the lane that leaves a node at an arm, is straight for `length_m`, and goes on as another node's entry."""
    start = axis(node, arm).moved(node.exit_reach_m, -node.lane_width_m / 2)
    return roads.lane(Path(start, (line(length_m), *to.entry_pieces)), node.lane_width_m, speed_limit_mps)


def open_arms(roads: LaneMap, node: Node, length_m: float, speed_limit_mps: float
              ) -> tuple[dict[int, int], dict[int, int]]:
    """Adds a street at each arm; returns the lanes towards the node and away from it, by arm.

    Args:
        length_m: of the straight part of lanes towards the node; the other lane ends beside their start.
    """
    entries, exits = open_streets(roads, node, [node.entry_pieces], length_m, speed_limit_mps)
    return {arm: lanes[0] for arm, lanes in entries.items()}, {arm: lanes[0] for arm, lanes in exits.items()}


def open_streets(roads: LaneMap, node: Node, entry_pieces: Sequence[tuple[Piece, ...]], length_m: float,
                 speed_limit_mps: float) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The same with several lanes each way, returned from left to right as their traffic sees them.

    Args:
        entry_pieces: of each lane, instead of those of the node.
    """
    entries, exits, width_m = {}, {}, node.lane_width_m
    end_m = node.entry_reach_m + length_m
    for arm in node.headings_rad:
        out = axis(node, arm)
        beside_m = [(i + 0.5) * width_m for i in range(len(entry_pieces))]
        entries[arm] = [roads.lane(Path(out.moved(end_m, left_m).reversed(), (line(length_m), *pieces)), width_m,
                                   speed_limit_mps) for left_m, pieces in zip(beside_m, entry_pieces, strict=True)]
        away = (line(end_m - node.exit_reach_m),)
        exits[arm] = [roads.lane(Path(out.moved(node.exit_reach_m, -right_m), away), width_m, speed_limit_mps)
                      for right_m in beside_m]
        straight_m = max(node.entry_reach_m, node.exit_reach_m)
        roads.line(Path(out.moved(straight_m), (line(end_m - straight_m),)))
        for lanes in (entries[arm], exits[arm]):
            roads.set_beside(lanes)
    return entries, exits
