"""Does an episode have the objects that it draws, and do their logs begin when an agent crosses their lines?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scripted_scenes import COAST_ACTION, driver, log_replay, stage, standing

from drive_env import Batch
from drive_env.scenes import Scripts

LOG = [(50.0, 10.0 + frame, 0.5, 10.0) for frame in range(5)]
LINE_M = (4.5, 3.0, 4.5, -3.0)
"""Across the way of an agent that starts at 0 with 10 m/s; it has crossed after 5 steps of 0.1 s."""


def scripts_of(*entries):
    """Scripts of (object, group, option, line_m)."""
    objects, groups, options, lines = zip(*entries, strict=True)
    return Scripts(*(np.array(column, np.int32) for column in (objects, groups, options)),
                   np.array(lines, np.float32).reshape(-1, 4))


def opened(objects, scripts, num_worlds=1, seed=0, **choices):
    scene = replace(stage(objects, []), scripts=scripts)
    config = {"max_trials": 2, "trial_steps": 12, "dynamics": {"min_speed_mps": -20.0}, **choices}
    batch = Batch([scene], num_worlds=num_worlds, config=config, seed=seed, threads=1)
    batch.reset()
    return batch


def places(batch, steps, vehicle=1):
    """(steps + 1,) y_m of a vehicle of world 0, NaN where it is absent; all agents coast."""
    found = []
    for _ in range(steps + 1):
        one = batch.vehicles(0)
        found.append(float(one["y_m"][vehicle]) if one["present"][vehicle] else np.nan)
        batch.step(np.full(batch.num_agents, COAST_ACTION))
    return found


def test_a_log_waits_in_its_first_frame_until_an_agent_has_crossed_the_line():
    """And ends as other logs do. The restart of a trial, the 13th step, makes it wait again."""
    batch = opened([driver(speed_mps=10.0), log_replay(LOG)], scripts_of((1, 0, 0, LINE_M)))
    trial = [10.0] * 6 + [11.0, 12.0, 13.0, 14.0] + [np.nan] * 3
    np.testing.assert_array_equal(places(batch, 25), trial + trial)


def test_an_object_that_is_absent_in_the_first_frame_appears_when_the_line_is_crossed():
    batch = opened([driver(speed_mps=10.0), log_replay([None, *LOG])], scripts_of((1, 0, 0, LINE_M)))
    np.testing.assert_array_equal(places(batch, 7), [np.nan] * 6 + [10.0, 11.0])


@pytest.mark.parametrize(("start", "speed_mps", "line_m"), [
    ((9.0, 0.0), -10.0, LINE_M),  # backwards
    ((0.0, 0.0), 10.0, (4.5, 3.0, 4.5, 0.5)),  # beside the line
    ((0.0, 0.0), 10.0, (4.5, -3.0, 4.5, 3.0)),  # from the far side
])
def test_another_way_over_the_line_starts_nothing(start, speed_mps, line_m):
    agent = driver(*start, speed_mps=speed_mps)
    batch = opened([agent, log_replay(LOG)], scripts_of((1, 0, 0, line_m)))
    assert places(batch, 11) == [10.0] * 12


def test_the_first_agent_that_crosses_starts_the_log_and_agents_that_wait_do_not():
    objects = [driver(speed_mps=10.0), driver(-2.0, 1.5, speed_mps=10.0), log_replay(LOG)]
    assert places(opened(objects, scripts_of((2, 0, 0, LINE_M))), 6, 2) == [10.0] * 6 + [11.0]
    stands = [driver(speed_mps=1.0, goal_m=(0.0, 30.0)), log_replay([*LOG])]
    assert places(opened(stands, scripts_of((1, 0, 0, LINE_M))), 11) == [10.0] * 12


@pytest.mark.parametrize(("choices", "parked"), [
    ({"on_goal": "stop"}, ()), ({"on_goal": "remove"}, ()), ({"on_goal": "respawn"}, ()),
    ({"on_collision": "stop"}, [standing(20, 8.5, 0.0)]), ({"on_collision": "remove"}, [standing(20, 8.5, 0.0)])])
def test_a_crossing_counts_in_the_step_in_which_an_event_ends_the_drive(choices, parked):
    """The agent crosses from 4 m to 5 m in step 5, reaches its goal at 5 m or the back of the parked car at 6.5 m in
    that step, and is stopped, removed or back at 0 after it. The other agent stands, so that the trial goes on."""
    goal = {} if parked else {"goal_m": (5.0, 0.0)}
    objects = [driver(speed_mps=10.0, **goal), driver(0.0, 30.0), log_replay(LOG), *parked]
    batch = opened(objects, scripts_of((2, 0, 0, LINE_M)), goal_radius_m=0.3, **choices)
    assert places(batch, 8, 2) == [10.0] * 6 + [11.0, 12.0, 13.0]
    event = batch.trial_state()["had_collision" if parked else "had_goal"]
    assert event.tolist() == [True, False]


@pytest.mark.parametrize("line_m", [(1.5, -3.0, 1.5, 3.0), (-0.5, -3.0, -0.5, 3.0)])
def test_the_move_to_another_start_crosses_no_line(line_m):
    """From the goal at 5 m back to the start at 0, over a line that faces such a move."""
    objects = [driver(speed_mps=10.0, goal_m=(5.0, 0.0)), log_replay(LOG)]
    batch = opened(objects, scripts_of((1, 0, 0, line_m)), goal_radius_m=0.3, on_goal="respawn")
    assert places(batch, 11) == [10.0] * 12
    assert batch.trial_state()["respawns"][0] == 2


@pytest.fixture(scope="module")
def drawn():
    """Which of five objects exist, (trials, worlds, 5): three are the options of one group, two exist together with
    option 1 of another, whose option 0 has no object."""
    objects = [driver(speed_mps=10.0)] + [log_replay([(50.0, 10.0 * i, 0.0, 1.0)] * 2) for i in range(5)]
    far_m = (100.0, 3.0, 100.0, -3.0)
    scripts = scripts_of((1, 0, 0, far_m), (2, 0, 1, far_m), (3, 0, 2, far_m), (4, 1, 1, far_m), (5, 1, 1, far_m))
    batch = opened(objects, scripts, num_worlds=600)
    found = []
    for _ in range(2):
        found.append([batch.vehicles(world)["present"][1:] for world in range(600)])
        frames = np.array([batch.trial_state(world)["script_frame"] for world in range(600)])
        assert (np.array(found[-1]) == (frames == 0)).all() and frames.min() == -1
        for _ in range(13):
            batch.step(np.full(600, COAST_ACTION))
    return np.array(found)


def test_each_option_is_drawn_equally_often_and_for_all_trials_of_an_episode(drawn):
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0, :, :3].sum(axis=1) == 1).all() and (drawn[0, :, 3] == drawn[0, :, 4]).all()
    counts = np.bincount(drawn[0, :, :3].argmax(axis=1) * 2 + drawn[0, :, 3], minlength=6)
    # 99.9% of chi-square with 5 degrees of freedom: the groups are independent, too.
    assert ((counts - 100) ** 2 / 100).sum() < 20.5


def test_the_draw_changes_nothing_else():
    """Two scenes and a random order, hidden values and noise, once with scripts and once without."""
    objects = [driver(speed_mps=10.0), log_replay([None] * 20 + LOG)]
    choices = {"hidden": {"steering_gain": (0.5, 1.5)}, "sensors": {"ego_speed_noise_mps": 0.1}}
    runs = []
    for scripts in (scripts_of((1, 0, 0, LINE_M)), None):
        plain = stage(objects, [])
        scenes = [plain if scripts is None else replace(plain, scripts=scripts, name=str(i)) for i in range(2)]
        with Batch(scenes, num_worlds=8, config={"max_trials": 2, "trial_steps": 5, **choices}, seed=4,
                   threads=1) as batch:
            batch.reset()
            for _ in range(30):
                batch.step(np.full(8, COAST_ACTION + 1))
            runs.append((batch.observations.tobytes(), batch.scene_index.tobytes(),
                         batch.hidden["steering_gain"].tobytes()))
    assert runs[0] == runs[1]


@pytest.mark.parametrize(("choices", "role"), [
    ({"others": "static"}, "static"), ({"control": "all"}, "agents"), ({"others": "idm"}, "log-replay")])
def test_scripts_apply_to_log_replay_vehicles_alone(choices, role):
    """With others="idm", objects with scripts still replay their logs."""
    batch = opened([driver(speed_mps=10.0), log_replay(LOG)], scripts_of((1, 0, 0, LINE_M)), **choices)
    replays = role == "log-replay"
    assert batch.roles[0].log_replay_count == int(replays) and batch.roles[0].rule_based_count == 0
    assert len(batch.roles[0].scripts.vehicle) == int(replays)
    assert ("script_frame" in batch.trial_state()) == replays


def test_an_option_whose_objects_have_another_role_is_still_drawn():
    """Object 1 is an agent; object 2 of option 1 exists in half of the worlds all the same."""
    objects = [driver(speed_mps=10.0), driver(0.0, 30.0), log_replay(LOG)]
    batch = opened(objects, scripts_of((1, 0, 0, LINE_M), (2, 0, 1, LINE_M)), num_worlds=200)
    exists = [batch.vehicles(world)["present"][2] for world in range(200)]
    assert 70 < sum(exists) < 130
