"""What is a merge? A ramp becomes a lane beside those of a highway; its cars have to change over before it ends."""

from __future__ import annotations

from .curves import Path, Pose, line
from .lane_map import LaneMap
from .parameters import Parameter
from .parts import Parts
from .placing import PlacingSpec, Span, draw_starts, place_from
from .ramps import RAMP_LIMIT_MPS, RAMP_RADIUS_M, add_entrance, add_highway, joining
from .rng import Rng

DEFAULT_AGENTS = 12
"""Six on the ramp: one after another they want to enter one lane within 150 m."""

DIFFICULTY = "The cars of the ramp need gaps on the highway before their lane ends."

PARAMETERS = {
    "lanes": Parameter(2, "lanes", "lanes of the highway", 1, 4),
    "parallel_m": Parameter(150.0, "m", "length of the ramp's lane beside the highway", 80.0, 250.0),
    "taper_m": Parameter(50.0, "m", "length over which that lane ends", 30.0, 80.0),
    "ramp_radius_m": RAMP_RADIUS_M,
    "lane_width_m": Parameter(3.6, "m", "width of every lane", 3.0, 3.75),
    "speed_limit_mps": Parameter(25.0, "m/s", "speed limit of the highway", 15.0, 35.0),
    "ramp_limit_mps": RAMP_LIMIT_MPS,
}

BEFORE_M, AFTER_M = 120.0, 150.0
"""Highway before the ramp joins it, and beyond the end of its lane."""

STRAIGHT_M = 20.0
"""Length of the ramp before its bend."""

RAMP_STARTS_M, LANE_STARTS_SHARE = 80.0, 0.3
"""Cars start on the last metres of the ramp and on this share of its lane: farther cars would not arrive in 20 s."""

GOAL_M = 130.0
"""Most by which a route is longer than the lane of the ramp and its taper."""

MAIN_SPEED_SHARE, MAIN_HEADWAY_S = (0.7, 1.0), (1.5, 4.0)
RAMP_SPEED_SHARE, RAMP_HEADWAY_S = (0.7, 1.0), (1.0, 2.0)


def build(rng: Rng, agents: int, lanes: int, parallel_m: float, taper_m: float, ramp_radius_m: float,
          lane_width_m: float, speed_limit_mps: float, ramp_limit_mps: float) -> Parts:
    """Half of the cars start on the ramp. A car of the highway has its goal on its own lane."""
    # The highway in four parts: before the ramp, beside its lane, beside the taper, and beyond it.
    roads, middle = LaneMap(), Path(Pose(0.0, 0.0, 0.0), (line(BEFORE_M + parallel_m + taper_m + AFTER_M),))
    ends_m = [0.0, BEFORE_M, BEFORE_M + parallel_m, BEFORE_M + parallel_m + taper_m, middle.length_m]
    parts = add_highway(roads, middle, ends_m, lanes, lane_width_m, speed_limit_mps)

    # The ramp and its lane.
    ramp_end = Pose(BEFORE_M, -(lanes + 0.5) * lane_width_m, 0.0)
    ramp, parallel = add_entrance(roads, middle, ends_m, parts, joining(ramp_end, ramp_radius_m, STRAIGHT_M),
                                  ramp_limit_mps)

    # Cars.
    goals, route_range_m = [Span(lane) for lane in parts[3]], (0.0, parallel_m + taper_m + GOAL_M)
    ramp_m, lane_m = float(roads.samples.length_m[ramp]), LANE_STARTS_SHARE * parallel_m
    specs = [
        PlacingSpec([Span(ramp, ramp_m - RAMP_STARTS_M), Span(parallel, to_m=lane_m)], goals, route_range_m,
                    RAMP_SPEED_SHARE, RAMP_HEADWAY_S),
        PlacingSpec([Span(lane) for lane in parts[0]] + [Span(lane, to_m=lane_m) for lane in parts[1]], goals,
                    route_range_m, MAIN_SPEED_SHARE, MAIN_HEADWAY_S)]
    starts, speed_mps, spec_of = draw_starts(rng, roads, agents, specs)
    return roads.parts(place_from(rng, roads, starts, speed_mps, [specs[i] for i in spec_of]))
