"""Do agents of LaneDriver change lanes where only that leads to their goals, into gaps and without collisions?"""

from dataclasses import replace

import numpy as np
import pytest
from driven_scenes import drive
from rule_based_scenes import on_lanes
from scripted_scenes import Actor

from drive_env.drivers.lane_changes import LaneNet

WIDTH_M = 3.6
FAST = {"dynamics": {"max_speed_mps": 40.0}}


def car(x_m, lane, speed_mps, goal_m, goal_lane):
    return Actor(x_m, -WIDTH_M * lane, 0.0, speed_mps, goal_m=(goal_m, -WIDTH_M * goal_lane), length_m=4.6, width_m=1.9)


def highway(*cars, lanes=2, length_m=600.0, limit_mps=30.0):
    """Lanes of one direction, number 0 on the left."""
    lines = [[(0.0, -WIDTH_M * lane), (length_m, -WIDTH_M * lane)] for lane in range(lanes)]
    return replace(on_lanes(cars, lines, limits_mps=[limit_mps] * lanes), generated=True)


def merging(cars, end_m):
    """A lane of 400 m, and one to its right that ends; speed limit 15 m/s."""
    lines = [[(0.0, 0.0), (400.0, 0.0)], [(0.0, -WIDTH_M), (end_m, -WIDTH_M)]]
    return replace(on_lanes(cars, lines, limits_mps=[15.0] * 2), generated=True)


def drive_fast(scene, steps, **config):
    """Outcomes of a trial whose agents may reach 40 m/s, and the poses and speeds of all vehicles at each step."""
    return drive(scene, steps, **FAST, **config)[:2]


@pytest.mark.parametrize("action_type", ["continuous", "discrete"])
@pytest.mark.parametrize("speed_mps, limit_mps", [(0.0, 8.0), (10.0, 15.0), (25.0, 30.0)])
def test_a_lone_car_changes_to_the_lane_of_its_goal(speed_mps, limit_mps, action_type):
    scene = highway(car(5.0, 0, speed_mps, 400.0, 1), limit_mps=limit_mps)
    outcomes, found = drive_fast(scene, 700, action_type=action_type)
    assert outcomes == ["goal"]
    assert np.abs(found["y_m"][-1] + WIDTH_M) < 1.0
    assert np.abs(found["heading_rad"]).max() < 0.3  # no swerve


def test_a_car_crosses_several_lanes():
    outcomes, _ = drive_fast(highway(car(5.0, 0, 20.0, 500.0, 3), lanes=4), 400, action_type="continuous")
    assert outcomes == ["goal"]


def test_a_car_stays_on_its_lane_where_the_graph_leads_to_its_goal():
    outcomes, found = drive_fast(highway(car(5.0, 1, 20.0, 400.0, 1)), 300, action_type="continuous")
    assert outcomes == ["goal"] and np.abs(found["y_m"] + WIDTH_M).max() < 0.01


def test_a_car_beside_another_one_changes_only_behind_or_before_it():
    """The other car keeps its lane, at the same speed and beside the one that changes."""
    cars = [car(20.0, 0, 15.0, 350.0, 1), car(20.0, 1, 15.0, 380.0, 1)]
    outcomes, found = drive_fast(highway(*cars, limit_mps=15.0), 400, action_type="continuous")
    assert outcomes == ["goal", "goal"]
    beside = np.abs(found["y_m"][:, 0] - found["y_m"][:, 1]) < 1.9
    assert beside.any()
    assert np.abs(np.diff(found["x_m"], axis=1))[beside].min() > 4.6 + 1.0  # at least a metre between the bumpers


def test_two_cars_exchange_their_lanes():
    cars = [car(20.0, 0, 15.0, 350.0, 1), car(20.0, 1, 15.0, 350.0, 0)]
    outcomes, _ = drive_fast(highway(*cars, limit_mps=15.0), 500, action_type="continuous")
    assert outcomes == ["goal", "goal"]


def test_two_cars_that_stand_beside_each_other_exchange_their_lanes():
    """Neither has room to change; the one ahead drives past the other one."""
    cars = [car(150.0, 0, 0.0, 220.0, 2), car(148.0, 1, 0.0, 170.0, 0)]
    outcomes, _ = drive_fast(highway(*cars, lanes=3, limit_mps=15.0), 700, action_type="continuous")
    assert outcomes == ["goal", "goal"]


def test_a_car_does_not_change_to_the_lane_of_a_faster_one_behind_it():
    """The faster one starts behind the place where the path on that lane would begin without its lead-in."""
    cars = [car(30.0, 0, 9.0, 300.0, 1), car(4.0, 1, 21.0, 280.0, 1)]
    outcomes, found = drive_fast(highway(*cars, limit_mps=25.0), 400, action_type="continuous")
    assert outcomes == ["goal", "goal"]
    passes = np.flatnonzero(found["x_m"][:, 1] > found["x_m"][:, 0])[0]
    assert np.abs(found["y_m"][:passes, 0]).max() < 0.3


def test_vehicles_behind_the_start_of_a_path_are_on_it():
    """The second path begins 130 m before the car, on the lane that leads to it."""
    lines = [[(0.0, 0.0), (400.0, 0.0)], [(0.0, -WIDTH_M), (180.0, -WIDTH_M)], [(180.0, -WIDTH_M), (400.0, -WIDTH_M)]]
    net = LaneNet(on_lanes([car(200.0, 0, 15.0, 380.0, 1)], lines, [[], [2], []]))
    first, second = net.paths(np.array([200.0, 0.0]), np.array([1.0, 0.0]), np.array([380.0, -WIDTH_M]))
    assert first.points_m[0].tolist() == [200.0, 0.0]
    assert second.points_m[0, 0] == pytest.approx(200.0 - 130.0) and second.roads[[0, -1]].tolist() == [1, 2]


@pytest.mark.parametrize("end_m", [100.0, 180.0])
def test_two_queues_zip_where_a_lane_ends(end_m):
    cars = [car(5.0 + 9.0 * i, lane, 5.0, 390.0 - 9.0 * (1 - lane) - 18.0 * (3 - i), 0)
            for i in range(4) for lane in range(2)]
    outcomes, found = drive_fast(merging(cars, end_m), 1200, action_type="continuous")
    assert outcomes == ["goal"] * len(cars)
    assert found["x_m"][:, 1][found["y_m"][:, 1] < -0.5 * WIDTH_M].max() < end_m


def test_a_car_waits_at_the_end_of_its_lane_for_a_gap():
    """A queue of cars stands on the other lane for ever beside the end."""
    queue = [replace(car(4.0 + 7.0 * i, 0, 0.0, 0.0, 0), goal_m=None) for i in range(40)]
    outcomes, found = drive_fast(merging([car(5.0, 1, 5.0, 390.0, 0), *queue], 200.0), 400, action_type="continuous")
    assert outcomes == ["timeout"]
    assert found["speed_mps"][-1, 0] == 0.0 and found["x_m"][-1, 0] < 200.0
    assert np.abs(found["y_m"][:, 0] + WIDTH_M).max() < 0.5


def test_a_crowded_highway_clears_without_a_collision():
    rng = np.random.default_rng(0)
    cars = [car(10.0 + 28.0 * i + rng.uniform(0.0, 6.0), lane, rng.uniform(18.0, 26.0), 380.0 + 24.0 * i,
                rng.integers(3)) for i in range(8) for lane in range(3)]
    outcomes, _ = drive_fast(highway(*cars, lanes=3), 600, action_type="continuous")
    assert outcomes.count("collision") + outcomes.count("offroad") == 0
    assert outcomes.count("goal") >= 23


def test_lanes_beside_each_other_are_found_by_their_distance_and_direction():
    lines = [[(0.0, 0.0), (100.0, 0.0)], [(40.0, -3.5), (200.0, -3.5)], [(100.0, 3.5), (0.0, 3.5)],
             [(0.0, -12.0), (100.0, -12.0)], [(0.0, 2.0), (100.0, 2.0)]]
    net = LaneNet(on_lanes([Actor(goal_m=(50.0, 0.0))], lines))
    ((other, own_m, other_m),) = net.beside(0)
    assert other == 1  # not the oncoming one, one far away, or one that overlaps
    assert np.array_equal(own_m, np.arange(40.0, 100.0, 4.0)) and np.allclose(other_m, own_m - 40.0)


def test_a_goal_that_no_lane_change_leads_to_has_no_paths():
    lines = [[(0.0, 0.0), (100.0, 0.0)], [(0.0, -12.0), (100.0, -12.0)]]
    net = LaneNet(on_lanes([Actor(goal_m=(50.0, 0.0))], lines))
    assert net.paths(np.array([5.0, 0.0]), np.array([1.0, 0.0]), np.array([80.0, -12.0])) is None


def exiting(*cars):
    """Three lanes of 600 m; from x = 150 m a fourth one opens on their right, and ends at x = 400 m, as a ramp."""
    y_m = [-WIDTH_M * lane for lane in range(4)]
    lines = [[(0.0, y_m[0]), (600.0, y_m[0])], [(0.0, y_m[1]), (600.0, y_m[1])],
             [(0.0, y_m[2]), (150.0, y_m[2])], [(150.0, y_m[2]), (600.0, y_m[2])],
             [(150.0, y_m[2]), (190.0, y_m[3]), (280.0, y_m[3]), (400.0, y_m[3] - 30.0)]]
    scene = on_lanes(cars, lines, [[], [], [3, 4], [], []], limits_mps=[25.0] * 5)
    return replace(scene, generated=True)


EXIT_M = (395.0, -3.0 * WIDTH_M - 29.0)


@pytest.mark.parametrize("x_m, lane", [(20.0, 0), (120.0, 0), (130.0, 0), (140.0, 1)])
def test_a_car_reaches_an_exit_lane_from_before_or_behind_its_start(x_m, lane):
    outcomes, _ = drive_fast(exiting(replace(car(x_m, lane, 25.0, 0.0, 0), goal_m=EXIT_M)), 500,
                             action_type="continuous")
    assert outcomes == ["goal"]


def test_a_path_goes_by_way_of_a_lane_only_where_that_leaves_more_room_for_the_change():
    """The exit lane is farther from the other lanes than the lane that it leaves."""
    net, start_m, ahead = LaneNet(exiting(car(20.0, 0, 15.0, 500.0, 1))), np.array([20.0, 0.0]), np.array([1.0, 0.0])
    to_exit = net.paths(start_m, ahead, np.array(EXIT_M))
    assert [path.roads[-1] for path in to_exit] == [0, 1, 3, 4]
    assert 200.0 < to_exit[2].window_m[1] < 280.0  # its path begins where the lane does
    along = net.paths(start_m, ahead, np.array([500.0, -2.0 * WIDTH_M]))
    assert [path.roads[-1] for path in along] == [0, 1, 3]
