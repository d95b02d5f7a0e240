"""What is an exit? A lane opens beside those of a highway and becomes a ramp; half of the cars have to leave by it."""

from __future__ import annotations

from .curves import Path, Pose, line
from .lane_map import LaneMap
from .parameters import Parameter
from .parts import Parts
from .placing import PlacingSpec, Span, draw_starts, place_from
from .ramps import RAMP_LIMIT_MPS, RAMP_RADIUS_M, add_exit, add_highway, leaving
from .rng import Rng

DEFAULT_AGENTS = 12

TRIAL_STEPS = 400
"""Cars that find no gap to the exit lane wait for one."""

DIFFICULTY = "Half of the cars have to be on the exit lane in time, from all lanes."

PARAMETERS = {
    "lanes": Parameter(3, "lanes", "lanes of the highway", 1, 6),
    "exit_after_m": Parameter(150.0, "m", "length of the highway before the exit lane opens", 100.0, 600.0),
    "parallel_m": Parameter(80.0, "m", "length of the exit lane beside the highway", 50.0, 250.0),
    "taper_m": Parameter(50.0, "m", "length over which that lane opens", 30.0, 80.0),
    "ramp_radius_m": RAMP_RADIUS_M,
    "lane_width_m": Parameter(3.6, "m", "width of every lane", 3.0, 3.75),
    "speed_limit_mps": Parameter(25.0, "m/s", "speed limit of the highway", 15.0, 40.0),
    "ramp_limit_mps": RAMP_LIMIT_MPS,
}

AFTER_M, STRAIGHT_M = 200.0, 30.0
"""Highway beyond the exit, and ramp beyond its bend."""

GOAL_FROM_M = 20.0
"""From the start of the ramp to the first goal on it."""

STARTS_M = 50.0
"""No car starts nearer to the exit lane, so that one on the leftmost of three lanes can still reach it."""

GOAL_M = 80.0
"""A route is at most `GOAL_M - STARTS_M` longer than the highway up to the end of the exit lane."""

SPEED_SHARE, HEADWAY_S = (0.6, 1.0), (1.0, 3.0)


def build(rng: Rng, agents: int, lanes: int, exit_after_m: float, parallel_m: float, taper_m: float,
          ramp_radius_m: float, lane_width_m: float, speed_limit_mps: float, ramp_limit_mps: float) -> Parts:
    """Which cars leave, and on which lanes they start, is drawn. The others have their goals on any lane."""
    # The highway in four parts: before the exit lane, beside its taper, beside the lane, and beyond it.
    roads, middle = LaneMap(), Path(Pose(0.0, 0.0, 0.0), (line(exit_after_m + taper_m + parallel_m + AFTER_M),))
    ends_m = [0.0, exit_after_m, exit_after_m + taper_m, exit_after_m + taper_m + parallel_m, middle.length_m]
    parts = add_highway(roads, middle, ends_m, lanes, lane_width_m, speed_limit_mps)

    # The exit lane, which leaves the last lane of the highway, and the ramp.
    ramp_start = Pose(ends_m[3], -(lanes + 0.5) * lane_width_m, 0.0)
    ramp = add_exit(roads, middle, ends_m, parts, leaving(ramp_start, ramp_radius_m, STRAIGHT_M), ramp_limit_mps)

    # Cars: every other one, in a random order, leaves.
    leaves = PlacingSpec([Span(lane, to_m=exit_after_m - STARTS_M) for lane in parts[0]], [Span(ramp, GOAL_FROM_M)],
                         (0.0, ends_m[3] + GOAL_M - STARTS_M), SPEED_SHARE, HEADWAY_S, lane_changes=True)
    specs = [leaves, leaves._replace(goals=[Span(lane) for lane in parts[3]])]
    starts, speed_mps, _ = draw_starts(rng, roads, agents, specs[:1])
    first = rng.below(2)
    kinds = rng.shuffled([(first + car) % 2 for car in range(agents)])
    return roads.parts(place_from(rng, roads, starts, speed_mps, [specs[kind] for kind in kinds]))
