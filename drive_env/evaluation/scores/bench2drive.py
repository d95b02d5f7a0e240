"""What is the driving score of Bench2Drive? The share of the route that is done, times the factors of infractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...names import named_arguments
from ...scenes.scene import OBJECT_KIND_CODES
from .drive import Drive
from .driven_scene import DrivenScene
from .faults import Collision, collisions_of
from .progress import length_m

PENALTIES = MappingProxyType({
    "pedestrian": 0.5, "vehicle": 0.6, "static": 0.65, "red_light": 0.7, "stop_sign": 0.8})
"""Factor of each infraction: collisions by the kind of the other object, and violations of lights and signs."""

HIT_AS = MappingProxyType({
    OBJECT_KIND_CODES["pedestrian"]: "pedestrian", OBJECT_KIND_CODES["vehicle"]: "vehicle",
    OBJECT_KIND_CODES["cyclist"]: "vehicle", OBJECT_KIND_CODES["other"]: "static"})
"""Kinds of objects as CARLA counts them, where bicycles are vehicles."""

ARRIVED_M = 3.0
"""The reference path is done if no more of it is left: an agent reaches its goal 2 m before it, and a route may end
beside the goal."""


@dataclass(frozen=True)
class Bench2DriveScore:
    """The score of one drive by Bench2Drive.

    Attributes:
        driving_score: from 0 to 1, `route_completion` times `penalty`; papers give 100 times its mean over routes.
        success: whether the reference path is done without an infraction, and all of the distance was
            driven within lanes that lead in the direction of the ego.
        route_completion: share of the reference path that is done; 1 where there is none.
        penalty: the product of the factors of all infractions, and of the share of the distance that was driven within
            lanes that lead in the direction of the ego.
    """

    driving_score: float
    success: bool
    route_completion: float
    penalty: float


@named_arguments
def bench2drive_score(scene: DrivenScene) -> Bench2DriveScore:
    """The driving score and the success of Bench2Drive.

    Two infractions of CARLA do not count: timeouts of scenarios, and not giving way to emergency vehicles.

    Args:
        scene: the drive.

    Raises:
        ConfigError: it is no `DrivenScene`.
    """
    drive = Drive(scene)
    return bench2drive_score_of(drive, collisions_of(drive))


def bench2drive_score_of(drive: Drive, collisions: Sequence[Collision]) -> Bench2DriveScore:
    """As `bench2drive_score`, with the collisions of the drive."""
    found = [HIT_AS[one.kind] for one in collisions]
    found += ["red_light"] * drive.scene.red_lights + ["stop_sign"] * drive.scene.stop_signs
    outside = _outside_share(drive)
    penalty = float(np.prod([PENALTIES[name] for name in found])) * (1.0 - outside)
    completion = _route_completion(drive)
    return Bench2DriveScore(completion * penalty, completion == 1.0 and not found and outside == 0.0, completion,
                            penalty)


def _route_completion(drive: Drive) -> float:
    if drive.reference_path_m is None:
        return 1.0
    whole_m, done_m = length_m(drive.reference_path_m), float(np.fmax.reduce(drive.along_path_m, initial=0.0))
    return 1.0 if whole_m - done_m <= ARRIVED_M else done_m / whole_m


def _outside_share(drive: Drive) -> float:
    """The share of the distance outside of all lanes or in one that leads the other way; 0 in a map without lanes."""
    moved_m = np.hypot(np.diff(drive.x_m), np.diff(drive.y_m))
    total_m = float(moved_m.sum())
    if not len(drive.scene.road_map.lanes) or total_m == 0.0:
        return 0.0
    is_outside = (drive.places.lane < 0) | (drive.places.cos_error < 0.0)
    return float(moved_m[is_outside[1:]].sum()) / total_m
