"""How fast does a noisy signal change? Savitzky-Golay: polynomials fitted to windows of samples.

The same as `scipy.signal.savgol_filter` with mode "interp" (method: arXiv:1808.10489), which nuPlan uses. This includes
the window of an even number of samples, whose middle lies half a sample after the sample that gets the value.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np


def savitzky_golay(values: np.ndarray, window: int, dt: float = 1.0, derivative: int = 0,
                   degree: int = 2) -> np.ndarray:
    """(t,) the smoothed signal, or a derivative of it.

    Args:
        values: (t,) equally spaced samples, one or more.
        window: number of samples; with fewer values, all of them are one window.
        dt: time between two samples; derivatives are in units of it.
        derivative: 0 for the signal itself.
        degree: of the polynomials; lowered to one less than the number of samples in a window.
    """
    count, window = len(values), min(window, len(values))
    weights = _weights(window, min(degree, window - 1), derivative)
    half = window // 2
    result = np.empty(count)
    if count > window:
        shift = 1 - window % 2  # the window of sample i is i - half + shift to i + half
        first = half - shift
        result[first : first + count - window + 1] = np.correlate(values, weights.middle)

    # Values near the ends are those of the polynomials of the first and the last window.
    ends = weights.first.shape[0]
    result[:ends] = weights.first @ values[:window]
    result[count - half :] = weights.last @ values[count - window :]
    return result / dt**derivative


class _Weights(NamedTuple):
    """Weights of the samples in a derivative: in the middle of a window, (window,), and near both ends of a signal.

    A signal of one window has its middle among the first places.
    """

    middle: np.ndarray
    first: np.ndarray
    last: np.ndarray


@lru_cache(maxsize=64)
def _weights(window: int, degree: int, derivative: int) -> _Weights:
    fit, half = _fit(window, degree), window // 2
    at = lambda places: np.stack([_row(fit, place, derivative) for place in places]).reshape(-1, window)
    return _Weights(_row(fit, 0.5 * (window - 1), derivative), at(range(window - half)),
                    at(range(window - half, window)) if half else np.zeros((0, window)))


def _fit(window: int, degree: int) -> np.ndarray:
    """(degree + 1, window) matrix from samples to coefficients of the least-squares polynomial, lowest power first."""
    powers = np.vander(np.arange(window, dtype=float), degree + 1, increasing=True)
    return np.linalg.pinv(powers)


def _row(fit: np.ndarray, place: float, derivative: int) -> np.ndarray:
    """(window,) weights of the samples in a derivative of the polynomial at a place."""
    powers = np.arange(derivative, len(fit))
    factors = [math.perm(int(power), derivative) * place ** int(power - derivative) for power in powers]
    return np.asarray(factors) @ fit[derivative:] if len(factors) else np.zeros(fit.shape[1])
