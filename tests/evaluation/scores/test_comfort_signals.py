"""Are accelerations, jerks and yaw rates those of known motions, and are the bounds those of nuPlan and V-Max?"""

import numpy as np
import pytest

from drive_env.evaluation.scores import COMFORT_BOUNDS, comfort_signals
from drive_env.evaluation.scores.comfort import comfortable_steps, is_comfortable_by_vmax

DT_S = 0.1
TIME_S = DT_S * np.arange(60)


def signals(speed_mps, heading_rad):
    return comfort_signals(np.broadcast_to(speed_mps, TIME_S.shape), np.broadcast_to(heading_rad, TIME_S.shape), DT_S)


def test_a_circle_at_constant_speed_has_centripetal_acceleration_alone():
    found = signals(8.0, 0.4 * TIME_S)
    np.testing.assert_allclose(found.lateral_mps2, 8.0 * 0.4, atol=1e-7)
    np.testing.assert_allclose(found.yaw_rate_radps, 0.4, atol=1e-7)
    for name in ("longitudinal_mps2", "yaw_acceleration_radps2", "longitudinal_jerk_mps3", "jerk_mps3"):
        np.testing.assert_allclose(getattr(found, name), 0.0, atol=1e-6)


def test_a_speed_that_grows_with_the_square_of_time_has_a_constant_jerk():
    found = signals(3.0 * TIME_S**2, 0.0)
    inner = slice(12, -12)
    np.testing.assert_allclose(found.longitudinal_jerk_mps3[inner], 6.0, atol=1e-6)
    np.testing.assert_allclose(found.jerk_mps3[inner], 6.0, atol=1e-6)
    # The window of 8 samples lies half a sample after the one that gets its value.
    np.testing.assert_allclose(found.longitudinal_mps2[inner], 6.0 * (TIME_S[inner] + 0.05), atol=1e-6)


def test_signals_are_those_of_the_published_weights():
    """Of an uneven drive, away from its ends: 8 samples for accelerations, 15 more for jerks, 5 for yaw rates."""
    speed_mps, heading_rad = 10.0 + np.sin(3.0 * TIME_S), 0.2 * np.cos(2.5 * TIME_S)
    found, inner = signals(speed_mps, heading_rad), slice(15, -15)

    def by(values, weights, later=0):
        return np.roll(np.convolve(values, np.array(weights)[::-1], mode="same"), -later)

    ahead_mps2 = by(np.gradient(speed_mps, DT_S), np.array([-3, 3, 7, 9, 9, 7, 3, -3]) / 32, later=1)
    np.testing.assert_allclose(found.longitudinal_mps2[inner], ahead_mps2[inner], atol=2e-8)
    jerk = by(ahead_mps2, np.arange(-7, 8) / 280 / DT_S)
    np.testing.assert_allclose(found.longitudinal_jerk_mps3[inner], jerk[inner], atol=2e-8)
    yaw_rate = by(heading_rad, np.arange(-2, 3) / 10 / DT_S)
    np.testing.assert_allclose(found.yaw_rate_radps[inner], yaw_rate[inner], atol=2e-8)
    turn = by(heading_rad, np.array([2, -1, -2, -1, 2]) / 7 / DT_S**2)
    np.testing.assert_allclose(found.yaw_acceleration_radps2[inner], turn[inner], atol=2e-8)


def test_whole_turns_of_the_heading_make_no_difference():
    heading_rad = 2.0 + 0.5 * TIME_S
    wrapped = (heading_rad + np.pi) % (2 * np.pi) - np.pi
    assert np.ptp(np.diff(wrapped)) > 6
    for one, other in zip(signals(5.0, heading_rad), signals(5.0, wrapped), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


@pytest.mark.parametrize("acceleration_mps2, wanted", [(2.39, True), (2.40, False), (-4.04, True), (-4.05, False)])
def test_a_bound_itself_is_too_much(acceleration_mps2, wanted):
    found = signals(30.0 + acceleration_mps2 * TIME_S, 0.0)
    assert bool(comfortable_steps(found).all()) is wanted


@pytest.mark.parametrize("yaw_rate, speed_mps, wanted", [(0.94, 5.0, True), (0.95, 5.0, False), (0.5, 9.77, True),
                                                         (0.5, 9.78, False)])
def test_turns_are_bounded_by_their_rate_and_by_the_acceleration_to_the_side(yaw_rate, speed_mps, wanted):
    for side in (1, -1):
        assert bool(comfortable_steps(signals(speed_mps, side * yaw_rate * TIME_S)).all()) is wanted


def test_every_signal_has_bounds():
    assert set(COMFORT_BOUNDS) == set(signals(1.0, 0.0)._fields)


@pytest.mark.parametrize("acceleration_mps2, wanted", [(2.40, True), (2.41, False), (-4.05, True), (-4.06, False)])
def test_a_bound_of_vmax_itself_is_comfortable(acceleration_mps2, wanted):
    assert is_comfortable_by_vmax(30.0 + acceleration_mps2 * TIME_S, 0.0 * TIME_S, DT_S) is wanted


@pytest.mark.parametrize("jerk_mps3, wanted", [(8.2, True), (8.4, False)])
def test_vmax_allows_twice_the_jerk_of_nuplan(jerk_mps3, wanted):
    """Within the bounds of the acceleration."""
    time_s = DT_S * np.arange(7)
    speed_mps = 20.0 - 2.4 * time_s + 0.5 * jerk_mps3 * time_s**2
    assert is_comfortable_by_vmax(speed_mps, 0.0 * time_s, DT_S) is wanted


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_a_short_drive_at_constant_speed_is_comfortable(steps):
    speed_mps, heading_rad = np.full(steps, 7.0), np.full(steps, 1.0)
    assert comfortable_steps(comfort_signals(speed_mps, heading_rad, DT_S)).all()
    assert is_comfortable_by_vmax(speed_mps, heading_rad, DT_S)
