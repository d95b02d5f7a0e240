"""What is an oval? Two straights and two half circles, driven to the left."""

from __future__ import annotations

import math

from .circuit import circuit
from .curves import Path, Pose, line, turn
from .parameters import Parameter
from .parts import Parts
from .rng import Rng

DEFAULT_AGENTS = 8

DIFFICULTY = "Long bends beside other cars, lap after lap."

PARAMETERS = {
    "lanes": Parameter(2, "lanes", "lanes side by side", 1, 4),
    "straight_m": Parameter(120.0, "m", "length of the straights", 40.0, 400.0),
    "radius_m": Parameter(30.0, "m", "radius of the innermost lane in the half circles", 15.0, 100.0),
    "lane_width_m": Parameter(5.0, "m", "width of every lane", 3.0, 6.0),
    "speed_limit_mps": Parameter(15.0, "m/s", "speed limit of every lane", 5.0, 40.0),
}


def build(rng: Rng, agents: int, lanes: int, straight_m: float, radius_m: float, lane_width_m: float,
          speed_limit_mps: float) -> Parts:
    """The lap starts in the middle of the lower straight."""
    half, bend = line(straight_m / 2), turn(radius_m, math.pi)
    path = Path(Pose(0.0, -radius_m, 0.0), (half, bend, half, half, bend, half))
    return circuit(rng, agents, path, lanes, lane_width_m, speed_limit_mps)
