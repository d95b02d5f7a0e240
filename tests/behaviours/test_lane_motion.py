"""Are lane changes, merges, cut-ins and overtaking found on both sides of each threshold?"""

import numpy as np
import pytest
from staged_tracks import Moving, shifted, shows, straight, times

LEFT, RIGHT = [(-100.0, 3.5), (500.0, 3.5)], [(-100.0, 0.0), (500.0, 0.0)]


def changing(speed_mps, at_m, length_m, to_m, from_m=0.0, start_m=0.0, duration_s=10.0):
    """A vehicle that shifts from one y to another from `at_m` on."""
    x_m = start_m + speed_mps * times(duration_s)
    return Moving(x_m, shifted(x_m, at_m, length_m, from_m, to_m))


@pytest.mark.parametrize("spacing_m, is_found", [(2.6, True), (2.4, False), (4.9, True), (5.1, False)])
def test_a_lane_change_leads_to_a_lane_2_5_to_5_m_beside(spacing_m, is_found):
    lanes = [RIGHT, [(-100.0, spacing_m), (500.0, spacing_m)]]
    assert shows("lane_change", lanes, [changing(10.0, 20.0, 40.0, spacing_m)]) == [0] * is_found


@pytest.mark.parametrize("from_m, to_m, is_found", [
    (0.7, 3.5, True), (0.8, 3.5, False), (0.0, 2.8, True), (0.0, 2.7, False), (0.0, 1.0, False)])
def test_a_lane_change_begins_and_ends_within_0_75_m_of_the_centres(from_m, to_m, is_found):
    assert shows("lane_change", [LEFT, RIGHT], [changing(10.0, 20.0, 40.0, to_m, from_m)]) == [0] * is_found


@pytest.mark.parametrize("length_m, is_found", [(260.0, True), (285.0, False)])
def test_a_lane_change_takes_at_most_6_s_on_either_side_of_the_line(length_m, is_found):
    """From 0.75 m beside a centre to 0.15 m beyond the line it drives 0.221 of the length: acos(1 - 2 y / 3.5) is
    0.3065 pi there and 0.527 pi here.
    """
    car = changing(10.0, 10.0, length_m, 3.5, duration_s=40.0)
    assert shows("lane_change", [LEFT, RIGHT], [car]) == [0] * is_found


@pytest.mark.parametrize("speed_mps, is_found", [(2.2, True), (1.8, False)])
def test_a_lane_change_is_driven_at_2_mps(speed_mps, is_found):
    assert shows("lane_change", [LEFT, RIGHT], [changing(speed_mps, 4.0, 20.0, 3.5, duration_s=20.0)]) == [0] * is_found


@pytest.mark.parametrize("angle_deg, is_found", [(18.0, True), (22.0, False)])
def test_the_lanes_of_a_change_are_parallel_within_20_degrees(angle_deg, is_found):
    """The other lane begins at x = 36 m and leads away from this one."""
    slope = np.tan(np.radians(angle_deg))
    x_m = 10.0 * times(10.0)
    other_m = 3.5 + slope * (x_m - 40.0)
    car = Moving(x_m, shifted(x_m, 24.0, 36.0, 0.0, 1.0) * other_m)
    lanes = [RIGHT, [(36.0, 3.5 - 4.0 * slope), (300.0, 3.5 + 260.0 * slope)]]
    assert shows("lane_change", lanes, [car]) == [0] * is_found


def test_a_lane_change_is_one_to_the_right_too_and_across_the_ends_of_lanes():
    assert shows("lane_change", [LEFT, RIGHT], [changing(10.0, 20.0, 40.0, 0.0, from_m=3.5)]) == [0]
    halves = [[(-100.0, y), (40.0, y)] for y in (0.0, 3.5)] + [[(40.0, y), (500.0, y)] for y in (0.0, 3.5)]
    assert shows("lane_change", halves, [changing(10.0, 20.0, 40.0, 3.5)], links=[(0, 2), (1, 3)]) == [0]


def test_a_path_through_a_fork_or_onto_an_oncoming_lane_is_no_lane_change():
    straight_on, branch = [(50.0, 0.0), (500.0, 0.0)], [(50.0, 0.0), (90.0, 3.5), (500.0, 3.5)]
    fork = [[(-100.0, 0.0), (50.0, 0.0)], straight_on, branch]
    assert shows("lane_change", fork, [changing(10.0, 50.0, 40.0, 3.5)], links=[(0, 1), (0, 2)]) == []
    assert shows("lane_change", [LEFT[::-1], RIGHT], [changing(10.0, 20.0, 40.0, 3.5)]) == []
    assert shows("lane_change", [LEFT, RIGHT], [straight(10.0, 10.0, 1.75)]) == []


# ---- merges ----

SHORT = [(-100.0, 0.0), (100.0, 0.0)]


def merges(behind_m, others_mps=10.0, right=SHORT, others_m=3.5):
    """Whether a vehicle merges from the lane at y = 0, with one whose centre is so far behind it on the other lane."""
    car = changing(10.0, 20.0, 40.0, 3.5)
    return shows("merge", [LEFT, right], [car, straight(others_mps, 10.0, others_m, start_m=-behind_m)]) == [0]


@pytest.mark.parametrize("behind_m, is_found", [(34.0, True), (35.5, False), (-34.0, True), (-35.5, False)])
def test_a_merge_is_within_3_s_of_another_vehicle(behind_m, is_found):
    """A gap of 30 m at 10 m/s, and the 4.5 m of a car."""
    assert merges(behind_m) == is_found


def test_a_merge_has_moving_traffic_on_the_lane():
    assert merges(20.0)
    assert not merges(10.0, others_mps=0.0) and not merges(20.0, others_m=9.0)


@pytest.mark.parametrize("end_m, is_found", [(220.0, True), (260.0, False), (480.0, False)])
def test_a_merge_leaves_a_lane_that_ends_within_200_m(end_m, is_found):
    """It crosses the line at x = 40 m; the other lane is 500 m long."""
    assert merges(20.0, right=[(-100.0, 0.0), (end_m, 0.0)]) == is_found


@pytest.mark.parametrize("end_m, is_found", [(186.0, True), (174.0, False), (150.0, False)])
def test_a_merge_leaves_a_lane_that_ends_30_m_before_the_other_one(end_m, is_found):
    lanes = [[(-100.0, 3.5), (end_m, 3.5)], [(-100.0, 0.0), (150.0, 0.0)]]
    objects = [changing(10.0, 20.0, 40.0, 3.5), straight(10.0, 10.0, 3.5, start_m=-20.0)]
    assert shows("merge", lanes, objects) == [0] * is_found


@pytest.mark.parametrize("behind_m, is_found", [(23.5, True), (27.0, False)])
def test_a_slow_merge_is_within_20_m_of_another_vehicle(behind_m, is_found):
    """Between the boxes; at 3 m/s the other limit, 3 s, is shorter: 9 m."""
    car, other = changing(3.0, 10.0, 20.0, 3.5), straight(3.0, 10.0, 3.5, start_m=-behind_m)
    assert shows("merge", [LEFT, SHORT], [car, other]) == [0] * is_found


@pytest.mark.parametrize("slope, is_found", [(0.074, True), (0.066, False), (0.9, True), (1.2, False)])
def test_a_ramp_joins_from_the_side(slope, is_found):
    """In the first frame less than 30 m before the join it is 2.1 or 1.9 m beside the lane; or it meets it at 42 or
    50 degrees."""
    x_m = np.array([-60.0, 60.0])
    ramp = np.stack([x_m, slope * (x_m - 60.0)], axis=1)
    lanes = [[(-100.0, 0.0), (60.0, 0.0)], ramp, [(60.0, 0.0), (500.0, 0.0)]]
    at_m = 10.0 * times(10.0)
    car = Moving(at_m, np.minimum(slope * (at_m - 60.0), 0.0))
    objects = [car, straight(10.0, 10.0, start_m=-25.0)]
    assert shows("merge", lanes, objects, links=[(0, 2), (1, 2)]) == [0] * is_found


# ---- cut-ins ----


def cuts_in(gap_m, speed_mps=10.0, own_m=0.0):
    """The vehicles in front of which one changes lanes, with so much space between the boxes."""
    ego = straight(speed_mps, 10.0, own_m)
    other = changing(speed_mps, gap_m + 24.5, 40.0, 0.0, 3.5, start_m=gap_m + 4.5)
    return shows("cut_in", [LEFT, RIGHT], [ego, other])


@pytest.mark.parametrize("gap_m, is_found", [(19.0, True), (21.0, False), (1.0, True), (-9.0, False)])
def test_a_cut_in_is_within_2_s_in_front(gap_m, is_found):
    assert cuts_in(gap_m) == [0] * is_found


@pytest.mark.parametrize("speed_mps, is_found", [(5.2, True), (4.8, False)])
def test_a_cut_in_is_at_5_mps(speed_mps, is_found):
    assert cuts_in(5.0, speed_mps) == [0] * is_found


@pytest.mark.parametrize("length_m, is_found", [(225.0, True), (250.0, False)])
def test_a_cut_in_begins_at_most_4_s_before_the_line(length_m, is_found):
    """From 2.5 m beside the path to 0.15 m beyond the line, it drives 0.168 of the length."""
    ego, other = straight(10.0, 30.0), changing(10.0, 30.0, length_m, 0.0, 3.5, 15.0, duration_s=30.0)
    assert shows("cut_in", [LEFT, RIGHT], [ego, other]) == [0] * is_found


@pytest.mark.parametrize("from_m, own_m, to_m, is_found", [
    (2.55, 0.0, 0.0, True), (2.45, 0.0, 0.0, False), (2.6, -0.25, 0.7, True), (2.6, -0.35, 0.7, False)])
def test_a_cut_in_leads_from_2_5_m_beside_the_path_to_1_m(from_m, own_m, to_m, is_found):
    ego, other = straight(10.0, 10.0, own_m), changing(10.0, 30.0, 40.0, to_m, from_m, 15.0)
    assert shows("cut_in", [[(-100.0, 2.6), (500.0, 2.6)], RIGHT], [ego, other]) == [0] * is_found


@pytest.mark.parametrize("back_m, stay_m, is_found", [(1.4, 50.0, True), (1.6, 50.0, False), (3.0, 54.0, True),
                                                      (3.0, 51.5, False)])
def test_a_vehicle_that_cuts_in_stays_in_the_path_for_1_s(back_m, stay_m, is_found):
    """Within 1.5 m, from where it is within 1 m: at x = 45.3 m, at 10 m/s."""
    other = changing(10.0, 30.0, 24.0, 0.0, 3.5, 15.0)
    other.y_m = other.y_m + shifted(other.x_m, stay_m, 4.0, 0.0, back_m)
    assert shows("cut_in", [LEFT, RIGHT], [straight(10.0, 10.0), other]) == [0] * is_found


@pytest.mark.parametrize("turned_deg, is_found", [(28.0, True), (32.0, False)])
def test_vehicles_that_cut_in_or_are_overtaken_drive_the_same_way(turned_deg, is_found):
    other = changing(10.0, 30.0, 40.0, 0.0, 3.5, 15.0)
    other.heading_rad[:] = np.radians(turned_deg)
    assert shows("cut_in", [LEFT, RIGHT], [straight(10.0, 10.0), other]) == [0] * is_found
    x_m = 14.0 * times(14.0) - 30.0
    fast = Moving(x_m, shifted(x_m, 0.0, 30.0, 0.0, 3.5) + shifted(x_m, 90.0, 30.0, 0.0, -3.5))
    fast.heading_rad[:] = np.radians(turned_deg)
    assert shows("overtaking", [RIGHT], [fast, straight(8.0, 14.0, start_m=10.0)]) == [0] * is_found


def test_a_vehicle_changes_in_front_of_those_on_its_new_lane_alone():
    assert cuts_in(10.0, own_m=3.5) == []
    leader, follower = straight(10.0, 10.0, start_m=18.0), changing(10.0, 20.0, 40.0, 0.0, 3.5)
    assert shows("cut_in", [LEFT, RIGHT], [leader, follower]) == []


def test_a_change_of_its_own_is_no_cut_in():
    ego, leader = changing(10.0, 20.0, 40.0, 3.5), straight(10.0, 10.0, 3.5, start_m=15.0)
    assert shows("cut_in", [LEFT, RIGHT], [ego, leader]) == []


# ---- overtaking ----


def overtakes(slow_mps=8.0, out_m=3.5, back_m=0.0):
    """The vehicles that move out, are beside another one at x = 60 m, and move back."""
    x_m = 14.0 * times(14.0) - 30.0
    y_m = shifted(x_m, 0.0, 30.0, 0.0, out_m) + shifted(x_m, 90.0, 30.0, 0.0, back_m - out_m)
    return shows("overtaking", [RIGHT], [
        Moving(x_m, y_m), straight(slow_mps, 14.0, start_m=60.0 - slow_mps * 90.0 / 14.0)])


@pytest.mark.parametrize("out_m, back_m, is_found", [
    (1.9, 0.0, True), (1.7, 0.0, False), (3.5, 1.1, True), (3.5, 1.3, False), (3.5, 3.5, False)])
def test_overtaking_leads_beside_a_vehicle_and_back_in_front_of_it(out_m, back_m, is_found):
    assert overtakes(out_m=out_m, back_m=back_m) == [0] * is_found


@pytest.mark.parametrize("slow_mps, is_found", [(2.2, True), (1.8, False)])
def test_a_vehicle_that_is_overtaken_moves(slow_mps, is_found):
    assert overtakes(slow_mps) == [0] * is_found


@pytest.mark.parametrize("fast_mps, is_found", [(6.0, True), (4.6, False)])
def test_overtaking_takes_at_most_30_s(fast_mps, is_found):
    """From moving out to moving in, with 4 m/s for the other one: some 20 s, and more than 30 s."""
    x_m = fast_mps * times(60.0)
    y_m = shifted(x_m, 0.5, 10.0, 0.0, 3.5) + shifted(x_m, 150.0 if fast_mps < 5.0 else 100.0, 20.0, 0.0, -3.5)
    objects = [Moving(x_m, y_m), straight(4.0, 60.0, start_m=12.0)]
    assert shows("overtaking", [RIGHT], objects) == [0] * is_found


def test_passing_on_a_lane_beside_is_no_overtaking():
    assert shows("overtaking", [LEFT, RIGHT], [straight(14.0, 10.0, 3.5), straight(8.0, 10.0, start_m=20.0)]) == []
    assert overtakes(slow_mps=-8.0) == []


def test_a_vehicle_that_passes_beside_one_and_later_overtakes_it_overtakes():
    """It passes 1.5 m beside it, which is too near, falls back, and then overtakes."""
    slow = straight(8.0, 40.0)
    ahead_m = np.interp(times(40.0), [4.0, 8.0, 16.0, 20.0, 28.0], [-20.0, 20.0, 20.0, -20.0, 20.0])
    beside_m = np.interp(times(40.0), [4.0, 5.0, 7.0, 8.0, 16.0, 17.0, 19.0, 20.0, 22.0, 26.0, 28.0],
                         [0.0, 1.5, 1.5, 0.0, 0.0, 3.5, 3.5, 0.0, 3.5, 3.5, 0.0])
    fast = Moving(slow.x_m + ahead_m, beside_m)
    fast.heading_rad[:] = 0.0
    assert shows("overtaking", [RIGHT], [fast, slow]) == [0]


# ---- where tracks end, and where they are ----


@pytest.mark.parametrize("duration_s, is_found", [(4.2, True), (3.8, False)])
def test_a_cut_in_is_seen_for_1_s(duration_s, is_found):
    """It is within 1 m of the path at x = 45.3 m, after 3.03 s."""
    other = changing(10.0, 30.0, 24.0, 0.0, 3.5, 15.0, duration_s=duration_s)
    assert shows("cut_in", [LEFT, RIGHT], [straight(10.0, 10.0), other]) == [0] * is_found


@pytest.mark.parametrize("leaves_m, is_found", [(112.0, True), (106.0, False)])
def test_a_vehicle_that_arrives_late_stays_for_1_s_as_well(leaves_m, is_found):
    """It comes within 1 m of the path at x = 100.6 m, 3.9 s after it crosses the line; most of the next second is
    beyond the 4 s."""
    x_m = 15.0 + 10.0 * times(30.0)
    y_m = np.interp(x_m, [30.0, 60.0, 62.0, 100.0, 101.0], [3.5, 2.6, 1.5, 1.5, 0.7])
    y_m = y_m + np.interp(x_m, [leaves_m, leaves_m + 1.0], [0.0, 1.2])
    other = Moving(x_m, y_m)
    other.heading_rad[:] = 0.0
    assert shows("cut_in", [LEFT, RIGHT], [straight(10.0, 30.0), other]) == [0] * is_found


@pytest.mark.parametrize("gap_m, is_found", [(59.0, True), (63.0, False)])
def test_a_fast_merge_is_within_3_s_of_another_vehicle(gap_m, is_found):
    """60 m at 20 m/s; one begins 30 m or more beyond the last place of the other."""
    car, other = changing(20.0, 2.0, 28.0, 3.5, duration_s=1.6), straight(20.0, 1.6, 3.5, start_m=gap_m + 4.5)
    assert shows("merge", [LEFT, SHORT], [car, other]) == [0] * is_found
