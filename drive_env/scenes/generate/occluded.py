"""What is an occluded crossing? A street past parked vans, behind one of which a pedestrian steps out.

Beside each van, a loop leads around it. The pedestrian pushes a bicycle onto the lane and stays there, once the agent's
car has committed itself to the street or the loop: each episode draws the van.
"""

from __future__ import annotations

import math

import numpy as np

from .forks import (
    CAR_M, COMMITMENT_M, FORK_M, FRAME_S, LANE_WIDTH_M, Fork, ForkedStreet, Script, check_agents, mirrored, objects_of,
    spread)
from .parameters import Parameter
from .parts import Parts
from .rng import Rng

DEFAULT_AGENTS = 1

PARAMETERS = {
    "vans": Parameter(3, "vans", "places where a pedestrian may step out", 2, 5),
    "start_speed_mps": Parameter(8.0, "m/s", "speed of the agent's car at the start", 0.0, 8.0),
}

GAP_M, GAP_RANGE_M = 12.0, (9.0, 15.0)
"""Street before, between and after the loops: the mean, and the range before they are scaled to it."""

RISE_M = 4.0
"""Of the loops; see `Fork`."""

VAN_M, PEDESTRIAN_M = (5.0, 2.0, 2.2), (1.8, 0.6, 1.8)
"""Length, width and height of a van, and of a pedestrian with a bicycle, which blocks the lane: beside it there is less
room than a car is wide."""

SIDE_M = LANE_WIDTH_M / 2 + 1.3
"""From the centre of the street to that of a van, and to the place where the pedestrian appears."""

CROSSING_M = 12.0
"""From the line that commits a car to the pedestrian: 1.5 s at 8 m/s, the highest speed of the task."""

WALK_MPS = 2.5
LOG_S = 120.0
"""The vans and the pedestrian stay this long."""


def build(rng: Rng, agents: int, vans: int, start_speed_mps: float) -> Parts:
    """Each loop is on a random side, its van on the other one."""
    check_agents(agents)
    gaps_m = spread(rng.uniform(*GAP_RANGE_M, vans + 1), GAP_M * (vans + 1))
    sides = [1 - 2 * rng.below(2) for _ in range(vans)]
    forks = [Fork(float(gaps_m[:i + 1].sum()) + i * FORK_M, (side,), RISE_M) for i, side in enumerate(sides)]
    street = ForkedStreet(-CAR_M[0], forks[-1].end_m + float(gaps_m[-1]), forks)
    others = [_van(fork, side) for fork, side in zip(forks, sides, strict=True)]
    others += [_pedestrian(option, fork, side) for option, (fork, side) in enumerate(zip(forks, sides, strict=True))]
    objects, scripts = objects_of(start_speed_mps, (street.end_m, 0.0), others)
    return Parts(street.roads(), street.graph(), objects, scripts=scripts)


def _van(fork, side):
    x_m = fork.start_m + COMMITMENT_M + CROSSING_M - VAN_M[0] / 2 - PEDESTRIAN_M[1]
    return Script("vehicle", VAN_M, mirrored(np.tile((x_m, -SIDE_M, 0.0), (round(LOG_S / FRAME_S), 1)), side))


def _pedestrian(option, fork, side):
    """Absent until the car has crossed the line; from frame 1 on it walks from beside the van to the lane's centre."""
    poses = np.empty((round(LOG_S / FRAME_S), 3))
    poses[:, 0] = fork.start_m + COMMITMENT_M + CROSSING_M
    poses[:, 1] = np.minimum(-SIDE_M + WALK_MPS * FRAME_S * np.arange(-1, len(poses) - 1), 0.0)
    poses[:, 2] = math.pi / 2
    poses[0] = np.nan
    return Script("pedestrian", PEDESTRIAN_M, mirrored(poses, side), 0, option, fork.line_m())
