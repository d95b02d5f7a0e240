"""Do heights separate what lies above each other, and nothing else?"""

from __future__ import annotations

import numpy as np
import pytest
from overpass import ABOVE, BELOW, SPEED_MPS, crossing_logs, overpass, raised, stop_sign
from scripted_scenes import BRAKE_ACTION, COAST_ACTION, IGNORE_ALL, batch_of, drive, driver, onsets, stage

from drive_env.config import DriveConfig
from drive_env.drivers.lane import LaneDriver
from drive_env.errors import ConfigError

BRIDGE_M = 6.0
STEPS = 45
EVENTS = ("collision_onset", "offroad_onset")


def events_of(scene, **choices):
    """The steps of each event of the first agent, while it drives straight on over the crossing."""
    record = drive(batch_of(scene, **IGNORE_ALL, **choices), STEPS)
    assert record["x_m"][-1, 0] > 10.0
    return [onsets(record, name) for name in EVENTS]


def test_a_car_passes_below_a_bridge_and_the_car_on_it():
    assert events_of(overpass(BRIDGE_M)) == [[], []]


def test_at_one_height_the_same_cars_collide_and_meet_the_edges():
    collisions, offroads = events_of(overpass(0.0))
    assert collisions and offroads


def test_the_clearance_decides():
    assert events_of(overpass(3.5), vertical_clearance_m=3.4) == [[], []]
    collisions, offroads = events_of(overpass(3.5), vertical_clearance_m=3.6)
    assert collisions and offroads


def test_a_goal_on_the_bridge_is_not_reached_from_below():
    cars = [driver(-20.0, 0.0, 0.0, SPEED_MPS, goal_m=(0.0, 0.0))]
    for goal_above, reached in ((True, False), (False, True)):
        scene = overpass(BRIDGE_M, cars, on_bridge=(False,))
        scene.objects.goal_z_m[0] += BRIDGE_M * goal_above
        record = drive(batch_of(scene, **IGNORE_ALL), STEPS)
        assert (len(onsets(record, "goal_onset")) == 1) == reached


@pytest.mark.parametrize("selection", ["exact", "near"])
def test_an_agent_observes_what_it_would_without_the_other_level(selection):
    """Also right below the bridge, whose segments are nearer than those of its own road."""
    observation = {"partners": 8, "roads": 64, "view_radius_m": 60.0, "road_selection": selection}
    batch = batch_of(overpass(BRIDGE_M), **IGNORE_ALL, observation=observation)
    alone = batch_of(stage([driver(-20.0, 0.0, 0.0, SPEED_MPS)], BELOW), **IGNORE_ALL,
                     observation=observation | {"road_selection": "exact"})
    for _ in range(STEPS):
        for each in (batch, alone):
            each.step(np.full(each.num_agents, COAST_ACTION))
        found, expected = batch.observations[0], alone.observations[0]
        first = batch.observation_layout()["roads/x"].offset  # the order of slots is that of the grid
        assert np.array_equal(found[:first], expected[:first])
        rows = [np.unique(vector[first : first + 8 * 64].reshape(64, 8), axis=0) for vector in (found, expected)]
        assert np.array_equal(*rows) and len(rows[0]) > 20


def test_an_image_shows_what_it_would_without_the_other_level():
    layers = ("edges", "lines", "lanes", "crosswalks", "controls", "partners", "self", "goal")
    choices = {**IGNORE_ALL, "traffic_controls": True, "observation": {"type": "image"}, "image": {"layers": layers}}
    bridge = stop_sign(overpass(BRIDGE_M), (1, 3, 1, -3), 3)
    batch, alone = batch_of(bridge, **choices), batch_of(
        stage([driver(-20.0, 0.0, 0.0, SPEED_MPS)], BELOW), **choices)
    for _ in range(STEPS):
        for each in (batch, alone):
            each.step(np.full(each.num_agents, COAST_ACTION))
        assert np.array_equal(batch.images[0], alone.images[0])
    controls = layers.index("controls")
    assert batch.images[1, controls].any() and batch.images[1, 0].any() and batch.images[0, 0].any()


def test_a_car_on_a_ramp_follows_its_height():
    scene = stage([driver(-90.0, 0.0, 0.0, SPEED_MPS), driver(0.0, -20.0, np.pi / 2, 0.0)], BELOW + ABOVE)
    points_m = 0.05 * (scene.roads.x_m + 100.0)
    scene = raised(scene, [0.5, 12.0], np.where(np.arange(len(points_m)) < len(points_m) // 2, points_m, 12.0))
    batch = batch_of(scene, **IGNORE_ALL)
    for _ in range(STEPS):
        batch.step(np.full(2, COAST_ACTION))
        vehicles = batch.vehicles()
        assert vehicles["z_m"] == pytest.approx([0.05 * (vehicles["x_m"][0] + 100.0), 12.0], abs=1e-4)


def test_a_flat_scene_has_no_heights():
    batch = batch_of(overpass(2.0), **IGNORE_ALL)
    assert batch._core.state["z_m"].size == 0
    assert not batch.vehicles()["z_m"].any()


def test_an_agent_has_the_lane_of_its_level():
    """Two lanes one above the other: the upper one is a metre nearer in the plane."""
    lanes = [("lane", [(-100.0, y_m), (100.0, y_m)]) for y_m in (1.0, 0.0)]
    scene = stage([driver(-20.0, 0.0, 0.0, SPEED_MPS)], lanes)
    batch = batch_of(raised(scene, [0.0], [0.0, 0.0, 6.0, 6.0]), **IGNORE_ALL, detailed_metrics=True)
    batch.step(np.full(1, COAST_ACTION))
    assert batch._core.state["lane"].tolist() == [[0]]
    assert batch._core.state["lane_offset_m"] == pytest.approx(-1.0)


def test_a_vehicle_on_another_level_has_no_time_to_collision():
    for height_m, is_near in ((BRIDGE_M, False), (0.0, True)):
        batch = batch_of(overpass(height_m), **IGNORE_ALL, detailed_metrics=True)
        batch.step(np.full(2, COAST_ACTION))
        assert (batch._core.state["time_to_collision_s"][0, 0] < 3.0) == is_near
        assert (batch._core.state["min_gap_m"][0, 0] < 50.0) == is_near


def test_a_stop_sign_of_the_bridge_does_not_stop_traffic_below():
    line_m, lane = (1.0, 3.0, 1.0, -3.0), len(BELOW)
    for height_m, violations in ((BRIDGE_M, 0), (0.0, 1)):
        batch = batch_of(stop_sign(overpass(height_m), line_m, lane), **IGNORE_ALL, traffic_controls=True,
                         observation={"controls": 2})
        assert batch.observations[0, batch.observation_layout()["controls/kind"].offset].any() == violations
        found = 0
        for _ in range(STEPS):
            batch.step(np.full(2, COAST_ACTION))
            found += batch.step_events()["stop_sign"][0]
        assert found == violations


def test_rule_based_vehicles_yield_on_their_own_level_only():
    """Those that drive on their logs over the crossing at one time."""
    slowest_mps = {}
    for height_m in (BRIDGE_M, 0.0):
        scene = overpass(height_m, crossing_logs(), on_bridge=(False, False, True))
        batch = batch_of(scene, **IGNORE_ALL, others="idm", trial_steps=50)
        speeds_mps = []
        for _ in range(STEPS):
            batch.step(np.full(1, BRAKE_ACTION))
            vehicles = batch.vehicles()
            speeds_mps.append(vehicles["speed_mps"][1:])
            assert vehicles["z_m"][1:] == pytest.approx([0.0, height_m])
        slowest_mps[height_m] = np.min(speeds_mps)
    assert slowest_mps[BRIDGE_M] > 9.0 and slowest_mps[0.0] < 5.0


def test_vehicles_on_a_bridge_change_lanes_above_a_junction():
    """The second car passes the agent there just as without the two cars whose paths cross below."""
    lines = [("lane", [(-50.0, y_m), (400.0, y_m)]) for y_m in (0.0, 3.5)] + [
        ("lane", [(50.0 - 40.0 * slope, -40.0), (50.0 + 40.0 * slope, 40.0)]) for slope in (0.0, 1.0)]
    above = [driver(40.0, 0.0, 0.0, 3.0), driver(0.0, 0.0, 0.0, 9.0)]
    below = [driver(50.0, -20.0, np.pi / 2, 2.0), driver(30.0, -20.0, np.pi / 4, 2.0)]
    paths_m = []
    for cars in (above, above + below):
        scene = raised(stage(cars, lines), ([BRIDGE_M, BRIDGE_M, 0.0, 0.0])[:len(cars)], np.repeat([BRIDGE_M, 0.0], 4))
        batch = batch_of(scene, **IGNORE_ALL, others="idm", idm_lane_changes=True, agents_per_world=1)
        path_m = []
        for _ in range(100):
            batch.step(np.full(1, COAST_ACTION))
            path_m.append([batch.vehicles()[name][1] for name in ("x_m", "y_m")])
        paths_m.append(path_m)
    alone_m, over_junction_m = np.array(paths_m)
    assert np.array_equal(alone_m, over_junction_m)
    assert np.abs(alone_m[alone_m[:, 1] > 1.0, 0] - 50.0).min() < 5.0


def test_next_goals_stay_on_their_level():
    """The first goal is 2 m beside the lane of the bridge, and on that of the road below."""
    cars = [driver(0.0, -20.0, np.pi / 2, SPEED_MPS, goal_m=(2.0, 0.0))]
    batch = batch_of(overpass(BRIDGE_M, cars, on_bridge=(True,)), on_goal="next", goal_spacing_m=30.0,
                     goal_radius_m=3.0)
    drive(batch, STEPS)
    assert batch.trial_state()["goal_m"].tolist() == [[0.0, 30.0]]
    assert batch._core.state["goal_z_m"].tolist() == [[BRIDGE_M]]


def test_lane_drivers_yield_on_their_own_level_only():
    slowest_mps = {}
    for height_m in (BRIDGE_M, 0.0):
        cars = [driver(-20.0, 0.0, 0.0, SPEED_MPS, goal_m=(80.0, 0.0)),
                driver(0.0, -20.0, np.pi / 2, SPEED_MPS, goal_m=(0.0, 80.0))]
        batch = batch_of(overpass(height_m, cars), **IGNORE_ALL, action_type="continuous")
        policy, speeds_mps = LaneDriver(batch), []
        for _ in range(STEPS):
            batch.step(policy.act())
            speeds_mps.append(batch.vehicles()["speed_mps"])
        slowest_mps[height_m] = np.min(speeds_mps)
    assert slowest_mps[BRIDGE_M] > 9.0 and slowest_mps[0.0] < 7.0


@pytest.mark.parametrize("value", [2.9, 1001.0, -1.0])
def test_a_clearance_out_of_range_is_refused(value):
    with pytest.raises(ConfigError, match=r"vertical_clearance_m is .*; it must be a number in \[3, 1000\]"):
        DriveConfig(vertical_clearance_m=value)
