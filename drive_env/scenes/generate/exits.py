"""What is a choice of exits? One car drives towards a junction that fans out into several roads, each with a goal.

The goals are candidates: each episode draws one of them (`Scene.candidate_goals_m`).
"""

from __future__ import annotations

import numpy as np

from ..lane_links import graph_of
from ..scene import OBJECT_KIND_CODES, Objects
from .forks import CAR_M, check_agents
from .parameters import Parameter
from .parts import Parts
from .rng import Rng
from .roadnet import CURB_GAP_M, END_CAP_M, on_grid, roads_of

DEFAULT_AGENTS = 1

DIFFICULTY = "Which exit is the goal is hidden: what one trial reveals has to be remembered in the next one."

PARAMETERS = {
    "exits": Parameter(3, "exits", "roads that leave the junction, each with a candidate goal", 2, 5),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.0),
    "start_speed_mps": Parameter(5.0, "m/s", "speed of the car at the start", 0.0, 10.0),
}

START_RANGE_M, GOAL_RANGE_M = (11.0, 13.0), (22.0, 24.0)
"""Distances of the car, and of each goal, from the centre of the junction."""

FAN, FAN_JITTER = 0.75, 0.03
"""Exits leave at angles whose halves have evenly spaced tangents from -FAN to FAN, each displaced by up to the jitter.
Sines and cosines follow from these tangents by arithmetic that has the same result on every platform."""

TURN_M = 8.0
"""Radius of the lane centre in a turn."""

BOX_M = 7.0
"""From the centre of the junction to the ends of its streets' lanes; a turn of `TURN_M` fits inside."""

CORNER_M = 0.5
"""Additional distance of the curbs: turns cut the corners of the road edge, which would be inside their lanes."""

ARC_POINTS = 9


def build(rng: Rng, agents: int, exits: int, lane_width_m: float, start_speed_mps: float) -> Parts:
    """Road edges separate the exits: a car that drives from one to another leaves the road."""
    check_agents(agents)
    tangents = np.linspace(-FAN, FAN, exits) + rng.uniform(-FAN_JITTER, FAN_JITTER, exits)
    start_m = float(rng.uniform(*START_RANGE_M, 1)[0])
    goal_m = rng.uniform(*GOAL_RANGE_M, exits)
    ahead = np.stack([(1 - tangents**2) / (1 + tangents**2), 2 * tangents / (1 + tangents**2)], axis=1)

    # The entry lane, a lane through the junction for each exit, and the exit lanes, with one road edge around all.
    behind_m = start_m + CAR_M[0]
    entry = [np.array([[-behind_m, 0.0], [-BOX_M, 0.0]])]
    turns = [np.concatenate([[[-BOX_M, 0.0]], _arc(tangent), [BOX_M * to]]) for tangent, to in zip(tangents, ahead)]
    leaving = [np.stack([BOX_M * to, far_m * to]) for to, far_m in zip(ahead, goal_m)]
    arms = np.concatenate([ahead, [[-1.0, 0.0]]])
    edge = _outline(arms, np.append(goal_m, behind_m) + END_CAP_M, lane_width_m / 2 + CURB_GAP_M + CORNER_M)
    lanes = entry + turns + leaving
    roads = roads_of([("lane", line) for line in lanes] + [("edge", edge)], lane_width_m)
    goals_m = on_grid(goal_m[:, None] * ahead).astype(np.float32)
    objects = _car(start_m, start_speed_mps, goals_m[0])
    return Parts(roads, _graph(exits, roads.count), objects, goals_m)


def _arc(tangent):
    """Points of the turn from the entry's direction to one whose half angle has this tangent."""
    half = np.linspace(0.0, tangent, ARC_POINTS)
    side = -1.0 if tangent < 0 else 1.0
    forward_m = TURN_M * side * 2 * half / (1 + half**2)
    left_m = TURN_M * side * 2 * half**2 / (1 + half**2)
    return np.stack([forward_m - TURN_M * abs(tangent), left_m], axis=1)


def _outline(arms, lengths_m, half_m):
    """The closed road edge around arms that leave the origin, counter-clockwise, `half_m` from the centre lines."""
    points = []
    for i, arm in enumerate(arms):
        left, following = np.array([-arm[1], arm[0]]), arms[(i + 1) % len(arms)]
        across = arm[0] * following[1] - arm[1] * following[0]
        points += [lengths_m[i] * arm - half_m * left, lengths_m[i] * arm + half_m * left,
                   half_m * (arm + following) / across]
    return np.array([*points, points[0]])


def _graph(exits, road_count):
    """The entry, lane 0, leads to all turns; the turns are the next lanes, and each leads to the exit lane of its own.
    """
    turns = np.arange(1, exits + 1)
    return graph_of([*np.zeros(exits, int), *turns], [*turns, *(turns + exits)], road_count)


def _car(start_m, speed_mps, goal_m):
    one = lambda value: np.full(1, value, np.float32)
    return Objects(
        id=np.zeros(1, np.int64), kind=np.full(1, OBJECT_KIND_CODES["vehicle"], np.uint8),
        length_m=one(CAR_M[0]), width_m=one(CAR_M[1]), height_m=one(CAR_M[2]), goal_m=goal_m[None],
        marked_expert=np.zeros(1, bool), x_m=on_grid(np.array([[-start_m]])).astype(np.float32), y_m=one(0.0)[None],
        heading_rad=one(0.0)[None], vx_mps=one(speed_mps)[None], vy_mps=one(0.0)[None], valid=np.ones((1, 1), bool))
