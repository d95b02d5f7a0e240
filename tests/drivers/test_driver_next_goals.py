"""Do agents of LaneDriver drive to goals that follow one another?"""

import numpy as np
import pytest
from boxes import point_segment_m
from driven_scenes import drive
from rule_based_scenes import on_lanes
from scripted_scenes import driver, listed, stage

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver

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
