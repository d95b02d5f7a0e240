"""How likely is the log under the rollouts? Histograms for features, shares of rollouts for events, both smoothed."""

from __future__ import annotations

import numpy as np

HISTOGRAM_PSEUDOCOUNT = 0.1
"""Added to the count of every bin."""

EVENT_PSEUDOCOUNT = 0.001
"""Added to the number of rollouts with the event, and to that of those without it."""


def bins_of(values: np.ndarray, low: float, high: float, bins: int) -> np.ndarray:
    """Index of the bin of each value. A bin contains its lower edge, the last one both; values outside of the range are
    in the first or the last bin, and NaN in the last one, as in the published implementation."""
    edges = np.linspace(low, high, bins + 1, dtype=np.float32)
    return np.clip(np.searchsorted(edges, np.asarray(values, np.float32), side="right") - 1, 0, bins - 1)


def histogram_log_likelihood(logged: np.ndarray, simulated: np.ndarray, low: float, high: float,
                             bins: int) -> np.ndarray:
    """Log of the probability of the bin of each logged value, in a histogram of each object over rollouts and steps.

    Args:
        logged: (e, s) values of the log.
        simulated: (r, e, s) values of the rollouts.
        low, high: range of the histogram.
        bins: their number.

    Returns:
        (e, s) float64.
    """
    objects = logged.shape[0]
    row = np.arange(objects)[:, None]
    counts = np.bincount((bins_of(simulated, low, high, bins) + row * bins).ravel(), minlength=objects * bins)
    samples = simulated.shape[0] * simulated.shape[2]
    shares = (counts.reshape(objects, bins) + HISTOGRAM_PSEUDOCOUNT) / (samples + HISTOGRAM_PSEUDOCOUNT * bins)
    return np.log(shares[row, bins_of(logged, low, high, bins)])


def event_log_likelihood(logged: np.ndarray, simulated: np.ndarray) -> np.ndarray:
    """(e,) log of the share of rollouts that agree with the log, whether an object has an event.

    Args:
        logged: (e,) bool.
        simulated: (r, e) bool.
    """
    agree = (simulated == logged).sum(axis=0)
    return np.log((agree + EVENT_PSEUDOCOUNT) / (len(simulated) + 2 * EVENT_PSEUDOCOUNT))
