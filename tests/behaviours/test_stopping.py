"""Are stops at signs and lights found on both sides of each threshold?"""

import numpy as np
import pytest
from staged_tracks import FRAME_S, Moving, shows, straight

LANE = [(-60.0, 0.0), (100.0, 0.0)]
LINE = (0.0, 1.75, 0.0, -1.75)
HALF_M = 2.25
"""From the centre of a car to its front bumper."""


def stops(at_m, wait_s, slowest_mps=0.0, go_mps=8.0, y_m=0.0):
    """A vehicle that drives up to a bumper `at_m` before the line, is slow there for a time, and drives on."""
    x_m = [-40.0 - HALF_M]
    while x_m[-1] < -at_m - HALF_M - 0.4:
        x_m.append(min(x_m[-1] + 0.5, -at_m - HALF_M))
    for _ in range(round(wait_s / FRAME_S)):
        x_m.append(x_m[-1] + slowest_mps * FRAME_S)
    speed_mps = slowest_mps
    while x_m[-1] < 30.0 and len(x_m) < 400:
        speed_mps = min(go_mps, speed_mps + 0.2)
        x_m.append(x_m[-1] + speed_mps * FRAME_S)
    return Moving(np.array(x_m), y_m)


def stops_at_sign(car, kind="stop", line=LINE):
    return shows("stop_sign", [LANE], [car], controls=[(kind, line, None)]) == [0]


@pytest.mark.parametrize("at_m, is_found", [(0.3, True), (2.8, True), (3.2, False)])
def test_a_stop_at_a_sign_is_within_3_m_of_its_line(at_m, is_found):
    assert stops_at_sign(stops(at_m, 1.0)) == is_found


@pytest.mark.parametrize("slowest_mps, is_found", [(0.15, True), (0.25, False)])
def test_a_stop_at_a_sign_is_slower_than_0_2_mps(slowest_mps, is_found):
    assert stops_at_sign(stops(2.0, 1.5, slowest_mps)) == is_found


def test_a_stop_sign_is_passed_between_the_ends_of_its_line_in_its_direction():
    assert not stops_at_sign(stops(1.0, 1.0, y_m=2.0))
    assert not stops_at_sign(stops(1.0, 1.0), line=LINE[2:] + LINE[:2])
    assert not stops_at_sign(stops(1.0, 1.0), kind="yield")
    assert not stops_at_sign(stops(1.0, 1.0, go_mps=0.0))


def waits_at_light(car, red_s, other="green", kind="light"):
    """Whether a vehicle waits at a light that is red for so long."""
    states = ["red"] * round(red_s / FRAME_S)
    states += [other] * (len(car.x_m) - len(states))
    return shows("traffic_light", [LANE], [car], controls=[(kind, LINE, states[:len(car.x_m)])]) == [0]


def test_a_vehicle_that_waits_at_red_and_goes_at_green_shows_it():
    car = stops(1.0, 3.0)
    assert waits_at_light(car, 10.5) and not waits_at_light(car, 30.0)
    assert not waits_at_light(car, 10.5, "yellow") and not waits_at_light(car, 10.5, "off")
    assert not waits_at_light(straight(8.0, 10.0, start_m=-40.0), 2.0)


@pytest.mark.parametrize("red_s, is_found", [(9.0, True), (8.6, False)])
def test_a_light_is_red_for_1_s_while_the_vehicle_stands(red_s, is_found):
    """It stands from 7.8 s on, for 4 s."""
    assert waits_at_light(stops(1.0, 4.0), red_s) == is_found


@pytest.mark.parametrize("slowest_mps, is_found", [(0.25, True), (0.35, False)])
def test_a_vehicle_that_waits_is_slower_than_0_3_mps(slowest_mps, is_found):
    assert waits_at_light(stops(3.0, 3.0, slowest_mps), 10.5) == is_found


@pytest.mark.parametrize("at_m, is_found", [(39.0, True), (41.5, False)])
def test_a_queue_reaches_back_40_m(at_m, is_found):
    """To the place where the bumper is on the line."""
    x_m = np.concatenate([np.full(40, -at_m - HALF_M), -at_m - HALF_M + 0.8 * np.arange(120)])
    assert waits_at_light(Moving(x_m, 0.0), 4.0) == is_found


@pytest.mark.parametrize("go_mps, is_found", [(2.2, True), (1.8, False)])
def test_a_vehicle_goes_on_at_2_mps(go_mps, is_found):
    assert waits_at_light(stops(1.0, 3.0, go_mps=go_mps), 10.5) == is_found
