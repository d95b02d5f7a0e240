"""Does each value fall into the right bin, and are counts smoothed as defined?"""

import numpy as np
import pytest

from drive_env.realism.likelihoods import bins_of, event_log_likelihood, histogram_log_likelihood


def likelihood(logged, simulated, low=0.0, high=1.0, bins=4):
    return np.exp(histogram_log_likelihood(np.array(logged, np.float32), np.array(simulated, np.float32),
                                           low, high, bins))


@pytest.mark.parametrize("value, wanted", [
    (0.0, 0), (2.499, 0), (2.5, 1), (24.99, 9), (25.0, 9), (26.0, 9), (-3.0, 0), (np.nan, 9), (np.inf, 9),
    (-np.inf, 0)])
def test_a_bin_is_closed_on_its_left_and_the_outer_ones_take_the_rest(value, wanted):
    assert bins_of(np.array([value]), 0.0, 25.0, 10).tolist() == [wanted]


def test_counts_are_smoothed_by_a_tenth_a_bin():
    found = likelihood([[0, 0.25, 0.5, 1, 2, -3]], [[[0.1, 0.1, 0.6, 5.0]]])
    np.testing.assert_allclose(found, [[0.47727, 0.02273, 0.25, 0.25, 0.25, 0.47727]], atol=5e-6)


def test_an_undefined_value_of_a_rollout_counts_in_the_last_bin():
    found = likelihood([[0.1, 0.9]], [[[0.1, np.nan, 0.6]]])
    np.testing.assert_allclose(found, [[1.1 / 3.4, 1.1 / 3.4]], rtol=1e-6)


def test_the_histogram_of_an_object_is_over_rollouts_and_steps_but_not_over_objects():
    found = likelihood([[0.1, 0.6], [0.9, 0.9]], [[[0.1, 0.1], [0.9, 0.1]], [[0.6, 0.6], [0.6, 0.3]]])
    np.testing.assert_allclose(found, [[0.477273, 0.477273], [0.25, 0.25]], atol=1e-6)


@pytest.mark.parametrize("with_event, logged, wanted", [
    (1, True, 0.03127930), (1, False, 0.96872079), (0, True, 3.124803e-05), (32, True, 32.001 / 32.002)])
def test_the_likelihood_of_an_event_is_its_share_of_the_rollouts(with_event, logged, wanted):
    rollouts = (np.arange(32) < with_event)[:, None]
    assert np.exp(event_log_likelihood(np.array([logged]), rollouts))[0] == pytest.approx(wanted, rel=1e-6)
