"""Which lines does an ego cross at red, or at a stop sign without a stop? Staged lines, with the core's rule."""

import dataclasses

import numpy as np
import pytest
from scored_drives import LENGTH_M, driven

from drive_env.evaluation.scores.line_crossings import violations_of
from drive_env.scenes.scene import CONTROL_KIND_CODES, LIGHT_STATE_CODES, no_traffic_controls

ACROSS = (50.0, 2.0, 50.0, -2.0)
"""A line across the lane of the ego, from its left end to its right end."""


def violations(*controls, **settings):
    """Of an ego along x at 10 m/s.

    Args:
        controls: of each its kind, its line, and what it shows.
    """
    drive = driven(**{"speed_mps": 10.0} | settings)
    table = dataclasses.replace(
        no_traffic_controls(1), kind=np.array([CONTROL_KIND_CODES[kind] for kind, _, _ in controls], np.uint8),
        line_m=np.array([line for _, line, _ in controls], np.float32))
    light = np.zeros((len(drive.x_m[drive.ego_steps]), len(controls)), np.uint8)
    for index, (_, _, shows) in enumerate(controls):
        light[:, index] = [LIGHT_STATE_CODES[one] for one in (shows if len(shows) > 100 else [shows] * len(light))]
    return violations_of(drive, table, light)


@pytest.mark.parametrize("shows, wanted", [("red", 1), ("yellow", 0), ("green", 0), ("off", 0)])
def test_a_line_is_crossed_at_red_alone(shows, wanted):
    assert violations(("light", ACROSS, shows)) == (wanted, 0)


def test_one_of_several_lights_that_is_not_red_excuses():
    assert violations(("light", ACROSS, "red"), ("light", ACROSS, "green")) == (0, 0)
    assert violations(("light", ACROSS, "red"), ("light", ACROSS, "red")) == (1, 0)


@pytest.mark.parametrize("turns_red, wanted", [(47, 1), (48, 0)])
def test_what_the_light_showed_before_the_step_counts(turns_red, wanted):
    """The bumper, half a length ahead, reaches the line in step 48."""
    shows = ["red" if step >= turns_red else "green" for step in range(151)]
    assert 48 + LENGTH_M / 2 == 50 and violations(("light", ACROSS, shows)) == (wanted, 0)


@pytest.mark.parametrize("line", [(50.0, -2.0, 50.0, 2.0), (50.0, 6.0, 50.0, 2.1), (200.0, 2.0, 200.0, -2.0)])
def test_lines_for_others_and_beyond_the_drive_are_not_crossed(line):
    """Lines for oncoming traffic, beside the path of the ego, and beyond its end."""
    assert violations(("light", line, "red"), ("stop", line, "off")) == (0, 0)


@pytest.mark.parametrize("stop_m, wanted", [(2.9, 0), (3.1, 1)])
def test_a_stop_counts_within_the_zone_before_the_line(stop_m, wanted):
    """The ego drives up to the line, stands for a second, and drives on."""
    steps = np.arange(151)
    speed_mps = np.where((steps < 40) | (steps > 50), 10.0, 0.0)
    scene = driven(speed_mps)
    at_m = float(scene.x_m[45, 0]) + LENGTH_M / 2 + stop_m
    assert violations(("stop", (at_m, 2.0, at_m, -2.0), "off"), speed_mps=speed_mps) == (0, wanted)


def test_a_sign_is_passed_without_a_stop_and_a_yield_sign_asks_for_none():
    assert violations(("stop", ACROSS, "off")) == (0, 1)
    assert violations(("yield", ACROSS, "off")) == (0, 0)


def test_a_second_sign_asks_for_a_second_stop():
    steps = np.arange(151)
    speed_mps = np.where((steps < 40) | (steps > 50), 10.0, 0.0)
    at_m = float(driven(speed_mps).x_m[45, 0]) + LENGTH_M / 2 + 1.0
    lines = [(at_m + further, 2.0, at_m + further, -2.0) for further in (0.0, 20.0)]
    assert violations(*(("stop", line, "off") for line in lines), speed_mps=speed_mps) == (0, 1)
