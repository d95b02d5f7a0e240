"""Which lanes lead a car to its goal, in numpy and float64? The core's routes must be the same."""

from __future__ import annotations

import heapq
import math

import numpy as np

from drive_env.scenes import Scene
from drive_env.scenes.scene import ROAD_KIND_CODES

START_TURN_COS = 0.5
"""60 degrees: a lane whose direction differs more from the car's heading is not the lane that it drives on."""

LANE_REACH_M = 15.0
"""A point farther than this from every lane is on none, as in a parking lot or a driveway."""

CANDIDATE_GAP_M = 2.0
"""Lanes overlap in junctions, and logged vehicles drive beside lane centres: lanes that are this much farther away than
the nearest are candidates as well. Less than a lane width, so that the opposite lane is none."""

CANDIDATE_LIMIT = 8
DISTANCE_COST = 5.0
"""Cost of a metre between a point and its lane, in metres of path: a near lane is preferred to a short path."""


def python_route(scene: Scene, start_xy, start_heading: float, goal_xy) -> np.ndarray | None:
    """The path from the start to the goal along lane centres, without lane changes.

    Args:
        scene: a validated scene.
        start_xy: (2,) m, position of the car.
        start_heading: rad.
        goal_xy: (2,) m.

    Returns:
        (m, 2) float32 points from the lane point nearest the start to the one nearest the goal; m is 1 if these are the
        same point. None if no lane is near one of them, or no lane sequence connects them.
    """
    lanes = _Lanes(scene)
    start_xy, goal_xy = np.asarray(start_xy, np.float64), np.asarray(goal_xy, np.float64)
    ahead = np.array([math.cos(start_heading), math.sin(start_heading)])
    starts = lanes.near(start_xy, lanes.direction @ ahead >= START_TURN_COS)
    goals = lanes.near(goal_xy, np.ones(len(lanes.direction), bool))
    found = _shortest(scene, lanes.length_m, starts, goals)
    if found is None:
        return None
    sequence, from_m, to_m = found
    return lanes.polyline(sequence, from_m, to_m)


class _Lanes:
    """The segments of all lanes, with the distance along the lane at which each one begins."""

    def __init__(self, scene):
        roads = scene.roads
        self.start = roads.start
        self.points = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
        step = np.diff(self.points, axis=0)
        step_m = np.sqrt((step * step).sum(axis=1))
        road = np.repeat(np.arange(roads.count), np.diff(roads.start))
        inside = (road[1:] == road[:-1]) & (roads.kind[road[1:]] == ROAD_KIND_CODES["lane"])
        travelled = np.concatenate([[0.0], np.cumsum(np.where(inside, step_m, 0.0))])
        self.along_m = travelled - travelled[roads.start[:-1]][road]
        self.length_m = self.along_m[roads.start[1:] - 1]

        drawn = inside & (step_m > 0)
        self.point = np.flatnonzero(drawn)
        self.lane = road[self.point]
        self.step_m = step_m[drawn]
        self.direction = step[drawn] / self.step_m[:, None]

    def near(self, xy, allowed):
        """Candidate lanes of a point, as {lane: (metres along, metres away)}."""
        offset = xy - self.points[self.point]
        along = np.clip((offset * self.direction).sum(axis=1), 0.0, self.step_m)
        away = offset - along[:, None] * self.direction
        away_m = np.where(allowed, np.sqrt((away * away).sum(axis=1)), np.inf)
        candidates = {}
        reach = min(LANE_REACH_M, away_m.min(initial=np.inf) + CANDIDATE_GAP_M)
        close = np.flatnonzero(away_m <= reach)
        for segment in close[np.argsort(away_m[close], kind="stable")]:
            lane = int(self.lane[segment])
            if lane not in candidates:
                along_m = self.along_m[self.point[segment]] + along[segment]
                candidates[lane] = (float(along_m), float(away_m[segment]))
            if len(candidates) == CANDIDATE_LIMIT:
                break
        return candidates

    def polyline(self, sequence, from_m, to_m):
        """Points along the lanes of `sequence`, from `from_m` on the first to `to_m` on the last."""
        pieces = []
        for place, lane in enumerate(sequence):
            first, last = self.start[lane], self.start[lane + 1]
            along, points = self.along_m[first:last], self.points[first:last]
            low = from_m if place == 0 else 0.0
            high = to_m if place == len(sequence) - 1 else along[-1]
            between = points[(along > low) & (along < high)]
            ends = [np.array([np.interp(at, along, points[:, 0]), np.interp(at, along, points[:, 1])])[None]
                    for at in (low, high)]
            pieces += [ends[0], between, ends[1]]
        route = np.concatenate(pieces).astype(np.float32)
        moves = np.ones(len(route), bool)
        moves[1:] = (route[1:] != route[:-1]).any(axis=1)
        return route[moves]


def _shortest(scene, length_m, starts, goals):
    """Dijkstra over lanes: (lane sequence, metres along its first, metres along its last), or None."""
    # Start and goal on one lane, without the graph.
    best_cost, best_end, best_direct = math.inf, None, None
    for lane, (along, away) in starts.items():
        if lane in goals and goals[lane][0] >= along:
            cost = goals[lane][0] - along + DISTANCE_COST * (away + goals[lane][1])
            if cost < best_cost:
                best_cost, best_direct = cost, lane
    cost_to: dict = {}
    came_from: dict = {}
    queue: list = []

    def offer(lane, cost, before):
        """Relaxes the cost at the first point of `lane`; `before` is the previous lane, or (lane,) for a start lane."""
        if cost < cost_to.get(lane, math.inf):
            cost_to[lane], came_from[lane] = cost, before
            heapq.heappush(queue, (cost, lane))

    # Expand lanes in the order of their cost.
    for lane, (along, away) in starts.items():
        for after in scene.lanes.after(lane):
            offer(int(after), length_m[lane] - along + DISTANCE_COST * away, (lane,))
    while queue:
        cost, lane = heapq.heappop(queue)
        if cost > cost_to[lane] or cost >= best_cost:
            continue
        if lane in goals:
            arrival = cost + goals[lane][0] + DISTANCE_COST * goals[lane][1]
            if arrival < best_cost:
                best_cost, best_end, best_direct = arrival, lane, None
        for after in scene.lanes.after(lane):
            offer(int(after), cost + length_m[lane], lane)

    # Walk back from the goal lane.
    if best_direct is not None:
        return [best_direct], starts[best_direct][0], goals[best_direct][0]
    if best_end is None:
        return None
    sequence, lane = [best_end], came_from[best_end]
    while not isinstance(lane, tuple):
        sequence.append(lane)
        lane = came_from[lane]
    sequence.append(lane[0])
    return sequence[::-1], starts[lane[0]][0], goals[best_end][0]
