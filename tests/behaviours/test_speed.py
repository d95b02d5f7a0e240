"""Are a hard stop and a straight drive on a highway found where the speeds say so, and only there?"""

import numpy as np
import pytest
from staged_tracks import FRAME_S, arc, along, shifted, shows, straight, times

LANE = [(-50.0, 0.0), (450.0, 0.0)]


def braking(from_mps, deceleration_mps2, until_mps=0.0, duration_s=8.0):
    """Speeds of a vehicle that brakes after two seconds, down to `until_mps`."""
    return np.maximum(from_mps - deceleration_mps2 * np.maximum(times(duration_s) - 2.0, 0.0), until_mps)


@pytest.mark.parametrize("from_mps, deceleration_mps2, until_mps, is_hard_stop", [
    (10.0, 3.6, 0.0, True), (10.0, 3.2, 0.0, False),        # from 3.4 m/s2
    (10.0, 6.0, 0.25, True), (10.0, 6.0, 0.35, False),      # to rest, below 0.3 m/s
    (5.2, 4.0, 0.0, True), (4.8, 4.0, 0.0, False)])         # from 5 m/s
def test_a_hard_stop_is_hard_and_ends_at_rest(from_mps, deceleration_mps2, until_mps, is_hard_stop):
    car = straight(braking(from_mps, deceleration_mps2, until_mps), 8.0)
    assert shows("hard_stop", [LANE], [car]) == [0] * is_hard_stop


@pytest.mark.parametrize("coasting_s, is_hard_stop", [(1.6, True), (2.5, False)])
def test_a_stop_long_after_hard_braking_is_no_hard_stop(coasting_s, is_hard_stop):
    """The vehicle comes to rest 2 s after it has coasted at 4 m/s; at most 4 s may pass."""
    coasting, slow = np.full(round(coasting_s / FRAME_S), 4.0), np.maximum(4.0 - 2.0 * FRAME_S * np.arange(30), 0.0)
    speed_mps = np.concatenate([braking(12.0, 4.0, until_mps=4.0)[:40], coasting, slow])
    assert shows("hard_stop", [LANE], [straight(speed_mps, (len(speed_mps) - 1) * FRAME_S)]) == [0] * is_hard_stop


def test_one_noisy_frame_is_no_hard_stop():
    speed_mps = np.full(81, 6.0)
    speed_mps[40] = 0.1
    assert shows("hard_stop", [LANE], [straight(speed_mps, 8.0)]) == []


@pytest.mark.parametrize("speed_mps, duration_s, is_found", [
    (20.5, 5.2, True), (19.5, 5.2, False), (20.5, 4.8, False)])  # at least 20 m/s for 5 s
def test_a_highway_drive_is_fast_for_long_enough(speed_mps, duration_s, is_found):
    assert shows("highway_straight", [LANE], [straight(speed_mps, duration_s)]) == [0] * is_found


@pytest.mark.parametrize("y_m, is_found", [(0.9, True), (1.1, False)])
def test_a_highway_drive_is_in_the_middle_of_a_lane(y_m, is_found):
    assert shows("highway_straight", [LANE], [straight(25.0, 6.0, y_m)]) == [0] * is_found


@pytest.mark.parametrize("radius_m, is_found", [(1600.0, True), (1200.0, False)])
def test_a_highway_drive_turns_by_at_most_5_degrees(radius_m, is_found):
    """In 5 s at 25 m/s: by 4.5 and by 6 degrees."""
    bend = arc((0.0, radius_m), radius_m, -90.0, -80.0, 0.1)
    assert shows("highway_straight", [bend], [along(bend, 25.0, 5.5)]) == [0] * is_found


def test_a_highway_drive_may_go_on_to_the_next_lane_but_not_to_the_one_beside():
    parts = [[(-50.0, 0.0), (60.0, 0.0)], [(60.0, 0.0), (450.0, 0.0)], [(-50.0, 3.5), (450.0, 3.5)]]
    assert shows("highway_straight", parts, [straight(22.0, 6.0)], links=[(0, 1)]) == [0]
    assert shows("highway_straight", parts, [straight(22.0, 6.0)]) == []
    car = straight(22.0, 8.0)
    car.y_m = shifted(car.x_m, 70.0, 40.0, 0.0, 3.5)
    assert shows("highway_straight", parts[1:], [car]) == []
