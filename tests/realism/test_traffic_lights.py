"""When does a vehicle run a red light? On a straight lane with its stop point at 10 m."""

import numpy as np
import pytest

from drive_env.realism import Signals
from drive_env.realism.nearest_segment import nearest_segments
from drive_env.realism.traffic_lights import make_lanes, red_light_violations

ARROW_STOP, STOP, CAUTION, GO, FLASHING_STOP = 1, 4, 5, 6, 7
LANE = np.stack([np.arange(21.0), np.zeros(21), np.zeros(21)], axis=1)
PASSES = [8.2, 9.2, 10.2, 11.2]


def violations(states, x_m=PASSES, valid=True, y_m=0.0, lane=7):
    """The steps with one; a state of 0 is a signal that is absent."""
    x = np.array(x_m, np.float32)
    state = np.array(states)[:, None]
    stop_m = np.where(state[..., None] > 0, [10.0, 0.0], 0.0)
    found = red_light_violations(x, np.full_like(x, y_m), np.broadcast_to(valid, x.shape),
                                 make_lanes({7: LANE, 8: LANE + [0, 4, 0]}), Signals(np.array([lane]), state, stop_m))
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize("state, wanted", [
    (STOP, [2]), (ARROW_STOP, [2]), (FLASHING_STOP, []), (CAUTION, []), (GO, [])])
def test_only_a_stop_and_the_stop_of_an_arrow_are_red(state, wanted):
    assert violations([state] * 4) == wanted


@pytest.mark.parametrize("states, wanted", [
    ([STOP, STOP, GO, STOP], []), ([STOP, STOP, 0, STOP], []), ([GO, GO, STOP, GO], [2])])
def test_the_state_of_the_step_in_which_it_passes_counts(states, wanted):
    assert violations(states) == wanted


@pytest.mark.parametrize("x_m", [[9, 10, 11, 12], PASSES[::-1]])
def test_a_stop_on_the_point_and_a_drive_backwards_are_none(x_m):
    assert violations([STOP] * 4, x_m) == []


@pytest.mark.parametrize("valid, wanted", [([True, False, True, True], [2]), ([True, True, False, True], [])])
def test_the_step_itself_must_be_valid(valid, wanted):
    assert violations([STOP] * 4, valid=valid) == wanted


def test_the_signal_of_another_lane_does_not_count():
    assert violations([STOP] * 4, y_m=3.5) == []
    assert violations([STOP] * 4, lane=8) == []
    assert violations([STOP] * 4, lane=99) == []


def test_without_lanes_or_signals_there_are_none():
    x = np.float32(PASSES)
    signals = Signals(np.array([7]), np.full((4, 1), STOP), np.full((4, 1, 2), [10.0, 0.0]))
    assert not red_light_violations(x, x * 0, x > 0, make_lanes({}), signals).any()
    assert not red_light_violations(x, x * 0, x > 0, make_lanes({7: LANE}), None).any()


@pytest.mark.parametrize("point, published, exact", [((3, 0.1), 1, 0), ((0.1, 0.1), 0, 0), ((5.9, 0.1), 0, 0)])
def test_the_published_slips_choose_another_lane_where_points_are_far_apart(point, published, exact):
    coarse = {0: np.array([[0, 0, 0], [6, 0, 0]], float), 1: np.array([[0, 2, 0], [3, 2, 0], [6, 2, 0]], float)}
    at = np.array([[*point, 0]], np.float32).T
    for lanes, wanted in ((make_lanes(coarse), published), (make_lanes(coarse, published=False), exact)):
        assert lanes.lane[nearest_segments(at, lanes.segments)].tolist() == [wanted]
