"""Does anything tunnel? Long steps and thin obstacles: the swept overlap covers what lies between two poses."""

import math

import numpy as np
import pytest
from scripted_events import TURNS, wall
from scripted_scenes import (
    COAST,
    IGNORE_ALL,
    Actor,
    batch_of,
    discrete,
    drive,
    driver,
    log_replay,
    onsets,
    stage,
)


@pytest.mark.parametrize("dt_s", (0.1, 0.5, 1.0, 2.0))
@pytest.mark.parametrize("turn_rad", TURNS)
def test_cars_that_swap_places_in_one_step_collide(dt_s, turn_rad):
    gap_m = 40.0 * dt_s + 4.5
    scene = stage([driver(speed_mps=40.0), driver(gap_m, 0.0, math.pi, 40.0)], dt_s=dt_s, turn_rad=turn_rad)
    record = drive(batch_of(scene), 1)
    assert record["collision_onset"][0].all() and not record["offroad_onset"].any()
    # Beside each other, 1 cm apart, they do not collide.
    scene = stage([driver(speed_mps=40.0), driver(gap_m, 2.01, math.pi, 40.0)], dt_s=dt_s, turn_rad=turn_rad)
    assert not drive(batch_of(scene), 3)["collision_onset"].any()


@pytest.mark.parametrize("dt_s", (0.5, 1.0, 2.0))
@pytest.mark.parametrize("turn_rad", TURNS)
def test_no_wall_and_no_post_is_thin_enough_to_be_jumped(dt_s, turn_rad):
    halfway = 20.0 * dt_s + 2.0
    for actors, roads, fact in (
        ([driver(speed_mps=40.0)], [wall(halfway)], "offroad_onset"),
        ([driver(speed_mps=40.0)], [("edge", [(halfway, 0.3)])], "offroad_onset"),
        ([driver(speed_mps=40.0), Actor(halfway, 0.9, length_m=0.02, width_m=0.02)], [], "collision_onset"),
    ):
        record = drive(batch_of(stage(actors, roads, dt_s=dt_s, turn_rad=turn_rad)), 1)
        assert onsets(record, fact) == [0]


def test_a_goal_that_is_passed_within_a_step_is_reached():
    scene = stage([driver(speed_mps=40.0, goal_m=(30.0, 1.9))], dt_s=1.0)
    assert onsets(drive(batch_of(scene), 1), "goal_onset") == [0]
    scene = stage([driver(speed_mps=40.0, goal_m=(30.0, 2.1))], dt_s=1.0)
    assert not drive(batch_of(scene), 3)["goal_onset"].any()


def test_a_log_replay_vehicle_that_jumps_over_an_agent_collides_with_it():
    log = [(-40.0 + 40.0 * frame, 0.0, 0.0, 40.0) for frame in range(3)]
    record = drive(batch_of(stage([driver(10.0, 0.0), log_replay(log)], dt_s=1.0)), 2)
    assert onsets(record, "collision_onset") == [1]


@pytest.mark.parametrize("late_m, meet", [(0.0, True), (5.9, True), (6.1, False), (15.0, False)])
def test_cars_that_cross_the_same_place_at_different_times_do_not_collide(late_m, meet):
    # Both cross the middle at 40 m/s within the step of 1 s, one late_m behind the other. They overlap while
    # each is within 3 m (half a length and half a width) of the other's line: 6 m of delay part them.
    scene = stage([driver(-20.0, 0.0, speed_mps=40.0), driver(0.0, -20.0 - late_m, math.pi / 2, 40.0)],
                  dt_s=1.0)
    record = drive(batch_of(scene), 1)
    assert record["collision_onset"][0].tolist() == [meet, meet]


def test_a_car_that_turns_sweeps_with_its_corners():
    # At full lock the rear of a 12 m bus swings out, to the right of where its side was.
    bus = driver(speed_mps=4.0, length_m=12.0, width_m=2.5)
    config = {"dynamics": {"max_steering_rad": 1.2}, **IGNORE_ALL}
    places = []
    batch = batch_of(stage([bus]), **config)
    for _ in range(20):
        batch.step(discrete(batch, COAST, 12))
        car = {name: float(values[0]) for name, values in batch.vehicles().items()}
        cos, sin = math.cos(car["heading_rad"]), math.sin(car["heading_rad"])
        places.append(min(car["y_m"] + side * 6.0 * sin + half * 1.25 * cos
                          for side in (-1, 1) for half in (-1, 1)))
    lowest = min(places)
    assert lowest < -1.6
    # Swept overlap may misplace a corner by 3 cm; poses at the ends of steps are exact.
    for clearance_m, crosses in ((-0.02, True), (0.04, False)):
        line = ("edge", [(-15.0, lowest - clearance_m), (15.0, lowest - clearance_m)])
        record = drive(batch_of(stage([bus], [line]), **config), 20, COAST, 12)
        assert bool(record["offroad_onset"].any()) == crosses


def covers(box_m, heading_rad, centre_m, point_m):
    """By how much a point lies inside a box, m; negative outside."""
    away = point_m - centre_m
    ahead = away[0] * np.cos(heading_rad) + away[1] * np.sin(heading_rad)
    aside = away[1] * np.cos(heading_rad) - away[0] * np.sin(heading_rad)
    return np.minimum(box_m[0] / 2 - np.abs(ahead), box_m[1] / 2 - np.abs(aside))


def test_a_turn_of_more_than_half_a_circle_is_swept_the_short_way_round():
    car = driver(speed_mps=15.0, length_m=4.0, width_m=1.0)
    config = {"dt_s": 1.0, "dynamics": {"max_steering_rad": 0.6}, **IGNORE_ALL}
    batch = batch_of(stage([car]), **config)
    drive(batch, 1, COAST, 12)
    end = {name: float(values[0]) for name, values in batch.vehicles().items()}
    turned = 15.0 * math.cos(math.atan(math.tan(0.6) / 2)) * math.tan(0.6) / (0.6 * 4.0)
    assert math.pi < turned < 2 * math.pi - 1
    assert abs(math.remainder(end["heading_rad"] - turned, 2 * math.pi)) < 1e-4
    share = np.linspace(0, 1, 4001)[:, None, None]
    side = np.mgrid[0.0:1.0:40j, -3.0:3.0:40j].reshape(2, -1)
    path = np.array([[end["x_m"]], [end["y_m"]]])
    points = side[0] * path + side[1] * np.array([-path[1], path[0]]) / 15
    centre = share * path
    long_way, short_way = (
        np.max([covers((4.0, 1.0), part[0, 0] * turn, at, points) for part, at in zip(share, centre)], axis=0)
        for turn in (turned, turned - 2 * math.pi))
    met, clear = 0, np.minimum(np.abs(long_way), np.abs(short_way)) > 0.1
    for index in np.flatnonzero(clear & (long_way * short_way < 0))[::10]:
        record = drive(batch_of(stage([car], [("edge", [tuple(points[:, index])])]), **config), 1, COAST, 12)
        assert record["offroad_onset"][0, 0] == (short_way[index] > 0)
        met += record["offroad_onset"][0, 0]
    assert met >= 2


@pytest.mark.parametrize("turn_rad", TURNS)
@pytest.mark.parametrize("radius_m, early_s", [(12.0, 0.0), (15.0, 0.004), (17.0, 0.013), (18.0, 0.0)])
@pytest.mark.parametrize("gap_m, meet", [(0.14, False), (0.04, False), (-0.04, True)])
def test_passing_beside_a_long_vehicle_that_turns_is_no_collision(turn_rad, radius_m, early_s, gap_m, meet):
    # A bar of 50 m turns by 3 rad in the step of 1 s. The driver crosses the circle of its ends on a line that passes
    # its centre at radius_m. Seen from the centre, the car's bearing is atan(v t / radius_m): it changes more slowly
    # than the bar's heading at first, then faster. In between, when both turn at 3 rad/s, they are nearest.
    spin_radps, speed_mps, half_bar_m, half_car_m = 3.0, 5.0 * radius_m, 0.5, 0.01
    nearest_s = -math.sqrt(speed_mps / (radius_m * spin_radps) - 1) * radius_m / speed_mps
    bearing_rad = math.atan(speed_mps * nearest_s / radius_m)
    away_m = radius_m / math.cos(bearing_rad)
    # From the bar's axis to the nearest corner of the car, which is as long as it is wide.
    to_corner_m = half_car_m * (abs(math.cos(bearing_rad)) + abs(math.sin(bearing_rad)))
    bar_rad = bearing_rad - math.asin((half_bar_m + to_corner_m + gap_m) / away_m)
    start_s = -0.5 - early_s
    first_rad = bar_rad - spin_radps * (nearest_s - start_s)
    headings_rad = (math.remainder(first_rad + turned_rad, 2 * math.pi) for turned_rad in (0.0, spin_radps))
    bar = log_replay([(0.0, 0.0, heading_rad, 0.0) for heading_rad in headings_rad], length_m=50.0,
                     width_m=2 * half_bar_m)
    car = driver(radius_m, speed_mps * start_s, math.pi / 2, speed_mps, length_m=0.02, width_m=0.02)
    batch = batch_of(stage([car, bar], dt_s=1.0, turn_rad=turn_rad), dynamics={"max_speed_mps": 150.0}, **IGNORE_ALL)
    assert bool(drive(batch, 1)["collision_onset"].any()) == meet
