"""What are the scores of V-Max? Its variant of the nuPlan score, and its own, with red lights and several lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...names import named_arguments
from .boxes import boxes_overlap
from .collision_times import VMAX_AXLE_SHARE, vmax_time_to_collision
from .comfort import is_comfortable_by_vmax
from .drive import Drive
from .driven_scene import DrivenScene
from .faults import BEHIND_COS, STANDING_MPS, VULNERABLE
from .nuplan import AGAINST_M, LEAST_PROGRESS, LEAST_TIME_S, speed_limit_score, weighted_score
from .progress import length_m

NUPLAN_MULTIPLIERS = ("no_at_fault_collision", "no_offroad", "making_progress", "driving_direction")
NUPLAN_WEIGHTS = MappingProxyType({"time_to_collision": 5.0, "progress": 5.0, "speed_limit": 4.0, "comfort": 2.0})

MULTIPLIERS = (*NUPLAN_MULTIPLIERS, "no_red_light")
WEIGHTS = MappingProxyType({**NUPLAN_WEIGHTS, "one_lane": 3.0})

LEAST_PATH_M = 0.5
"""Where the reference path is shorter, progress is 1."""

HALF_LANE_M = 3.7 / 2 + 0.2
"""A corner that is farther from the centre line is on another lane: half of a lane of 3.7 m, and a margin."""

SEVERAL_LANES_S = (3.4, 5.7)
"""Times on several lanes up to which the term is 1, and 0.5. The published code adds the 0.5 from 3.0 s on."""

TIME_DECIMALS = 6
"""Decimals to which times are rounded, so that 34 steps of 0.1 s are 3.4 s."""


@dataclass(frozen=True)
class VmaxScore:
    """The scores of one drive by V-Max.

    Attributes:
        score: its own score, from 0 to 1.
        nuplan_score: its variant of the nuPlan score.
        terms: every multiplier and every weighted term by its name, from 0 to 1; see docs/scores.md.
    """

    score: float
    nuplan_score: float
    terms: Mapping[str, float]


@named_arguments
def vmax_score(scene: DrivenScene) -> VmaxScore:
    """The scores of V-Max.

    Args:
        scene: the drive.

    Raises:
        ConfigError: it is no `DrivenScene`.
    """
    return vmax_score_of(Drive(scene))


def vmax_score_of(drive: Drive) -> VmaxScore:
    """As `vmax_score`."""
    progress = _progress(drive)
    terms = {
        "no_at_fault_collision": float(not _at_fault(drive).any()),
        "no_offroad": float(not (drive.beyond_edge_m > 0.0).any()),
        "no_red_light": float(drive.scene.red_lights == 0),
        "making_progress": float(progress >= LEAST_PROGRESS),
        "driving_direction": _direction(drive),
        "time_to_collision": float(vmax_time_to_collision(drive).min() >= LEAST_TIME_S),
        "progress": min(progress, 1.0),
        "speed_limit": speed_limit_score(drive),
        "one_lane": _one_lane(drive),
        "comfort": float(is_comfortable_by_vmax(drive.speed_mps, drive.heading_rad, drive.dt_s))}
    return VmaxScore(weighted_score(terms, MULTIPLIERS, WEIGHTS),
                     weighted_score(terms, NUPLAN_MULTIPLIERS, NUPLAN_WEIGHTS), terms)


def _on_several_lanes(drive: Drive) -> np.ndarray:
    """(t,) bool, whether a corner is too far from the centre of the lane of the ego."""
    return drive.reaches_beyond(HALF_LANE_M)


def _at_fault(drive: Drive) -> np.ndarray:
    """(t, m) bool, whether a collision at fault begins.

    Collisions with objects at rest, pedestrians and cyclists always are. Others are if the ego moves, and its front
    bumper overlaps the object, or the object is not behind and the ego is on several lanes."""
    box = drive.box
    front = boxes_overlap(
        box._replace(x_m=box.x_m + box.half_length_m * box.cos, y_m=box.y_m + box.half_length_m * box.sin,
                     half_length_m=np.zeros_like(box.x_m)).of(np.s_[:, None]), drive.others)
    beside = ~front & (drive.bearing_cos(VMAX_AXLE_SHARE) >= BEHIND_COS)
    moves = np.abs(drive.speed_mps) >= STANDING_MPS
    is_vulnerable = np.isin(drive.scene.kind[drive.other_index], VULNERABLE)
    return drive.overlap_onsets & (
        is_vulnerable | (np.abs(drive.other_speed_mps) < STANDING_MPS)
        | (moves[:, None] & (front | (beside & _on_several_lanes(drive)[:, None]))))


def _progress(drive: Drive) -> float:
    """The farthest place along the reference path as a share of its length."""
    if drive.reference_path_m is None or (whole_m := length_m(drive.reference_path_m)) < LEAST_PATH_M:
        return 1.0
    return float(np.fmax.reduce(drive.along_path_m, initial=0.0)) / whole_m


def _direction(drive: Drive) -> float:
    """1, 0.5 or 0 by the distance driven in lanes that lead the other way."""
    against_m = float(np.abs(drive.speed_mps)[drive.places.cos_error < 0.0].sum()) * drive.dt_s
    return 1.0 if against_m <= AGAINST_M[0] else 0.5 if against_m <= AGAINST_M[1] else 0.0


def _one_lane(drive: Drive) -> float:
    """1, 0.5 or 0 by the time for which the ego drove on several lanes."""
    steps = int((_on_several_lanes(drive) & (drive.speed_mps != 0.0)).sum())
    time_s = round(drive.dt_s * steps, TIME_DECIMALS)
    return 1.0 if time_s <= SEVERAL_LANES_S[0] else 0.5 if time_s <= SEVERAL_LANES_S[1] else 0.0
