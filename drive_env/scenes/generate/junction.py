"""What is a junction on a lane map? A square box, and a lane for each way from one arm to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .curves import Piece, Pose, between
from .lane_map import LaneMap
from .lights import light_programs
from .priorities import signs_of
from .rng import Rng

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
        for arm, before in entries.items():
            for to_arm, after in exits.items():
                if to_arm != arm:
                    way = between(roads.lanes[before].curve.end, roads.lanes[after].curve.start)
                    roads.link(roads.lane(way, self.lane_width_m, self.speed_limit_mps, after=[before]), after)


def add_controls(rng: Rng, roads: LaneMap, node: Junction, kind: str, entries: Mapping[int, int], number: int) -> None:
    """Adds the lights or signs of one of `CONTROLS`.

    Args:
        entries: lanes towards the junction, by arm.
        number: of the junction, among those with lights.
    """
    if kind == "lights":
        programs = light_programs(rng, len(entries), node.speed_limit_mps, 2 * node.half_box_m)
        for lane, (phases, offset_s) in zip(entries.values(), programs, strict=True):
            roads.control("light", (lane,), phases=phases, offset_s=offset_s, junction=number, back_m=LINE_BACK_M)
    for arm, sign in signs_of(rng, kind, entries):
        roads.control(sign, (entries[arm],), back_m=LINE_BACK_M)
