"""What is a T-junction? A road that ends at another one; cars turn or drive on in all six ways."""

from __future__ import annotations

from .curves import Pose
from .junction import LINE_BACK_M, Junction, add_controls
from .lane_map import LaneMap
from .nodes import open_arms
from .parameters import Parameter
from .parts import Parts
from .placing import PlacingSpec, Span, place
from .priorities import CONTROLS
from .rng import Rng
from .roadnet import EAST, HEADING_RAD, SOUTH, SPEED_LIMIT_MPS, WEST

DEFAULT_AGENTS = 6
"""Two on each arm."""

TRIAL_STEPS = 300
"""Cars behind a stop sign wait for gaps one after another."""

DIFFICULTY = "Cars that come from the road that ends have to stop, and then need a gap in traffic from both sides."

PARAMETERS = {
    "control": Parameter("stop", "", "lights, each arm its own green; signs on the road that ends, or on all arms",
                         choices=CONTROLS),
    "arm_m": Parameter(60.0, "m", "length of the lanes of every arm", 40.0, 120.0),
    "turn_radius_m": Parameter(8.0, "m", "radius of the lane centre in right turns", 5.0, 15.0),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.5),
    "speed_limit_mps": Parameter(SPEED_LIMIT_MPS, "m/s", "speed limit of every lane", 5.0, 20.0),
}

SPEED_SHARE, HEADWAY_S = (0.4, 0.9), (1.0, 3.0)

NEAREST_START_M = 12.0
"""Least distance of a start from the stop line, so that a car can still stop or drive on."""


def build(rng: Rng, agents: int, control: str, arm_m: float, turn_radius_m: float, lane_width_m: float,
          speed_limit_mps: float) -> Parts:
    """The road that ends is the southern arm. Road edges close the arms: a car that misses its goal goes off-road."""
    roads = LaneMap()
    node = Junction(Pose(0.0, 0.0, 0.0), {arm: HEADING_RAD[arm] for arm in (EAST, WEST, SOUTH)}, lane_width_m,
                    turn_radius_m + lane_width_m / 2, speed_limit_mps)
    entries, exits = open_arms(roads, node, arm_m, speed_limit_mps)
    node.connect(roads, entries, exits)
    # Numbers of their own, so that a control changes neither starts nor goals.
    add_controls(Rng(rng.below(2**63)), roads, node, control, {arm: (lane,) for arm, lane in entries.items()}, 0)
    starts = [Span(lane, to_m=arm_m - LINE_BACK_M - NEAREST_START_M) for lane in entries.values()]
    spec = PlacingSpec(starts, [Span(lane) for lane in exits.values()], speed_share=SPEED_SHARE,
                       headway_s=HEADWAY_S)
    return roads.parts(place(rng, roads, agents, spec))
