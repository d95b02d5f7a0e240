"""Which collisions does the ego have, and which are its fault? By the rules of nuPlan and of behavior-bench.

The core applies the same two rules during a trial (c/src/step/fault.c). The conditions of each are in their published
order, and the first that applies decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...binding import lib
from ...names import named_arguments
from ...realism.boxes import Boxes
from ...scenes.scene import OBJECT_KIND_CODES
from .boxes import boxes_overlap
from .drive import TOUCHING_M, Drive
from .driven_scene import DrivenScene

STANDING_MPS = lib.DRV_FAULT_STANDING_CMPS / 100
BEHIND_COS, IN_FRONT_COS = float(np.cos(np.radians(150.0))), 0.5
"""Cosines of bearings of 150 and 60 degrees."""

RUN_INTO_MPS = lib.DRV_FAULT_CLOSING_CMPS / 100
"""The ego runs into an object in front if the two approach each other faster than this."""

LANE_CHANGE_MPS = lib.DRV_FAULT_SIDEWAYS_CMPS / 100
"""An ego that moves to a side of its lane faster than this is changing lanes."""

VULNERABLE = tuple(OBJECT_KIND_CODES[name] for name in ("pedestrian", "cyclist"))


class Collision(NamedTuple):
    """The first contact of the ego with another object.

    Attributes:
        step: index of the step in the scene.
        object: index of the other object in the scene.
        kind: code of its kind.
        at_fault: whether it is the fault of the ego by the rule of nuPlan.
        at_fault_by_bearing: whether it is by the rule of behavior-bench.
        delta_v_mps: change of the velocity of the ego (delta-v), as in a perfectly inelastic collision of equal masses.
    """

    step: int
    object: int
    kind: int
    at_fault: bool
    at_fault_by_bearing: bool
    delta_v_mps: float


@named_arguments
def collisions(scene: DrivenScene) -> list[Collision]:
    """The collisions of the ego in the order of their steps, at most one with each object.

    Args:
        scene: the drive.

    Raises:
        ConfigError: it is no `DrivenScene`.
    """
    return collisions_of(Drive(scene))


def collisions_of(drive: Drive) -> list[Collision]:
    """As `collisions`."""
    found: list[Collision] = []
    for step, other in np.argwhere(drive.overlap_onsets).tolist():
        index = int(drive.other_index[other])
        if any(index == one.object for one in found):
            continue
        kind = int(drive.scene.kind[index])
        found.append(Collision(step + drive.scene.ego_steps.start, index, kind, _by_bumper(drive, step, other),
                               _by_bearing(drive, step, other, kind), _delta_v_mps(drive, step, other)))
    return found


def _stands(speed_mps: float) -> bool:
    return abs(speed_mps) <= STANDING_MPS


def _by_bumper(drive: Drive, step: int, other: int) -> bool:
    """The rule of nuPlan."""
    if _stands(drive.speed_mps[step]):
        return False
    if _stands(drive.other_speed_mps[step, other]):
        return True
    if drive.bearing_cos()[step, other] < BEHIND_COS:
        return False
    return bool(bumper_touches(drive, step, other) or drive.over_border[step] or drive.on_edge[step])


def bumper_touches(drive: Drive, step: int, other: int) -> bool:
    """Whether the front bumper overlapped another object during the step, in the frame that moves with that object."""
    before = max(step - 1, 0)
    cos, sin = drive.cos[step], drive.sin[step]
    target = drive.others.of((step, other))
    path_x = drive.x_m[step] - drive.x_m[before] - (target.x_m - drive.others.x_m[before, other])
    path_y = drive.y_m[step] - drive.y_m[before] - (target.y_m - drive.others.y_m[before, other])
    front_m = 0.5 * drive.length_m
    bumper = Boxes(drive.x_m[step] + front_m * cos, drive.y_m[step] + front_m * sin, cos, sin,
                   np.float64(TOUCHING_M), np.float64(0.5 * drive.width_m + TOUCHING_M))
    return bool(boxes_overlap(bumper, target, path_x, path_y))


def _by_bearing(drive: Drive, step: int, other: int, kind: int) -> bool:
    """The rule of behavior-bench."""
    if _stands(drive.speed_mps[step]):
        return False
    if _stands(drive.other_speed_mps[step, other]) or kind in VULNERABLE:
        return True
    in_front = drive.bearing_cos()[step, other] > IN_FRONT_COS
    return bool((in_front and _closing_mps(drive, step, other) > RUN_INTO_MPS) or _changes_lanes(drive, step))


def _closing_mps(drive: Drive, step: int, other: int) -> float:
    """The speed at which both approach each other, along the line from the ego's rear axle to the other's centre."""
    target = drive.others.of((step, other))
    shift = np.array([target.x_m, target.y_m]) - drive.axle_m()[step]
    shift /= max(float(np.hypot(*shift)), 1e-12)
    own = drive.speed_mps[step] * np.array([drive.cos[step], drive.sin[step]])
    theirs = drive.other_speed_mps[step, other] * np.array([target.cos, target.sin])
    return float((own - theirs) @ shift)


def _changes_lanes(drive: Drive, step: int) -> bool:
    """Whether the ego leaves its lane to a side."""
    aside_mps = abs(drive.speed_mps[step] * drive.places.sin_error[step])
    return bool(drive.over_border[step] and aside_mps > LANE_CHANGE_MPS)


def _delta_v_mps(drive: Drive, step: int, other: int) -> float:
    own, theirs = drive.speed_mps[step], drive.other_speed_mps[step, other]
    turn_rad = drive.heading_rad[step] - drive.other_heading_rad[step, other]
    return 0.5 * float(np.sqrt(max(own**2 + theirs**2 - 2.0 * own * theirs * np.cos(turn_rad), 0.0)))
