"""What do the lights of generated junctions show? One arm after another has green, all others are red.

Left turns cross the path of oncoming traffic, and lanes are shared between turns; so arms that face each other do not
have green together, and no two paths that cross are ever open at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..scene import CONTROL_KIND_CODES, LIGHT_STATE_CODES, TrafficControls
from .parameters import Parameter
from .rng import Rng

LIGHTS = Parameter(False, "", "whether junctions of three or four arms have traffic lights, each arm its own green",
                   False, True)

GREEN_RANGE_S = (5.0, 8.0)
"""Duration of the green of an arm, so that a trial of 20 s has at least one change."""

REACTION_S, COMFORTABLE_BRAKING_MPS2 = 1.0, 3.048
"""Reaction time and deceleration of a driver who sees yellow; 3.048 m/s2 are 10 feet/s2."""

LONGEST_CAR_M = 6.1
"""20 feet."""

YELLOW_LOWEST_S = 3.0
"""The shortest yellow of the traffic code of the US (MUTCD)."""


def yellow_s(speed_mps: float) -> float:
    """Duration of yellow after which a driver at this speed has stopped or passed the line.

    By the formula of the ITE, the Institute of Transportation Engineers.
    """
    return max(YELLOW_LOWEST_S, REACTION_S + speed_mps / (2 * COMFORTABLE_BRAKING_MPS2))


def all_red_s(speed_mps: float, crossing_m: float) -> float:
    """Time in which a car that passed the line at this speed leaves a junction of this width, also by the ITE."""
    return (crossing_m + LONGEST_CAR_M) / speed_mps


Phases = tuple[tuple[str, float], ...]
"""What a light shows, and for how many seconds, one phase after another."""


class Control(NamedTuple):
    """A light or sign, as a row of `TrafficControls`."""

    kind: str
    line_m: Sequence[float]
    lanes: Sequence[int]
    phases: Phases = ()
    offset_s: float = 0.0
    junction: int = -1


def light_programs(rng: Rng, count: int, speed_mps: float, crossing_m: float) -> list[tuple[Phases, float]]:
    """Phases and offset of lights that have green one after another, in one cycle.

    Args:
        count: of the lights, or of groups of lights with one program.
        speed_mps: of the traffic that approaches.
        crossing_m: length of its path through the junction.
    """
    yellow, clearance = _eighths(yellow_s(speed_mps)), _eighths(all_red_s(speed_mps, crossing_m))
    greens = [_eighths(green) for green in rng.uniform(*GREEN_RANGE_S, count).tolist()]
    cycle = math.fsum(greens) + len(greens) * (yellow + clearance)
    begin, programs = 0.0, list[tuple[Phases, float]]()
    for green in greens:
        phases = (("green", green), ("yellow", yellow), ("red", cycle - green - yellow))
        programs.append((phases, (cycle - begin) % cycle))
        begin += green + yellow + clearance
    return programs


def controls_of(controls: Sequence[Control]) -> TrafficControls:
    """The controls as arrays, of one frame."""
    count = len(controls)
    phases = [phase for control in controls for phase in control.phases]
    return TrafficControls(
        kind=np.array([CONTROL_KIND_CODES[control.kind] for control in controls], np.uint8),
        line_m=np.array([control.line_m for control in controls], np.float32).reshape(count, 4),
        start=np.cumsum([0, *(len(control.lanes) for control in controls)], dtype=np.int32),
        lane=np.array([lane for control in controls for lane in control.lanes], np.int32),
        state=np.zeros((1, count), np.uint8),
        phase_start=np.cumsum([0, *(len(control.phases) for control in controls)], dtype=np.int32),
        phase_state=np.array([LIGHT_STATE_CODES[state] for state, _ in phases], np.uint8),
        phase_s=np.array([seconds for _, seconds in phases], np.float32),
        offset_s=np.array([control.offset_s for control in controls], np.float32),
        junction=np.array([control.junction for control in controls], np.int32))


def _eighths(seconds):
    """Rounded up to eighths of a second, of which float32 holds all sums: all lights of a junction have one cycle."""
    return math.ceil(seconds * 8) / 8
