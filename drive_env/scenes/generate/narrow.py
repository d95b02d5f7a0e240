"""What is a narrow street? One with a neck for one car, which cars from both sides reach at about the same time."""

from __future__ import annotations

import math

import numpy as np

from ...errors import SceneError
from .curves import Curve, Path, Pose, Taper, line
from .lane_map import LaneMap
from .parameters import Parameter
from .parts import Parts
from .placing import INSET_M, LENGTH_RANGE_M, PITCH_M, Places, PlacingSpec, Span, place_from
from .rng import Rng

DEFAULT_AGENTS = 2
"""One from each side."""

DIFFICULTY = "Two cars arrive at a neck that is wide enough for one."

PARAMETERS = {
    "neck_width_m": Parameter(3.2, "m", "width of the neck, between its edges", 3.0, 3.6),
    "neck_m": Parameter(20.0, "m", "length of the neck", 10.0, 40.0),
    "approach_m": Parameter(40.0, "m", "length of the street on both sides, before it narrows", 40.0, 200.0),
    "speed_limit_mps": Parameter(8.33, "m/s", "speed limit of every lane", 4.0, 8.33),
    "priority": Parameter(False, "", "whether one side, drawn from the seed, has a yield line", False, True),
}

LANE_WIDTH_M, CURB_M = 3.25, 0.25
"""Width of the lanes, and from them to the edges of the street, which are 7 m apart."""

NECK_CURB_M = 0.2
"""From the lanes in the neck to its edges."""

HALF_M = LANE_WIDTH_M + CURB_M
"""Half of the street's width."""

TAPER_M = 12.0
"""Length over which the street narrows. The lanes bend with a radius of at least 13.7 m there."""

BAY_M, BAY_SLANT_M, BAY_DEPTH_M = 8.0, 4.0, 2.2
"""Of the bay beside the end of each approach, where a car can pull in: length, length of its slants, depth."""

ARRIVAL_S, ARRIVAL_SPREAD_S = 2.5, 2.0
"""After this time the first car reaches the place where the street narrows; the first one from the other side reaches
it at most so much later. Either side is equally likely to be first."""

SPEED_SHARE, HEADWAY_S = (0.6, 0.9), (1.0, 2.0)

FARTHEST_M = 34.0
"""Largest distance from the narrowing at which the first car of a side starts: 4.5 s at 7.5 m/s."""

GOAL_M, FREE_M = 8.0, 20.0
"""From where the street is wide again to the first goal, and what the cars of the other side leave free at the end of
the street."""

ROUTE_SPARE_M = 25.0
"""A route is at most this much longer than the road from `FARTHEST_M` before the narrowing to where the street is wide
again, where such a goal exists."""


def build(rng: Rng, agents: int, neck_width_m: float, neck_m: float, approach_m: float, speed_limit_mps: float,
          priority: bool) -> Parts:
    """Half of the cars start on either side; which side has one more is drawn."""
    fitting = 2 * (1 + max(0, math.floor((approach_m - FARTHEST_M - FREE_M) / PITCH_M)))
    if agents > fitting:
        raise SceneError(f"agents is {agents}; at most {fitting} fit on these roads")

    # Lanes, bays and the yield line of one side.
    roads, middle = LaneMap(), Path(Pose(0.0, 0.0, 0.0), (line(2 * (approach_m + TAPER_M) + neck_m),))
    ways = [_lanes(roads, path, neck_width_m, approach_m, speed_limit_mps) for path in (middle, middle.reversed())]
    for path in (middle.part(0.0, approach_m), middle.reversed().part(0.0, approach_m)):
        roads.line(path)
        roads.pave(_bay(path.end))
    if priority:
        roads.control("yield", ways[rng.below(2)][:1])

    # The times at which the first cars reach the neck differ by up to `ARRIVAL_SPREAD_S`, either way.
    later_s = float(rng.uniform(-ARRIVAL_SPREAD_S, ARRIVAL_SPREAD_S, 1)[0])
    more = rng.below(2)

    # Cars of each side, with their goals beyond the neck.
    lanes, alongs, speeds, specs = [], [], [], []
    for side, way in enumerate(ways):
        count = (agents + (side == more)) // 2
        arrival_s = ARRIVAL_S + max(0.0, later_s if side == 0 else -later_s)
        speed_mps = speed_limit_mps * rng.uniform(*SPEED_SHARE, count)
        gap_m = np.maximum(PITCH_M, speed_mps * rng.uniform(*HEADWAY_S, count) + LENGTH_RANGE_M[1])
        if count:
            alongs.append(approach_m - _distances_m(gap_m, float(speed_mps[0]) * arrival_s, approach_m))
            lanes += [way[0]] * count
            speeds.append(speed_mps)
            specs += [PlacingSpec([], [Span(way[-1], GOAL_M)], (0.0, 2 * TAPER_M + neck_m + FARTHEST_M + ROUTE_SPARE_M),
                                  headway_s=HEADWAY_S)] * count
    starts = Places(np.array(lanes), np.concatenate(alongs))
    return roads.parts(place_from(rng, roads, starts, np.concatenate(speeds), specs))


def _lanes(roads, path, neck_width_m, approach_m, limit_mps):
    """The lanes of one direction: the approach, the taper, the neck, the taper back, and the street beyond."""
    tapers = (Taper(approach_m, TAPER_M, LANE_WIDTH_M / 2), Taper(path.length_m - approach_m - TAPER_M, TAPER_M,
                                                                  -LANE_WIDTH_M / 2))
    curve, length_m = Curve(path, -LANE_WIDTH_M / 2, tapers), path.length_m
    ends_m = [0.0, approach_m, approach_m + TAPER_M, length_m - approach_m - TAPER_M, length_m - approach_m, length_m]
    # Where the street narrows, its edges are as far from the middle of a lane as before.
    width_m, half_m = neck_width_m - 2 * NECK_CURB_M, LANE_WIDTH_M / 2 + CURB_M
    street, taper, neck = (LANE_WIDTH_M, CURB_M), (width_m, half_m - width_m / 2), (width_m, NECK_CURB_M)
    sizes_m = [street, taper, neck, taper, street]
    found: list[int] = []
    for from_m, to_m, (lane_m, curb_m) in zip(ends_m[:-1], ends_m[1:], sizes_m, strict=True):
        found.append(roads.lane(curve.part(from_m, to_m), lane_m, limit_mps, curb_gap_m=curb_m, after=found[-1:]))
    return found


def _bay(neck):
    """The corners of the bay on the right, at the end of an approach."""
    near_m = -HALF_M + 0.5
    corners = [(-BAY_M - 2 * BAY_SLANT_M, near_m), (-BAY_M - BAY_SLANT_M, -HALF_M - BAY_DEPTH_M),
               (-BAY_SLANT_M, -HALF_M - BAY_DEPTH_M), (0.0, near_m)]
    return [neck.moved(ahead_m, left_m)[:2] for ahead_m, left_m in corners]


def _distances_m(gap_m, first_m, approach_m):
    """From where the street narrows to each car of a side, with these gaps behind each, or shorter so that all fit."""
    room_m, least_m = approach_m - INSET_M - first_m, (len(gap_m) - 1) * PITCH_M
    behind_m = np.concatenate([[0.0], np.cumsum(gap_m[:-1])])
    if behind_m[-1] > room_m - FREE_M and behind_m[-1] > least_m:
        share = max(room_m - FREE_M - least_m, 0.0) / (behind_m[-1] - least_m)
        behind_m = PITCH_M * np.arange(len(gap_m)) + share * (behind_m - PITCH_M * np.arange(len(gap_m)))
    return first_m + behind_m
