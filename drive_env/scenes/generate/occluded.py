"""What is an occluded crossing? A street past parked vans, behind one of which a pedestrian steps out.

Beside each van, a loop leads around it. The pedestrian pushes a bicycle onto the lane and stays there, once the agent's
car has committed itself to the street or the loop: each episode draws the van.
"""

from __future__ import annotations

import math

import numpy as np

from .forks import (
    COMMITMENT_M, FRAME_S, KNOWN_SHARE, LANE_WIDTH_M, Script, check_agents, known_options, mirrored, objects_of,
    street_with_loops, with_options)
from .parameters import Parameter
from .parts import Parts
from .rng import Rng

DEFAULT_AGENTS = 1

DIFFICULTY = "Behind which van a pedestrian waits is hidden until it is too late to drive around that van."

PARAMETERS = {
    "vans": Parameter(3, "vans", "places where a pedestrian may step out", 2, 5),
    "start_speed_mps": Parameter(8.0, "m/s", "speed of the agent's car at the start", 0.0, 8.0),
    "known_share": KNOWN_SHARE,
}

GAP_M, GAP_RANGE_M = 12.0, (9.0, 15.0)
"""Street before, between and after the loops: the mean, and the range before they are scaled to it."""

RISE_M = 4.0
"""`Fork.rise_m` of the loops."""

VAN_M, PEDESTRIAN_M = (5.0, 2.0, 2.2), (1.8, 0.6, 1.8)
"""Length, width and height of a van, and of a pedestrian with a bicycle, which blocks the lane: beside it there is less
room than a car is wide."""

SIDE_M = LANE_WIDTH_M / 2 + 1.3
"""From the centre of the street to that of a van, and to the place where the pedestrian appears."""

CROSSING_M = 12.0
"""From the line beyond which a car is committed, to the pedestrian: 1.5 s at 8 m/s, the highest speed of the task."""

WALK_MPS = 2.5
LOG_S = 120.0
"""The vans and the pedestrian stay this long."""


def build(rng: Rng, agents: int, vans: int, start_speed_mps: float, known_share: float) -> Parts:
    """Each loop is on a random side, its van on the other one."""
    check_agents(agents)
    street = street_with_loops(rng, vans, GAP_M, GAP_RANGE_M, RISE_M)
    known = known_options(rng, known_share, [vans])
    pedestrians = [_pedestrian(option, fork, known is not None) for option, fork in enumerate(street.forks)]
    others = [_van(fork) for fork in street.forks] + with_options(pedestrians, known)
    objects, scripts = objects_of(start_speed_mps, (street.end_m, 0.0), others)
    open_routes = known and [int(option == known[0]) for option in range(vans)]
    return Parts(street.roads(), street.graph(open_routes), objects, scripts=scripts)


def _van(fork):
    x_m = fork.start_m + COMMITMENT_M + CROSSING_M - VAN_M[0] / 2 - PEDESTRIAN_M[1]
    poses = np.tile((x_m, -SIDE_M, 0.0), (round(LOG_S / FRAME_S), 1))
    return Script("vehicle", VAN_M, mirrored(poses, fork.sides[0]))


def _pedestrian(option, fork, is_known):
    """Absent until the car has crossed the line; from frame 1 on it walks from beside the van to the lane's centre."""
    poses = np.empty((round(LOG_S / FRAME_S), 3))
    poses[:, 0] = fork.start_m + COMMITMENT_M + CROSSING_M
    poses[:, 1] = np.minimum(-SIDE_M + WALK_MPS * FRAME_S * np.arange(-1, len(poses) - 1), 0.0)
    poses[:, 2] = math.pi / 2
    poses[0] = np.nan
    return Script("pedestrian", PEDESTRIAN_M, mirrored(poses, fork.sides[0]), 0, option, fork.line_m(is_known))
