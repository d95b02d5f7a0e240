"""What is the closed-loop score of nuPlan? Four multipliers and four weighted terms of one drive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...names import named_arguments
from ...scenes.scene import OBJECT_KIND_CODES
from .collision_times import nuplan_time_to_collision
from .comfort import comfortable_steps
from .drive import Drive
from .driven_scene import DrivenScene
from .faults import VULNERABLE, Collision, collisions_of
from .lane_places import CLEARANCE_M, by_line, half_width_m, segments_of_lines
from .progress import length_m

MULTIPLIERS = ("no_at_fault_collisions", "drivable_area", "making_progress", "driving_direction")

WEIGHTS = MappingProxyType({"progress": 5.0, "time_to_collision": 5.0, "speed_limit": 4.0, "comfort": 2.0})

ALLOWED_COLLISIONS = ((OBJECT_KIND_CODES["vehicle"],), 0), (VULNERABLE, 0), ((OBJECT_KIND_CODES["other"],), 1)
"""Kinds of objects, and how many collisions with them leave a score above 0."""

OUTSIDE_M = 0.3
"""The ego leaves the drivable area if a corner is this far outside of it."""

LEAST_PROGRESS = 0.2
LEAST_PROGRESS_M = 2.0
"""Least progress and least length of the reference path that count; an ego that goes back by more has no progress."""

AGAINST_S = 1.0
AGAINST_M = (2.0, 6.0)
"""Distances driven against the direction of the lane within `AGAINST_S` from which the score is 0.5, and 0."""

LEAST_TIME_S = 0.95
MAX_OVER_SPEED_MPS = 2.23
"""The mean excess over the speed limit at which the term is 0."""


@dataclass(frozen=True)
class NuplanScore:
    """The closed-loop score of one drive.

    Attributes:
        score: from 0 to 1, the product of the multipliers times the weighted mean of the terms. Tables of papers have
            100 times its mean over scenes.
        terms: every multiplier and every weighted term by its name, from 0 to 1; see docs/scores.md.
    """

    score: float
    terms: Mapping[str, float]


@named_arguments
def nuplan_score(scene: DrivenScene) -> NuplanScore:
    """The closed-loop score of nuPlan.

    It is the non-reactive score if the others replayed their logs, the reactive one if they followed rules.

    Args:
        scene: the drive.

    Raises:
        ConfigError: it is no `DrivenScene`.
    """
    drive = Drive(scene)
    collisions = collisions_of(drive)
    return nuplan_score_of(drive, collisions, nuplan_time_to_collision(drive, collisions))


def nuplan_score_of(drive: Drive, collisions: Sequence[Collision], time_to_collision_s: np.ndarray) -> NuplanScore:
    """As `nuplan_score`, with the collisions and (t,) times to collision of the drive."""
    progress = progress_share(drive)
    terms = {
        "no_at_fault_collisions": collision_score([one for one in collisions if one.at_fault]),
        "drivable_area": float((outside_m(drive) < OUTSIDE_M).all()),
        "making_progress": float(progress >= LEAST_PROGRESS),
        "driving_direction": direction_score(drive),
        "progress": progress,
        "time_to_collision": float(time_to_collision_s.min() >= LEAST_TIME_S),
        "speed_limit": speed_limit_score(drive),
        "comfort": float(comfortable_steps(drive.comfort).all())}
    return NuplanScore(weighted_score(terms, MULTIPLIERS, WEIGHTS), terms)


def weighted_score(terms: Mapping[str, float], multipliers: Iterable[str], weights: Mapping[str, float]) -> float:
    """The weighted mean of some terms, times the product of others."""
    weighted = sum(weight * terms[name] for name, weight in weights.items()) / sum(weights.values())
    return weighted * math.prod(terms[name] for name in multipliers)


def collision_score(at_fault: Sequence[Collision]) -> float:
    """The product over the groups of kinds; each collision of a group takes an equal share of its factor."""
    return math.prod(max(0.0, 1.0 - sum(one.kind in kinds for one in at_fault) / (allowed + 1))
                     for kinds, allowed in ALLOWED_COLLISIONS)


def outside_m(drive: Drive) -> np.ndarray:
    """(t, 4) by how much each corner is outside of the drivable area, 0 or less inside.

    That area is the road side of the nearest road edge, and lanes of known width. Without road edges it is the whole
    map.
    """
    beyond_m = drive.beyond_edge_m
    widths_m = np.asarray(drive.scene.road_map.width_m)
    step, corner = np.nonzero(beyond_m >= OUTSIDE_M)
    known = np.flatnonzero(widths_m > 0.0)
    if not len(step) or not len(known):
        return beyond_m
    x_m, y_m = drive.corners_m[step, corner].T
    lanes = segments_of_lines([drive.scene.road_map.lanes[lane] for lane in known.tolist()])
    lanes = lanes.near(x_m, y_m, widths_m.max())
    if not len(lanes.line):
        return beyond_m
    by = by_line(x_m, y_m, drive.z_m[step], lanes)
    from_lane_m = by.distance_m - half_width_m(drive.scene.road_map, known[lanes.line])
    from_lane_m[np.abs(by.rise_m) > CLEARANCE_M] = np.inf
    beyond_m = beyond_m.copy()
    beyond_m[step, corner] = np.minimum(beyond_m[step, corner], from_lane_m.min(axis=1))
    return beyond_m


def progress_share(drive: Drive) -> float:
    """The progress of the ego as a share of the length of the reference path, from 0 to 1; 1 without such a path."""
    if drive.reference_path_m is None:
        return 1.0
    along_m = drive.along_path_m[~np.isnan(drive.along_path_m)]
    own_m = float(along_m[-1] - along_m[0]) if len(along_m) else 0.0
    if own_m < -LEAST_PROGRESS_M:
        return 0.0
    return min(1.0, max(own_m, LEAST_PROGRESS_M) / max(length_m(drive.reference_path_m), LEAST_PROGRESS_M))


def direction_score(drive: Drive) -> float:
    """1, 0.5 or 0 by the longest distance driven against the direction of the lanes within a second."""
    along_m = np.zeros(len(drive.x_m))
    places = drive.places
    along_m[1:] = np.diff(drive.x_m) * places.ahead_x[1:] + np.diff(drive.y_m) * places.ahead_y[1:]
    # The sum over one step more than a second has, as published.
    count = int(AGAINST_S / drive.dt_s + 1e-6) + 1
    sums_m = np.cumsum(along_m)
    sums_m[count:] -= sums_m[:-count].copy()
    against_m = abs(float(sums_m.min()))
    return 1.0 if against_m < AGAINST_M[0] else 0.5 if against_m < AGAINST_M[1] else 0.0


def speed_limit_score(drive: Drive) -> float:
    """1 minus the mean excess over the speed limit as a share of `MAX_OVER_SPEED_MPS`, at least 0."""
    return max(0.0, 1.0 - float(drive.over_speed_mps.sum()) * drive.dt_s / (MAX_OVER_SPEED_MPS * drive.duration_s))
