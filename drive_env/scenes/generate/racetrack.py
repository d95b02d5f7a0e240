"""What is a racetrack? The circuit of HighwayEnv's `racetrack-v0`, with y up, and closed.

There, pieces have gaps of up to 0.3 m; here they touch. The straight ends where the original's does, and the next four
pieces are the original's; the slant has the original's length, and the last two turns have the original's radii.
"""

from __future__ import annotations

import math

from .circuit import circuit, closing_arc_m
from .curves import Path, Pose, line, turn
from .parameters import Parameter
from .parts import Parts
from .rng import Rng
from .trig import direction_rad

DEFAULT_AGENTS = 8

TRIAL_STEPS = 300
"""200 m at 10 m/s, and less in bends."""

DIFFICULTY = "Narrow bends to both sides beside other cars, lap after lap."

PARAMETERS = {
    "lanes": Parameter(2, "lanes", "lanes side by side", 1, 2),
    "lane_width_m": Parameter(5.0, "m", "width of every lane", 3.0, 5.0),
    "speed_limit_mps": Parameter(10.0, "m/s", "speed limit of every lane", 5.0, 30.0),
}

FIRST_BEND_M = (100.0, 0.0)
"""Where the straight ends."""

SLANT_M, LAST_RADIUS_M, CLOSING_RADIUS_M = 20.0 * math.sqrt(2.0), 25.0, 23.5


def build(rng: Rng, agents: int, lanes: int, lane_width_m: float, speed_limit_mps: float) -> Parts:
    """The lap starts at the end of the closing turn; the leftmost lane is the original's."""
    return circuit(rng, agents, track(), lanes, lane_width_m, speed_limit_mps)


def track() -> Path:
    """The middle of the leftmost lane."""
    # From the first bend to the end of the slant.
    bends = (turn(20.0, math.pi / 2), line(10.0), turn(15.0, math.pi), turn(20.0, -0.75 * math.pi), line(SLANT_M))
    slant = Path(Pose(*FIRST_BEND_M, 0.0), bends).end
    # The last turn's circle, and the one of the right turn, which ends on the x axis at the start of the straight.
    centre = slant.moved(0.0, LAST_RADIUS_M)
    start_m = closing_arc_m((centre.x_m, centre.y_m), LAST_RADIUS_M, CLOSING_RADIUS_M)
    heading = float(direction_rad(start_m - centre.x_m, centre.y_m + CLOSING_RADIUS_M))
    last = (turn(LAST_RADIUS_M, heading + 1.25 * math.pi), turn(CLOSING_RADIUS_M, -heading))
    return Path(Pose(start_m, 0.0, 0.0), (line(FIRST_BEND_M[0] - start_m), *bends, *last))
