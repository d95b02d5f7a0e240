"""Do the scores of V-Max follow their definition? Drives whose terms are known."""

import numpy as np
import pytest
from scored_drives import DT_S, LIMIT_MPS, driven, line, moving, straight_map

from drive_env.evaluation.scores import vmax_score


def terms_of(*arguments, **settings):
    return vmax_score(driven(*arguments, **settings)).terms


def test_the_expert_on_itself_has_the_whole_score():
    score = vmax_score(driven(10.0, others=[moving(60.0, 3.5, speed_mps=8.0)]))
    assert score.score == score.nuplan_score == 1.0 and set(score.terms.values()) == {1.0}


def test_who_stands_still_has_no_score():
    score = vmax_score(driven(0.0))
    assert (score.score, score.nuplan_score) == (0.0, 0.0)


def test_a_red_light_takes_the_own_score_alone():
    score = vmax_score(driven(10.0, red_lights=1))
    assert (score.score, score.nuplan_score) == (0.0, 1.0)


@pytest.mark.parametrize("steps, wanted", [(0, 1.0), (34, 1.0), (35, 0.5), (57, 0.5), (58, 0.0)])
def test_time_on_several_lanes_counts_in_two_steps(steps, wanted):
    """The box, 2 m wide, is 2.1 m from the centre of its lane: 2.05 m count as the same lane."""
    y_m = np.where(np.arange(151) < steps, 1.1, 1.0)
    score = vmax_score(driven(10.0, y_m=y_m))
    assert score.terms["one_lane"] == wanted
    assert score.score == pytest.approx((16 + 3 * wanted) / 19) and score.nuplan_score == 1.0


def test_who_stands_on_several_lanes_has_no_time_there():
    speed_mps = np.where(np.arange(151) < 80, 0.0, 10.0)
    assert terms_of(speed_mps, y_m=np.where(np.arange(151) < 80, 1.5, 0.0))["one_lane"] == 1.0


@pytest.mark.parametrize("against_m, wanted", [(2.0, 1.0), (3.0, 0.5), (6.0, 0.5), (7.0, 0.0)])
def test_the_way_in_oncoming_lanes_counts_over_the_whole_drive(against_m, wanted):
    """In single steps of 1 m that are far apart: V-Max sums over the whole drive, not over a second."""
    road_map = straight_map(lanes=[line((-500.0, 0.0), (1000.0, 0.0)), line((1000.0, 3.5), (-500.0, 3.5))])
    steps = np.arange(151)
    oncoming = (steps % 20 == 10) & (steps < 20 * against_m)
    y_m = np.where(oncoming, 3.5, 0.0)
    assert terms_of(10.0, y_m=y_m, road_map=road_map)["driving_direction"] == wanted


@pytest.mark.parametrize("excess_m, offroad", [(-0.01, False), (0.01, True)])
def test_any_corner_beyond_an_edge_is_off_the_road(excess_m, offroad):
    score = vmax_score(driven(10.0, y_m=4.25 + excess_m))
    assert score.terms["no_offroad"] == 1.0 - offroad


CONTACTS = {
    # those at rest, pedestrians and cyclists always
    "hits a parked car": (10.0, moving(40.0), 0.0),
    "a cyclist runs into its rear": (2.0, moving(-12.0, speed_mps=6.0, kind=3), 0.0),
    "a pedestrian walks into it while it stands": (0.0, moving(0.0, -4.0, np.pi / 2, 1.0, 2, (0.6, 0.6)), 0.0),
    # others by where they are
    "rear-ends": (10.0, moving(40.0, speed_mps=5.0), 0.0),
    "is rear-ended": (5.0, moving(-20.0, speed_mps=10.0), 1.0),
    "is hit while it stands": (0.0, moving(20.0, 0.0, np.pi, 5.0), 1.0),
    "is hit at its side": (5.0, moving(14.0, -20.0, np.pi / 2, 8.0), 1.0),
}


@pytest.mark.parametrize("speed_mps, other, wanted", CONTACTS.values(), ids=CONTACTS)
def test_the_fault_depends_on_who_is_hit_where(speed_mps, other, wanted):
    scene = driven(speed_mps, others=[other])
    found = vmax_score(scene)
    assert found.terms["no_at_fault_collision"] == wanted


def test_a_contact_at_the_side_is_at_fault_on_several_lanes():
    other = moving(14.0, -20.0, np.pi / 2, 8.0)
    assert terms_of(5.0, y_m=1.2, others=[other])["no_at_fault_collision"] == 0.0


@pytest.mark.parametrize("share, wanted, score", [
    (0.19, 0.19, 0.0), (0.21, 0.21, (14 + 5 * 0.21) / 19), (1.0, 1.0, 1.0)])
def test_progress_is_the_farthest_place_on_the_expert_s_way(share, wanted, score):
    """Also of an ego that then drives back a little; on another road there is none."""
    found = vmax_score(driven(10.0 * share))
    assert found.terms["progress"] == pytest.approx(wanted)
    assert found.score == pytest.approx(score)
    steps = np.arange(151)
    back = driven(np.where(steps < 100, 10.0, -1.0))
    assert vmax_score(back).terms["progress"] == pytest.approx(back.x_m.max() / 150.0)
    assert terms_of(10.0, y_m=12.0)["progress"] == 0.0


def test_an_expert_that_stands_asks_for_no_progress():
    assert terms_of(0.0, expert_mps=0.03)["progress"] == 1.0


def test_overlap_and_near_vehicles_ahead_are_out_of_bound():
    assert terms_of(10.0, others=[moving(14.0, speed_mps=10.0)])["time_to_collision"] == 1.0
    assert terms_of(10.0, steps=3, others=[moving(12.0, speed_mps=1.0)])["time_to_collision"] == 0.0
    assert terms_of(10.0, others=[moving(2.0, speed_mps=10.0)])["time_to_collision"] == 0.0


def test_excess_of_speed_is_that_of_nuplan():
    assert terms_of(LIMIT_MPS + 1.0)["speed_limit"] == pytest.approx(1 - 151 * DT_S / (2.23 * 15))
