"""How fast does a noisy signal change? Savitzky-Golay: polynomials fitted to windows of samples.

The same as `scipy.signal.savgol_filter` with mode "interp" (method: arXiv:1808.10489), which nuPlan uses. This includes
the window of an even number of samples, whose middle lies half a sample after the sample that gets the value.
"""

from __future__ import annotations

import math

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
    fit = _fit(window, min(degree, window - 1))
    half = window // 2
    result = np.empty(count)
    if count > window:
        middle = _row(fit, 0.5 * (window - 1), derivative)
        inner = np.lib.stride_tricks.sliding_window_view(values, window) @ middle
        shift = 1 - window % 2  # the window of sample i is i - half + shift to i + half
        first = half - shift
        result[first : first + len(inner)] = inner

    # Values near the ends are those of the polynomials of the first and the last window.
    for place in range(half):
        result[place] = values[:window] @ _row(fit, place, derivative)
        result[count - 1 - place] = values[count - window :] @ _row(fit, window - 1 - place, derivative)
    if count == window and window % 2:
        result[half] = values @ _row(fit, half, derivative)
    return result / dt**derivative


def _fit(window: int, degree: int) -> np.ndarray:
    """(degree + 1, window) matrix from samples to coefficients of the least-squares polynomial, lowest power first."""
    powers = np.vander(np.arange(window, dtype=float), degree + 1, increasing=True)
    return np.linalg.pinv(powers)


def _row(fit: np.ndarray, place: float, derivative: int) -> np.ndarray:
    """(window,) weights of the samples in a derivative of the polynomial at a place."""
    powers = np.arange(derivative, len(fit))
    factors = [math.perm(int(power), derivative) * place ** int(power - derivative) for power in powers]
    return np.asarray(factors) @ fit[derivative:] if len(factors) else np.zeros(fit.shape[1])
