"""How certain is a figure? Its value over all rows, and a 95% interval by a bootstrap over scenes.

The rows of a scene, its agents and trials, are not independent, so scenes are what is resampled (Efron 1979).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 1000
"""Resamples of a bootstrap."""

RESAMPLES_AT_ONCE = 10
"""Few enough for the memory of ten thousand scenes."""

SEED = 0
"""Of the resamples: policies on equally many scenes are compared on the same ones."""

LOW, HIGH = 25, 974
"""Ranks of the ends of an interval among the sorted resamples, from 0: 2.5% are below it, and as many above."""

UNITS = {"_mps3": "m/s3", "_mps": "m/s", "_per_km": "1/km", "_m": "m", "_s": "s", "_length": "steps", "_steps": "steps"}
"""Unit of a metric by the end of its name; the first one that fits. All others have the unit 1."""


@dataclass(frozen=True)
class Figure:
    """A measured value and how certain it is.

    Attributes:
        value: a mean over rows, or a quotient of two sums over rows; None if there are no rows, or the divisor is 0.
        n: number of rows.
        ci95: the ends of the 95% interval; an upper end of None is unbounded. None if `value` is None, or if all rows
            are of one scene, which tells nothing about others.
        unit: of the value; "1" for shares and counts.
    """

    value: float | None
    n: int
    ci95: tuple[float, float | None] | None
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """The attributes in the types of JSON."""
        return {"value": self.value, "n": self.n, "ci95": self.ci95 and list(self.ci95), "unit": self.unit}


class Quantity(NamedTuple):
    """What a figure is computed from: a quotient of two sums over rows, a mean where `weights` are 0 and 1.

    Attributes:
        values, weights: (rows,) float64; the figure is the sum of `values` over that of `weights`.
        n: number of rows that count.
        unit: of the figure.
    """

    values: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    n: int
    unit: str


def mean_of(values: npt.ArrayLike, unit: str, counts: npt.NDArray[np.bool_] | None = None) -> Quantity:
    """The mean over all rows, or over those that `counts` selects."""
    found = np.asarray(values, np.float64)
    weights = np.ones(len(found)) if counts is None else counts.astype(np.float64)
    # Selected, not multiplied: a row that does not count may be NaN.
    return Quantity(np.where(weights > 0, found, 0.0), weights, int(weights.sum()), unit)


def unit_of(metric: str) -> str:
    """The unit of a metric, which is the end of its name."""
    return next((unit for end, unit in UNITS.items() if metric.endswith(end)), "1")


def figures_of(scenes: npt.NDArray[np.int64], quantities: Mapping[str, Quantity]) -> dict[str, Figure]:
    """The figure of each quantity; the same rows in the same order give the same bits.

    Args:
        scenes: (rows,) the scene of each row.
        quantities: by the name of the figure.
    """
    kinds, place = np.unique(scenes, return_inverse=True)
    if not len(kinds):
        return {name: Figure(None, 0, None, quantity.unit) for name, quantity in quantities.items()}

    # (scenes, quantities) sums of values and of weights.
    totals, weights = (np.stack([np.bincount(place, getattr(quantity, part), len(kinds))
                                 for quantity in quantities.values()], axis=1) for part in ("values", "weights"))
    resampled = _quotients(*np.split(_resampled(np.concatenate([totals, weights], axis=1)), 2, axis=1))
    values = _quotients(totals.sum(axis=0), weights.sum(axis=0))
    found = {}
    for column, (name, quantity) in enumerate(quantities.items()):
        value = float(values[column]) if np.isfinite(values[column]) else None
        interval = _interval(resampled[:, column]) if value is not None and len(kinds) > 1 else None
        found[name] = Figure(value, quantity.n, interval, quantity.unit)
    return found


def _resampled(sums: np.ndarray) -> np.ndarray:
    """(RESAMPLES, columns): the columns' sums over as many scenes, drawn with replacement. `sums` is by scene."""
    rng = np.random.default_rng(SEED)
    found = np.empty((RESAMPLES, sums.shape[1]))
    for block in np.split(found, RESAMPLES // RESAMPLES_AT_ONCE):
        block[:] = sums[rng.integers(0, len(sums), (RESAMPLES_AT_ONCE, len(sums)))].sum(axis=1)
    return found


def _quotients(totals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Infinite where the divisor alone is 0, NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return totals / weights


def _interval(values: np.ndarray) -> tuple[float, float | None] | None:
    """95% of the resampled values, those left out that are NaN; order statistics, which exist where some are infinite.
    """
    ordered = np.sort(values[~np.isnan(values)])
    low, high = (ordered[rank * len(ordered) // RESAMPLES] for rank in (LOW, HIGH))
    if not np.isfinite(low):
        return None
    return float(low), float(high) if np.isfinite(high) else None
