"""What is a highway? Lanes of one direction, straight or in a wide bend; each car has its goal in a random lane."""

from __future__ import annotations

from .curves import Curve, Path, Piece, Pose, arc
from .lane_map import LaneMap
from .parameters import Parameter
from .parts import Parts
from .placing import PlacingSpec, Span, place
from .rng import Rng

DEFAULT_AGENTS = 24
"""On three lanes, a headway of 1.5 s at the start."""

TRIAL_STEPS = 400
"""40 s, as in HighwayEnv; cars change lanes for their goals in dense traffic."""

DIFFICULTY = "Lane changes into short gaps between fast cars."

PARAMETERS = {
    "lanes": Parameter(3, "lanes", "lanes side by side", 2, 5),
    "length_m": Parameter(600.0, "m", "length of the road", 300.0, 1500.0),
    "lane_width_m": Parameter(3.6, "m", "width of every lane", 3.0, 3.75),
    "speed_limit_mps": Parameter(30.0, "m/s", "speed limit of every lane", 15.0, 40.0),
    "bend": Parameter(False, "", "whether the road is an arc of radius 600 m, to a side that follows from the seed",
                      False, True),
}

BEND_RADIUS_M = 600.0
"""Radius of the middle of the road. At 34.6 m/s the lateral acceleration is 2 m/s2."""

ROUTE_RANGE_M = (300.0, 500.0)
"""Routes of 10 to 17 s at 30 m/s. On a road of less than 600 m, both ends of the range are proportionally lower."""

SPEED_SHARE, HEADWAY_S = (0.6, 1.0), (1.0, 3.0)


def build(rng: Rng, agents: int, lanes: int, length_m: float, lane_width_m: float, speed_limit_mps: float,
          bend: bool) -> Parts:
    """Road edges close both ends: a car that misses its goal goes off-road."""
    side = 1 - 2 * rng.below(2)
    piece = arc(length_m, side / BEND_RADIUS_M) if bend else Piece(length_m)
    roads = LaneMap()
    middle = Path(Pose(0.0, 0.0, 0.0), (piece,))
    added = roads.along(Curve(middle, lanes * lane_width_m / 2), lanes, lane_width_m, speed_limit_mps)
    share = min(1.0, length_m / 600.0)
    low_m, high_m = (share * end_m for end_m in ROUTE_RANGE_M)
    spec = PlacingSpec([Span(lane, to_m=length_m - low_m - 20.0) for lane in added], [Span(lane) for lane in added],
                       (low_m, high_m), SPEED_SHARE, HEADWAY_S, lane_changes=True)
    objects = place(rng, roads, agents, spec)
    return roads.parts(objects)
