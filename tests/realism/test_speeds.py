"""Are speeds and accelerations central differences, and undefined where a neighbour is missing?"""

import numpy as np
import pytest

from drive_env.realism.motion import (
    acceleration, angular_acceleration, angular_speed, both_neighbours, central_difference, speed)

NAN = np.nan


def close(found, wanted):
    np.testing.assert_allclose(found, np.asarray(wanted, np.float32), rtol=1e-5, atol=1e-5)


def test_a_central_difference_is_half_of_that_of_its_neighbours():
    close(central_difference(np.float32([0, 0.5, 1.5, 2, 3.5])), [NAN, 0.75, 0.75, 1, NAN])


def test_speeds_and_accelerations_are_those_of_the_definitions():
    """Vectors of the published tests, for steps of 1 s: ours are 0.1 s."""
    x_m, heading_rad, still = np.float32([5, 6, 8, 9, 9]), np.float32([0, 1, 3, 2, 0]), np.zeros(5, np.float32)
    close(speed(x_m, still) * 0.1, [NAN, 1.5, 1.5, 0.5, NAN])
    close(acceleration(speed(x_m, still)) * 0.01, [NAN, NAN, -0.5, NAN, NAN])
    close(angular_speed(heading_rad) * 0.1, [NAN, 1.5, 0.5, -1.5, NAN])
    close(angular_acceleration(heading_rad) * 0.01, [NAN, NAN, -1.5, NAN, NAN])


def test_speed_counts_every_coordinate_that_is_given():
    steps = np.arange(3, dtype=np.float32)
    close(speed(2 * steps, 3 * steps, 6 * steps)[1], 70.0)


def test_a_whole_turn_is_no_rotation():
    close(angular_speed(np.float32([3.1, 3.1, 3.1 - 2 * np.pi + 0.2])), [NAN, 1.0, NAN])


@pytest.mark.parametrize("valid, once, twice", [
    ("TTTTT", "FTTTF", "FFTFF"), ("TFTFT", "FTFTF", "FFTFF"), ("FTTFF", "FFFFF", "FFFFF")])
def test_a_difference_is_defined_where_both_neighbours_are(valid, once, twice):
    found = both_neighbours(np.array([letter == "T" for letter in valid]))
    assert "".join("FT"[int(one)] for one in found) == once
    assert "".join("FT"[int(one)] for one in both_neighbours(found)) == twice
