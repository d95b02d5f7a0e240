"""What is a roundabout? Streets that meet at a ring, whose traffic has the right of way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...errors import SceneError
from .curves import Pose
from .lane_map import LaneMap
from .nodes import open_streets
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
    "lanes": Parameter(1, "lanes", "lanes of the ring", 1, 2),
    "street_lanes": Parameter(1, "lanes", "lanes each way of the streets, at most `lanes`", 1, 2),
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


def build(rng: Rng, agents: int, arms: int, lanes: int, street_lanes: int, radius_m: float, approach_m: float,
          entry_radius_m: float, exit_radius_m: float, lane_width_m: float) -> Parts:
    """Road edges close the arms: a car that misses its goal goes off-road."""
    if street_lanes > lanes:
        raise SceneError(f"street_lanes is {street_lanes}; with {lanes} lanes it must be at most {lanes}")
    # Streets and ring.
    roads = LaneMap()
    headings = {arm: 2 * math.pi * arm / arms for arm in range(arms)}
    node = Ring(Pose(0.0, 0.0, 0.0), headings, lane_width_m, radius_m, entry_radius_m, exit_radius_m, lanes,
                RING_LIMIT_MPS, street_lanes)
    entries, exits = open_streets(roads, node, node.entry_pieces_of_lanes, approach_m, SPEED_LIMIT_MPS)
    node.connect_lanes(roads, entries, exits)

    # Traffic.
    starts, goals = ([lane for lanes in of_arms.values() for lane in lanes] for of_arms in (entries, exits))
    spec = PlacingSpec([Span(lane, to_m=approach_m) for lane in starts], [Span(lane, *GOALS_M) for lane in goals],
                       ROUTE_RANGE_M, SPEED_SHARE, HEADWAY_S, goal_lanes=goal_lanes(entries, exits))
    return roads.parts(place(rng, roads, agents, spec))


def goal_lanes(entries: Mapping[int, Sequence[int]], exits: Mapping[int, Sequence[int]]
               ) -> dict[int, frozenset[int]] | None:
    """The exits of each lane towards the ring: of a right one those up to half way round, of a left one the others.

    The exit half way round, where there is one, belongs to both. None where streets have one lane each way, from which
    all exits can be reached.
    """
    arms, found = len(entries), {}
    for arm, (*left, right) in entries.items():
        found[right] = frozenset(exits[(arm + step) % arms][-1] for step in range(1, arms // 2 + 1))
        for lane in left:
            found[lane] = frozenset(exits[(arm + step) % arms][0] for step in range((arms + 1) // 2, arms))
    return found if any(len(lanes) > 1 for lanes in entries.values()) else None
