"""Where do the cars of a generated scene start, at which speed, and where are their goals?

Streets are divided into rows of places 8 m apart, with one place per lane. A car starts on one place; its goal is
another, on which no car starts. Routes are shortest paths in the lane graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import SceneError
from ..scene import Objects
from .placing import (
    BRAKING_MPS2, GOAL_DISTANCE_M, INSET_M, LENGTH_RANGE_M, PITCH_M, STANDING_GAP_M, cars_of, draw_goal, draw_sizes,
    in_eighths)
from .rng import Rng
from .roadnet import AHEAD, HEADING_RAD, RoadNet, on_grid

JITTER_M = 0.4
"""Two cars of 5.2 m on neighbouring places, each displaced by this, are 2 m apart; at the end of a lane, such a car is
entirely on it."""

START_SPEED_MPS = 6.0


class Place(NamedTuple):
    """Where a car may start or have its goal."""

    lane: int
    along_m: float
    passable: bool
    """Passable places are 16 m apart, never on both directions of a street in one row: other cars can pass a car that
    never leaves such a place. They are filled first."""


class TrafficSpec(NamedTuple):
    """Requirements of a generator on its traffic."""

    start_lanes: set[int]
    goal_lanes: set[int]
    route_range_m: tuple[float, float]
    far_goals: bool
    """Goals fill their lanes from the far end; otherwise they are anywhere."""


def populate(rng: Rng, net: RoadNet, agents: int, spec: TrafficSpec) -> Objects:
    """`agents` cars on lane centres.

    Raises:
        SceneError: they do not fit; names the number that does.
    """
    # Draw a start for every car, passable places first.
    places = _places(rng, net, spec.start_lanes)
    starts = [place for place in places if place.lane in spec.start_lanes]
    goals = [place for place in places if place.lane in spec.goal_lanes]
    # Every car needs two places: start and goal.
    fitting = min(len(starts), len(set(starts + goals)) // 2)
    if agents > fitting:
        raise SceneError(f"agents is {agents}; at most {fitting} fit on these roads")
    starts = (rng.shuffled([place for place in starts if place.passable])
              + rng.shuffled([place for place in starts if not place.passable]))[:agents]
    taken = set(starts)
    goals = [place for place in goals if place not in taken]

    # Draw sizes and speeds, then goals.
    lane = np.array([place.lane for place in starts])
    along_m = np.array([place.along_m for place in starts]) + rng.uniform(-JITTER_M, JITTER_M, agents)
    sizes_m = draw_sizes(rng, agents)
    speed_mps = in_eighths(np.minimum(np.maximum(rng.uniform(-START_SPEED_MPS, START_SPEED_MPS, agents), 0.0),
                                      _stopping_speed_mps(net, lane, along_m)))
    xy_m, ahead, heading_rad = _poses(net, lane, along_m)
    goal_m = _draw_goals(rng, net, lane, along_m, xy_m, goals, spec)
    return cars_of(sizes_m, xy_m, heading_rad, speed_mps[:, None] * ahead, goal_m)


def _places(rng, net, start_lanes):
    places = []
    for street in net.streets:
        room_m = street.length_m - 2 * INSET_M
        rows = int(room_m // PITCH_M) + 1
        first_m = INSET_M + float(rng.uniform(0.0, room_m - (rows - 1) * PITCH_M, 1)[0])
        sides = [side for side in (street.out, street.back) if start_lanes.intersection(side)]
        for row in range(rows):
            out_m = first_m + row * PITCH_M
            passable_side = sides[rng.below(len(sides))] if row % 2 == 0 else ()
            places += [Place(lane, out_m, lane in passable_side) for lane in street.out]
            places += [Place(lane, street.length_m - out_m, lane in passable_side) for lane in street.back]
    return places


def _stopping_speed_mps(net, lane, along_m):
    """(n,) speeds from which each car can stop before the next car on its lane and before the lane's end."""
    clear_m = np.array([net.lanes[i].length_m for i in lane]) - along_m - LENGTH_RANGE_M[1] / 2
    order = np.lexsort((along_m, lane))
    behind, ahead = order[:-1], order[1:]
    follows = lane[behind] == lane[ahead]
    gap_m = (along_m[ahead] - along_m[behind])[follows] - LENGTH_RANGE_M[1] - STANDING_GAP_M
    clear_m[behind[follows]] = np.minimum(clear_m[behind[follows]], gap_m)
    return np.sqrt(2 * BRAKING_MPS2 * clear_m)


def _poses(net, lane, along_m):
    """(n, 2) positions on the grid, (n, 2) unit vectors, (n,) headings."""
    start = np.array([net.lanes[i].start for i in lane])
    direction = np.array([net.lanes[i].direction for i in lane])
    ahead = np.array(AHEAD)[direction]
    return on_grid(start + along_m[:, None] * ahead), ahead, np.array(HEADING_RAD)[direction]


def _draw_goals(rng, net, lane, along_m, xy_m, goals, spec):
    """(n, 2): goals within the range of route lengths, different for all cars as far as possible."""
    # Paths between lanes, and the places of all goals.
    between_m = _paths_m(net)
    lane_length_m = np.array([item.length_m for item in net.lanes])
    goal_lane = np.array([place.lane for place in goals])
    goal_along_m = np.array([place.along_m for place in goals])
    goal_xy_m = _poses(net, goal_lane, goal_along_m)[0]
    free = np.ones(len(goals), bool)
    chosen = []
    for car in range(len(lane)):
        # Route length to every goal, along the lane or through the graph.
        ahead_m = goal_along_m - along_m[car]
        around_m = lane_length_m[lane[car]] + between_m[lane[car], goal_lane] + ahead_m
        route_m = np.where((goal_lane == lane[car]) & (ahead_m > 0), ahead_m, around_m)
        gap_m = goal_xy_m - xy_m[car]
        is_far = (gap_m * gap_m).sum(axis=1) >= GOAL_DISTANCE_M**2
        goal, indices = draw_goal(rng, route_m, is_far, free, spec.route_range_m, car)
        if spec.far_goals:
            same_lane = indices[goal_lane[indices] == goal_lane[goal]]
            goal = int(same_lane[np.argmax(goal_along_m[same_lane])])
        free[goal] = False
        chosen.append(goal)
    return goal_xy_m[chosen]


def _paths_m(net):
    """(lanes, lanes) metres from the end of one street lane to the start of another (Floyd and Warshall)."""
    count = len(net.lanes)
    path_m = np.full((count, count), np.inf)
    for link in net.connectors:
        path_m[link.before, link.after] = link.length_m
    for middle, lane in enumerate(net.lanes):
        through_m = path_m[:, middle, None] + (lane.length_m + path_m[None, middle])
        np.minimum(path_m, through_m, out=path_m)
    return path_m
