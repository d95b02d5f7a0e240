"""Where do the cars of a generated scene start, how fast, and where do they want to go?

Streets are cut into rows of places 8 m apart, one place a lane. A car starts on one place and its goal is
another, on which nobody starts. Routes are measured over the lane graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import SceneError
from ..scene import OBJECT_KIND_CODES, Objects
from .rng import Rng
from .roadnet import AHEAD, GRID_PER_M, HEADING_RAD, RoadNet

LENGTH_RANGE_M = (4.0, 5.2)
WIDTH_RANGE_M = (1.8, 2.1)
HEIGHT_RANGE_M = (1.4, 1.9)

PLACE_PITCH_M = 8.0
JITTER_M = 0.4
"""Two cars of 5.2 m on neighbouring places, both moved by this much, keep 2 m between their bumpers."""

PLACE_INSET_M = 3.6
"""From a lane's end to its first place: a moved car still stands wholly on its lane, never in a junction."""

GOAL_DISTANCE_M = 20.0
"""As the crow flies: a goal across the street may be a long drive away and still be reached by accident."""

START_SPEED_MPS = 6.0
CALM_BRAKING_MPS2 = 2.0
"""No car starts faster than it can stop, at this rate, before the next car on its lane or the lane's end."""


class Place(NamedTuple):
    lane: int
    along_m: float
    calm: bool
    """Calm places lie 16 m from row to row and never on both ways of a street in one row: cars on them can be
    passed even if they stand for ever. They are filled first."""


class TrafficSpec(NamedTuple):
    """What a generator asks of its traffic."""

    start_lanes: set[int]
    goal_lanes: set[int]
    route_range_m: tuple[float, float]
    far_goals: bool
    """Goals fill their lanes from the far end, instead of lying anywhere."""


def populate(rng: Rng, net: RoadNet, agents: int, spec: TrafficSpec) -> Objects:
    """`agents` cars on lane centres.

    Raises:
        SceneError: they do not fit; it says how many do.
    """
    places = _places(rng, net, spec.start_lanes)
    starts = [place for place in places if place.lane in spec.start_lanes]
    goals = [place for place in places if place.lane in spec.goal_lanes]
    # Every car needs a place to start from and one to go to.
    fitting = min(len(starts), len(set(starts + goals)) // 2)
    if agents > fitting:
        raise SceneError(f"agents is {agents}; at most {fitting} fit on these roads")
    starts = (rng.shuffled([place for place in starts if place.calm])
              + rng.shuffled([place for place in starts if not place.calm]))[:agents]
    taken = set(starts)
    goals = [place for place in goals if place not in taken]

    lane = np.array([place.lane for place in starts])
    along_m = np.array([place.along_m for place in starts]) + rng.uniform(-JITTER_M, JITTER_M, agents)
    length_m, width_m, height_m = (rng.uniform(*size_range_m, agents).astype(np.float32)
                                   for size_range_m in (LENGTH_RANGE_M, WIDTH_RANGE_M, HEIGHT_RANGE_M))
    speed_mps = np.minimum(np.maximum(rng.uniform(-START_SPEED_MPS, START_SPEED_MPS, agents), 0.0),
                           _calm_speed_mps(net, lane, along_m))
    # Eighths of a m/s, rounded down.
    speed_mps = np.floor(speed_mps * 8) / 8
    xy_m, ahead, heading_rad = _poses(net, lane, along_m)
    goal_m = _draw_goals(rng, net, lane, along_m, xy_m, goals, spec)
    return Objects(
        id=np.arange(agents, dtype=np.int64), kind=np.full(agents, OBJECT_KIND_CODES["vehicle"], np.uint8),
        length_m=length_m, width_m=width_m, height_m=height_m,
        goal_m=goal_m.astype(np.float32), marked_expert=np.zeros(agents, bool),
        x_m=_one_frame(xy_m[:, 0]), y_m=_one_frame(xy_m[:, 1]), heading_rad=_one_frame(heading_rad),
        vx_mps=_one_frame(speed_mps * ahead[:, 0] + 0.0), vy_mps=_one_frame(speed_mps * ahead[:, 1] + 0.0),
        valid=np.ones((1, agents), bool))


def _places(rng, net, start_lanes):
    places = []
    for street in net.streets:
        room_m = street.length_m - 2 * PLACE_INSET_M
        rows = int(room_m // PLACE_PITCH_M) + 1
        first_m = PLACE_INSET_M + float(rng.uniform(0.0, room_m - (rows - 1) * PLACE_PITCH_M, 1)[0])
        ways = [way for way in (street.out, street.back) if start_lanes.intersection(way)]
        for row in range(rows):
            out_m = first_m + row * PLACE_PITCH_M
            calm_way = ways[rng.below(len(ways))] if row % 2 == 0 else ()
            places += [Place(lane, out_m, lane in calm_way) for lane in street.out]
            places += [Place(lane, street.length_m - out_m, lane in calm_way) for lane in street.back]
    return places


def _calm_speed_mps(net, lane, along_m):
    clear_m = np.array([net.lanes[i].length_m for i in lane]) - along_m - LENGTH_RANGE_M[1] / 2
    order = np.lexsort((along_m, lane))
    behind, ahead = order[:-1], order[1:]
    follows = lane[behind] == lane[ahead]
    gap_m = (along_m[ahead] - along_m[behind])[follows] - LENGTH_RANGE_M[1] - 1.0
    clear_m[behind[follows]] = np.minimum(clear_m[behind[follows]], gap_m)
    return np.sqrt(2 * CALM_BRAKING_MPS2 * clear_m)


def _poses(net, lane, along_m):
    """(n, 2) positions on the grid, (n, 2) unit vectors, (n,) headings."""
    start = np.array([net.lanes[i].start for i in lane])
    direction = np.array([net.lanes[i].direction for i in lane])
    ahead = np.array(AHEAD)[direction]
    return _on_grid(start + along_m[:, None] * ahead), ahead, np.array(HEADING_RAD)[direction]


def _draw_goals(rng, net, lane, along_m, xy_m, goals, spec):
    """(n, 2): a place of its own for every car, as long as there are such within the wished range."""
    between_m = _ways_m(net)
    lane_length_m = np.array([item.length_m for item in net.lanes])
    goal_lane = np.array([place.lane for place in goals])
    goal_along_m = np.array([place.along_m for place in goals])
    goal_xy_m = _poses(net, goal_lane, goal_along_m)[0]
    free = np.ones(len(goals), bool)
    low_m, high_m = spec.route_range_m
    chosen = []
    for car in range(len(lane)):
        ahead_m = goal_along_m - along_m[car]
        around_m = lane_length_m[lane[car]] + between_m[lane[car], goal_lane] + ahead_m
        route_m = np.where((goal_lane == lane[car]) & (ahead_m > 0), ahead_m, around_m)
        gap_m = goal_xy_m - xy_m[car]
        far_off = (gap_m * gap_m).sum(axis=1) >= GOAL_DISTANCE_M**2
        reached = far_off & np.isfinite(route_m)
        wished = reached & (route_m >= low_m) & (route_m <= high_m)
        # First a free goal within the range, then a shared one, then whatever can be reached.
        for suits in (free & wished, wished, reached):
            if suits.any():
                break
        else:
            raise SceneError(f"car {car} reaches no goal at least {GOAL_DISTANCE_M:g} m away; "
                             "these roads are too short")
        suiting = np.flatnonzero(suits)
        goal = int(suiting[rng.below(len(suiting))])
        if spec.far_goals:
            same_lane = suiting[goal_lane[suiting] == goal_lane[goal]]
            goal = int(same_lane[np.argmax(goal_along_m[same_lane])])
        free[goal] = False
        chosen.append(goal)
    return goal_xy_m[chosen]


def _ways_m(net):
    """(lanes, lanes) metres from the end of one street lane to the start of another; Floyd and Warshall."""
    count = len(net.lanes)
    way_m = np.full((count, count), np.inf)
    for link in net.connectors:
        way_m[link.before, link.after] = link.length_m
    for middle, lane in enumerate(net.lanes):
        through_m = way_m[:, middle, None] + (lane.length_m + way_m[None, middle])
        np.minimum(way_m, through_m, out=way_m)
    return way_m


def _on_grid(values_m):
    return np.round(values_m * GRID_PER_M) / GRID_PER_M + 0.0


def _one_frame(values):
    return values.astype(np.float32)[None]
