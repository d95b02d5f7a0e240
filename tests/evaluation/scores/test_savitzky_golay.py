"""Does the filter fit polynomials? Vectors of scipy 1.15.3, and least squares by another routine."""

import numpy as np
import pytest

from drive_env.evaluation.scores.savitzky_golay import savitzky_golay

SAMPLES = np.arange(20)
NOISY = np.sin(0.3 * SAMPLES) + 0.1 * ((SAMPLES % 3) - 1)

VECTORS = [
    (8, 0, {0: -.087605807, 1: .290198946, 3: .801115275, 4: .954269806, 10: -.023982026, 15: -.976467491,
            16: -.973947136, 19: -.587095481}),
    (15, 1, {0: 2.91195308, 3: 1.302561574, 7: -.843293768, 10: -1.688001852, 12: -1.579239637, 16: -.469480252,
             19: .362839287}),
    (5, 1, {0: 4.29203885, 1: 3.371961862, 2: 2.451884875, 10: -3.021092822, 19: 1.931738244}),
    (5, 2, {0: -9.200769873, 2: -9.200769873, 10: -1.228410396, 19: 3.773244865})]


@pytest.mark.parametrize("window, derivative, wanted", VECTORS)
def test_values_are_those_of_scipy(window, derivative, wanted):
    found = savitzky_golay(NOISY, window, 0.1, derivative)
    np.testing.assert_allclose(found[list(wanted)], list(wanted.values()), rtol=0, atol=1e-9)


@pytest.mark.parametrize("window, derivative, weights", [
    (8, 0, np.array([-3, 3, 7, 9, 9, 7, 3, -3]) / 32), (15, 1, np.arange(-7, 8) / 280 / 0.1),
    (5, 1, np.arange(-2, 3) / 10 / 0.1), (5, 2, np.array([2, -1, -2, -1, 2]) / 7 / 0.1**2)])
def test_weights_are_the_published_ones(window, derivative, weights):
    """The impulse response, far from the ends."""
    impulse = np.zeros(61)
    impulse[30] = 1.0
    found = savitzky_golay(impulse, window, 0.1, derivative)
    first = 30 - window // 2
    np.testing.assert_allclose(found[first : first + window], weights[::-1], atol=1e-12)
    assert np.abs(np.delete(found, np.s_[first : first + window])).max() < 1e-12


@pytest.mark.parametrize("window, degree", [(5, 2), (8, 2), (15, 2), (5, 3)])
@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_a_polynomial_of_its_degree_is_kept(window, degree, derivative):
    """Half a sample later for a window of an even number of samples, but for those near the ends."""
    polynomial = np.polynomial.Polynomial([1.0, -2.0, 0.5, 0.25][: degree + 1])
    time_s = 0.1 * np.arange(40)
    found = savitzky_golay(polynomial(time_s), window, 0.1, derivative, degree)
    half, late_s = window // 2, 0.05 * (1 - window % 2)
    wanted = polynomial.deriv(derivative) if derivative else polynomial
    np.testing.assert_allclose(found[half:-half], wanted(time_s + late_s)[half:-half], atol=1e-9)
    np.testing.assert_allclose(found[:half], wanted(time_s)[:half], atol=1e-9)
    np.testing.assert_allclose(found[-half:], wanted(time_s)[-half:], atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("derivative", [0, 1])
def test_few_samples_are_one_window(count, derivative):
    values, places = NOISY[:count], np.arange(count)
    fit = np.polynomial.Polynomial.fit(places, values, min(2, count - 1)).convert()
    wanted = fit.deriv(derivative)(places) if derivative else fit(places)
    np.testing.assert_allclose(savitzky_golay(values, 8, 1.0, derivative), wanted, atol=1e-9)
