"""Is each event recorded and rewarded once, in its step? Staged scenes with the step of every event known."""

import math

import pytest
from scripted_events import REWARDS, TURNS, begins, figures, oscillate, wall
from scripted_scenes import (
    IGNORE_ALL,
    Actor,
    batch_of,
    drive,
    driver,
    log_replay,
    onsets,
    stage,
)
from world_rollout import COLLISION, GOAL, OFFROAD

from drive_env import RewardConfig


@pytest.mark.parametrize("turn_rad", TURNS)
def test_a_collision_is_rewarded_in_the_step_of_its_onset_and_never_as_offroad(turn_rad):
    # Both bumpers are 2 m from the centres: contact begins with the centres 4 m apart.
    # At 10 m/s the centre is at 1, 2, ... m; 15.5 - 4 = 11.5 m is passed in the twelfth step.
    scene = stage([driver(speed_mps=10.0), Actor(15.5, 0.0)], turn_rad=turn_rad)
    batch = batch_of(scene, reward=REWARDS, trial_steps=20)
    record = drive(batch, 20)
    assert onsets(record, "collision_onset") == [11] and record["collision_vehicle"][11, 0] == 1
    assert onsets(record, "offroad_onset") == onsets(record, "goal_onset") == []
    assert onsets(record, "rewards") == [11] and record["rewards"][11, 0] == -0.5
    assert onsets(record, "outcome") == [11] and record["outcome"][11, 0] == COLLISION
    assert figures(batch, "collision", "offroad", "goal", "score", "trial_length") == (1, 0, 0, 0, 12)
    assert figures(batch, "reward", "reward_collision", "reward_offroad", "reward_goal") == (-0.5, -0.5, 0, 0)


@pytest.mark.parametrize("turn_rad", TURNS)
def test_leaving_the_road_is_rewarded_in_the_step_of_its_onset_and_never_as_collision(turn_rad):
    batch = batch_of(stage([driver(speed_mps=10.0)], [wall(13.5)], turn_rad=turn_rad), reward=REWARDS,
                     trial_steps=20)
    record = drive(batch, 20)
    assert onsets(record, "offroad_onset") == [11]
    assert onsets(record, "collision_onset") == onsets(record, "goal_onset") == []
    assert onsets(record, "rewards") == [11] and record["rewards"][11, 0] == -0.25
    assert record["outcome"][11, 0] == OFFROAD
    assert figures(batch, "collision", "offroad", "goal", "score", "trial_length") == (0, 1, 0, 0, 12)


@pytest.mark.parametrize("turn_rad", TURNS)
def test_a_goal_is_rewarded_in_the_step_that_reaches_it_and_scores(turn_rad):
    # The centre comes within 2 m of the goal, so at 11.5 m.
    batch = batch_of(stage([driver(speed_mps=10.0, goal_m=(13.5, 0.0))], turn_rad=turn_rad), reward=REWARDS,
                     trial_steps=20)
    record = drive(batch, 20)
    assert onsets(record, "goal_onset") == [11]
    assert onsets(record, "collision_onset") == onsets(record, "offroad_onset") == []
    assert onsets(record, "rewards") == [11] and record["rewards"][11, 0] == 1.0
    assert record["outcome"][11, 0] == GOAL and onsets(record, "removed") == [11]
    assert figures(batch, "collision", "offroad", "goal", "score", "trial_length") == (0, 0, 1, 1, 12)


@pytest.mark.parametrize("kind", ("lane", "line", "crosswalk", "stop_sign", "speed_bump", "driveway"))
def test_only_an_edge_is_the_end_of_the_road(kind):
    batch = batch_of(stage([driver(speed_mps=10.0)],
                           [(kind, [(5.0, -3.0), (5.0, 3.0)]), (kind, [(8.0, 0.0)])]))
    assert not drive(batch, 20)["rewards"].any()


def test_a_contact_that_lasts_is_one_collision():
    # The agent drives slowly through the other vehicle: in contact from 1 m to 9 m, forty steps at 2 m/s.
    batch = batch_of(stage([driver(speed_mps=2.0), Actor(5.1, 0.0)]), **IGNORE_ALL)
    record = drive(batch, 80)
    assert onsets(record, "collision_onset") == [5] and onsets(record, "rewards") == [5]
    assert not record["offroad_onset"].any()


def test_overlap_with_an_edge_that_lasts_is_one_offroad_event():
    batch = batch_of(stage([driver(speed_mps=2.0)], [wall(3.1)]), **IGNORE_ALL)
    record = drive(batch, 80)
    assert onsets(record, "offroad_onset") == [5] and onsets(record, "rewards") == [5]
    assert not record["collision_onset"].any()


@pytest.mark.parametrize("what, roads, others", [
    ("collision_onset", [], [Actor(5.05, 0.0)]),
    ("offroad_onset", [wall(3.05)], []),
])
def test_what_separates_and_overlaps_again_is_rewarded_again(what, roads, others):
    batch = batch_of(stage([driver(), *others], roads), dynamics={"min_speed_mps": -20.0}, **IGNORE_ALL)
    record = oscillate(batch)
    began = begins(record["x_m"][:, 0] + 2.0 >= 3.05)
    assert len(began) >= 2 and onsets(record, what) == began == onsets(record, "rewards")


@pytest.mark.parametrize("what, roads, others", [
    # The car starts over the first thing and is clear of it when it meets the second.
    ("collision_onset", [], [Actor(1.0, 0.0, length_m=0.5), Actor(31.0, 0.0, length_m=0.5)]),
    ("offroad_onset", [wall(-1.0), wall(39.0)], []),
])
def test_from_one_vehicle_onto_another_in_a_step_is_a_collision_and_from_edge_to_edge_no_event(what, roads, others):
    """Each vehicle is a contact of its own, while off-road is one state, whichever edge is overlapped."""
    record = drive(batch_of(stage([driver(speed_mps=40.0), *others], roads, dt_s=1.0), **IGNORE_ALL), 1)
    assert onsets(record, what) == ([0] if what == "collision_onset" else [])


def test_what_overlaps_before_and_after_a_step_has_not_separated_in_between():
    # The log overlaps the car in every second frame and is 40 m away in between, which steps of two frames skip.
    far, on_agent = (40.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    log = [on_agent, far, on_agent, far, on_agent]
    scene = stage([driver(), log_replay(log)], dt_s=0.1)
    assert onsets(drive(batch_of(scene, **IGNORE_ALL), 4), "collision_onset") == [1, 3]
    assert onsets(drive(batch_of(scene, dt_s=0.2, **IGNORE_ALL), 2), "collision_onset") == []


@pytest.mark.parametrize("what, roads, others", [
    ("collision_onset", [], [Actor(20.0, 0.0, length_m=0.5)]), ("offroad_onset", [wall(20.0)], [])])
def test_a_passage_within_a_step_is_rewarded_once_and_again_on_the_next(what, roads, others):
    # 40 m a step, forward and back: the speed changes its sign where it would pass zero.
    batch = batch_of(stage([driver(speed_mps=40.0), *others], roads, dt_s=1.0),
                     dynamics={"min_speed_mps": -40.0, "max_acceleration_mps2": 20.0}, **IGNORE_ALL)
    record = drive(batch, 1)
    assert onsets(record, what) == [0] and float(batch.vehicles()["x_m"][0]) == 40.0
    record = drive(batch, 5, 0)
    assert [float(x) for x in record["x_m"][:, 0]] == [60.0, 60.0, 40.0, 0.0, -40.0]
    assert onsets(record, what) == [3] == onsets(record, "rewards")


@pytest.mark.parametrize("turn_rad", TURNS)
def test_progress_is_rewarded_by_the_metre_until_the_goal_is_reached(turn_rad):
    # 1 m a step towards (13.5, 0), reached within 2 m in the twelfth step; after that, progress has no reward.
    rewards = REWARDS.replace(progress_per_m=0.125)
    scene = stage([driver(speed_mps=10.0, goal_m=(13.5, 0.0))], turn_rad=turn_rad)
    record = drive(batch_of(scene, reward=rewards, on_goal="ignore", trial_steps=30), 20)
    rewards = record["rewards"][:, 0]
    assert rewards[:11] == pytest.approx([0.125] * 11, abs=1e-5) and rewards[11] == pytest.approx(1.125, abs=1e-5)
    assert (rewards[12:] == 0).all()


def test_progress_past_a_goal_aside_is_the_change_of_distance():
    # A goal 3 m aside is never within 2 m: progress is the decrease of the distance, also where it grows again.
    scene = stage([driver(speed_mps=10.0, goal_m=(5.0, 3.0))])
    batch = batch_of(scene, reward=RewardConfig(progress_per_m=2.0), trial_steps=12)
    rewards = drive(batch, 12)["rewards"][:, 0]
    distances = [math.hypot(5.0 - x, 3.0) for x in range(13)]
    assert rewards == pytest.approx([2.0 * (a - b) for a, b in zip(distances, distances[1:])], abs=1e-4)
    assert figures(batch, "reward_progress", "reward") == pytest.approx([2.0 * (distances[0] - distances[-1])] * 2,
                                                                        abs=1e-4)


def test_an_agent_that_waits_makes_no_progress():
    # Stopped by a wall in the twelfth step, while the other agent drives on.
    rewards = RewardConfig(progress_per_m=1.0)
    scene = stage([driver(speed_mps=10.0), driver(0.0, 20.0, speed_mps=10.0)], [wall(13.5)])
    record = drive(batch_of(scene, reward=rewards, trial_steps=40), 30)
    assert (record["rewards"][12:, 0] == 0).all() and (record["rewards"][:, 1] > 0.9).all()


def test_a_goal_is_rewarded_once_a_trial_however_often_it_is_passed():
    batch = batch_of(stage([driver(goal_m=(2.5, 0.0))]), dynamics={"min_speed_mps": -20.0}, max_trials=2,
                     trial_steps=100, **IGNORE_ALL)
    record = oscillate(batch)
    assert len(onsets(record, "goal_onset")) == 1 and record["rewards"].sum() == 1.0
    drive(batch, 1)
    assert batch.trial_index[0] == 1
    again = oscillate(batch)
    assert onsets(again, "goal_onset") == onsets(record, "goal_onset")


def test_all_events_of_one_step_are_rewarded_in_it():
    scene = stage([driver(speed_mps=10.0, goal_m=(13.5, 0.0)), Actor(15.5, 0.0)], [wall(13.4)])
    batch = batch_of(scene, reward=REWARDS)
    record = drive(batch, 12)
    assert onsets(record, "rewards") == [11] and record["rewards"][11, 0] == 1.0 - 0.5 - 0.25
    assert record["outcome"][11, 0] == COLLISION and figures(batch, "score", "goal") == (0, 1)


def test_a_goal_may_require_a_low_speed():
    scene = stage([driver(speed_mps=5.0, goal_m=(20.0, 0.0))])
    fast = batch_of(scene, goal_max_speed_mps=2.0, **IGNORE_ALL)
    assert not drive(fast, 100)["goal_onset"].any()
    slow = batch_of(scene, goal_max_speed_mps=2.0, goal_radius_m=3.0, **IGNORE_ALL)
    drive(slow, 32)
    record = drive(slow, 40, 0)
    # It brakes by 0.4 m/s a step from 5: 1.8 m/s in the eighth.
    assert onsets(record, "goal_onset") == [7]


def test_the_goal_radius_is_the_config_s():
    for radius_m, step in ((0.4, 15), (4.4, 11), (10.4, 5)):
        batch = batch_of(stage([driver(speed_mps=10.0, goal_m=(16.0, 0.0))]), goal_radius_m=radius_m)
        assert onsets(drive(batch, step + 1), "goal_onset") == [step]
