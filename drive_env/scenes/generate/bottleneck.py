"""What is a bottleneck? A road whose outer lanes end one after another, until few are left; at a toll, with booths."""

from __future__ import annotations

from ...errors import SceneError
from .curves import Path, Pose, line
from .lane_ends import end_lanes
from .lane_map import LaneMap
from .parameters import Parameter
from .parts import Parts
from .placing import PlacingSpec, Span, place
from .rng import Rng

DEFAULT_AGENTS = 12

TRIAL_STEPS = 400
"""The last of twelve cars is through after about 30 s."""

DIFFICULTY = "The cars of four lanes have to merge into one."

PARAMETERS = {
    "lanes": Parameter(4, "lanes", "lanes before the neck", 1, 6),
    "neck_lanes": Parameter(1, "lanes", "lanes of the neck and beyond it, at most `lanes`", 1, 6),
    "approach_m": Parameter(100.0, "m", "length of the road before the first lane ends", 60.0, 300.0),
    "taper_m": Parameter(40.0, "m", "length over which each lane ends", 30.0, 80.0),
    "neck_m": Parameter(30.0, "m", "length of the neck", 20.0, 50.0),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.0),
    "speed_limit_mps": Parameter(13.9, "m/s", "speed limit of every lane, except in the neck at a toll", 5.0, 25.0),
    "mirrored": Parameter(False, "", "whether the left lanes end instead of the right ones", False, True),
    "toll": Parameter(False, "", "whether every lane of the neck has a stop line, and a limit of 3 m/s", False, True),
}

EXIT_M = 60.0
"""Road beyond the neck, where the goals are."""

TOLL_LIMIT_MPS = 3.0
"""Speed limit of MetaDrive's tollgate."""

SPEED_SHARE, HEADWAY_S = (0.3, 0.8), (1.0, 3.0)


def build(rng: Rng, agents: int, lanes: int, neck_lanes: int, approach_m: float, taper_m: float, neck_m: float,
          lane_width_m: float, speed_limit_mps: float, mirrored: bool, toll: bool) -> Parts:
    """The last lane tapers into the one beside it, then that one, and so on."""
    if neck_lanes > lanes:
        raise SceneError(f"neck_lanes is {neck_lanes}; with {lanes} lanes it must be at most {lanes}")
    roads, at = LaneMap(), Pose(0.0, 0.0, 0.0)

    def ahead(length_m: float) -> Path:
        """The next part of the left edge of the leftmost lane."""
        nonlocal at
        path = Path(at, (line(length_m),))
        at = path.end
        return path

    # The approach, where cars start, and the tapers.
    first = roads.along(ahead(approach_m), lanes, lane_width_m, speed_limit_mps)
    before, ends = end_lanes(roads, [ahead(taper_m) for _ in range(lanes - neck_lanes)], lanes, lane_width_m,
                             speed_limit_mps, after=first)

    # The neck in two halves, with the booths in its middle, and the road beyond it.
    neck_mps = min(TOLL_LIMIT_MPS, speed_limit_mps) if toll else speed_limit_mps
    booths = roads.along(ahead(neck_m / 2), neck_lanes, lane_width_m, neck_mps, after=before)
    for lane in ends:
        roads.link(lane, booths[-1])
    beyond = roads.along(ahead(neck_m / 2), neck_lanes, lane_width_m, neck_mps, after=booths)
    goals = roads.along(ahead(EXIT_M), neck_lanes, lane_width_m, speed_limit_mps, after=beyond)
    if toll:
        for lane in booths:
            roads.control("stop", (lane,))

    # Cars start on the approach, and have their goals beyond the neck.
    roads = roads.mirrored() if mirrored else roads
    objects = place(rng, roads, agents, PlacingSpec([Span(lane) for lane in first], [Span(lane) for lane in goals],
                                                    speed_share=SPEED_SHARE, headway_s=HEADWAY_S))
    return roads.parts(objects)
