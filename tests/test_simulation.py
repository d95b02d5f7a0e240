"""What happens on the road? Staged scenes in which every meeting is known beforehand, by arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from staged_sim import (
    ACCELERATIONS_MPS2,
    COAST,
    FAR,
    IGNORE_ALL,
    STEERINGS_RAD,
    STRAIGHT,
    Actor,
    batch_of,
    changed,
    discrete,
    drive,
    driver,
    onsets,
    replayer,
    sample,
    stage,
    standing,
)

from drive_env import Batch, ConfigError, DriveConfig, RewardConfig, SceneError, generate_scene
from drive_env.roles import assign_roles

GOAL, COLLISION, OFFROAD, TIMEOUT = 1, 2, 3, 4
TURNS = [0.0, 0.7, math.pi / 2, 3.0, -2.2]
"""No law of the road knows where north is."""

PRICES = RewardConfig(goal=1.0, collision=-0.5, offroad=-0.25)
"""Any sum of these tells which of them were paid."""


def wall(x_m, half_m=3.0, y_m=0.0):
    """A road edge across the way of who drives along +x."""
    return "edge", [(x_m, y_m - half_m), (x_m, y_m + half_m)]


def figures(batch, *names):
    report = batch.metrics()
    return tuple(report[name].value for name in names)


# ---- each event once, and nowhere else ----


@pytest.mark.parametrize("turn_rad", TURNS)
def test_a_contact_is_paid_in_the_step_it_begins_and_never_as_offroad(turn_rad):
    # Bumper 2 m ahead of the centre, the other's 2 m before its own: they touch with centres 4 m apart.
    # At 10 m/s the centre is at 1, 2, ... m; 15.5 - 4 = 11.5 m is passed in the twelfth step.
    scene = stage([driver(speed_mps=10.0), Actor(15.5, 0.0)], turn_rad=turn_rad)
    batch = batch_of(scene, reward=PRICES, trial_steps=20)
    seen = drive(batch, 20)
    assert onsets(seen, "collision_onset") == [11] and seen["collision_vehicle"][11, 0] == 1
    assert onsets(seen, "offroad_onset") == onsets(seen, "goal_onset") == []
    assert onsets(seen, "rewards") == [11] and seen["rewards"][11, 0] == -0.5
    assert onsets(seen, "outcome") == [11] and seen["outcome"][11, 0] == COLLISION
    assert figures(batch, "collision", "offroad", "goal", "score", "trial_length") == (1, 0, 0, 0, 12)
    assert figures(batch, "reward", "reward_collision", "reward_offroad", "reward_goal") == (-0.5, -0.5, 0, 0)


@pytest.mark.parametrize("turn_rad", TURNS)
def test_a_crossing_is_paid_in_the_step_it_begins_and_never_as_contact(turn_rad):
    batch = batch_of(stage([driver(speed_mps=10.0)], [wall(13.5)], turn_rad=turn_rad), reward=PRICES,
                     trial_steps=20)
    seen = drive(batch, 20)
    assert onsets(seen, "offroad_onset") == [11] and onsets(seen, "collision_onset") == onsets(seen, "goal_onset") == []
    assert onsets(seen, "rewards") == [11] and seen["rewards"][11, 0] == -0.25
    assert seen["outcome"][11, 0] == OFFROAD
    assert figures(batch, "collision", "offroad", "goal", "score", "trial_length") == (0, 1, 0, 0, 12)


@pytest.mark.parametrize("turn_rad", TURNS)
def test_a_goal_is_paid_in_the_step_that_reaches_it_and_scores(turn_rad):
    # The centre comes within 2 m of the goal, so at 11.5 m.
    batch = batch_of(stage([driver(speed_mps=10.0, goal_m=(13.5, 0.0))], turn_rad=turn_rad), reward=PRICES,
                     trial_steps=20)
    seen = drive(batch, 20)
    assert onsets(seen, "goal_onset") == [11] and onsets(seen, "collision_onset") == onsets(seen, "offroad_onset") == []
    assert onsets(seen, "rewards") == [11] and seen["rewards"][11, 0] == 1.0
    assert seen["outcome"][11, 0] == GOAL and onsets(seen, "removed") == [11]
    assert figures(batch, "collision", "offroad", "goal", "score", "trial_length") == (0, 0, 1, 1, 12)


@pytest.mark.parametrize("kind", ("lane", "line", "crosswalk", "stop_sign", "speed_bump", "driveway"))
def test_only_an_edge_is_the_end_of_the_road(kind):
    batch = batch_of(stage([driver(speed_mps=10.0)],
                           [(kind, [(5.0, -3.0), (5.0, 3.0)]), (kind, [(8.0, 0.0)])]))
    assert not drive(batch, 20)["rewards"].any()


def test_a_contact_that_lasts_is_paid_once():
    # The agent creeps into the other and through it: in touch from 1 m to 9 m, forty steps at 2 m/s.
    batch = batch_of(stage([driver(speed_mps=2.0), Actor(5.1, 0.0)]), **IGNORE_ALL)
    seen = drive(batch, 80)
    assert onsets(seen, "collision_onset") == [5] and onsets(seen, "rewards") == [5] and not seen["offroad_onset"].any()


def test_a_crossing_that_lasts_is_paid_once():
    batch = batch_of(stage([driver(speed_mps=2.0)], [wall(3.1)]), **IGNORE_ALL)
    seen = drive(batch, 80)
    assert onsets(seen, "offroad_onset") == [5] and onsets(seen, "rewards") == [5] and not seen["collision_onset"].any()


def there_and_back(batch, steps=100):
    """Full throttle below x = 2 m and full reverse above it, so that the agent swings; each step's facts."""
    parts = []
    for _ in range(steps):
        parts.append(drive(batch, 1, 6 if batch.vehicles()["x_m"][0] < 2.0 else 0))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def begins(claim, at_first=False):
    """The steps in which a claim that did not hold begins to hold."""
    return list(np.flatnonzero(claim & ~np.concatenate([[at_first], claim[:-1]])))


@pytest.mark.parametrize("what, roads, others", [
    ("collision_onset", [], [Actor(5.05, 0.0)]),
    ("offroad_onset", [wall(3.05)], []),
])
def test_what_parts_and_meets_again_is_paid_again(what, roads, others):
    batch = batch_of(stage([driver(), *others], roads), min_speed_mps=-20.0, **IGNORE_ALL)
    seen = there_and_back(batch)
    began = begins(seen["x_m"][:, 0] + 2.0 >= 3.05)
    assert len(began) >= 2 and onsets(seen, what) == began == onsets(seen, "rewards")


@pytest.mark.parametrize("what, roads, others", [
    # The car starts over the first thing and is clear of it when it meets the second.
    ("collision_onset", [], [Actor(1.0, 0.0, length_m=0.5), Actor(31.0, 0.0, length_m=0.5)]),
    ("offroad_onset", [wall(-1.0), wall(39.0)], []),
])
def test_over_one_thing_before_a_step_and_over_another_behind_it(what, roads, others):
    """Another vehicle is another contact; a road edge is not, since off-road is one state."""
    seen = drive(batch_of(stage([driver(speed_mps=40.0), *others], roads, dt_s=1.0), **IGNORE_ALL), 1)
    assert onsets(seen, what) == ([0] if what == "collision_onset" else [])


def test_what_touches_before_and_after_a_step_has_not_parted_in_between():
    # The log overlaps the car in every second frame and is 40 m off between these; steps of two frames do not see that.
    far, on_agent = (40.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    log = [on_agent, far, on_agent, far, on_agent]
    assert onsets(drive(batch_of(stage([driver(), replayer(log)], dt_s=0.1), **IGNORE_ALL), 4), "collision_onset") == [1, 3]
    assert onsets(drive(batch_of(stage([driver(), replayer(log)], dt_s=0.1), dt_s=0.2, **IGNORE_ALL), 2), "collision_onset") == []


@pytest.mark.parametrize("what, roads, others", [
    ("collision_onset", [], [Actor(20.0, 0.0, length_m=0.5)]), ("offroad_onset", [wall(20.0)], [])])
def test_what_is_met_and_left_within_a_step_is_paid_once_and_again_on_the_next_pass(what, roads, others):
    # 40 m a step, there and back: the speed changes its sign where it would pass zero.
    batch = batch_of(stage([driver(speed_mps=40.0), *others], roads, dt_s=1.0), min_speed_mps=-40.0,
                     max_acceleration_mps2=20.0, **IGNORE_ALL)
    seen = drive(batch, 1)
    assert onsets(seen, what) == [0] and float(batch.vehicles()["x_m"][0]) == 40.0
    seen = drive(batch, 5, 0)
    assert [float(x) for x in seen["x_m"][:, 0]] == [60.0, 60.0, 40.0, 0.0, -40.0]
    assert onsets(seen, what) == [3] == onsets(seen, "rewards")


@pytest.mark.parametrize("turn_rad", TURNS)
def test_progress_is_paid_by_the_metre_until_the_goal_is_reached(turn_rad):
    # 1 m a step towards (13.5, 0), reached within 2 m in the twelfth step; from there on driving is worth nothing.
    prices = PRICES.replace(progress_per_m=0.125)
    scene = stage([driver(speed_mps=10.0, goal_m=(13.5, 0.0))], turn_rad=turn_rad)
    seen = drive(batch_of(scene, reward=prices, on_goal="ignore", trial_steps=30), 20)
    paid = seen["rewards"][:, 0]
    assert paid[:11] == pytest.approx([0.125] * 11, abs=1e-5) and paid[11] == pytest.approx(1.125, abs=1e-5)
    assert (paid[12:] == 0).all()


def test_progress_past_a_goal_aside_is_what_the_distance_says():
    # A goal 3 m aside is never reached within 2 m: the way counts as far as it comes nearer, and back.
    scene = stage([driver(speed_mps=10.0, goal_m=(5.0, 3.0))])
    batch = batch_of(scene, reward=RewardConfig(progress_per_m=2.0), trial_steps=12)
    paid = drive(batch, 12)["rewards"][:, 0]
    distances = [math.hypot(5.0 - x, 3.0) for x in range(13)]
    assert paid == pytest.approx([2.0 * (a - b) for a, b in zip(distances, distances[1:])], abs=1e-4)
    assert figures(batch, "reward_progress", "reward") == pytest.approx([2.0 * (distances[0] - distances[-1])] * 2,
                                                                        abs=1e-4)


def test_an_agent_that_waits_makes_no_progress():
    # Stopped by a wall in the twelfth step; the other drives on.
    prices = RewardConfig(progress_per_m=1.0)
    scene = stage([driver(speed_mps=10.0), driver(0.0, 20.0, speed_mps=10.0)], [wall(13.5)])
    seen = drive(batch_of(scene, reward=prices, trial_steps=40), 30)
    assert (seen["rewards"][12:, 0] == 0).all() and (seen["rewards"][:, 1] > 0.9).all()


def test_a_goal_is_paid_once_a_trial_however_often_it_is_passed():
    batch = batch_of(stage([driver(goal_m=(2.5, 0.0))]), min_speed_mps=-20.0, max_trials=2, trial_steps=100,
                     **IGNORE_ALL)
    seen = there_and_back(batch)
    assert len(onsets(seen, "goal_onset")) == 1 and seen["rewards"].sum() == 1.0
    drive(batch, 1)
    assert batch.trial_index[0] == 1
    again = there_and_back(batch)
    assert onsets(again, "goal_onset") == onsets(seen, "goal_onset")


def test_all_that_happens_in_one_step_is_paid_in_it():
    scene = stage([driver(speed_mps=10.0, goal_m=(13.5, 0.0)), Actor(15.5, 0.0)], [wall(13.4)])
    batch = batch_of(scene, reward=PRICES)
    seen = drive(batch, 12)
    assert onsets(seen, "rewards") == [11] and seen["rewards"][11, 0] == 1.0 - 0.5 - 0.25
    assert seen["outcome"][11, 0] == COLLISION and figures(batch, "score", "goal") == (0, 1)


# ---- who is hit by whom ----


def test_both_drivers_of_a_contact_are_in_it():
    batch = batch_of(stage([driver(speed_mps=10.0), driver(15.5, 0.0, math.pi, 10.0)]))
    seen = drive(batch, 10)
    # 15.5 - 4 = 11.5 m to close at 2 m a step.
    assert onsets(seen, "collision_onset", 0) == onsets(seen, "collision_onset", 1) == [5]
    assert seen["collision_vehicle"][5, 0] == 1 and seen["collision_vehicle"][5, 1] == 0


def test_an_agent_that_is_run_into_by_an_expert_is_in_the_contact():
    log = [(-20.0 + 1.0 * frame, 0.0, 0.0, 10.0) for frame in range(40)]
    batch = batch_of(stage([driver(), replayer(log)]))
    seen = drive(batch, 30, 0)
    # The expert's bumper is at -18 + n m after step n; it reaches -2 m in step 16.
    assert onsets(seen, "collision_onset") == [15] and onsets(seen, "rewards") == [15]


def test_a_stopped_agent_that_is_hit_gets_no_event_and_the_driver_does():
    scene = stage([driver(speed_mps=10.0), driver(-30.0, 0.0, 0.0, 20.0)], [wall(4.5)])
    batch = batch_of(scene, on_collision="ignore")
    seen = drive(batch, 16)
    assert onsets(seen, "offroad_onset", 0) == [2] and onsets(seen, "rewards", 0) == [2]
    # Agent 0 stands at 3 m; the other's bumper, at -28 + 2 n m, passes 1 m in step 15.
    assert onsets(seen, "collision_onset", 0) == [] and onsets(seen, "collision_onset", 1) == [14]


def test_a_removed_agent_is_hit_by_nobody():
    scene = stage([driver(speed_mps=10.0, goal_m=(4.5, 0.0)), driver(-30.0, 0.0, 0.0, 20.0)])
    batch = batch_of(scene)
    seen = drive(batch, 30)
    assert onsets(seen, "goal_onset", 0) == [2] and batch.removed[0] and not seen["collision_onset"].any()


def test_an_agent_hits_what_it_did_when_an_agent_before_it_has_left():
    scene = stage([driver(speed_mps=10.0, goal_m=(4.5, 0.0)), driver(0.0, 20.0, 0.0, 10.0), Actor(15.5, 20.0)])
    seen = drive(batch_of(scene), 12)
    assert onsets(seen, "goal_onset", 0) == [2] and seen["removed"][11, 0]
    assert onsets(seen, "collision_onset", 0) == [] and onsets(seen, "collision_onset", 1) == [11] and seen["collision_vehicle"][11, 1] == 2


def test_contacts_with_the_fifth_and_the_seventieth_are_each_paid_once():
    others = [Actor(0.0, 10.0 + 5.0 * i) for i in range(80)]
    others[4], others[69] = Actor(15.5, 1.2), Actor(16.5, -1.2)
    seen = drive(batch_of(stage([driver(speed_mps=10.0), *others]), **IGNORE_ALL), 40)
    assert onsets(seen, "collision_onset") == [11, 12] and list(seen["collision_vehicle"][[11, 12], 0]) == [5, 70]


def test_the_lowest_vehicle_of_several_is_named_and_one_contact_is_paid():
    others = [Actor(15.5, 1.2), Actor(15.5, -1.2), Actor(15.4, 3.5)]
    batch = batch_of(stage([driver(speed_mps=10.0), *others]))
    seen = drive(batch, 12)
    assert onsets(seen, "collision_onset") == [11] and seen["collision_vehicle"][11, 0] == 1 and seen["rewards"][11, 0] == -0.5


@pytest.mark.parametrize("place", (1, 62, 63, 64, 65, 127, 128, 129, 199))
def test_every_vehicle_can_be_hit_however_many_there_are(place):
    others = [Actor(0.0, 10.0 + 5.0 * i) for i in range(200)]
    others[place - 1] = Actor(15.5, 0.0)
    batch = batch_of(stage([driver(speed_mps=10.0), *others]))
    seen = drive(batch, 12)
    assert onsets(seen, "collision_onset") == [11] and seen["collision_vehicle"][11, 0] == place


@pytest.mark.parametrize("place", (63, 64, 65, 128, 129))
def test_who_is_hit_is_told_among_many_that_have_not_come_yet(place):
    others = [replayer([None] * 30 + [(0.0, 10.0 + 5.0 * i, 0.0, 0.0)]) for i in range(200)]
    others[5] = replayer([(0.0, -10.0, 0.0, 0.0)] * 31)
    others[place - 1] = replayer([(15.5, 0.0, 0.0, 0.0)] * 31)
    batch = batch_of(stage([driver(speed_mps=10.0), *others]), **IGNORE_ALL)
    seen = drive(batch, 29)
    assert onsets(seen, "collision_onset") == [11] and seen["collision_vehicle"][11, 0] == place


def test_every_agent_can_hit_however_many_there_are():
    agents = [driver(0.0, 5.0 * i, speed_mps=10.0) for i in range(150)]
    hit = {0: 11, 63: 7, 64: 8, 65: 9, 128: 5, 149: 3}
    others = [Actor(4.0 + step + 0.5, 5.0 * agent) for agent, step in hit.items()]
    seen = drive(batch_of(stage([*agents, *others]), **IGNORE_ALL), 12)
    for agent in range(150):
        assert onsets(seen, "collision_onset", agent) == ([hit[agent]] if agent in hit else [])


# ---- what overlaps already is no event ----


def test_vehicles_that_overlap_at_the_start_meet_when_they_have_parted():
    seen = there_and_back(batch_of(stage([driver(), Actor(-3.5, 0.0)]), min_speed_mps=-20.0, **IGNORE_ALL))
    began = begins(seen["x_m"][:, 0] <= 0.5, at_first=True)
    assert len(began) >= 1 and onsets(seen, "collision_onset") == began == onsets(seen, "rewards")


def test_an_agent_that_starts_over_an_edge_leaves_the_road_when_it_has_been_back():
    seen = there_and_back(batch_of(stage([driver()], [wall(-1.5)]), min_speed_mps=-20.0, **IGNORE_ALL))
    began = begins(seen["x_m"][:, 0] <= 0.5, at_first=True)
    assert len(began) >= 1 and onsets(seen, "offroad_onset") == began == onsets(seen, "rewards")


def test_an_agent_that_starts_inside_its_goal_has_to_leave_it_first():
    batch = batch_of(stage([driver(goal_m=(-1.0, 0.0))]), control="all", min_speed_mps=-20.0, **IGNORE_ALL)
    seen = there_and_back(batch)
    began = begins(np.abs(seen["x_m"][:, 0] + 1.0) <= 2.0, at_first=True)
    assert len(began) >= 1 and onsets(seen, "goal_onset") == began[:1] == onsets(seen, "rewards")


def test_an_expert_that_appears_on_an_agent_is_no_contact_until_it_has_parted():
    # Off the map for ten frames; then it stands on the agent, drives off, and comes back.
    away = [(5.0, 0.0, 0.0, 0.0)] * 5
    log = [None] * 10 + [(1.0, 0.0, 0.0, 0.0)] * 5 + away + [(1.0, 0.0, 0.0, 0.0)] * 5
    batch = batch_of(stage([driver(), replayer(log)]), **IGNORE_ALL)
    assert onsets(drive(batch, 24), "collision_onset") == [19]


def test_the_report_counts_what_overlaps_at_the_start():
    scene = stage([driver(), Actor(2.5, 0.0), driver(0.0, 10.0), driver(0.0, 20.0)], [wall(1.0, y_m=10.0)])
    notes = Batch(scenes=[scene], config=DriveConfig(trial_steps=5)).scene_report().notes
    assert "agents that start in contact with a vehicle: 1" in notes
    assert "agents that start over a road edge: 1" in notes
    assert "agents that start inside its goal: 0" in notes


# ---- nothing tunnels ----


@pytest.mark.parametrize("dt_s", (0.1, 0.5, 1.0, 2.0))
@pytest.mark.parametrize("turn_rad", TURNS)
def test_cars_that_change_places_in_one_step_have_met(dt_s, turn_rad):
    gap_m = 40.0 * dt_s + 4.5
    scene = stage([driver(speed_mps=40.0), driver(gap_m, 0.0, math.pi, 40.0)], dt_s=dt_s, turn_rad=turn_rad)
    seen = drive(batch_of(scene), 1)
    assert seen["collision_onset"][0].all() and not seen["offroad_onset"].any()
    # Beside each other, 1 cm apart, they have not.
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
        seen = drive(batch_of(stage(actors, roads, dt_s=dt_s, turn_rad=turn_rad)), 1)
        assert onsets(seen, fact) == [0]


def test_a_goal_that_is_passed_within_a_step_is_reached():
    scene = stage([driver(speed_mps=40.0, goal_m=(30.0, 1.9))], dt_s=1.0)
    assert onsets(drive(batch_of(scene), 1), "goal_onset") == [0]
    scene = stage([driver(speed_mps=40.0, goal_m=(30.0, 2.1))], dt_s=1.0)
    assert not drive(batch_of(scene), 3)["goal_onset"].any()


def test_an_expert_that_jumps_over_an_agent_has_met_it():
    log = [(-40.0 + 40.0 * frame, 0.0, 0.0, 40.0) for frame in range(3)]
    seen = drive(batch_of(stage([driver(10.0, 0.0), replayer(log)], dt_s=1.0)), 2)
    assert onsets(seen, "collision_onset") == [1]


@pytest.mark.parametrize("late_m, meet", [(0.0, True), (5.9, True), (6.1, False), (15.0, False)])
def test_cars_that_cross_the_same_place_at_different_times_have_not_met(late_m, meet):
    # Both cross the middle at 40 m/s within the step of 1 s, one late_m behind the other. They touch while
    # each is within 3 m (half a length and half a width) of the other's line: 6 m of delay part them.
    scene = stage([driver(-20.0, 0.0, speed_mps=40.0), driver(0.0, -20.0 - late_m, math.pi / 2, 40.0)],
                  dt_s=1.0)
    seen = drive(batch_of(scene), 1)
    assert seen["collision_onset"][0].tolist() == [meet, meet]


def test_a_car_that_turns_sweeps_with_its_corners():
    # At full lock the rear of a 12 m bus swings out, to the right of where its side was.
    bus = driver(speed_mps=4.0, length_m=12.0, width_m=2.5)
    config = {"max_steering_rad": 1.2, **IGNORE_ALL}
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
    # A sweep may misplace a corner by 3 cm; poses at ends of steps are exact.
    for clearance_m, crosses in ((-0.02, True), (0.04, False)):
        line = ("edge", [(-15.0, lowest - clearance_m), (15.0, lowest - clearance_m)])
        seen = drive(batch_of(stage([bus], [line]), **config), 20, COAST, 12)
        assert bool(seen["offroad_onset"].any()) == crosses


def covers(box_m, heading_rad, centre_m, point_m):
    """By how much a point lies inside a box, m; negative outside."""
    away = point_m - centre_m
    ahead = away[0] * np.cos(heading_rad) + away[1] * np.sin(heading_rad)
    aside = away[1] * np.cos(heading_rad) - away[0] * np.sin(heading_rad)
    return np.minimum(box_m[0] / 2 - np.abs(ahead), box_m[1] / 2 - np.abs(aside))


def test_a_turn_of_more_than_half_a_circle_is_swept_the_short_way_round():
    car = driver(speed_mps=15.0, length_m=4.0, width_m=1.0)
    config = {"dt_s": 1.0, "max_steering_rad": 0.6, **IGNORE_ALL}
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
        seen = drive(batch_of(stage([car], [("edge", [tuple(points[:, index])])]), **config), 1, COAST, 12)
        assert seen["offroad_onset"][0, 0] == (short_way[index] > 0)
        met += seen["offroad_onset"][0, 0]
    assert met >= 2


@pytest.mark.parametrize("turn_rad", TURNS)
@pytest.mark.parametrize("radius_m, early_s", [(12.0, 0.0), (15.0, 0.004), (17.0, 0.013), (18.0, 0.0)])
@pytest.mark.parametrize("gap_m, meet", [(0.14, False), (0.04, False), (-0.04, True)])
def test_who_passes_a_long_vehicle_that_turns_about_has_not_met_it(turn_rad, radius_m, early_s, gap_m, meet):
    # A bar of 50 m turns by 3 rad in the step of 1 s. The driver crosses its circle on a line radius_m from its centre
    # and is seen from there at the angle atan(v t / radius_m), which first falls behind the bar, then gains on it:
    # between the two, where both turn at 3 rad/s, the bar is nearest to the car.
    spin_radps, speed_mps, half_bar_m, half_car_m = 3.0, 5.0 * radius_m, 0.5, 0.01
    nearest_s = -math.sqrt(speed_mps / (radius_m * spin_radps) - 1) * radius_m / speed_mps
    seen_rad = math.atan(speed_mps * nearest_s / radius_m)
    away_m = radius_m / math.cos(seen_rad)
    # From the bar's axis to the nearest corner of the car, which is as long as it is wide.
    to_corner_m = half_car_m * (abs(math.cos(seen_rad)) + abs(math.sin(seen_rad)))
    bar_rad = seen_rad - math.asin((half_bar_m + to_corner_m + gap_m) / away_m)
    start_s = -0.5 - early_s
    first_rad = bar_rad - spin_radps * (nearest_s - start_s)
    headings_rad = (math.remainder(first_rad + turned_rad, 2 * math.pi) for turned_rad in (0.0, spin_radps))
    bar = replayer([(0.0, 0.0, heading_rad, 0.0) for heading_rad in headings_rad], length_m=50.0,
                   width_m=2 * half_bar_m)
    car = driver(radius_m, speed_mps * start_s, math.pi / 2, speed_mps, length_m=0.02, width_m=0.02)
    batch = batch_of(stage([car, bar], dt_s=1.0, turn_rad=turn_rad), max_speed_mps=150.0, **IGNORE_ALL)
    assert bool(drive(batch, 1)["collision_onset"].any()) == meet


# ---- true sizes ----


@pytest.mark.parametrize("turn_rad", TURNS)
@pytest.mark.parametrize("shift_m", [(0.0, 0.0), (3000.0, -4000.0)])
def test_a_pass_at_1_cm_is_no_contact_and_1_cm_of_overlap_is(turn_rad, shift_m):
    for heading_rad, reach_m in ((0.0, 0.9), (math.pi / 2, 2.4), (math.pi / 4, (2.4 + 0.9) / math.sqrt(2))):
        for gap_m in (0.01, -0.01):
            other = Actor(20.0, 1.0 + reach_m + gap_m, heading_rad, length_m=4.8, width_m=1.8)
            scene = stage([driver(speed_mps=10.0), other], turn_rad=turn_rad, shift_m=shift_m)
            assert bool(drive(batch_of(scene), 45)["collision_onset"].any()) == (gap_m < 0), (heading_rad, gap_m)


@pytest.mark.parametrize("turn_rad", TURNS)
def test_a_pass_at_1_cm_from_an_edge_is_no_crossing_and_1_cm_over_it_is(turn_rad):
    for gap_m in (0.01, -0.01):
        scene = stage([driver(speed_mps=10.0)], [("edge", [(-20.0, -1.0 - gap_m), (80.0, -1.0 - gap_m)])],
                      turn_rad=turn_rad)
        batch = batch_of(scene, **IGNORE_ALL)
        assert bool(batch._state["on_road_edge"][0, 0]) == (gap_m < 0)
        assert not drive(batch, 30)["offroad_onset"].any()
        scene = stage([driver(speed_mps=10.0)], [("edge", [(10.0, -1.0 - gap_m), (20.0, -5.0)])],
                      turn_rad=turn_rad)
        assert bool(drive(batch_of(scene, **IGNORE_ALL), 30)["offroad_onset"].any()) == (gap_m < 0)


@pytest.mark.parametrize("length_m, width_m", [(0.5, 0.5), (4.0, 2.0), (18.0, 2.6), (0.02, 0.02)])
def test_a_box_is_as_long_and_as_wide_as_the_scene_says(length_m, width_m):
    half = length_m / 2
    # After step n the bumper is at n + half.
    batch = batch_of(stage([driver(speed_mps=10.0, length_m=length_m, width_m=width_m)], [wall(half + 6.5)]))
    assert onsets(drive(batch, 10), "offroad_onset") == [6]
    for gap_m in (0.005, -0.005):
        post = Actor(half + 3.5, width_m / 2 + 0.01 + gap_m, length_m=0.02, width_m=0.02)
        batch = batch_of(stage([driver(speed_mps=10.0, length_m=length_m, width_m=width_m), post]),
                         **IGNORE_ALL)
        assert bool(drive(batch, 40)["collision_onset"].any()) == (gap_m < 0)


# ---- edges everywhere ----


@pytest.mark.parametrize("heading_rad", (0.0, math.pi / 2, math.pi, -math.pi / 2))
def test_edges_at_the_border_of_the_map_hold_from_inside_and_from_outside(heading_rad):
    square = ("edge", [(-20.0, -20.0), (20.0, -20.0), (20.0, 20.0), (-20.0, 20.0), (-20.0, -20.0)])
    inside = drive(batch_of(stage([driver(0.0, 0.0, heading_rad, 10.0)], [square])), 30)
    assert onsets(inside, "offroad_onset") == [17 if heading_rad in (0.0,) else onsets(inside, "offroad_onset")[0]]
    assert onsets(inside, "offroad_onset")[0] in (17, 18)
    start = (-1000.0 * math.cos(heading_rad) + 3.0, -1000.0 * math.sin(heading_rad) + 3.0)
    outside = drive(batch_of(stage([driver(*start, heading_rad, 40.0)], [square]), roads=0), 260)
    # The bumper has about 978 m to go, 4 m a step.
    assert 243 <= onsets(outside, "offroad_onset")[0] <= 246


def test_a_long_edge_holds_along_its_whole_length():
    line = ("edge", [(-2000.0, 30.0), (2000.0, 31.0)])
    agents = [driver(x, 0.0, math.pi / 2, 20.0) for x in np.linspace(-1990.0, 1990.0, 80)]
    seen = drive(batch_of(stage(agents, [line]), **IGNORE_ALL), 20)
    assert all(len(onsets(seen, "offroad_onset", agent)) == 1 for agent in range(80))
    seen = drive(batch_of(stage([driver(2003.5, 0.0, math.pi / 2, 20.0)], [line])), 30)
    assert not seen["offroad_onset"].any()


def test_a_scene_without_roads_is_driven_like_any_other():
    batch = batch_of(stage([driver(speed_mps=10.0), Actor(30.0, 0.0)]))
    assert onsets(drive(batch, 40), "collision_onset") == [25]
    assert not batch.observations[:, batch.observation_layout()["roads/kind"].slice].any()


# ---- goals ----


def test_a_goal_may_ask_for_a_low_speed():
    scene = stage([driver(speed_mps=5.0, goal_m=(20.0, 0.0))])
    fast = batch_of(scene, goal_max_speed_mps=2.0, **IGNORE_ALL)
    assert not drive(fast, 100)["goal_onset"].any()
    slow = batch_of(scene, goal_max_speed_mps=2.0, goal_radius_m=3.0, **IGNORE_ALL)
    drive(slow, 32)
    seen = drive(slow, 40, 0)
    # It brakes by 0.4 m/s a step from 5: 1.8 m/s in the eighth.
    assert onsets(seen, "goal_onset") == [7]


def test_the_goal_radius_is_the_config_s():
    for radius_m, step in ((0.4, 15), (4.4, 11), (10.4, 5)):
        batch = batch_of(stage([driver(speed_mps=10.0, goal_m=(16.0, 0.0))]), goal_radius_m=radius_m)
        assert onsets(drive(batch, step + 1), "goal_onset") == [step]


# ---- who gets an agent, who plays the rest ----


CONTROLS = {
    "vehicles": {"control": "vehicles"},
    "sdc": {"control": "sdc"},
    "tracks_to_predict": {"control": "tracks_to_predict"},
    "ids": {"control": (100,)},
    "all": {"control": "all"},
}


def object_of(batch, vehicle=0):
    return int(batch.roles[0].objects[vehicle])


@pytest.mark.parametrize("others", ("replay", "static"))
@pytest.mark.parametrize("logs", (False, True))
@pytest.mark.parametrize("control", CONTROLS)
def test_what_stands_is_seen_and_hit_in_every_control_mode(control, logs, others):
    bystander = standing(30, 15.5, 0.0) if logs else Actor(15.5, 0.0)
    scene = stage([driver(speed_mps=10.0), bystander], sdc=0, tracks=(0,))
    batch = batch_of(scene, others=others, on_collision="ignore", **CONTROLS[control])
    assert batch.agents_per_world == (2 if control == "all" else 1)
    feature = batch.observation_layout()["partners/kind"]
    assert batch.observations[0, feature.slice][0] == 0.25
    seen = drive(batch, 12)
    assert onsets(seen, "collision_onset") == [11] and seen["rewards"][11, 0] == -0.5


def test_agents_are_vehicles_with_a_goal_to_reach_that_nobody_marked():
    scene = stage([
        driver(0.0, 0.0),
        Actor(0.0, 10.0),                             # on its goal
        driver(0.0, 20.0, kind="pedestrian"),
        driver(0.0, 30.0, expert=True),
        driver(0.0, 40.0, goal_m=(1.9, 40.0)),        # within goal_radius_m
        driver(0.0, 50.0, goal_m=(2.1, 50.0)),
        replayer([None, (0.0, 60.0, 0.0, 0.0)], expert=False),  # not there at the start
        driver(0.0, 70.0, kind="cyclist"),
        driver(0.0, 80.0, kind="other"),
    ])
    batch = batch_of(scene)
    assert batch.roles[0].objects[:2].tolist() == [0, 5] and batch.agents_per_world == 2
    dropped = batch.scene_report().dropped
    assert dropped["no agent: no vehicle"] == 3 and dropped["no agent: marked expert"] == 1
    assert dropped["no agent: not valid at the start"] == 1
    assert dropped["no agent: goal within goal_radius_m of the start"] == 2


def test_every_control_names_its_agents_in_object_order():
    actors = [driver(0.0, 10.0 * i, kind="pedestrian" if i == 3 else "vehicle", expert=i == 4)
              for i in range(6)]
    scene = stage([*actors, replayer([None, (0.0, 99.0, 0.0, 0.0)])], sdc=4, tracks=(5, 3))
    for control, agents in (("vehicles", [0, 1, 2, 5]), ("all", [0, 1, 2, 3, 4, 5]), ("sdc", [4]),
                          ("tracks_to_predict", [3, 5]), ((105, 101), [1, 5]), ([102], [2])):
        roles = batch_of(scene, control=control).roles[0]
        assert roles.objects[: roles.num_agents].tolist() == agents, control
        assert sorted(roles.objects.tolist()) == list(range(7))


def test_a_control_that_names_nobody_is_an_error():
    scene = stage([driver(), replayer([None, (0.0, 99.0, 0.0, 0.0)])])
    names = {"sdc": "sdc", "tracks_to_predict": "tracks", (7,): "7", (101,): "not valid"}
    for control, said in names.items():
        with pytest.raises(SceneError, match=said):
            batch_of(scene, control=control)


def test_an_id_that_no_object_has_is_an_error_or_reported():
    scene = stage([driver(), driver(0.0, 10.0)])
    try:
        batch = batch_of(scene, control=(100, 999))
    except SceneError:
        return
    assert "999" in str(batch.scene_report())


def test_a_cap_takes_the_nearest_to_the_ego_of_the_scene_and_else_the_first():
    places = [50.0, 10.0, 0.0, 30.0, 20.0, 40.0]
    actors = [driver(0.0, y) for y in places]
    for cap, agents in ((1, [2]), (3, [1, 2, 4]), (4, [1, 2, 3, 4]), (6, list(range(6)))):
        batch = batch_of(stage(actors, sdc=2), agents_per_world=cap)
        assert batch.roles[0].objects[:cap].tolist() == agents
        batch = batch_of(stage(actors), agents_per_world=cap)
        assert batch.roles[0].objects[:cap].tolist() == list(range(cap))
    # An ego that is not there at the start is near to nobody.
    gone = stage([*actors, replayer([None, (0.0, 0.0, 0.0, 0.0)])], sdc=6)
    assert batch_of(gone, agents_per_world=2).roles[0].objects[:2].tolist() == [0, 1]


def test_a_cap_above_what_a_file_has_leaves_agents_absent():
    batch = batch_of(stage([driver(), driver(0.0, 10.0)]), agents_per_world=5)
    assert batch.agents_per_world == 5 and batch.removed.tolist() == [False, False, True, True, True]
    assert not batch.observations[2:].any()
    for _ in range(3):
        batch.step(discrete(batch))
        assert batch.invalid_step.tolist() == [False, False, True, True, True]


def test_a_cap_is_exact_for_generated_scenes():
    scene = generate_scene("intersection", seed=0, agents=6)
    assert batch_of(scene, agents_per_world=6).agents_per_world == 6
    capped = batch_of(scene, agents_per_world=2)
    assert capped.roles[0].num_agents == 2 and len(capped.vehicles()["x_m"]) == 6
    with pytest.raises(ConfigError, match="agents_per_world is 7"):
        batch_of(scene, agents_per_world=7)
    assert batch_of("town", agents_per_world=40, trial_steps=5).roles[0].num_agents == 40


def test_agents_of_a_batch_are_those_of_its_largest_scene():
    small, large = stage([driver()]), stage([driver(), driver(0.0, 10.0), driver(0.0, 20.0)])
    assert batch_of([small, large]).agents_per_world == 3


def test_others_that_are_static_stand_where_they_started():
    log = [(20.0 + frame, 5.0, 0.0, 10.0) for frame in range(10)]
    late = [None, *log[1:]]
    batch = batch_of(stage([driver(), replayer(log), replayer(late)]), others="static")
    for _ in range(12):
        batch.step(discrete(batch))
        now = batch.vehicles()
        assert len(now["x_m"]) == 2 and now["x_m"][1] == 20.0 and now["y_m"][1] == 5.0 and now["present"][1]
        assert now["speed_mps"][1] == 0.0
    assert batch.scene_report().dropped["objects not on the map at the start"] == 1


def test_the_real_scenes_give_the_agents_they_are_known_for():
    for name, agents in (("map_942", 14), ("map_000", 1)):
        scene = sample(f"pufferdrive/{name}.bin")
        batch = Batch(scenes=[scene])
        assert batch.agents_per_world == agents == batch.roles[0].num_agents
        assert batch.roles[0].trial_steps == scene.objects.frame_count - 1 == 90
        kinds = [int((scene.objects.kind == code).sum()) for code in (1, 2, 3)]
        assert kinds == {"map_942": [77, 2, 0], "map_000": [50, 12, 2]}[name]


# ---- logs ----


def test_an_expert_is_its_log_at_every_valid_frame_and_off_the_map_elsewhere():
    rng = np.random.default_rng(3)
    log = [None if rng.random() < 0.3 else tuple(rng.uniform((-50, -50, -3, 0), (50, 50, 3, 20)))
           for _ in range(30)]
    scene = stage([driver(0.0, 500.0), replayer(log)])
    batch = batch_of(scene, max_trials=2, trial_steps=40, **IGNORE_ALL)
    objects = scene.objects
    for trial in range(2):
        last = None
        for frame in range(41):
            now = batch.vehicles()
            there = frame < 30 and log[frame] is not None
            assert bool(now["present"][1]) == there, (trial, frame)
            if there:
                for name in ("x_m", "y_m", "heading_rad"):
                    assert now[name][1] == getattr(objects, name)[frame, 1], (trial, frame, name)
                assert now["speed_mps"][1] == pytest.approx(log[frame][3], abs=1e-4)
                last = {name: now[name][1] for name in ("x_m", "y_m", "heading_rad", "speed_mps")}
            elif last:
                assert last == {name: now[name][1] for name in last}, (trial, frame)
            kind = batch.observations[0, batch.observation_layout()["partners/kind"].slice]
            assert not kind[1:].any()
            batch.step(discrete(batch, 0))


def test_an_expert_is_seen_exactly_while_it_is_on_the_map():
    log = [(10.0, 0.0, 0.0, 0.0), None, None, (10.0, 0.0, 0.0, 0.0), None]
    batch = batch_of(stage([driver(), replayer(log)]), trial_steps=8)
    kind = batch.observation_layout()["partners/kind"].slice
    seen = [batch.observations[0, kind][0] > 0]
    for _ in range(6):
        batch.step(discrete(batch, 0))
        seen.append(batch.observations[0, kind][0] > 0)
    assert seen == [True, False, False, True, False, False, False]


def test_a_restart_rewinds_the_logs():
    log = [(10.0 + frame, 5.0, 0.0, 10.0) for frame in range(20)]
    batch = batch_of(stage([driver(), replayer(log)]), max_trials=3, trial_steps=7, **IGNORE_ALL)
    first = batch.vehicles()
    for _ in range(3):
        for frame in range(8):
            assert batch.vehicles()["x_m"][1] == 10.0 + frame
            batch.step(discrete(batch, 0))
        for name, values in batch.vehicles().items():
            assert np.array_equal(values, first[name]), name


@pytest.mark.parametrize("dt_s, steps", [(None, 10), (0.1, 10), (0.05, 20), (0.2, 5), (0.025, 40), (1.0, 1),
                                         (0.3, 3), (0.1 + 1e-12, 10), (0.07, 14), (0.4, 2), (0.5, 2)])
def test_a_trial_lasts_as_long_as_the_log_whatever_the_step(dt_s, steps):
    # A log of 1 s at 0.1 s; 1.0 // 0.1 is 9 in floats.
    log = [(float(frame), 5.0, 0.0, 10.0) for frame in range(11)]
    batch = batch_of(stage([driver(), replayer(log)]), dt_s=dt_s, trial_steps=None)
    assert batch.roles[0].trial_steps == steps
    drive(batch, steps - 1)
    assert not batch.trial_ended[0]
    drive(batch, 1)
    assert batch.trial_ended[0]


def test_the_frames_of_a_log_are_counted_as_on_paper():
    """In decimals: in floats, n frames of 0.1 s over dt_s often are just below a whole number."""
    short = 0
    for frames in range(2, 92):
        scene = stage([driver(), replayer([(0.0, 5.0, 0.0, 0.0)] * frames)])
        for dt_s in ("0.01", "0.02", "0.03", "0.05", "0.06", "0.07", "0.1", "0.15", "0.2", "0.3", "0.6"):
            steps = Fraction(frames - 1, 10) / Fraction(dt_s)
            if steps >= 1:
                for kept_as in (np.float64, np.float32):
                    config = DriveConfig(dt_s=float(kept_as(dt_s)))
                    assert assign_roles(scene, config).trial_steps == math.floor(steps), (frames, dt_s)
                short += (frames - 1) * 0.1 / float(dt_s) < steps == math.floor(steps)
    assert short >= 10


@pytest.mark.parametrize("dt_s", ("0.1", "0.2", "0.3", "0.7"))
def test_a_step_of_whole_frames_shows_the_log_itself_though_float32_rounds_it(dt_s):
    log = [(float(frame), 5.0, 0.0, 10.0) for frame in range(701)]
    roles = assign_roles(stage([driver(), replayer(log)]), DriveConfig(dt_s=float(np.float32(dt_s))))
    every = round(float(dt_s) * 10)
    np.testing.assert_array_equal(roles.frames.x_m[:, 1], np.arange(0, 701, every))
    assert "poses interpolated between two frames" not in roles.report.imputed


def test_a_scene_without_a_log_lasts_as_long_as_a_generated_one():
    assert batch_of(stage([driver()]), trial_steps=None).roles[0].trial_steps == 200


def test_a_step_longer_than_the_log_is_an_error():
    log = [(float(frame), 5.0, 0.0, 10.0) for frame in range(11)]
    with pytest.raises(ConfigError, match="trial_steps"):
        batch_of(stage([driver(), replayer(log)]), dt_s=1.5, trial_steps=None)


@pytest.mark.parametrize("dt_s", (0.05, 0.2, 0.025, 0.07))
def test_between_two_frames_a_log_is_interpolated(dt_s):
    times_s = np.arange(21) * 0.1
    log = [(3.0 * t * t, 5.0 - 2.0 * t, 0.4 * t - 0.2, 6.0 * t) for t in times_s]
    batch = batch_of(stage([driver(), replayer(log)]), dt_s=dt_s, trial_steps=None)
    columns = np.array(log).T
    velocity = columns[3] * np.cos(columns[2]), columns[3] * np.sin(columns[2])
    for step in range(batch.roles[0].trial_steps):
        now, t = batch.vehicles(), step * dt_s
        x, y, heading, vx, vy = (np.interp(t, times_s, values) for values in (*columns[:3], *velocity))
        assert now["x_m"][1] == pytest.approx(x, abs=1e-4) and now["y_m"][1] == pytest.approx(y, abs=1e-4)
        assert now["heading_rad"][1] == pytest.approx(heading, abs=1e-5)
        assert now["speed_mps"][1] == pytest.approx(vx * math.cos(heading) + vy * math.sin(heading), abs=1e-4)
        batch.step(discrete(batch, 0))


@pytest.mark.parametrize("dt_s, last_step", [(0.3, 3), (0.4, 2), (0.7, 1), (0.05, 20)])
def test_a_log_at_another_step_ends_with_its_last_whole_step_and_is_not_extrapolated(dt_s, last_step):
    log = [(10.0 * frame, 5.0, 0.0, 100.0) for frame in range(11)]
    batch = batch_of(stage([driver(), replayer(log)]), dt_s=dt_s, trial_steps=last_step + 3)
    for step in range(last_step + 3):
        now = batch.vehicles()
        assert bool(now["present"][1]) == (step <= last_step)
        if step <= last_step:
            assert float(now["x_m"][1]) == pytest.approx(100.0 * step * dt_s, abs=1e-4)
        batch.step(discrete(batch))


@pytest.mark.parametrize("before, after, middle", [
    (3.0, -3.0, math.pi), (-3.0, 3.0, math.pi), (3.1, -3.0, -3.09159), (1.0, 2.0, 1.5), (-0.5, 0.5, 0.0),
    (0.2, -0.4, -0.1)])
def test_a_heading_turns_by_the_shortest_arc(before, after, middle):
    log = [(0.0, 5.0, before, 0.0), (0.0, 5.0, after, 0.0)]
    batch = batch_of(stage([driver(50.0, 50.0), replayer(log)]), dt_s=0.05, trial_steps=None)
    headings = []
    for _ in range(3):
        headings.append(float(batch.vehicles()["heading_rad"][1]))
        batch.step(discrete(batch, 0))
    assert headings[0] == pytest.approx(before, abs=1e-6) and headings[2] == pytest.approx(after, abs=1e-6)
    assert abs(math.remainder(headings[1] - middle, 2 * math.pi)) < 1e-4
    assert all(-math.pi - 1e-6 <= heading < math.pi for heading in headings)


def test_a_pose_is_made_up_only_between_two_valid_frames():
    there = (0.0, 5.0, 0.0, 0.0)
    log = [there, there, None, there, None, None, there]
    scene = stage([driver(50.0, 50.0), replayer(log)])
    batch = batch_of(scene, dt_s=0.05, trial_steps=13)
    seen = []
    for _ in range(13):
        seen.append(bool(batch.vehicles()["present"][1]))
        batch.step(discrete(batch, 0))
    assert seen == [True, True, True, False, False, False, True, False, False, False, False, False, True]
    assert batch.scene_report().imputed["poses interpolated between two frames"] == 1


def test_start_step_begins_every_trial_at_that_frame():
    log = [(float(frame), 5.0, 0.1 * frame, 10.0) for frame in range(12)]
    own = [(2.0 * frame, 0.0, 0.0, 20.0) for frame in range(12)]
    scene = stage([Actor(log=tuple(own), goal_m=(FAR, 0.0)), replayer(log)])
    batch = batch_of(scene, start_step=4, trial_steps=None, max_trials=2)
    assert batch.roles[0].trial_steps == 7
    for _ in range(2):
        now = batch.vehicles()
        assert now["x_m"].tolist() == [8.0, 4.0] and now["speed_mps"][0] == pytest.approx(20.0)
        assert now["heading_rad"][1] == pytest.approx(0.4)
        drive(batch, 7)
        assert batch.trial_ended[0] and batch.vehicles()["x_m"][1] == 11.0
        drive(batch, 1)
    for start_step in (11, 12, 1000):
        with pytest.raises(ConfigError):
            batch_of(scene, start_step=start_step, trial_steps=None)


def test_start_step_and_another_step_meet():
    log = [(float(frame), 5.0, 0.0, 10.0) for frame in range(12)]
    batch = batch_of(stage([driver(), replayer(log)]), start_step=3, dt_s=0.05, trial_steps=None,
                     control="all")
    # The driver's own log ends at frame 0.
    assert batch.roles[0].num_agents == 1 and batch.roles[0].trial_steps == 16
    assert batch.vehicles()["x_m"].tolist() == [3.0]
    assert batch.roles[0].frames.x_m[1, 1] == 3.5


def test_a_generated_scene_lasts_200_steps_at_a_tenth_of_a_second():
    batch = Batch(scenes=[generate_scene("intersection", 0, 4)])
    assert batch.roles[0].trial_steps == 200 and batch.roles[0].dt_s == 0.1
    slower = Batch(scenes=[generate_scene("intersection", 0, 4)], config=DriveConfig(dt_s=0.2))
    assert slower.roles[0].trial_steps == 200 and slower.roles[0].dt_s == 0.2


def test_a_report_counts_each_thing_once_however_often_a_batch_is_copied():
    import copy

    batch = batch_of(stage([driver(speed_mps=100.0)]))
    reason = "start speeds brought within min_speed_mps and max_speed_mps"
    assert batch.roles[0].report.imputed[reason] == 1
    assert copy.deepcopy(batch).roles[0].report.imputed[reason] == 1


# ---- motion ----


def bicycle(state, acceleration, steering, wheelbase, dt_s, low, high):
    """The kinematic bicycle about the middle between the axles, in float64."""
    x, y, heading, speed = state
    new = speed + acceleration * dt_s
    new = 0.0 if speed * new < 0 else min(max(new, low), high)
    slip = math.atan(0.5 * math.tan(steering))
    x += new * dt_s * math.cos(heading + slip)
    y += new * dt_s * math.sin(heading + slip)
    heading += new * dt_s * math.cos(slip) * math.tan(steering) / wheelbase
    return x, y, heading, new


@pytest.mark.parametrize("dt_s", (0.1, 0.5))
@pytest.mark.parametrize("action_type", ("discrete", "multi_discrete", "continuous"))
def test_agents_move_as_bicycles_by_every_kind_of_action(action_type, dt_s):
    rng = np.random.default_rng(5)
    lengths = [2.0, 4.5, 12.0, 7.3]
    actors = [driver(0.0, 100.0 * i, rng.uniform(-3, 3), rng.uniform(0, 20), length_m=length)
              for i, length in enumerate(lengths)]
    batch = batch_of(stage(actors, dt_s=dt_s), action_type=action_type, min_speed_mps=-5.0,
                     max_speed_mps=25.0, **IGNORE_ALL)
    states = [(a.x_m, a.y_m, a.heading_rad, a.speed_mps) for a in actors]
    for _ in range(60):
        push, turn = rng.integers(0, 7, 4), rng.integers(0, 13, 4)
        accelerations, steerings = ACCELERATIONS_MPS2[push], STEERINGS_RAD[turn]
        if action_type == "discrete":
            batch.step(push * 13 + turn)
        elif action_type == "multi_discrete":
            batch.step(np.stack([push, turn], 1))
        else:
            shares = rng.uniform(-1, 1, (4, 2)).astype(np.float32)
            accelerations, steerings = shares[:, 0] * 4.0, shares[:, 1] * 0.6
            batch.step(shares)
        states = [bicycle(state, a, s, 0.6 * length, dt_s, -5.0, 25.0)
                  for state, a, s, length in zip(states, accelerations, steerings, lengths, strict=True)]
        now = batch.vehicles()
        for agent, (x, y, heading, speed) in enumerate(states):
            assert (now["x_m"][agent], now["y_m"][agent]) == pytest.approx((x, y), abs=5e-3)
            assert abs(math.remainder(now["heading_rad"][agent] - heading, 2 * math.pi)) < 1e-4
            assert now["speed_mps"][agent] == pytest.approx(speed, abs=1e-4)


def test_the_three_forms_of_an_action_are_one_action():
    scene = generate_scene("intersection", 1, 6)
    forms = ("discrete", "multi_discrete", "continuous")
    batches = {form: batch_of(scene, action_type=form) for form in forms}
    rng = np.random.default_rng(6)
    for _ in range(40):
        push, turn = rng.integers(0, 7, 6), rng.integers(0, 13, 6)
        batches["discrete"].step(push * 13 + turn)
        batches["multi_discrete"].step(np.stack([push, turn], 1))
        batches["continuous"].step(np.stack([(push - 3) / 3, (turn - 6) / 6], 1).astype(np.float32))
        poses = [batch.vehicles() for batch in batches.values()]
        for name in ("x_m", "y_m", "heading_rad", "speed_mps"):
            assert np.array_equal(poses[0][name], poses[1][name])
            assert np.allclose(poses[0][name], poses[2][name], atol=1e-3)


def test_a_second_of_full_throttle_from_rest_gives_4_mps_and_braking_gives_rest():
    batch = batch_of(stage([driver()]))
    drive(batch, 10, 6)
    assert batch.vehicles()["speed_mps"][0] == pytest.approx(4.0, abs=1e-5)
    drive(batch, 10, 0)
    assert batch.vehicles()["speed_mps"][0] < 1e-5
    drive(batch, 1, 0)
    still = batch.vehicles()
    drive(batch, 30, 0, 12)
    for name, values in batch.vehicles().items():
        assert np.array_equal(values, still[name]), name


def test_speed_is_the_part_along_the_heading_and_within_the_limits_from_the_start():
    scene = stage([driver(0.0, 0.0, math.pi / 2, 30.0), driver(0.0, 50.0, speed_mps=60.0)])
    sideways = changed(scene, vx_mps=scene.objects.vx_mps + np.array([[25.0, 0.0]], np.float32))
    batch = batch_of(sideways)
    assert batch.vehicles()["speed_mps"] == pytest.approx([30.0, 40.0], abs=1e-4)
    assert batch.scene_report().imputed["start speeds brought within min_speed_mps and max_speed_mps"] == 1


def test_the_metrics_measure_the_drive():
    batch = batch_of(stage([driver(speed_mps=10.0), driver(0.0, 50.0)]), trial_steps=50, on_goal="ignore")
    drive(batch, 50, np.array([COAST, 6]))
    report = batch.metrics()
    # 50 m at 10 m/s; and sum over n of 0.4 n 0.1 m for fifty steps, 51 m.
    assert report["trials"].value == 2 and report["trial_length"] == (50.0, 2)
    assert report["distance_m"].value == pytest.approx((50.0 + 51.0) / 2, rel=1e-5)
    assert report["mean_speed_mps"].value == pytest.approx((10.0 + 10.2) / 2, rel=1e-5)
    assert report["timeout"].value == 1.0 and report["score"].value == 0.0
    assert report["trial_0_score"].n == 2


@pytest.mark.parametrize("alpha", [0.999999, 0.9999, 0.707, 0.1])
def test_an_average_follows_its_formula_however_slowly_it_moves(alpha):
    # The first trial coasts for a step, at 10 m/s; all others speed up a little. Near alpha = 1 an average of float32
    # would stand still.
    scene = stage([driver(speed_mps=10.0)])
    batches = [batch_of(scene, trial_steps=1, log_ema_alpha=a) for a in (alpha, 0.0)]
    drive(batches[0], 1), drive(batches[1], 1)
    (first_m,), distances = figures(batches[1], "distance_m"), 300
    assert figures(batches[0], "distance_m") == (first_m,) == pytest.approx((1.0,))
    for batch in batches:
        drive(batch, 2 * distances, 6)  # every other call is a restart
    (then_m,) = figures(batches[1], "distance_m")
    assert then_m == pytest.approx(1.04)
    due_m = then_m + (first_m - then_m) * alpha**distances
    assert figures(batches[0], "distance_m") == (pytest.approx(due_m, rel=1e-12),)
    assert batches[0].metrics()["trials"].n == distances + 1


def test_distance_counts_the_way_back():
    batch = batch_of(stage([driver()]), trial_steps=100, min_speed_mps=-20.0, on_goal="ignore")
    places_m = there_and_back(batch)["x_m"][:, 0].astype(float)
    way_m = np.abs(np.diff(np.concatenate([[0.0], places_m]))).sum()
    assert way_m > 2 * np.ptp(places_m)
    assert batch.metrics()["distance_m"].value == pytest.approx(way_m, rel=1e-4)


def test_steering_straight_is_the_middle_bin():
    batch = batch_of(stage([driver(speed_mps=10.0)]))
    drive(batch, 50, COAST, STRAIGHT)
    now = batch.vehicles()
    assert now["y_m"][0] == 0.0 and now["heading_rad"][0] == 0.0
    assert now["x_m"][0] == pytest.approx(50.0, abs=1e-4)
