"""What is a roundabout? Streets that meet at a ring, whose traffic has the right of way."""

from __future__ import annotations

import math

from .curves import Pose
from .lane_map import LaneMap
from .nodes import open_arms
from .parameters import Parameter
from .parts import Parts
from .placing import PlacingSpec, Span, place
from .ring import Ring
from .rng import Rng
from .roadnet import SPEED_LIMIT_MPS

DEFAULT_AGENTS = 8
"""Two on each arm."""

TRIAL_STEPS = 300
"""Where all cars enter at once, the last one waits more than 10 s for its gap."""

DIFFICULTY = "Cars that enter need a gap on the ring, whose traffic has the right of way."

PARAMETERS = {
    "arms": Parameter(4, "arms", "streets that meet, with equal angles between them", 3, 5),
    "lanes": Parameter(1, "lanes", "lanes of the ring; streets have one each way", 1, 2),
    "radius_m": Parameter(16.0, "m", "radius of the centre of the ring's outer lane", 12.0, 30.0),
    "approach_m": Parameter(60.0, "m", "length of the straight part of every street", 40.0, 100.0),
    "entry_radius_m": Parameter(12.0, "m", "radius of the lane onto the ring", 10.0, 20.0),
    "exit_radius_m": Parameter(12.0, "m", "radius of the lane off the ring", 10.0, 20.0),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.5),
}

RING_LIMIT_MPS = 7.0
"""On a ring of 24.5 m the lateral acceleration is 2 m/s2; on one of 16 m it is 3 m/s2."""

SPEED_SHARE, HEADWAY_S = (0.4, 0.7), (1.0, 3.0)

GOALS_M = (8.0, 30.0)
"""Distances of goals from the starts of the streets that lead away from the ring."""

ROUTE_RANGE_M = (40.0, 115.0)
"""Farther than that, at 7 m/s on the ring, takes more than the 20 s of a default trial. Where it excludes all goals, on
the largest rings, any goal is drawn."""


def build(rng: Rng, agents: int, arms: int, lanes: int, radius_m: float, approach_m: float, entry_radius_m: float,
          exit_radius_m: float, lane_width_m: float) -> Parts:
    """Road edges close the arms: a car that misses its goal goes off-road."""
    roads = LaneMap()
    headings = {arm: 2 * math.pi * arm / arms for arm in range(arms)}
    node = Ring(Pose(0.0, 0.0, 0.0), headings, lane_width_m, radius_m, entry_radius_m, exit_radius_m, lanes,
                RING_LIMIT_MPS)
    entries, exits = open_arms(roads, node, approach_m, SPEED_LIMIT_MPS)
    node.connect(roads, entries, exits)
    spec = PlacingSpec([Span(lane, to_m=approach_m) for lane in entries.values()],
                       [Span(lane, *GOALS_M) for lane in exits.values()], ROUTE_RANGE_M, SPEED_SHARE, HEADWAY_S)
    return roads.parts(place(rng, roads, agents, spec))
