"""What are gates? On a narrow street the agent's car meets another one, and has to choose a side before that one moves.

Beside the street is a lay-by. The other car waits behind the gate until the agent's car has committed itself. Then it
yields, by driving through the lay-by, or insists, by driving straight on: each episode draws one of the two per gate.
"""

from __future__ import annotations

from .forks import (
    CAR_M, FLAT_M, FORK_M, KNOWN_SHARE, Script, check_agents, driven, known_options, mirrored, objects_of,
    street_with_loops, with_options)
from .parameters import Parameter
from .parts import Parts
from .rng import Rng

DEFAULT_AGENTS = 1

DIFFICULTY = "Whether the oncoming cars yield is hidden: a wrong choice is a collision, to avoid in the next trial."

PARAMETERS = {
    "gates": Parameter(2, "gates", "places where another car comes towards the agent's", 1, 3),
    "start_speed_mps": Parameter(6.0, "m/s", "speed of the agent's car at the start", 0.0, 8.0),
    "known_share": KNOWN_SHARE,
}

GAP_M, GAP_RANGE_M = 15.0, (12.0, 18.0)
"""Street before, between and after the gates: the mean, and the range before they are scaled to it."""

WAITING_M = 4.0
"""From the end of a fork to the centre of the car that waits there."""

LEAVING_M = 12.0
"""Distance that this car drives beyond the start of the fork, before it is taken off the map."""


def build(rng: Rng, agents: int, gates: int, start_speed_mps: float, known_share: float) -> Parts:
    """The lay-by of each gate is on a random side."""
    check_agents(agents)
    street = street_with_loops(rng, gates, GAP_M, GAP_RANGE_M)
    known = known_options(rng, known_share, [2] * gates)
    partners = [script for gate, fork in enumerate(street.forks) for script in _partners(gate, fork, known is not None)]
    objects, scripts = objects_of(start_speed_mps, (street.end_m, 0.0), with_options(partners, known))
    # A car that yields (option 0) leaves the street (route 0) free; one that insists (option 1) leaves the lay-by free.
    open_routes = known
    return Parts(street.roads(), street.graph(open_routes), objects, scripts=scripts)


def _partners(gate, fork, is_known):
    """The car that yields, option 0, and the same car that insists, option 1."""
    x_m = fork.end_m + WAITING_M
    yields = driven(x_m, [WAITING_M, "right", "left", FLAT_M, "left", "right", LEAVING_M])
    insists = driven(x_m, [WAITING_M, FORK_M, LEAVING_M])
    return [Script("vehicle", CAR_M, poses, gate, option, fork.line_m(is_known))
            for option, poses in enumerate((mirrored(yields, fork.sides[0]), insists))]
