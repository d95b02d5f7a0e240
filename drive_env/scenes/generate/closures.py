"""What is a hidden closure? Three routes to one goal, of which some are closed: each episode draws which.

The barrier of a closed route appears once the agent's car has committed itself to that route.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from .forks import (
    CAR_M, FORK_M, FRAME_S, KNOWN_SHARE, LANE_WIDTH_M, Fork, ForkedStreet, Script, check_agents, known_options,
    objects_of, with_options)
from .parameters import Parameter
from .parts import Parts
from .rng import Rng

DEFAULT_AGENTS = 1

DIFFICULTY = "Which routes are closed is hidden until the car is on them, and there is no way back."

PARAMETERS = {
    "closed": Parameter(2, "routes", "how many of the three routes are closed", 1, 2),
    "start_speed_mps": Parameter(6.0, "m/s", "speed of the agent's car at the start", 0.0, 8.0),
    "known_share": KNOWN_SHARE,
}

ROUTES = 3
SIDES = (0, 1, -1)
"""Of the routes: the street, the loop to the left, and that to the right."""

LEAD_RANGE_M, RISE_RANGE_M, END_M = (10.0, 16.0), (0.0, 4.0), 12.0
"""Street before the fork, straight part of the loops, and street after the fork."""

BARRIER_M = (0.6, LANE_WIDTH_M - 0.4, 1.0)
"""Along the lane, across it, and its height."""

LOG_S = 60.0
"""The barriers stay this long."""


def build(rng: Rng, agents: int, closed: int, start_speed_mps: float, known_share: float) -> Parts:
    """The fork has a random start, and the straight parts of its loops a random length."""
    check_agents(agents)
    start_m, rise_m = (float(rng.uniform(*span, 1)[0]) for span in (LEAD_RANGE_M, RISE_RANGE_M))
    fork = Fork(start_m, (1, -1), rise_m)
    street = ForkedStreet(-CAR_M[0], fork.end_m + END_M, [fork])
    options = list(combinations(range(ROUTES), closed))
    known = known_options(rng, known_share, [len(options)])
    barriers = [_barrier(option, fork, SIDES[route], known is not None)
                for option, routes in enumerate(options) for route in routes]
    objects, scripts = objects_of(start_speed_mps, (street.end_m, 0.0), with_options(barriers, known))
    open_routes = known and [min(set(range(ROUTES)) - set(options[known[0]]))]
    return Parts(street.roads(), street.graph(open_routes), objects, scripts=scripts)


def _barrier(option, fork, side, is_known):
    """In the middle of a route; absent until the car has crossed the line."""
    poses = np.tile((fork.start_m + FORK_M / 2, side * fork.height_m, 0.0), (round(LOG_S / FRAME_S), 1))
    poses[0] = np.nan
    line_m = fork.line_m(is_known) if is_known else fork.route_line_m(side)
    return Script("other", BARRIER_M, poses, 0, option, line_m)
