"""What is a large racetrack? The circuit of HighwayEnv's `racetrack-large-v0`, with y up, and closed.

There, pieces have gaps and overlaps of up to 1.3 m; here they touch. All circles are the original's, and so is the
straight; the second slant is the line that touches the circles before it and after it, within 1.5 degrees of the
original's.
"""

from __future__ import annotations

import math

from .circuit import circuit, tangent
from .curves import Path, Pose, line, turn
from .parameters import Parameter
from .parts import Parts
from .rng import Rng

DEFAULT_AGENTS = 12

TRIAL_STEPS = 300
"""200 m at 10 m/s, and less in bends."""

DIFFICULTY = "Three lanes through narrow bends to both sides, and long straights between them."

PARAMETERS = {
    "lanes": Parameter(3, "lanes", "lanes side by side", 1, 3),
    "lane_width_m": Parameter(5.0, "m", "width of every lane", 3.0, 5.0),
    "speed_limit_mps": Parameter(10.0, "m/s", "speed limit of every lane", 5.0, 30.0),
}

START_M, FIRST_BEND_M = 42.0, 200.0
"""Where the straight on the x axis starts and ends."""

SLANT_M, LEFT_RADIUS_M, LAST_RADIUS_M = 50.0 * math.sqrt(2.0), 25.0, 15.0


def build(rng: Rng, agents: int, lanes: int, lane_width_m: float, speed_limit_mps: float) -> Parts:
    """The lap starts with the straight; the leftmost lane is the original's."""
    return circuit(rng, agents, track(), lanes, lane_width_m, speed_limit_mps)


def track() -> Path:
    """The middle of the leftmost lane."""
    # From the start to the end of the first slant.
    start = Pose(START_M, 0.0, 0.0)
    bends = (line(FIRST_BEND_M - START_M), turn(20.0, math.pi / 2), line(40.0), turn(15.0, math.pi),
             turn(20.0, -0.75 * math.pi), line(SLANT_M))
    slant = Path(start, bends).end
    # The second slant touches the circle of the turn after the first one, and that of the turn onto the straight.
    centre = slant.moved(0.0, LEFT_RADIUS_M)
    heading_rad, length_m = tangent((centre.x_m, centre.y_m), LEFT_RADIUS_M, (START_M, LAST_RADIUS_M), LAST_RADIUS_M)
    last = (turn(LEFT_RADIUS_M, heading_rad - 0.75 * math.pi), line(length_m),
            turn(LAST_RADIUS_M, 2 * math.pi - heading_rad))
    return Path(start, (*bends, *last))
