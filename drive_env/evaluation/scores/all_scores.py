"""What are all scores of one drive, as one flat dict? And their units and meanings, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ...errors import ConfigError, value_text
from ...names import named_arguments
from .bench2drive import bench2drive_score_of
from .collision_times import nuplan_time_to_collision
from .comfort import COMFORT_BOUNDS, ComfortSignals, comfortable_steps
from .commonroad import COSTS, commonroad_costs_of
from .drive import Drive
from .driven_scene import DrivenScene
from .faults import Collision, collisions_of
from .nuplan import LEAST_TIME_S, nuplan_score_of
from .vmax import vmax_score_of
from .waymax import WaymaxMetrics, waymax_metrics_of

HARD_BRAKING_MPS2 = COMFORT_BOUNDS["longitudinal_mps2"][0]


class Score(NamedTuple):
    """One score: its unit, and its meaning for one drive."""

    unit: str
    meaning: str


SCORES: Mapping[str, Score] = MappingProxyType({
    "driving_time_s": Score("s", "time from the first to the last step of the ego"),
    "distance_m": Score("m", "distance driven, by its absolute speed at the end of each step"),
    "mean_speed_mps": Score("m/s", "`distance_m` over `driving_time_s`"),
    "collision": Score("1", "1 if a contact with another object began"),
    "collisions": Score("1", "number of objects with which a contact began"),
    "at_fault_collision": Score("1", "1 if a collision was at fault by the rule of behavior-bench"),
    "at_fault_collision_nuplan": Score("1", "1 if a collision was at fault by the rule of nuPlan"),
    "max_collision_delta_v_mps": Score(
        "m/s", "largest change of velocity (delta-v) in a collision; 0 without one"),
    "offroad": Score("1", "1 if the box began to overlap a road edge"),
    "red_lights": Score("1", "number of red lights that it ran, from the `DrivenScene`"),
    "stop_signs": Score(
        "1", "number of stop signs that it passed without a stop, from the `DrivenScene`"),
    "infractions": Score(
        "1", "number of steps in which contacts or overlaps with road edges began, plus `red_lights` and `stop_signs`"),
    "wrong_way_share": Score(
        "1", "share of steps in which it moved against the direction of its lane, forwards or in reverse"),
    "over_speed_share": Score("1", "share of steps in which it was faster than its lane allows"),
    "hard_braking_share": Score("1", "share of steps with a smoothed acceleration below -4.05 m/s2"),
    "low_time_to_collision_share": Score("1", "share of steps with a time to collision below 0.95 s, by nuPlan"),
    "comfortable_share": Score("1", "share of steps with all signals of comfort within the bounds of nuPlan"),
    "nuplan_score": Score("1", "closed-loop score of nuPlan"),
    "nuplan_no_at_fault_collisions": Score("1", "multiplier: 1 without collisions at fault, less with each"),
    "nuplan_drivable_area": Score("1", "multiplier: 0 once a corner is 0.3 m or more outside of the drivable area"),
    "nuplan_making_progress": Score("1", "multiplier: 1 if `nuplan_progress` is 0.2 or more, else 0"),
    "nuplan_driving_direction": Score(
        "1", "multiplier by the distance driven against the lanes within a second: 1 below 2 m, 0.5 below 6 m, else 0"),
    "nuplan_progress": Score(
        "1", "weight 5: progress as a share of the length of the reference path, at most 1"),
    "nuplan_time_to_collision": Score("1", "weight 5: 1 if it was always 0.95 s or more"),
    "nuplan_speed_limit": Score(
        "1", "weight 4: 1 minus the mean excess over the speed limit in units of 2.23 m/s, at least 0"),
    "nuplan_comfort": Score("1", "weight 2: 1 if all signals of comfort were always within their bounds"),
    "vmax_score": Score("1", "score of V-Max"),
    "vmax_nuplan_score": Score(
        "1", "variant of the nuPlan score by V-Max, without `vmax_no_red_light` and `vmax_one_lane`"),
    "vmax_no_at_fault_collision": Score("1", "multiplier: 0 with a collision at fault"),
    "vmax_no_offroad": Score("1", "multiplier: 0 once a corner is beyond the nearest road edge"),
    "vmax_no_red_light": Score("1", "multiplier: 0 with a red light run"),
    "vmax_making_progress": Score("1", "multiplier: 1 if `vmax_progress` is 0.2 or more, else 0"),
    "vmax_driving_direction": Score(
        "1", "multiplier by the distance driven in lanes that lead the other way: 1 up to 2 m, 0.5 up to 6 m, else 0"),
    "vmax_time_to_collision": Score("1", "weight 5: as `nuplan_time_to_collision`, with the rules of V-Max"),
    "vmax_progress": Score(
        "1", "weight 5: farthest place along the reference path as a share of its length, at most 1"),
    "vmax_speed_limit": Score("1", "weight 4: as `nuplan_speed_limit`"),
    "vmax_one_lane": Score("1", "weight 3 by the time on several lanes: 1 up to 3.4 s, 0.5 up to 5.7 s, else 0"),
    "vmax_comfort": Score("1", "weight 2: 1 if all signals of comfort were always within the bounds of V-Max"),
    "bench2drive_driving_score": Score("1", "driving score of Bench2Drive"),
    "bench2drive_success": Score(
        "1", "1 if the reference path is done without an infraction, within lanes of its direction"),
    "bench2drive_route_completion": Score("1", "share of the reference path that is done"),
    "bench2drive_penalty": Score(
        "1", "product of the factors of its infractions, and of the share of distance in lanes of its direction"),
    **{f"commonroad_{name.lower()}": Score("1", f"cost {name} of CommonRoad; lower is better") for name in COSTS},
    "waymax_overlap": Score("1", "share of steps with an overlap of boxes"),
    "waymax_offroad": Score("1", "share of steps with a corner beyond the nearest road edge"),
    "waymax_log_divergence": Score("m", "mean distance from the expert in the same step"),
    "waymax_kinematic_infeasibility": Score(
        "1", "share of steps with an acceleration above 10.4 m/s2 or a curvature above 0.3/m"),
    "waymax_wrong_way": Score(
        "m", "mean distance from the nearest lane that it can drive along; less than 3.5 m counts as 0"),
    "waymax_off_route": Score("m", "mean distance from the reference path; 0 in steps in which it is not off it"),
    "waymax_progression": Score("1", "place along the reference path in the last step, as a share of its length"),
})
"""Every score by its name. A score that is not defined, such as the distance from an expert without a log, is NaN."""


@named_arguments
def score_driven(scene: DrivenScene) -> dict[str, float]:
    """All scores of the ego of one drive, by the names of `SCORES`.

    Args:
        scene: the drive.

    Raises:
        ConfigError: `scene` is no `DrivenScene`.
    """
    drive = Drive(scene)
    collisions = collisions_of(drive)
    time_s = nuplan_time_to_collision(drive, collisions)
    nuplan, vmax = nuplan_score_of(drive, collisions, time_s), vmax_score_of(drive)
    bench2drive = bench2drive_score_of(drive, collisions)
    return {
        **_driving(drive, collisions, time_s),
        "nuplan_score": nuplan.score, **{f"nuplan_{name}": value for name, value in nuplan.terms.items()},
        "vmax_score": vmax.score, "vmax_nuplan_score": vmax.nuplan_score,
        **{f"vmax_{name}": value for name, value in vmax.terms.items()},
        **{f"bench2drive_{name}": float(value) for name, value in vars(bench2drive).items()},
        **{f"commonroad_{name.lower()}": value for name, value in commonroad_costs_of(drive).totals.items()},
        **_waymax(waymax_metrics_of(drive))}


def _driving(drive: Drive, collisions: Sequence[Collision], time_s: np.ndarray) -> dict[str, float]:
    """The scores that belong to no published suite."""
    contacts = int(drive.overlap_onsets.any(axis=1).sum())
    onto_edge = int((drive.on_edge[1:] & ~drive.on_edge[:-1]).sum())
    distance_m = float(np.abs(drive.speed_mps[1:]).sum()) * drive.dt_s
    hard_braking_share, comfortable_share = comfort_shares(drive.comfort)
    against = drive.speed_mps * drive.places.cos_error < 0.0
    return {
        "driving_time_s": drive.duration_s, "distance_m": distance_m,
        "mean_speed_mps": distance_m / drive.duration_s, "collision": float(len(collisions) > 0),
        "collisions": float(len(collisions)),
        "at_fault_collision": float(any(one.at_fault_by_bearing for one in collisions)),
        "at_fault_collision_nuplan": float(any(one.at_fault for one in collisions)),
        "max_collision_delta_v_mps": max((one.delta_v_mps for one in collisions), default=0.0),
        "offroad": float(onto_edge > 0), "red_lights": float(drive.scene.red_lights),
        "stop_signs": float(drive.scene.stop_signs),
        "infractions": float(contacts + onto_edge + drive.scene.red_lights + drive.scene.stop_signs),
        "wrong_way_share": float(against.mean()), "over_speed_share": float((drive.over_speed_mps > 0.0).mean()),
        "hard_braking_share": hard_braking_share,
        "low_time_to_collision_share": float((time_s < LEAST_TIME_S).mean()), "comfortable_share": comfortable_share}


def comfort_shares(signals: ComfortSignals) -> tuple[float, float]:
    """The shares of steps with hard braking, and of comfortable steps."""
    return (float((signals.longitudinal_mps2 < HARD_BRAKING_MPS2).mean()), float(comfortable_steps(signals).mean()))


def _waymax(metrics: WaymaxMetrics) -> dict[str, float]:
    """The mean of each metric over its valid steps, but of `progression` the last valid value; NaN where none is."""
    found = {}
    for name, metric in metrics._asdict().items():
        values = metric.value[metric.valid]
        chosen = values[-1:] if name == "progression" else values
        found[f"waymax_{name}"] = float(chosen.mean()) if len(chosen) else float("nan")
    return found


@named_arguments
def km_per_infraction(scores: Iterable[Mapping[str, float]]) -> float:
    """The kilometres of all drives over their infractions, a ratio of sums; NaN without an infraction.

    It is not the mean of the ratios of single drives.

    Args:
        scores: results of `score_driven`, one a drive.

    Raises:
        ConfigError: one has no distance or no infractions.
    """
    rows = list(scores)
    for row in rows:
        if not {"distance_m", "infractions"} <= set(row):
            raise ConfigError(f"scores has {value_text(row)}; each must have distance_m and infractions")
    infractions = sum(row["infractions"] for row in rows)
    return sum(row["distance_m"] for row in rows) / 1000.0 / infractions if infractions else float("nan")
