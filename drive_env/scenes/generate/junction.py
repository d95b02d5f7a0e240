"""What is a junction on a lane map? A square box, and a lane for each way from one arm to another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .curves import Piece, Pose, between
from .lane_map import LaneMap
from .lights import light_programs
from .priorities import signs_of
from .rng import Rng
from .trig import wrapped_rad

LINE_BACK_M = 1.5
"""From the box to the line at which a car stops."""


class Junction(NamedTuple):
    """A node whose arms have angles of 90 or 180 degrees between them; see nodes.py.

    Attributes:
        half_box_m: from the centre to where all streets end.
        speed_limit_mps: of the lanes in the box.
    """

    centre: Pose
    headings_rad: Mapping[int, float]
    lane_width_m: float
    half_box_m: float
    speed_limit_mps: float

    @property
    def entry_reach_m(self) -> float:
        """See `Node`."""
        return self.half_box_m

    @property
    def exit_reach_m(self) -> float:
        """See `Node`."""
        return self.half_box_m

    @property
    def entry_pieces(self) -> tuple[Piece, ...]:
        """See `Node`."""
        return ()

    def connect(self, roads: LaneMap, entries: Mapping[int, int], exits: Mapping[int, int]) -> None:
        """Adds the lanes through the box: from each arm to all others."""
        self.connect_lanes(roads, {arm: (lane,) for arm, lane in entries.items()},
                           {arm: (lane,) for arm, lane in exits.items()})

    def connect_lanes(self, roads: LaneMap, entries: Mapping[int, Sequence[int]], exits: Mapping[int, Sequence[int]]
                      ) -> None:
        """Adds the lanes through the box, of streets with equally many lanes, the left one first.

        All lanes lead straight ahead, the first one also to the left, the last one also to the right. Where no arm is
        ahead, lanes between these two turn left, too; all that turn left end in the first lane of the arm that
        they turn into: on the way to another one they would run beside the traffic in that arm's other lanes.
        """
        for arm, here in entries.items():
            last = len(here) - 1
            # To the left, straight ahead and to the right: pairs of a lane of this arm and one of the other.
            ways = {1: [(0, 0)], 0: [(i, i) for i in range(last + 1)], -1: [(last, last)]}
            if all(_quarters(self, arm, to_arm) for to_arm in exits if to_arm != arm):
                ways[1] = [(i, 0) for i in range(max(1, last))]
            for to_arm, there in exits.items():
                for i, j in ways[_quarters(self, arm, to_arm)] if to_arm != arm else ():
                    way = between(roads.lanes[here[i]].curve.end, roads.lanes[there[j]].curve.start)
                    roads.link(roads.lane(way, self.lane_width_m, self.speed_limit_mps, after=[here[i]]), there[j])


def _quarters(node, arm, to_arm):
    """By how many quarters of a turn a way from one arm to another turns to the left: -1, 0 or 1."""
    turn_rad = wrapped_rad(node.headings_rad[to_arm] - node.headings_rad[arm] - math.pi)
    return round(float(turn_rad) / (math.pi / 2))


def add_controls(rng: Rng, roads: LaneMap, node: Junction, kind: str, entries: Mapping[int, Sequence[int]],
                 number: int) -> None:
    """Adds the lights or signs of one of `CONTROLS`.

    Args:
        entries: lanes of each arm towards the junction.
        number: of the junction, among those with lights.
    """
    if kind == "lights":
        programs = light_programs(rng, len(entries), node.speed_limit_mps, 2 * node.half_box_m)
        for lanes, (phases, offset_s) in zip(entries.values(), programs, strict=True):
            roads.control("light", lanes, phases=phases, offset_s=offset_s, junction=number, back_m=LINE_BACK_M)
    for arm, sign in signs_of(rng, kind, entries):
        roads.control(sign, entries[arm], back_m=LINE_BACK_M)
