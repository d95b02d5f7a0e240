"""Which vehicles does a collision involve? Staged scenes in which the step of every contact is known by arithmetic."""

import math

import numpy as np
import pytest
from scripted_events import begins, oscillate, wall
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

from drive_env import Batch, DriveConfig

# ---- which vehicles collide ----


def test_both_drivers_of_a_contact_are_in_it():
    batch = batch_of(stage([driver(speed_mps=10.0), driver(15.5, 0.0, math.pi, 10.0)]))
    record = drive(batch, 10)
    # 15.5 - 4 = 11.5 m to close at 2 m a step.
    assert onsets(record, "collision_onset", 0) == onsets(record, "collision_onset", 1) == [5]
    assert record["collision_vehicle"][5, 0] == 1 and record["collision_vehicle"][5, 1] == 0


def test_an_agent_that_a_log_replay_vehicle_runs_into_has_a_collision():
    log = [(-20.0 + 1.0 * frame, 0.0, 0.0, 10.0) for frame in range(40)]
    batch = batch_of(stage([driver(), log_replay(log)]))
    record = drive(batch, 30, 0)
    # The log-replay vehicle's bumper is at -18 + n m after step n; it reaches -2 m in step 16.
    assert onsets(record, "collision_onset") == [15] and onsets(record, "rewards") == [15]


def test_a_collision_with_a_stopped_agent_is_an_event_of_the_driver_alone():
    scene = stage([driver(speed_mps=10.0), driver(-30.0, 0.0, 0.0, 20.0)], [wall(4.5)])
    batch = batch_of(scene, on_collision="ignore")
    record = drive(batch, 16)
    assert onsets(record, "offroad_onset", 0) == [2] and onsets(record, "rewards", 0) == [2]
    # Agent 0 stands at 3 m; the other's bumper, at -28 + 2 n m, passes 1 m in step 15.
    assert onsets(record, "collision_onset", 0) == [] and onsets(record, "collision_onset", 1) == [14]


def test_a_removed_agent_collides_with_no_vehicle():
    scene = stage([driver(speed_mps=10.0, goal_m=(4.5, 0.0)), driver(-30.0, 0.0, 0.0, 20.0)])
    batch = batch_of(scene)
    record = drive(batch, 30)
    assert onsets(record, "goal_onset", 0) == [2] and batch.removed[0] and not record["collision_onset"].any()


def test_the_removal_of_an_earlier_agent_changes_no_collision():
    scene = stage([driver(speed_mps=10.0, goal_m=(4.5, 0.0)), driver(0.0, 20.0, 0.0, 10.0), Actor(15.5, 20.0)])
    record = drive(batch_of(scene), 12)
    assert onsets(record, "goal_onset", 0) == [2] and record["removed"][11, 0]
    assert onsets(record, "collision_onset", 0) == [] and onsets(record, "collision_onset", 1) == [11]
    assert record["collision_vehicle"][11, 1] == 2


def test_contacts_with_the_fifth_and_the_seventieth_are_one_collision_each():
    others = [Actor(0.0, 10.0 + 5.0 * i) for i in range(80)]
    others[4], others[69] = Actor(15.5, 1.2), Actor(16.5, -1.2)
    record = drive(batch_of(stage([driver(speed_mps=10.0), *others]), **IGNORE_ALL), 40)
    assert onsets(record, "collision_onset") == [11, 12] and list(record["collision_vehicle"][[11, 12], 0]) == [5, 70]


def test_of_several_contacts_in_a_step_one_is_rewarded_and_the_lowest_vehicle_recorded():
    others = [Actor(15.5, 1.2), Actor(15.5, -1.2), Actor(15.4, 3.5)]
    batch = batch_of(stage([driver(speed_mps=10.0), *others]))
    record = drive(batch, 12)
    assert onsets(record, "collision_onset") == [11] and record["collision_vehicle"][11, 0] == 1
    assert record["rewards"][11, 0] == -0.5


@pytest.mark.parametrize("place", (1, 62, 63, 64, 65, 127, 128, 129, 199))
def test_every_vehicle_can_be_collided_with_however_many_there_are(place):
    others = [Actor(0.0, 10.0 + 5.0 * i) for i in range(200)]
    others[place - 1] = Actor(15.5, 0.0)
    batch = batch_of(stage([driver(speed_mps=10.0), *others]))
    record = drive(batch, 12)
    assert onsets(record, "collision_onset") == [11] and record["collision_vehicle"][11, 0] == place


@pytest.mark.parametrize("place", (63, 64, 65, 128, 129))
def test_the_vehicle_collided_with_is_recorded_among_many_that_are_not_on_the_map_yet(place):
    others = [log_replay([None] * 30 + [(0.0, 10.0 + 5.0 * i, 0.0, 0.0)]) for i in range(200)]
    others[5] = log_replay([(0.0, -10.0, 0.0, 0.0)] * 31)
    others[place - 1] = log_replay([(15.5, 0.0, 0.0, 0.0)] * 31)
    batch = batch_of(stage([driver(speed_mps=10.0), *others]), **IGNORE_ALL)
    record = drive(batch, 29)
    assert onsets(record, "collision_onset") == [11] and record["collision_vehicle"][11, 0] == place


def test_every_agent_can_collide_however_many_there_are():
    agents = [driver(0.0, 5.0 * i, speed_mps=10.0) for i in range(150)]
    hit = {0: 11, 63: 7, 64: 8, 65: 9, 128: 5, 149: 3}
    others = [Actor(4.0 + step + 0.5, 5.0 * agent) for agent, step in hit.items()]
    record = drive(batch_of(stage([*agents, *others]), **IGNORE_ALL), 12)
    for agent in range(150):
        assert onsets(record, "collision_onset", agent) == ([hit[agent]] if agent in hit else [])


# ---- an overlap at the start is no event ----


def test_vehicles_that_overlap_at_the_start_collide_once_they_have_separated():
    record = oscillate(
        batch_of(stage([driver(), Actor(-3.5, 0.0)]), dynamics={"min_speed_mps": -20.0}, **IGNORE_ALL))
    began = begins(record["x_m"][:, 0] <= 0.5, at_first=True)
    assert len(began) >= 1 and onsets(record, "collision_onset") == began == onsets(record, "rewards")


def test_an_agent_that_starts_over_an_edge_goes_off_road_once_it_has_been_back():
    record = oscillate(batch_of(stage([driver()], [wall(-1.5)]), dynamics={"min_speed_mps": -20.0}, **IGNORE_ALL))
    began = begins(record["x_m"][:, 0] <= 0.5, at_first=True)
    assert len(began) >= 1 and onsets(record, "offroad_onset") == began == onsets(record, "rewards")


def test_an_agent_that_starts_inside_its_goal_has_to_leave_it_first():
    batch = batch_of(stage([driver(goal_m=(-1.0, 0.0))]), control="all", dynamics={"min_speed_mps": -20.0},
                     **IGNORE_ALL)
    record = oscillate(batch)
    began = begins(np.abs(record["x_m"][:, 0] + 1.0) <= 2.0, at_first=True)
    assert len(began) >= 1 and onsets(record, "goal_onset") == began[:1] == onsets(record, "rewards")


def test_a_log_replay_vehicle_that_appears_on_an_agent_is_no_collision_until_they_have_separated():
    # Off the map for ten frames; then it overlaps the agent, drives off, and returns.
    away = [(5.0, 0.0, 0.0, 0.0)] * 5
    log = [None] * 10 + [(1.0, 0.0, 0.0, 0.0)] * 5 + away + [(1.0, 0.0, 0.0, 0.0)] * 5
    batch = batch_of(stage([driver(), log_replay(log)]), **IGNORE_ALL)
    assert onsets(drive(batch, 24), "collision_onset") == [19]


def test_the_report_counts_what_overlaps_at_the_start():
    scene = stage([driver(), Actor(2.5, 0.0), driver(0.0, 10.0), driver(0.0, 20.0)], [wall(1.0, y_m=10.0)])
    notes = Batch(scenes=[scene], config=DriveConfig(trial_steps=5)).scene_report().notes
    assert "agents that start in contact with a vehicle: 1" in notes
    assert "agents that start over a road edge: 1" in notes
    assert "agents that start inside their goals: 0" in notes
