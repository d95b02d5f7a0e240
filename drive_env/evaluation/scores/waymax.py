"""What are the metrics of Waymax? One value a step of the ego, and whether it is defined there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...names import named_arguments
from .drive import SLOW_MPS, Drive
from .driven_scene import DrivenMap, DrivenScene
from .lane_places import Segments, by_line, nearest_m, segments_of_lines
from .progress import flat_line

MAX_ACCELERATION_MPS2, MAX_CURVATURE_PER_M = 10.4, 0.3
SLACK = 1e-3
"""Limits above which a step is kinematically infeasible, and the tolerance of both for rounding errors."""

WRONG_WAY_M = 3.5
"""An ego at least this far from all lanes that it can drive along drives the wrong way."""

OFF_ROUTE_M, FARTHER_M = 5.0, 2.0
"""The ego is off its route if it is more than `OFF_ROUTE_M` from it, or more than `FARTHER_M` farther from it than from
the nearest lane that it can drive along."""

START_M, START_COS = 5.0, 0.5
"""Lanes on which the ego may have started: within `START_M` of it, and within 60 degrees of its heading."""


class StepMetric(NamedTuple):
    """One metric of the ego.

    Attributes:
        value: (t,) float64, 0 where it is not valid.
        valid: (t,) bool, where it is defined.
    """

    value: np.ndarray
    valid: np.ndarray


class WaymaxMetrics(NamedTuple):
    """The metrics of the t steps in which the ego is on the map. The route is the path of the expert, else `route_m`.

    Attributes:
        overlap: 1 where its box overlaps that of another object.
        offroad: 1 where a corner is beyond the nearest road edge.
        log_divergence: distance in m from the expert in the same step.
        kinematic_infeasibility: 1 where the motion since the step before exceeds the limits of vehicles.
        wrong_way: distance in m from the nearest lane that it can drive along, or from the route; 0 below 3.5.
        off_route: distance in m from the route; 0 as long as it is on it.
        progression: place along the route, from 0 at its start to 1 at its end.
    """

    overlap: StepMetric
    offroad: StepMetric
    log_divergence: StepMetric
    kinematic_infeasibility: StepMetric
    wrong_way: StepMetric
    off_route: StepMetric
    progression: StepMetric


@named_arguments
def waymax_metrics(scene: DrivenScene) -> WaymaxMetrics:
    """The metrics of Waymax for the ego.

    Args:
        scene: the drive.

    Raises:
        ConfigError: it is no `DrivenScene`.
    """
    return waymax_metrics_of(Drive(scene))


def waymax_metrics_of(drive: Drive) -> WaymaxMetrics:
    """As `waymax_metrics`."""
    everywhere = np.ones(len(drive.x_m), bool)
    route = segments_of_lines([] if drive.reference_path_m is None else [flat_line(drive.reference_path_m)])
    lanes = segments_of_lines(_lanes_from_start(drive))
    wrong_way, off_route = _distances(drive, route, lanes)
    return WaymaxMetrics(
        StepMetric(drive.overlaps.any(axis=1).astype(float), everywhere),
        StepMetric((drive.beyond_edge_m > 0.0).any(axis=1).astype(float), everywhere),
        _log_divergence(drive), _kinematic_infeasibility(drive), wrong_way, off_route, _progression(drive, route))


def _log_divergence(drive: Drive) -> StepMetric:
    steps, expert_m = drive.scene.ego_steps, drive.scene.expert_m
    logged_m = np.full((steps.stop, 2), np.nan)
    if expert_m is not None:
        count = min(len(expert_m), steps.stop)
        logged_m[:count] = expert_m[:count]
    return _where_finite(np.hypot(drive.x_m - logged_m[steps, 0], drive.y_m - logged_m[steps, 1]))


def _where_finite(values: np.ndarray) -> StepMetric:
    valid = np.isfinite(values)
    return StepMetric(np.where(valid, values, 0.0), valid)


def _kinematic_infeasibility(drive: Drive) -> StepMetric:
    """Whether the acceleration or the curvature from one step to the next exceeds its limit."""
    speed_mps, dt_s = np.abs(drive.speed_mps), drive.dt_s
    acceleration = np.diff(speed_mps) / dt_s
    turn_rad = (np.diff(drive.heading_rad) + np.pi) % (2.0 * np.pi) - np.pi
    moves = (speed_mps[:-1] >= SLOW_MPS) & (speed_mps[1:] >= SLOW_MPS)
    path_m = np.where(moves, 0.5 * (speed_mps[:-1] + speed_mps[1:]) * dt_s, 1.0)
    curvature = np.where(moves, turn_rad / path_m, 0.0)
    infeasible = ((np.abs(acceleration) > MAX_ACCELERATION_MPS2 + SLACK)
                  | (np.abs(curvature) > MAX_CURVATURE_PER_M + SLACK))
    return StepMetric(np.append(0.0, infeasible.astype(float)), np.arange(len(speed_mps)) > 0)


def _lanes_from_start(drive: Drive) -> list[np.ndarray]:
    """The lanes that the ego can drive along from where it started; all lanes where links are unknown."""
    road_map = drive.scene.road_map
    if not len(road_map.successors):
        return list(road_map.lanes)
    open_lanes = _start_lanes(drive, road_map)
    reachable = set(open_lanes)
    while open_lanes:
        after = set(map(int, road_map.successors[open_lanes.pop()])) - reachable
        reachable |= after
        open_lanes += sorted(after)
    return [road_map.lanes[lane] for lane in sorted(reachable)]


def _start_lanes(drive: Drive, road_map: DrivenMap) -> list[int]:
    segments = segments_of_lines(road_map.lanes).near(drive.x_m[:1], drive.y_m[:1], START_M)
    if not len(segments.line):
        return []
    near = by_line(drive.x_m[:1], drive.y_m[:1], drive.z_m[:1], segments).distance_m[0] <= START_M
    cos_error = drive.cos[0] * segments.ahead_x + drive.sin[0] * segments.ahead_y
    return sorted(set(segments.line[near & (cos_error >= START_COS)].tolist()))


def _distances(drive: Drive, route: Segments, lanes: Segments) -> tuple[StepMetric, StepMetric]:
    """The metrics of the wrong way and of leaving the route."""
    to_route_m = nearest_m(drive.x_m, drive.y_m, route)
    to_lanes_m = nearest_m(drive.x_m, drive.y_m, lanes)
    any_m = np.minimum(to_route_m, to_lanes_m)
    wrong_way = np.where(any_m < WRONG_WAY_M, 0.0, any_m)

    # A lane of the route itself is never nearer by `FARTHER_M`.
    is_off = (to_route_m > OFF_ROUTE_M) | (to_route_m > to_lanes_m + FARTHER_M)
    off_route = np.where(np.isinf(to_route_m), np.nan, np.where(is_off, to_route_m, 0.0))
    return _where_finite(wrong_way), _where_finite(off_route)


def _progression(drive: Drive, route: Segments) -> StepMetric:
    """Metres along the route as a share of its length."""
    if drive.reference_path_m is None:
        return _where_finite(np.full(len(drive.x_m), np.nan))
    if not len(route.line):
        return StepMetric(np.ones(len(drive.x_m)), np.ones(len(drive.x_m), bool))
    by = by_line(drive.x_m, drive.y_m, np.zeros_like(drive.x_m), route)
    nearest = np.argmin(by.distance_m, axis=1)
    begin_m = np.cumsum(route.length_m) - route.length_m
    return _where_finite((begin_m[nearest] + by.along_m[np.arange(len(nearest)), nearest]) / route.length_m.sum())
