"""Which object does another one follow, and when would it hit it? Vectors of the published tests, and all pairs."""

import numpy as np
import pytest

from drive_env.realism.frames import Frames
from drive_env.realism.time_to_collision import time_to_collision

STEEP = np.radians(75)


def times(x_m, y_m, heading_rad, speed_mps, valid=True, size_m=(4, 2)):
    """Of all objects in one frame."""
    rows = [np.array([one], np.float32) for one in (x_m, y_m, heading_rad, speed_mps)]
    half = np.full((2, len(x_m)), np.reshape(size_m, (2, 1)), np.float32) / 2
    return time_to_collision(Frames(rows[0], rows[1], rows[2], np.cos(rows[2]), np.sin(rows[2]), rows[3],
                                    np.broadcast_to(valid, rows[0].shape), *half, np.arange(len(x_m))))[0]


def test_each_of_a_row_follows_the_one_ahead():
    found = times([0, 5, 10, 15], [0] * 4, [0] * 4, [6, 10, 3, 1])
    np.testing.assert_allclose(found, [5, 1 / 7, 1 / 2, 5], rtol=1e-5)


def test_an_object_that_crosses_is_not_followed():
    headings = [0, STEEP + 0.01, 0, STEEP - 0.01]
    reach_m = 2 * np.cos(STEEP - 0.01) + np.sin(STEEP - 0.01)
    found = times([0, 5, 10, 15], [0] * 4, headings, [10, 6, 3, 1])
    np.testing.assert_allclose(found, [6 / 7, 5, (3 - reach_m) / 2, 5], rtol=1e-4)


def test_an_object_beside_the_path_is_not_followed():
    found = times([0, 5, 10, 15], [0, 2.1, 1.1, 0], [0] * 4, [10, 6, 3, 1])
    np.testing.assert_allclose(found, [6 / 7, 1 / 3, 1 / 2, 5], rtol=1e-5)


@pytest.mark.parametrize("y_m, heading_rad, follows", [
    (0, 0.0, True), (0, np.radians(9.9), True), (0, np.radians(10.1), True),  # deep in the path, at any turn
    (2.0, 0.0, False), (1.9, 0.0, True),  # touches it, but at small turns alone
    (2.5, np.radians(9.9), False), (2.2, np.radians(9.9), True), (2.2, np.radians(10.1), False)])
def test_a_turned_object_must_be_deep_in_the_path(y_m, heading_rad, follows):
    assert (times([0, 10], [0, y_m], [0, heading_rad], [10, 5])[0] < 5) == follows


def test_headings_are_compared_without_a_wrap():
    assert times([0, -10], [0, 0], [3.1, -3.1], [5, 0])[0] == 5
    assert times([0, -10], [0, 0], [3.1, 3.1], [5, 0])[0] < 5


@pytest.mark.parametrize("speed_mps, wanted", [([5, 5], 5), ([4, 5], 5), ([5.1, 5], 5), ([np.nan, 0], 5), ([7, 5], 3)])
def test_times_are_at_most_5_s_and_so_are_undefined_ones(speed_mps, wanted):
    assert times([0, 10], [0, 0], [0, 0], speed_mps)[0] == pytest.approx(wanted, rel=1e-5)


def test_an_invalid_object_is_not_followed():
    assert times([0, 10, 20], [0] * 3, [0] * 3, [10, 0, 0], valid=[True, False, True])[0] == pytest.approx(1.6)


def test_the_first_of_two_objects_at_one_distance_is_followed():
    assert times([0, 10, 10], [0, 0.5, -0.5], [0] * 3, [10, 4, 7])[0] == pytest.approx(1.0)
