"""Do agents of LaneDriver drive to goals that follow one another?"""

import gc
import weakref

import numpy as np
import pytest
from boxes import point_segment_m
from driven_scenes import drive
from rule_based_scenes import on_lanes
from scripted_scenes import driver, listed, stage

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver, lane

NEXT = {"on_goal": "next", "action_type": "continuous"}


def driven(scene, steps, **config):
    """Outcomes of a trial, how many goals each agent has reached, and where it was at every step."""
    reached = []
    outcomes, found, _ = drive(
        scene, steps, lambda batch: reached.append(batch.trial_state()["goals_reached"].copy()), **NEXT, **config)
    return outcomes, reached[-1], np.stack([found["x_m"], found["y_m"]], axis=2)


@pytest.mark.parametrize("name, agents, spacing_m, least", [("town", 6, 30.0, 5), ("oval", 4, 60.0, 3)])
def test_agents_reach_goals_that_follow_along_the_lanes(name, agents, spacing_m, least):
    """30 s at up to 9 m/s lead past at least that many, around bends; at forks the next lane is drawn."""
    outcomes, reached, _ = driven(generate_scene(name, seed=3, agents=agents), 300, goal_spacing_m=spacing_m)
    assert outcomes == ["timeout"] * agents and reached.min() >= least


@pytest.mark.parametrize("limit_mps", [None, 4.0])
def test_an_agent_drives_to_the_goals_of_its_list_and_not_straight_on(limit_mps):
    """From a lane two lanes lead on; the second goal is on the one that turns, the third behind another bend."""
    lanes = [[(0.0, 0.0), (60.0, 0.0)], [(60.0, 0.0), (300.0, 0.0)],
             [(60.0, 0.0), (72.0, 5.0), (77.0, 17.0), (77.0, 60.0)],
             [(77.0, 60.0), (72.0, 72.0), (60.0, 77.0), (0.0, 77.0)]]
    scene = on_lanes([driver(5.0, speed_mps=5.0, goal_m=(40.0, 0.0))], lanes, [[1, 2], [], [3], []])
    scene = listed(scene, {0: [(77.0, 40.0), (20.0, 77.0)]})
    outcomes, _, places_m = driven(scene, 600, goal_max_speed_mps=limit_mps)
    assert outcomes == ["goal"]
    segments = np.array([ends for lane in (0, 2, 3) for ends in zip(lanes[lane], lanes[lane][1:])])
    assert point_segment_m(places_m[:-1, 0], segments).min(axis=1).max() < 1.5


def test_without_lanes_agents_reach_all_listed_goals():
    goals_m = [(40.0, 0.0), (80.0, 30.0), (120.0, 30.0)]
    scene = listed(stage([driver(speed_mps=5.0, goal_m=goals_m[0])]), {0: goals_m[1:]})
    assert driven(scene, 400)[0] == ["goal"]


def test_act_all_equals_act_of_every_world_where_worlds_have_different_goals():
    scene = generate_scene("town", seed=1, agents=4)
    with Batch(scene, num_worlds=3, config=DriveConfig(trial_steps=120, goal_spacing_m=25.0, **NEXT)) as batch:
        batch.reset(seed=5)
        together, one_by_one = LaneDriver(batch), LaneDriver(batch)
        for _ in range(119):
            actions = together.act_all()
            assert (actions == np.concatenate([one_by_one.act(world) for world in range(3)])).all()
            batch.step(actions)
        assert (batch._core.goals(0, 8)[0][:, :, :2] != batch._core.goals(1, 8)[0][:, :, :2]).any()


def test_the_path_from_a_goal_on_is_that_of_the_world_and_of_the_trial():
    """The worlds are steered to opposite sides, and to the other side in the second trial, so that agents reach the
    first goal at different places within its radius of 2 m."""
    scene = listed(stage([driver(speed_mps=8.0, goal_m=(25.0, 0.0))]), {0: [(60.0, 25.0), (90.0, 60.0)]})
    config = DriveConfig(trial_steps=60, max_trials=2, goal_radius_m=2.0, **NEXT)
    with Batch(scene, num_worlds=2, config=config) as batch:
        batch.reset(seed=0)
        last, alone, places_m = LaneDriver(batch), LaneDriver(batch), []
        for trial in range(2):
            fresh, steered = LaneDriver(batch), [0.02, -0.02][:: 1 - 2 * trial]
            for _ in range(60):
                actions = last.act_all()
                np.testing.assert_array_equal(actions, fresh.act_all())
                np.testing.assert_array_equal(actions[1:], alone.act(1))
                reached = [int(batch.trial_state(world)["goals_reached"][0]) for world in range(2)]
                sent = actions.copy()
                for world in range(2):
                    if reached[world] == 0:
                        sent[world, 1] = steered[world]
                    elif len(places_m) < 2 * trial + world + 1:
                        places_m.append(float(batch.vehicles(world)["y_m"][0]))
                batch.step(sent)
            batch.step(last.act_all())  # the restart, in which actions are not read
        assert all(abs(places_m[i] - places_m[j]) > 0.3 for i, j in ((0, 1), (0, 2), (1, 3)))


def test_an_agent_keeps_its_path_as_another_one_reaches_a_goal():
    """The first one is steered off the path from its first goal when the second reaches one: it drives as if alone."""
    def scene_of(*others):
        first = driver(speed_mps=8.0, goal_m=(20.0, 0.0))
        return listed(stage([first, *others]), {i: [(60.0, 0.0), (90.0, 60.0)] for i in range(1 + len(others))})

    places_m = []
    for others in ((), (driver(0.0, 200.0, speed_mps=4.0, goal_m=(26.0, 200.0)),)):
        with Batch(scene_of(*others), config=DriveConfig(trial_steps=100, **NEXT)) as batch:
            batch.reset(seed=0)
            lane_driver, reached = LaneDriver(batch), []
            for step in range(70):
                actions = lane_driver.act_all()
                if 25 <= step < 45:
                    actions[0, 1] = 0.02
                batch.step(actions)
                reached.append(batch.trial_state()["goals_reached"].copy())
            places_m.append([float(batch.vehicles()[name][0]) for name in ("x_m", "y_m")])
    second = int(np.argmax(np.array(reached)[:, 1] > 0))
    assert 25 < second < 45 and np.array(reached)[25, 0] == 1
    assert places_m[0] == places_m[1]


def test_a_driver_does_not_drive_to_goals_that_the_config_hides():
    """Whichever goals are drawn, all cars drive alike, to the scene's own goal, until a car reaches a goal."""
    places_m = []
    for on_goal in ("next", "remove"):
        config = DriveConfig(trial_steps=200, on_goal=on_goal, action_type="continuous",
                             observation={"goal_reveal_s": 0.0})
        with Batch(generate_scene("exits"), num_worlds=12, config=config) as batch:
            batch.reset(seed=0)
            drawn = {tuple(batch.trial_state(world)["goal_m"][0]) for world in range(12)}
            lane_driver = LaneDriver(batch)
            for _ in range(44):
                batch.step(lane_driver.act_all())
                assert not batch.outcome.any()
            places_m.append([[float(batch.vehicles(world)[name][0]) for name in ("x_m", "y_m")]
                             for world in range(12)])
    assert len(drawn) == 3
    assert np.ptp(places_m[0], axis=0).max() == 0.0 and places_m[0] == places_m[1]


def test_a_driver_holds_no_more_of_the_core_than_one_driver_a_world(monkeypatch):
    """In worlds that play each of several scenes in turn."""
    scenes = [generate_scene("town", seed=seed, agents=2) for seed in range(6)]
    created, make = [], lane.native_driver

    def counted(*arguments):
        handle = make(*arguments)
        created.append(weakref.ref(handle))
        return handle

    monkeypatch.setattr(lane, "native_driver", counted)
    config = DriveConfig(trial_steps=8, max_trials=1, scene_order="cycle", goal_spacing_m=20.0, **NEXT)
    with Batch(scenes, num_worlds=2, config=config) as batch:
        batch.reset(seed=0)
        lane_driver = LaneDriver(batch)
        for _ in range(60):
            batch.step(lane_driver.act_all())
        gc.collect()
        assert len(created) > 6 and sum(ref() is not None for ref in created) <= 2
