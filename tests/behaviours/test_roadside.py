"""Are parked cars, pedestrians, narrow passages and pull-outs found on both sides of each threshold?"""

import numpy as np
import pytest
from staged_tracks import Moving, along, resting, scene_of, shifted, shows, straight, times

from drive_env.behaviours import classify
from drive_env.behaviours.trial import Trial

LANE = [(-100.0, 0.0), (300.0, 0.0)]


def passes_parked(beside_m=3.0, count=2, heading_rad=0.0, lane=LANE, moved_m=0.0):
    """The vehicles that drive past parked cars."""
    cars = [resting(20.0 + 8.0 * i, -beside_m, 10.0, heading_rad) for i in range(count)]
    for car in cars:
        car.x_m = car.x_m + np.linspace(0.0, moved_m, len(car.x_m))
    return shows("parked_cars", [lane], [straight(8.0, 10.0), *cars])


@pytest.mark.parametrize("beside_m, is_found", [(2.1, True), (1.9, False), (3.9, True), (4.1, False)])
def test_parked_cars_are_passed_with_a_gap_of_at_most_2_m(beside_m, is_found):
    assert passes_parked(beside_m) == [0] * is_found


def test_a_car_that_is_parked_across_is_as_wide_as_it_is_long():
    assert passes_parked(5.0, heading_rad=np.pi / 2) == [0] and passes_parked(5.4, heading_rad=np.pi / 2) == []


@pytest.mark.parametrize("count, is_found", [(1, False), (2, True), (3, True)])
def test_two_parked_cars_are_passed(count, is_found):
    assert passes_parked(count=count) == [0] * is_found


@pytest.mark.parametrize("speed_mps, is_found", [(2.2, True), (1.8, False)])
def test_parked_cars_are_passed_at_2_mps(speed_mps, is_found):
    cars = [resting(x_m, -3.0, 10.0) for x_m in (8.0, 14.0)]
    assert shows("parked_cars", [LANE], [straight(speed_mps, 10.0), *cars]) == [0] * is_found


def test_cars_that_wait_on_a_lane_or_move_are_not_parked():
    beside = [(-100.0, -3.0), (300.0, -3.0)]
    assert passes_parked(lane=beside) == []
    assert passes_parked(moved_m=0.4) == [0] and passes_parked(moved_m=0.6) == []
    for stands_s, is_found in ((3.2, True), (2.8, False)):
        cars = [resting(x_m, -3.0, stands_s) for x_m in (6.0, 14.0)]
        assert shows("parked_cars", [LANE], [straight(8.0, 10.0), *cars]) == [0] * is_found


def test_cars_that_are_not_reached_are_not_passed():
    assert shows("parked_cars", [LANE], [straight(8.0, 10.0), *(resting(x, -3.0, 10.0) for x in (75.0, 85.0))]) == []


# ---- pedestrians ----


def yielding(slow_mps, fast_mps=8.0, wait_s=2.0):
    """A vehicle that brakes to a speed 10 m before x = 60 m, keeps it for a time, and drives on."""
    x_m, speed_mps = [0.0], fast_mps
    brakes_at_m = 50.0 - (fast_mps**2 - slow_mps**2) / (2 * 3.0)
    while x_m[-1] < brakes_at_m or speed_mps > max(slow_mps, 0.1):
        x_m.append(x_m[-1] + 0.1 * speed_mps)
        if x_m[-1] > brakes_at_m:
            speed_mps = max(slow_mps, speed_mps - 0.3)
    x_m += [x_m[-1] + 0.1 * slow_mps * step for step in range(1, round(10.0 * wait_s))]
    x_m += [x_m[-1] + 0.1 * fast_mps * step for step in range(1, 60)]
    return Moving(np.array(x_m), 0.0)


def walks(car, at_s):
    """A pedestrian who is in the middle of the lane, at x = 60 m, at a time."""
    y_m = -1.4 * (at_s - times(0.1 * (len(car.x_m) - 1)))
    return Moving(np.full(len(y_m), 60.0), y_m, kind="pedestrian", length_m=0.6, width_m=0.6)


def arrival_s(car):
    """When the bumper of a vehicle is at x = 60 m."""
    return 0.1 * float(np.argmax(car.x_m + 2.25 >= 60.0))


@pytest.mark.parametrize("before_s, is_found", [(2.5, True), (7.5, True), (8.5, False), (-0.5, False)])
def test_a_vehicle_yields_to_a_pedestrian_up_to_8_s_before_it(before_s, is_found):
    car = yielding(0.0, wait_s=6.0)
    assert shows("pedestrian_crossing", [LANE], [car, walks(car, arrival_s(car) - before_s)]) == [0] * is_found


@pytest.mark.parametrize("slow_mps, fast_mps, is_found", [
    (2.8, 8.0, True), (3.3, 8.0, False), (2.3, 5.0, True), (2.8, 5.0, False)])
def test_a_vehicle_that_yields_slows_down_to_half_and_to_3_mps(slow_mps, fast_mps, is_found):
    car = yielding(slow_mps, fast_mps)
    assert shows("pedestrian_crossing", [LANE], [car, walks(car, arrival_s(car) - 1.0)]) == [0] * is_found


def test_a_pedestrian_beside_the_road_or_one_in_a_car_is_no_crossing():
    car = yielding(0.0)
    beside = Moving(np.linspace(40.0, 60.0, len(car.x_m)), 3.0, kind="pedestrian")
    assert shows("pedestrian_crossing", [LANE], [car, beside]) == []
    driver = walks(car, arrival_s(car) - 1.0)
    driver.kind = "vehicle"
    assert shows("pedestrian_crossing", [LANE], [car, driver]) == []


# ---- narrow passages ----


def passage(narrow_m, wide_m=6.0, length_m=10.0, gap_s=10.0, other_y_m=0.0):
    """The vehicles that drive through a passage between two walls, the second one from the other side."""
    walls, end_m = [], 40.0 + length_m
    for side in (-0.5, 0.5):
        walls.append([(-100.0, side * wide_m), (40.0, side * wide_m), (40.0, side * narrow_m),
                      (end_m, side * narrow_m), (end_m, side * wide_m), (300.0, side * wide_m)])
    other = straight(-8.0, 12.0, y_m=other_y_m, start_m=90.0, first=round(10.0 * gap_s))
    return shows("narrow_passage", [LANE, LANE[::-1]], [straight(8.0, 12.0), other], edges=walls)


@pytest.mark.parametrize("narrow_m, is_found", [(3.9, True), (4.1, False)])
def test_a_narrow_passage_is_up_to_4_m_wide(narrow_m, is_found):
    assert passage(narrow_m) == [0, 1] * is_found


@pytest.mark.parametrize("wide_m, is_found", [(5.6, True), (5.4, False)])
def test_the_road_before_a_narrow_passage_is_5_5_m_wide(wide_m, is_found):
    assert passage(3.5, wide_m) == [0, 1] * is_found


@pytest.mark.parametrize("length_m, is_found", [(5.0, True), (3.5, False)])
def test_a_narrow_passage_is_4_m_long(length_m, is_found):
    assert passage(3.5, length_m=length_m) == [0, 1] * is_found


@pytest.mark.parametrize("gap_s, is_found", [(19.0, True), (22.0, False)])
def test_a_narrow_passage_is_driven_by_an_oncoming_vehicle_within_20_s(gap_s, is_found):
    """They are in the passage, at 45 m, after 5.6 s."""
    assert passage(3.5, gap_s=gap_s) == [0, 1] * is_found


@pytest.mark.parametrize("before_m, is_found", [(55.0, True), (65.0, False)])
def test_the_road_is_wide_in_the_60_m_before_a_narrow_passage(before_m, is_found):
    """In between it is 5 m wide."""
    walls = [[(-100.0, side * 3.0), (80.0 - before_m, side * 3.0), (80.0 - before_m, side * 2.5), (80.0, side * 2.5),
              (80.0, side * 1.7), (90.0, side * 1.7), (90.0, side * 2.5), (300.0, side * 2.5)] for side in (-1, 1)]
    cars = [straight(8.0, 14.0), straight(-8.0, 12.0, start_m=130.0, first=100)]
    assert shows("narrow_passage", [LANE, LANE[::-1]], cars, edges=walls) == [0] * is_found


@pytest.mark.parametrize("turned_deg, is_found", [(28.0, True), (32.0, False)])
def test_oncoming_traffic_in_a_narrow_passage_drives_the_other_way(turned_deg, is_found):
    walls = [[(-100.0, side * 3.0), (40.0, side * 3.0), (40.0, side * 1.7), (50.0, side * 1.7), (50.0, side * 3.0),
              (300.0, side * 3.0)] for side in (-1, 1)]
    other = straight(-8.0, 12.0, start_m=90.0, first=100)
    other.heading_rad[:] = np.pi - np.radians(turned_deg)
    found = shows("narrow_passage", [LANE], [straight(8.0, 12.0), other], edges=walls)
    assert (0 in found) == is_found


def test_a_narrow_passage_without_oncoming_traffic_on_its_place_is_none():
    assert passage(3.5, other_y_m=1.4) == [0, 1] and passage(3.5, other_y_m=1.6) == []


def test_parked_cars_make_a_passage_narrow():
    walls = [[(-100.0, 3.0), (300.0, 3.0)], [(-100.0, -3.0), (300.0, -3.0)]]
    parked = [resting(x_m, -2.3, 30.0, width_m=1.8) for x_m in (50.0, 55.0)]
    cars = [straight(8.0, 12.0, y_m=0.8), straight(-8.0, 12.0, y_m=0.8, start_m=90.0, first=90)]
    lanes = [[(x, 0.8) for x, _ in LANE], [(x, 0.8) for x, _ in LANE[::-1]]]
    assert shows("narrow_passage", lanes, cars + parked, edges=walls) == []  # 3 - -1.4: 4.4 m
    parked = [resting(x_m, -1.7, 30.0, width_m=1.8) for x_m in (50.0, 55.0)]
    assert shows("narrow_passage", lanes, cars + parked, edges=walls) == [0, 1]  # 3.8 m


# ---- pull-outs ----


def pulls_out(from_m=-2.5, to_m=0.0, wait_s=2.0, speed_mps=5.0, length_m=20.0, heading_rad=0.0):
    """A vehicle that stands beside the lane and then drives onto it."""
    driven_m = speed_mps * times(20.0)
    x_m = np.concatenate([np.full(round(10 * wait_s), 0.0), driven_m])
    return shows("pull_out", [LANE], [Moving(x_m, shifted(x_m, 0.0, length_m, from_m, to_m), heading_rad)])


@pytest.mark.parametrize("from_m, is_found", [(-1.1, True), (-0.9, False), (-3.9, True), (-4.1, False), (2.5, True)])
def test_a_pull_out_begins_1_to_4_m_beside_the_lane(from_m, is_found):
    assert pulls_out(from_m) == [0] * is_found


@pytest.mark.parametrize("to_m, is_found", [(-0.7, True), (-0.8, False)])
def test_a_pull_out_ends_in_the_lane(to_m, is_found):
    assert pulls_out(to_m=to_m) == [0] * is_found


@pytest.mark.parametrize("wait_s, is_found", [(1.2, True), (0.8, False)])
def test_a_vehicle_that_pulls_out_stands_for_1_s(wait_s, is_found):
    assert pulls_out(wait_s=wait_s) == [0] * is_found


@pytest.mark.parametrize("speed_mps, is_found", [(2.2, True), (1.8, False)])
def test_a_vehicle_that_pulls_out_drives_on_at_2_mps(speed_mps, is_found):
    assert pulls_out(speed_mps=speed_mps, length_m=15.0) == [0] * is_found


@pytest.mark.parametrize("speed_mps, is_found", [(2.7, True), (2.4, False)])
def test_a_pull_out_takes_at_most_10_s(speed_mps, is_found):
    """From 2.5 m beside the lane to 0.75 m it drives 63% of the 40 m."""
    assert pulls_out(speed_mps=speed_mps, length_m=40.0) == [0] * is_found


@pytest.mark.parametrize("heading_deg, is_found", [(28.0, True), (32.0, False)])
def test_a_vehicle_that_pulls_out_stands_along_the_lane(heading_deg, is_found):
    assert pulls_out(heading_rad=np.radians(heading_deg)) == [0] * is_found


@pytest.mark.parametrize("angle_deg, is_found", [(14.0, True), (16.0, False)])
def test_a_vehicle_that_has_pulled_out_drives_along_the_lane(angle_deg, is_found):
    x_m = np.concatenate([np.zeros(20), 5.0 * times(6.0)])
    car = Moving(x_m, -2.5 + np.tan(np.radians(angle_deg)) * x_m)
    assert shows("pull_out", [LANE], [car]) == [0] * is_found


# ---- what the parked cars of a trial are ----


def test_parked_cars_are_beside_lanes_or_far_from_all():
    objects = [resting(0.0, 0.9, 5.0), resting(8.0, 1.1, 5.0), resting(16.0, 9.0, 5.0), along(LANE, 8.0, 5.0)]
    scene = scene_of([LANE], objects)
    assert [track.object for track in Trial(scene).parked] == [1, 2]
    assert classify(scene)["parked_cars"] == []


def narrow_at(*spans_m):
    """The vehicles that drive through a narrow passage, on a road that is 3.5 m wide there and else 6 m."""
    walls = []
    for side in (-1.0, 1.0):
        points = [(-100.0, 3.0 * side)]
        for first_m, last_m in spans_m:
            points += [(first_m, 3.0 * side), (first_m, 1.75 * side), (last_m, 1.75 * side), (last_m, 3.0 * side)]
        walls.append([*points, (300.0, 3.0 * side)])
    cars = [straight(8.0, 12.0), straight(-8.0, 12.0, start_m=90.0, first=100)]
    return shows("narrow_passage", [LANE, LANE[::-1]], cars, edges=walls)


def test_a_narrow_passage_goes_on_over_gaps_of_2_m_alone():
    assert narrow_at((40.0, 42.5), (43.5, 46.5)) == [0, 1]
    assert narrow_at((40.0, 42.5), (52.0, 54.5)) == []
    assert narrow_at((20.0, 22.5), (40.0, 50.0)) == [0, 1], "one after a place that is too short"
