"""Does ParkingDriver park, and leave, without contact, inside the bay and with few changes of gear?

With `--seeds n`, of n scenes a config; else of 100 in all.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
from boxes import box_segment_gap_m, corners, sides_of
from certificates import first_trials, rule_based
from rule_based_scenes import on_lanes
from scripted_scenes import Actor

from drive_env import OUTCOMES, Batch, ConfigError, DriveConfig, SceneError, generate_scene
from drive_env.drivers import LaneDriver, ParkingDriver
from drive_env.drivers.manoeuvres import Boxes, car_of, pull_out
from drive_env.drivers.parking_order import Order
from drive_env.drivers.parking_path import DrivePath
from drive_env.drivers.parking_plan import Axles, Planned, advanced, plan_of
from drive_env.replay import record
from drive_env.scenes.generate import CONFIG_OF, TRIAL_STEPS

SEEDS, BLOCK = 50, 50
MOST_CHANGES = 4
BAY_M, MIDDLE_M = (5.0, 2.5), 5.5


def config_for(agents=1, action_type="continuous", **changed):
    """That of the scene's task."""
    return DriveConfig(**{"agents_per_world": agents, "action_type": action_type,
                          "trial_steps": TRIAL_STEPS["parking"], **CONFIG_OF["parking"], **changed})


class Log:
    """What the agents of the first trial in each world do: changes of gear, and where each ends.

    Attributes:
        changes: (worlds, agents)
        ends: (worlds, agents, 3) x, y and heading.
    """

    def __call__(self, batch):
        state, agents = batch._core.state, slice(0, batch.agents_per_world)
        gear = np.sign(state["speed_mps"][:, agents])
        if not hasattr(self, "changes"):
            self.changes, self._gear = np.zeros(gear.shape, int), np.ones(gear.shape)
            self.ends, self._drives = np.zeros((*gear.shape, 3)), np.ones(gear.shape, bool)
        self.changes += self._drives & (gear * self._gear < 0)
        self._gear = np.where(gear == 0, self._gear, gear)
        poses = np.stack([state[name][:, agents] for name in ("x_m", "y_m", "heading_rad")], axis=2)
        self.ends = np.where(self._drives[..., None], poses, self.ends)
        self._drives &= state["outcome"] == 0


def is_inside(scene, agent, pose):
    """Whether the box of a car is inside the bay of its goal; bays are perpendicular to the aisle."""
    objects = scene.objects
    box = corners(np.array([pose[:2]]), np.array([pose[2]]), objects.length_m[[agent]], objects.width_m[[agent]])[0]
    middle = objects.goal_m[agent].astype(np.float64)
    away = np.abs(box - middle)
    return bool((away[:, 0] <= BAY_M[1] / 2).all() and (away[:, 1] <= BAY_M[0] / 2).all())


@pytest.mark.parametrize("action_type", ["discrete", "continuous"])
def test_a_car_parks_inside_its_bay_with_few_changes_of_gear_or_leaves(action_type, request):
    """At most one of 100 cars misses its goal, and none of the default 50; all that park are then in their bays."""
    count = request.config.getoption("--seeds") or SEEDS
    first = 0 if action_type == "discrete" else count
    missed, parked, changes = [], 0, []
    for start in range(first, first + count, BLOCK):
        seeds = range(start, min(start + BLOCK, first + count))
        scenes, log = [generate_scene("parking", seed=seed, agents=1) for seed in seeds], Log()
        records = first_trials(scenes, rule_based, config_for(1, action_type), log)
        assert records["collision"].sum() == records["offroad"].sum() == 0
        missed += [seeds[world] for world in records["world"][records["goal"] == 0]]
        for world, scene in enumerate(scenes):
            changes.append(int(log.changes[world, 0]))
            if abs(scene.objects.goal_m[0, 1]) > 1.0 and seeds[world] not in missed:
                assert is_inside(scene, 0, log.ends[world, 0]), seeds[world]
                parked += 1
    assert len(missed) <= count / 100, missed
    assert parked > count / 2 and max(changes) <= MOST_CHANGES and np.mean(changes) < 1.5


@pytest.mark.parametrize("parameters", [
    {"bay_width_m": 2.4, "bay_m": 4.8, "aisle_m": 5.5, "occupied": 1.0}, {"angled": True, "rows": 1, "occupied": 1.0},
    {"bays": 4, "bay_width_m": 2.7, "bay_m": 5.5, "aisle_m": 7.3, "occupied": 0.0, "speed_limit_mps": 4.0}])
def test_a_car_parks_in_the_narrowest_and_widest_lots(parameters):
    scenes, log = [generate_scene("parking", seed=seed, agents=1, **parameters) for seed in range(6)], Log()
    records = first_trials(scenes, rule_based, config_for(), log)
    assert records["goal"].sum() == 6 and log.changes.max() <= MOST_CHANGES


def test_cars_that_share_a_lot_all_reach_their_goals_in_turn():
    """Twelve in 16 bays, half of which arrive: the last ones wait for most of the others."""
    scenes = [generate_scene("parking", agents=12, leaving=0.5, road_m=60.0)]
    records = first_trials(scenes, rule_based, config_for(12, trial_steps=3000))
    assert records["goal"].sum() == 12


def test_cars_that_leave_bays_on_both_sides_of_the_aisle_do_not_wait_for_each_other():
    """Each reverses to within 30 cm of the bay of the other one."""
    scenes = [generate_scene("parking", seed=seed) for seed in (136, 131)]
    records = first_trials(scenes, rule_based, config_for(4, "discrete"))
    assert records["goal"].sum() == 8 and records["trial_length"].max() < 900


def test_a_lane_driver_does_not_park():
    scenes = [generate_scene("parking", seed=seed, agents=1, leaving=0.0, nose="out") for seed in range(4)]
    records = first_trials(scenes, lambda batch: LaneDriver(batch).act_all, config_for())
    assert records["goal"].sum() == 0


@pytest.mark.parametrize("is_nose_out", [True, False])
@pytest.mark.parametrize("onward", [1, -1])
def test_a_path_out_of_a_bay_ends_in_the_middle_of_the_aisle_without_collision(is_nose_out, onward):
    """Integrates the pieces in steps of 1 cm by the midpoint rule."""
    car, half_m = car_of(4.4, 1.85, 0.6, 0.6), (4.5 / 2, 2.0 / 2)
    middles = [(2.5 * i, side * MIDDLE_M, side * math.pi / 2, *half_m) for i in range(-5, 6) for side in (-1, 1)
               if (i, side) != (0, -1)]
    heading = math.pi / 2 if is_nose_out else -math.pi / 2
    x_m, y_m, rad = 0.0, -MIDDLE_M - 0.3 * 4.4 * math.sin(heading), heading
    pieces = pull_out(car, (x_m, y_m, rad), onward, math.inf, [Boxes(*np.array(middles).T)])
    others = corners(np.array(middles)[:, :2], np.array(middles)[:, 2], 4.5, 2.0)
    sides = sides_of(others).reshape(-1, 2, 2)
    nearest_m = math.inf
    for piece in pieces:
        assert abs(piece.curvature_per_m) <= 1 / car.radius_m + 1e-9
        steps = math.ceil(abs(piece.travel_m) / 0.01)
        for step in range(steps):
            ahead_m = piece.travel_m / steps
            middle = rad + 0.5 * ahead_m * piece.curvature_per_m
            x_m, y_m = x_m + ahead_m * math.cos(middle), y_m + ahead_m * math.sin(middle)
            rad += ahead_m * piece.curvature_per_m
            if step % 20 == 0:
                centre = np.array([[x_m + 0.3 * 4.4 * math.cos(rad), y_m + 0.3 * 4.4 * math.sin(rad)]])
                box = corners(centre, np.array([rad]), np.full(1, 4.4), np.full(1, 1.85))[0]
                nearest_m = min(nearest_m, box_segment_gap_m(box, sides))
    assert (y_m, math.remainder(rad, 2 * math.pi)) == pytest.approx((0.0, 0.0), abs=1e-3)
    assert nearest_m > 0.1


def test_the_policy_parking_is_this_driver():
    scene = generate_scene("parking", seed=0, agents=1)
    recording = record(scene, "parking", config_for())
    assert recording.trials[0].outcome[-1, 0] == OUTCOMES.index("goal")


def test_no_path_is_found_for_an_enclosed_car():
    wall = Boxes(*np.array([[0.0, -2.9, 0.0, 2.0, 0.1]]).T)
    assert pull_out(car_of(4.4, 1.85, 0.6, 0.6), (0.0, -6.8, math.pi / 2), 1, math.inf, [wall]) is None


def test_another_driver_can_take_over_in_every_stage_of_a_trial():
    scene = generate_scene("parking", seed=5, agents=4)
    with Batch(scene, config=config_for(4)) as batch:
        batch.reset()
        for step in range(TRIAL_STEPS["parking"]):
            if step % 40 == 0:
                driver = ParkingDriver(batch)
            batch.step(driver.act_all())
            if batch.trial_ended.any():
                break
        assert batch.metrics()["goal"].value == 1.0


def test_the_actions_of_a_world_do_not_depend_on_others_and_those_of_a_copy_are_the_same():
    scenes = [generate_scene("parking", seed=seed, agents=3) for seed in range(3)]
    with Batch(scenes, num_worlds=3, config=config_for(3, scene_order="cycle")) as batch:
        batch.reset()
        one, other = ParkingDriver(batch), ParkingDriver(batch)
        with copy.deepcopy(batch) as again:
            third = ParkingDriver(again)
            for _ in range(120):
                actions = one.act_all()
                np.testing.assert_array_equal(actions, np.concatenate([other.act(world) for world in range(3)]))
                np.testing.assert_array_equal(actions, third.act_all())
                batch.step(actions)
                again.step(actions)


def test_an_agent_without_a_path_stops():
    """Where its bay is full; the one behind it waits."""
    scene = generate_scene("parking", seed=2, agents=2, leaving=0.0)
    objects = scene.objects
    parked = int(np.flatnonzero(objects.marked_expert)[0])
    x_m, y_m = objects.x_m.copy(), objects.y_m.copy()
    x_m[0, parked], y_m[0, parked] = objects.goal_m[0]
    y_m[0, parked] += 0.5
    full = replace(scene, objects=replace(objects, x_m=x_m, y_m=y_m))
    with Batch(full, config=config_for(2, trial_steps=100)) as batch:
        batch.reset()
        driver = ParkingDriver(batch)
        for _ in range(99):
            batch.step(driver.act_all())
            assert not batch.trial_ended.any()
        assert (batch.vehicles()["speed_mps"][:2] == 0.0).all()


@pytest.mark.parametrize("changed, sentence", [
    ({"dynamics": {}}, "dynamics.min_speed_mps is 0.0; for a ParkingDriver, which reverses, it must be below -0.45"),
    ({"dynamics": {"model": "state", "min_speed_mps": -3.0}, "action_type": "continuous"},
     "dynamics.model is 'state', whose actions set .*; they must be of acceleration, steering, curvature for a")])
def test_a_config_in_which_it_cannot_drive_is_refused(changed, sentence):
    with Batch(generate_scene("parking", agents=1), config=config_for(**changed)) as batch, \
            pytest.raises(ConfigError, match=sentence):
        ParkingDriver(batch)


def test_a_place_on_a_path_near_itself_does_not_depend_on_cars_of_other_worlds():
    """A path of two laps of a circle: a slow car's place stays in the first lap, though the second is 5 cm nearer."""
    angle_rad = np.linspace(0.0, 4 * math.pi, 300)
    radius_m = 2.0 + 0.05 * (angle_rad > 2 * math.pi)
    ones = np.ones(len(angle_rad))
    path = DrivePath(radius_m * np.cos(angle_rad), radius_m * np.sin(angle_rad), angle_rad + math.pi / 2, ones / 2,
                     ones, ones)
    car = car_of(4.4, 1.85, 0.6, 0.6)
    plan = plan_of({0: Planned([car], [path], Order([car], [path]))}, 1, 1, 3.0)
    first, dt_s = int(plan.first[0, 0]), np.array([[0.1]])
    slow = np.array([2.06, 0.0, math.pi / 2, 0.5])
    fast = np.array([2.06, 0.0, math.pi / 2, 160.0])
    alone = advanced(plan, Axles(*slow[:, None, None]), np.array([[first]]), dt_s)
    both = advanced(plan, Axles(*np.stack([slow, fast], axis=1)[..., None]), np.array([[first], [first]]),
                    np.repeat(dt_s, 2, axis=0))
    assert alone[0, 0] == both[0, 0] == first
    assert both[1, 0] > first + 100  # it may be in the second lap


@pytest.mark.parametrize("changed, sentence", [
    ({"on_goal": "respawn"}, "on_goal is 'respawn'; for a ParkingDriver, which drives to one goal, it must be one of "
                             "'ignore', 'stop', 'remove'"),
    ({"on_goal": "next"}, "on_goal is 'next'; for a ParkingDriver")])
def test_a_config_with_several_goals_is_refused(changed, sentence):
    with Batch(generate_scene("parking", agents=1), config=config_for(**changed)) as batch, \
            pytest.raises(ConfigError, match=sentence):
        ParkingDriver(batch)


def test_a_scene_with_candidate_goals_is_refused():
    scene = generate_scene("parking", agents=1)
    drawn = replace(scene, candidate_goals_m=np.zeros((3, 2), np.float32))
    with Batch(drawn, config=config_for()) as batch, pytest.raises(ConfigError, match="has 3 candidate goals; .* 0$"):
        ParkingDriver(batch)


def test_a_bay_into_which_two_lanes_lead_is_refused():
    """Both lanes end where a third one, the bay, turns off; in either order."""
    for lanes in ([0, 1], [1, 0]):
        aisles = [[(-40.0, 0.0), (0.0, 0.0)], [(40.0, 0.0), (0.0, 0.0)]]
        scene = on_lanes([Actor(-30.0, 0.0, 0.0, goal_m=(0.0, -8.0))],
                         [*(aisles[lane] for lane in lanes), [(0.0, 0.0), (0.0, -10.0)]], [[2], [2], []])
        with Batch(scene, config=config_for()) as batch:
            batch.reset()
            with pytest.raises(SceneError, match="2 lanes lead into the bay of lane 2 in .*; for a ParkingDriver it "
                                                 "must be 1"):
                ParkingDriver(batch).act_all()
