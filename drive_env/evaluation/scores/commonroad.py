"""What does a drive cost by the cost functions of CommonRoad? Weighted integrals over time; lower is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...binding import lib
from ...names import named_arguments
from ...realism.boxes import signed_distance
from .drive import SLOW_MPS, Drive
from .driven_scene import DrivenScene

COSTS: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "JB1": {"T": 1.0},
    "SA1": {"SA": 0.1, "SR": 0.1, "D": 1e5},
    "WX1": {"T": 10.0, "V": 1.0, "A": 0.1, "J": 0.1, "D": 0.1, "LC": 10.0},
    "SM1": {"A": 50.0, "SA": 50.0, "SR": 50.0, "LC": 1.0, "V": 20.0, "O": 50.0},
    "SM2": {"A": 50.0, "SA": 50.0, "SR": 50.0, "LC": 1.0, "O": 50.0},
    "SM3": {"A": 50.0, "SA": 50.0, "SR": 50.0, "V": 20.0, "O": 50.0},
    "MW1": {"Jlat": 5.0, "Jlon": 0.5, "V": 0.2, "ID": 1.0}})
"""The weights of the partial costs of each cost function, as in commonroad-drivability-checker."""

WHEELBASE_SHARE = lib.DRV_WHEELBASE_PERCENT / 100

DISTANCE_WEIGHT_PER_M = 0.2


@dataclass(frozen=True)
class CommonRoadCosts:
    """The costs of one drive.

    Attributes:
        totals: cost by the name of the cost function, such as "SM1".
        partial: partial costs by name, without weights; see docs/scores.md.
    """

    totals: Mapping[str, float]
    partial: Mapping[str, float]


@named_arguments
def commonroad_costs(scene: DrivenScene) -> CommonRoadCosts:
    """The costs of CommonRoad, which ranks drives that end at their goals without a collision; neither is checked here.

    Args:
        scene: the drive.

    Raises:
        ConfigError: it is no `DrivenScene`.
    """
    return commonroad_costs_of(Drive(scene))


def commonroad_costs_of(drive: Drive) -> CommonRoadCosts:
    """As `commonroad_costs`."""
    partial = _partial_costs(drive)
    return CommonRoadCosts({name: sum(weight * partial[one] for one, weight in weights.items())
                            for name, weights in COSTS.items()}, partial)


def _partial_costs(drive: Drive) -> dict[str, float]:
    """Integrals of squares over time: of states by the trapezoidal rule, of rates by finite differences."""
    dt_s = drive.dt_s
    turn_radps = np.gradient(np.unwrap(drive.heading_rad), dt_s)
    moves = np.abs(drive.speed_mps) >= SLOW_MPS
    curvature = np.divide(turn_radps, drive.speed_mps, out=np.zeros_like(turn_radps), where=moves)
    wheel_rad = np.arctan(WHEELBASE_SHARE * drive.length_m * curvature)
    places = drive.places
    error_rad = np.where(places.lane >= 0, np.arctan2(places.sin_error, places.cos_error), 0.0)

    def of_state(values):
        squares = values**2
        return float((squares[1:] + squares[:-1]).sum()) * 0.5 * dt_s

    def of_rate(values, order=1):
        return float(((np.diff(values, order) / dt_s**order) ** 2).sum()) * dt_s

    return {
        "T": drive.duration_s, "A": of_rate(drive.speed_mps), "J": of_rate(drive.speed_mps, 2),
        "Jlat": of_rate(drive.speed_mps * turn_radps), "Jlon": of_rate(drive.speed_mps, 2),
        "SA": of_state(wheel_rad), "SR": of_rate(wheel_rad), "LC": of_state(places.left_m),
        "V": of_state(_below_limit_mps(drive)), "O": of_state(error_rad),
        "D": of_state(np.sqrt(_closeness(drive))), "ID": 1.0 / drive.duration_s}


def _below_limit_mps(drive: Drive) -> np.ndarray:
    """(t,) the speed limit minus the speed; 0 where the limit is unknown."""
    limit_mps = drive.limit_mps
    return np.where(limit_mps > 0.0, limit_mps - np.abs(drive.speed_mps), 0.0)


def _closeness(drive: Drive) -> np.ndarray:
    """(t,) from 0, far from all other objects, to 1 in contact with one."""
    gap_m = signed_distance(drive.box.of(np.s_[:, None]), drive.others, rounding=0.0)
    distance_m = np.where(drive.same_level, np.maximum(gap_m, 0.0), np.inf)
    return np.exp(-DISTANCE_WEIGHT_PER_M * distance_m.min(axis=1, initial=np.inf))
