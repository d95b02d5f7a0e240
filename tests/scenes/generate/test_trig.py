"""Are the sines, cosines and directions of generators exact enough, and the same in every form?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from drive_env.scenes.generate.trig import direction_rad, sine_cosine, wrapped_rad

ANGLES = np.concatenate([np.linspace(-20, 20, 20011), np.arange(-40, 41) * math.pi / 4,
                         np.arange(-40, 41) * math.pi / 4 + 1e-9, [0.0, 1e-300, 1e-9, 12345.678, -9876.5]])


def test_sine_and_cosine_are_those_of_the_library_to_the_last_digits():
    sine, cosine = sine_cosine(ANGLES)
    for angle, s, c in zip(ANGLES.tolist(), sine, cosine, strict=True):
        assert abs(s - math.sin(angle)) <= 4e-16 and abs(c - math.cos(angle)) <= 4e-16


def test_sine_and_cosine_obey_pythagoras_and_the_sum_of_angles():
    sine, cosine = sine_cosine(ANGLES)
    assert np.abs(sine * sine + cosine * cosine - 1).max() <= 5e-16
    double_sine, double_cosine = sine_cosine(2 * ANGLES)
    assert np.abs(double_sine - 2 * sine * cosine).max() <= 1e-15
    assert np.abs(double_cosine - (cosine - sine) * (cosine + sine)).max() <= 1e-15


@pytest.mark.parametrize(("angle", "sine", "cosine"), [
    (0.0, 0.0, 1.0), (math.pi / 6, 0.5, math.sqrt(3) / 2), (math.pi / 4, math.sqrt(0.5), math.sqrt(0.5)),
    (-math.pi / 3, -math.sqrt(3) / 2, 0.5), (2 * math.pi / 5, math.sqrt(10 + 2 * math.sqrt(5)) / 4,
                                             (math.sqrt(5) - 1) / 4)])
def test_known_angles_have_known_sines(angle, sine, cosine):
    assert sine_cosine(angle) == pytest.approx((sine, cosine), abs=3e-16)


def test_a_number_and_an_array_give_the_same_bits():
    sine, cosine = sine_cosine(ANGLES)
    for angle, s, c in zip(ANGLES.tolist(), sine.tolist(), cosine.tolist(), strict=True):
        one = sine_cosine(angle)
        assert (one[0].hex(), one[1].hex()) == (s.hex(), c.hex())


def test_mirrored_angles_have_mirrored_bits():
    sine, cosine = sine_cosine(ANGLES)
    mirrored_sine, mirrored_cosine = sine_cosine(-ANGLES)
    assert (mirrored_sine == -sine).all() and (mirrored_cosine == cosine).all()


def test_directions_are_those_of_the_library_to_the_last_digits():
    length = np.array([1e-3, 1.0, 7.3, 1e4])[:, None]
    sine, cosine = np.sin(ANGLES), np.cos(ANGLES)
    for y, x in zip((length * sine).ravel().tolist(), (length * cosine).ravel().tolist(), strict=True):
        assert abs(direction_rad(y, x) - math.atan2(y, x)) <= 9e-16
    assert direction_rad(0.0, 0.0) == 0.0
    assert [direction_rad(y, x) for y, x in ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))] == [
        0.0, math.pi / 2, math.pi, -math.pi / 2]


def test_a_wrapped_angle_is_the_same_direction_in_one_turn():
    wrapped = wrapped_rad(ANGLES)
    assert (wrapped >= -math.pi).all() and (wrapped < math.pi).all()
    turns = (ANGLES - wrapped) / (2 * math.pi)
    assert np.abs(turns - np.round(turns)).max() < 1e-12
    assert wrapped_rad(math.pi) == -math.pi and wrapped_rad(0.25) == 0.25
