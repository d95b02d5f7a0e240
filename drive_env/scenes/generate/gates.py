"""What are gates? On a narrow street the agent's car meets another one, and has to choose a side before that one moves.

Beside the street is a lay-by. The other car waits behind the gate until the agent's car has committed itself. Then it
yields, by driving through the lay-by, or insists, by driving straight on: each episode draws one of the two per gate.
"""

from __future__ import annotations

from .forks import CAR_M, FLAT_M, FORK_M, Fork, ForkedStreet, Script, check_agents, driven, mirrored, objects_of, spread
from .parameters import Parameter
from .parts import Parts
from .rng import Rng

DEFAULT_AGENTS = 1

PARAMETERS = {
    "gates": Parameter(2, "gates", "places where another car comes towards the agent's", 1, 3),
    "start_speed_mps": Parameter(6.0, "m/s", "speed of the agent's car at the start", 0.0, 8.0),
}

GAP_M, GAP_RANGE_M = 15.0, (12.0, 18.0)
"""Street before, between and after the gates: the mean, and the range before they are scaled to it."""

WAITING_M = 4.0
"""From the end of a fork to the centre of the car that waits there."""

LEAVING_M = 12.0
"""What that car drives beyond the start of the fork, before it is taken off the map."""


def build(rng: Rng, agents: int, gates: int, start_speed_mps: float) -> Parts:
    """The lay-by of each gate is on a random side."""
    check_agents(agents)
    gaps_m = spread(rng.uniform(*GAP_RANGE_M, gates + 1), GAP_M * (gates + 1))
    sides = [1 - 2 * rng.below(2) for _ in range(gates)]
    forks = [Fork(float(gaps_m[:i + 1].sum()) + i * FORK_M, (side,)) for i, side in enumerate(sides)]
    street = ForkedStreet(-CAR_M[0], forks[-1].end_m + float(gaps_m[-1]), forks)
    others = [script for gate in range(gates) for script in _partners(gate, forks[gate], sides[gate])]
    objects, scripts = objects_of(start_speed_mps, (street.end_m, 0.0), others)
    return Parts(street.roads(), street.graph(), objects, scripts=scripts)


def _partners(gate, fork, side):
    """The car that yields, option 0, and the same car that insists, option 1."""
    x_m = fork.end_m + WAITING_M
    yields = driven(x_m, [WAITING_M, "right", "left", FLAT_M, "left", "right", LEAVING_M])
    insists = driven(x_m, [WAITING_M, FORK_M, LEAVING_M])
    return [Script("vehicle", CAR_M, poses, gate, option, fork.line_m())
            for option, poses in enumerate((mirrored(yields, side), insists))]
