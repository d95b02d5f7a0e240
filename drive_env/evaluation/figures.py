"""How certain is a figure? It has a value over all rows, and a 95% confidence interval by a bootstrap over scenes.

The rows of a scene (one per agent and trial) are not independent, so scenes are resampled, not rows (Efron 1979).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 1000
"""Number of resamples of a bootstrap."""

RESAMPLES_AT_ONCE = 10
"""Limits the memory with ten thousand scenes."""

SEED = 0
"""Seed of the resamples: policies that are compared on the same scenes have the same resamples."""

LOW, HIGH = 25, 974
"""Ranks of the ends of an interval among the sorted resamples, from 0: 2.5% are below the interval, and 2.5% above."""

UNITS = {"_mps3": "m/s3", "_mps": "m/s", "_per_km": "1/km", "_m": "m", "_s": "s", "_length": "steps", "_steps": "steps"}
"""Unit of a metric by the end of its name; the first entry that fits counts. All other metrics have the unit 1."""


@dataclass(frozen=True)
class Figure:
    """A measured value and how certain it is.

    Attributes:
        value: a mean over rows, or a quotient of two sums over rows; None if there are no rows, or the divisor is 0.
        n: number of rows.
        ci95: the ends of the 95% confidence interval; an upper end of None is unbounded. None if `value` is None, or
            if all rows are of one scene, which does not show how much scenes differ.
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
    """The terms of a figure: the sum of `values` over the sum of `weights`. With weights 0 and 1 it is a mean.

    Attributes:
        values, weights: (rows,) float64.
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
    # Selects instead of multiplying: a row that does not count may be NaN.
    return Quantity(np.where(weights > 0, found, 0.0), weights, int(weights.sum()), unit)


def unit_of(metric: str) -> str:
    """The unit of a metric, from the end of its name."""
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
    """(RESAMPLES, columns): sums over `len(sums)` scenes, drawn with replacement. `sums`: (scenes, columns)."""
    rng = np.random.default_rng(SEED)
    found = np.empty((RESAMPLES, sums.shape[1]))
    for block in np.split(found, RESAMPLES // RESAMPLES_AT_ONCE):
        block[:] = sums[rng.integers(0, len(sums), (RESAMPLES_AT_ONCE, len(sums)))].sum(axis=1)
    return found


def _quotients(totals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """`totals` over `weights`: infinite where only the weight is 0, NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return totals / weights


def _interval(values: np.ndarray) -> tuple[float, float | None] | None:
    """The interval of 95% of the resampled values, without NaN. Order statistics allow infinite values."""
    ordered = np.sort(values[~np.isnan(values)])
    low, high = (ordered[rank * len(ordered) // RESAMPLES] for rank in (LOW, HIGH))
    if not np.isfinite(low):
        return None
    return float(low), float(high) if np.isfinite(high) else None
