"""Which features are scored, by which bins, and with which weights? One row a feature, of the years 2024 and 2025.

Source: the configs `challenge_2024` and `challenge_2025` of the Waymo Open Sim Agents Challenge, in the repository
waymo-research/waymo-open-dataset.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

YEARS = (2024, 2025)

BUCKETS = ("kinematic", "interactive", "map")
"""Groups of features, each of which has a score of its own."""


class ScoredFeature(NamedTuple):
    """How one feature is scored.

    Attributes:
        bucket: one of `BUCKETS`.
        weights: by year, see `YEARS`; those of a year have the sum 1.
        low, high: range of the histogram, in the unit of the feature.
        bins: of the histogram; 0: an event, which an object has in a rollout or has not.
        differences: how often central differences are taken; each one leaves out the steps beside invalid ones.
        vehicles_only: whether other objects are left out, or their events are.
    """

    bucket: str
    weights: tuple[float, ...]
    low: float = 0.0
    high: float = 0.0
    bins: int = 0
    differences: int = 0
    vehicles_only: bool = False


FEATURES = MappingProxyType({
    "linear_speed": ScoredFeature("kinematic", (0.05, 0.05), 0.0, 25.0, 10, differences=1),
    "linear_acceleration": ScoredFeature("kinematic", (0.05, 0.05), -12.0, 12.0, 11, differences=2),
    "angular_speed": ScoredFeature("kinematic", (0.05, 0.05), -0.628, 0.628, 11, differences=1),
    "angular_acceleration": ScoredFeature("kinematic", (0.05, 0.05), -3.14, 3.14, 11, differences=2),
    "distance_to_nearest_object": ScoredFeature("interactive", (0.1, 0.1), -5.0, 40.0, 10),
    "collision": ScoredFeature("interactive", (0.25, 0.25)),
    "time_to_collision": ScoredFeature("interactive", (0.1, 0.1), 0.0, 5.0, 10, vehicles_only=True),
    "distance_to_road_edge": ScoredFeature("map", (0.1, 0.05), -20.0, 40.0, 10),
    "offroad": ScoredFeature("map", (0.25, 0.25)),
    "traffic_light_violation": ScoredFeature("map", (0.0, 0.05), vehicles_only=True),
})
"""Every feature by its name, that of the array in `RealismFeatures`."""


def weights_of(year: int) -> dict[str, float]:
    """The weight of each feature in a year, one of `YEARS`."""
    return {name: row.weights[YEARS.index(year)] for name, row in FEATURES.items()}
