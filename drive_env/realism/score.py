"""How realistic are rollouts? The weighted mean of the likelihoods of the log under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from ..errors import ConfigError, a_type, checked_int
from ..names import named_arguments
from .features import RealismFeatures, realism_features
from .likelihoods import event_log_likelihood, histogram_log_likelihood
from .logged_scene import LoggedScene, Poses, checked_rollouts
from .motion import both_neighbours
from .weights import BUCKETS, FEATURES, YEARS, ScoredFeature, weights_of


@dataclass(frozen=True)
class RealismScore:
    """Scores of the rollouts of one scene, from 0 to 1, higher is better; and, below them, plain measures.

    A likelihood is NaN where the log has no step in which its feature is defined. Means leave it out, and divide by the
    weights of the others; one without any is NaN.

    Attributes:
        realism: the meta-metric, weighted mean of `likelihoods`.
        likelihoods: by feature, see `FEATURES`.
        buckets: weighted mean of the likelihoods of each bucket: kinematic, interactive, map.
        year: that of the weights.
        average_displacement_error_m: 3-D distance from the log, mean over rollouts and objects.
        min_average_displacement_error_m: that of the rollout with the lowest mean over objects.
        collision_rate, offroad_rate, traffic_light_violation_rate: share of rollouts and objects with the event in a
            step that is valid in the log.
    """

    realism: float
    likelihoods: Mapping[str, float]
    buckets: Mapping[str, float]
    year: int
    average_displacement_error_m: float
    min_average_displacement_error_m: float
    collision_rate: float
    offroad_rate: float
    traffic_light_violation_rate: float


@named_arguments
def realism_score(scene: LoggedScene, simulated: Poses, year: SupportsIndex = 2025,
                  published: bool = True) -> RealismScore:
    """How realistic rollouts of a logged scene are: a score that is compatible with that of the Waymo Open Sim Agents
    Challenge (Montali et al. 2023, arXiv:2305.12032).

    The challenge takes 32 rollouts; likelihoods depend on their number. The score of several scenes is the mean of
    their scores, field by field.

    Args:
        scene: the log, its map and its signals.
        simulated: `Poses` of (rollouts, objects, steps), as of `realism_features`.
        year: of the weights, 2024 or 2025.
        published: as of `realism_features`.

    Raises:
        ConfigError: `scene` is no `LoggedScene`, `simulated` is no `Poses` or has another shape or a value out of its
            range, or there are no weights of that year.
    """
    checked_int("year", year, YEARS[0], YEARS[-1])
    logged = realism_features(scene, None, published)
    return score_features(logged, realism_features(scene, checked_rollouts(scene, simulated), published), year)


@named_arguments
def score_features(logged: RealismFeatures, simulated: RealismFeatures, year: SupportsIndex = 2025) -> RealismScore:
    """The score of rollouts by their features.

    Args:
        logged: features of the log, of one rollout.
        simulated: features of the rollouts, of the same objects and steps.
        year: of the weights, 2024 or 2025.

    Raises:
        ConfigError: an argument has no features, or those of other objects or steps, or there are no weights of that
            year.
    """
    year = checked_int("year", year, YEARS[0], YEARS[-1])
    _check_features(logged, simulated)
    likelihoods = {name: _likelihood(name, row, logged, simulated) for name, row in FEATURES.items()}
    weights = weights_of(year)
    errors_m = simulated.displacement_error.astype(np.float64).mean(axis=1)
    rates = {name: float((getattr(simulated, name) & logged.valid).any(axis=-1).mean())
             for name, row in FEATURES.items() if not row.bins}
    return RealismScore(
        realism=_weighted_mean(likelihoods, weights), likelihoods=likelihoods,
        buckets={bucket: _weighted_mean(likelihoods, {name: weight for name, weight in weights.items()
                                                      if FEATURES[name].bucket == bucket}) for bucket in BUCKETS},
        year=year, average_displacement_error_m=float(errors_m.mean()),
        min_average_displacement_error_m=float(errors_m.min()),
        **{f"{name}_rate": rate for name, rate in rates.items()})


def _check_features(logged: Any, simulated: Any) -> None:
    """Rejects what is no features, or those of different objects or steps."""
    for name, features in (("logged", logged), ("simulated", simulated)):
        if not isinstance(features, RealismFeatures):
            raise ConfigError(f"{name} is {a_type(type(features))}; it must be a RealismFeatures")
    shape = (len(logged.linear_speed), *logged.valid.shape)
    if shape[0] != 1:
        raise ConfigError(f"logged has {shape[0]} rollouts; it must have 1")
    if simulated.valid.shape != shape[1:]:
        raise ConfigError(f"simulated has {simulated.valid.shape} objects and steps; it must have {shape[1:]}, as "
                          "logged")


def _likelihood(name: str, row: ScoredFeature, logged: RealismFeatures, simulated: RealismFeatures) -> float:
    """Exponential of the mean log likelihood of one feature; NaN if there is nothing to take the mean of."""
    log, rollouts = getattr(logged, name)[0], getattr(simulated, name)
    counts = logged.valid
    for _ in range(row.differences):
        counts = both_neighbours(counts)
    if row.vehicles_only:
        counts = counts & logged.is_vehicle[:, None]
    if row.bins:
        found = histogram_log_likelihood(log, rollouts, row.low, row.high, row.bins)[counts]
    else:
        found = event_log_likelihood((log & counts).any(axis=-1), (rollouts & counts).any(axis=-1))
    return float(np.exp(found.mean())) if found.size else float("nan")


def _weighted_mean(likelihoods: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Over the likelihoods that are defined and have a weight."""
    defined = {name: weight for name, weight in weights.items() if weight and not np.isnan(likelihoods[name])}
    total = sum(defined.values())
    return sum(likelihoods[name] * weight for name, weight in defined.items()) / total if total else float("nan")
