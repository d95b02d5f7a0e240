"""What do the lights of generated junctions show? One arm after another has green, all others are red.

Left turns cross the path of oncoming traffic, and lanes are shared between turns; so arms that face each other do not
have green together, and no two paths that cross are ever open at once.
"""

from __future__ import annotations

import math

import numpy as np

from ..scene import CONTROL_KIND_CODES, LIGHT_STATE_CODES, TrafficControls
from .parameters import Parameter
from .rng import Rng
from .roadnet import SPEED_LIMIT_MPS, RoadNet

LIGHTS = Parameter(False, "", "whether junctions of three or four arms have traffic lights, each arm its own green",
                   False, True)

GREEN_RANGE_S = (5.0, 8.0)
"""Duration of the green of an arm, so that a trial of 20 s has at least one change."""

REACTION_S, COMFORTABLE_BRAKING_MPS2 = 1.0, 3.048
"""Of a driver who sees yellow; the second is 10 feet/s2."""

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
    """Time in which a car that passed the line at this speed leaves a junction of this width, by the ITE, too."""
    return (crossing_m + LONGEST_CAR_M) / speed_mps


def light_controls(rng: Rng, net: RoadNet) -> TrafficControls:
    """A light for each arm of every junction with three or four arms; the lights of a junction have one cycle."""
    # Lines, lanes and phases of every light; those of a junction become green one after another.
    yellow = _eighths(yellow_s(SPEED_LIMIT_MPS))
    clearance = _eighths(all_red_s(SPEED_LIMIT_MPS, 2 * net.section.half_box_m))
    line_m, lanes, phase_s, offset_s, junction = [], [], [], [], []
    for number, at in enumerate(at for at, arms in enumerate(net.arms) if len(arms) > 2):
        approaches = net.approaches(at)
        greens = [_eighths(green) for green in rng.uniform(*GREEN_RANGE_S, len(approaches)).tolist()]
        cycle = math.fsum(greens) + len(greens) * (yellow + clearance)
        begin = 0.0
        for approach, green in zip(approaches, greens, strict=True):
            line_m.append(approach.line_m)
            lanes.append(approach.lanes)
            phase_s.append((green, yellow, cycle - green - yellow))
            offset_s.append((cycle - begin) % cycle)
            junction.append(number)
            begin += green + yellow + clearance

    # The same as arrays.
    count = len(lanes)
    states = [LIGHT_STATE_CODES[state] for state in ("green", "yellow", "red")]
    return TrafficControls(
        kind=np.full(count, CONTROL_KIND_CODES["light"], np.uint8),
        line_m=np.array(line_m, np.float32).reshape(count, 4),
        start=np.cumsum([0, *map(len, lanes)], dtype=np.int32),
        lane=np.array([lane for group in lanes for lane in group], np.int32),
        state=np.zeros((1, count), np.uint8), phase_start=np.arange(0, 3 * count + 1, 3, dtype=np.int32),
        phase_state=np.tile(np.array(states, np.uint8), count),
        phase_s=np.array(phase_s, np.float32).reshape(3 * count), offset_s=np.array(offset_s, np.float32),
        junction=np.array(junction, np.int32))


def _eighths(seconds):
    """Rounded up to eighths of a second, of which float32 holds all sums: all lights of a junction have one cycle."""
    return math.ceil(seconds * 8) / 8
