"""What is a U-turn? One through the gap in the median of a street, in front of oncoming traffic."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from .curves import Path, Pose, line, turn
from .lane_map import LaneMap
from .parameters import Parameter
from .parts import Parts
from .placing import PlacingSpec, Span, place
from .rng import Rng
from .roadnet import CURB_GAP_M, SPEED_LIMIT_MPS
from .trig import direction_rad

DEFAULT_AGENTS = 6
"""Three in each direction."""

TRIAL_STEPS = 300
"""Cars wait one behind another for gaps in the oncoming traffic."""

DIFFICULTY = "Cars that turn around need a gap in the oncoming traffic."

PARAMETERS = {
    "lanes": Parameter(1, "lanes", "lanes each way; U-turns lead from the left one to the left one", 1, 3),
    "arm_m": Parameter(60.0, "m", "length of the street on both sides of where U-turns begin", 40.0, 150.0),
    "radius_m": Parameter(6.0, "m", "radius of the lane centre in the U-turn", 5.0, 8.0),
    "gap_m": Parameter(12.0, "m", "length of the gap in the median", 12.0, 30.0),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.5),
    "speed_limit_mps": Parameter(SPEED_LIMIT_MPS, "m/s", "speed limit of the street", 5.0, 20.0),
}

TURN_LIMIT_MPS = 5.0
"""In the U-turn. At 6 m the lateral acceleration is 4 m/s2, at half of the limit 1 m/s2."""

LINE_GAP_M = 0.5
"""From the yield line in the gap to the oncoming lane."""

NOSE_GAP_M = 0.05
"""From the curb of U-turns to the end of the median: not so small that both are one."""

SPEED_SHARE, HEADWAY_S = (0.4, 0.8), (1.0, 3.0)

FIRST_GOAL_M = 8.0
"""From the gap to the first goal."""


def build(rng: Rng, agents: int, lanes: int, arm_m: float, radius_m: float, gap_m: float, lane_width_m: float,
          speed_limit_mps: float) -> Parts:
    """Road edges close both ends: a car that misses its goal goes off-road."""
    begin_m = _begin_m(radius_m, gap_m, lane_width_m)
    roads = LaneMap()
    one, other = (_side(roads, heading_rad, begin_m, lanes, arm_m, radius_m, lane_width_m, speed_limit_mps)
                  for heading_rad in (0.0, math.pi))
    for here, there in ((one, other), (other, one)):
        _add_turn(roads, here.leaves, there.joined, radius_m, lane_width_m)
    half_m = radius_m - lane_width_m / 2
    roads.pave([(-gap_m / 2, -half_m), (gap_m / 2, -half_m), (gap_m / 2, half_m), (-gap_m / 2, half_m)])
    spec = PlacingSpec([Span(lane) for side in (one, other) for lane in side.first],
                       [Span(lane, FIRST_GOAL_M) for side in (one, other) for lane in side.last],
                       speed_share=SPEED_SHARE, headway_s=HEADWAY_S)
    return roads.parts(place(rng, roads, agents, spec))


class Side(NamedTuple):
    """The lanes of one direction: before the gap, and beyond it, the left one first."""

    first: list[int]
    last: list[int]
    leaves: int
    """The lane at whose end the U-turn begins."""
    joined: int
    """The lane at whose start the other side's U-turn ends."""


def _begin_m(radius_m, gap_m, lane_width_m):
    """Where U-turns begin, ahead of the middle of the gap: so far that their curb just fits into the gap.

    Those of the other side end as far before the middle. If the two places were then so close that a turn would run
    beside the lane beyond the other place, turns begin earlier.
    """
    begin_m = gap_m / 2 - NOSE_GAP_M - CURB_GAP_M - radius_m - lane_width_m / 2
    least_m = radius_m / 4 + lane_width_m / 2
    return begin_m if abs(begin_m) >= least_m else -least_m


def _side(roads, heading_rad, begin_m, lanes, arm_m, radius_m, lane_width_m, speed_limit_mps):
    """Adds the lanes of one direction, in three parts."""
    middle_m = 2 * abs(begin_m)
    start = Pose(0.0, 0.0, heading_rad).moved(-arm_m - abs(begin_m), lane_width_m / 2 - radius_m)
    path = Path(start, (line(2 * arm_m + middle_m),))
    ends_m = (0.0, arm_m, arm_m + middle_m, 2 * arm_m + middle_m)
    parts: list[list[int]] = []
    for from_m, to_m in pairwise(ends_m):
        parts.append(roads.along(path.part(from_m, to_m), lanes, lane_width_m, speed_limit_mps,
                                 after=parts[-1] if parts else ()))
    first, between, last = parts
    is_early = begin_m < 0  # its own U-turn begins before the other one ends
    return Side(first, last, *((first[0], last[0]) if is_early else (between[0], between[0])))


def _add_turn(roads, before, after, radius_m, lane_width_m):
    """Adds a U-turn, in two parts: up to the yield line in the gap, and from there on."""
    # The right end of the line is nearest to the oncoming lane.
    cosine = -(radius_m - lane_width_m / 2 - LINE_GAP_M) / (radius_m + lane_width_m / 2)
    angle_rad = float(direction_rad(math.sqrt(1.0 - cosine * cosine), cosine))
    waits = roads.lane(Path(roads.lanes[before].curve.end, (turn(radius_m, angle_rad),)), lane_width_m, TURN_LIMIT_MPS,
                       after=[before])
    goes = roads.lane(Path(roads.lanes[waits].curve.end, (turn(radius_m, math.pi - angle_rad),)), lane_width_m,
                      TURN_LIMIT_MPS, after=[waits])
    roads.link(goes, after)
    roads.control("yield", (waits,))
