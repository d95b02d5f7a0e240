"""Can a street with forks be driven, does the right choice alone reach the goal, and is nothing shown before it?

A choice has the route of each fork, 0 for the street; a task succeeds with some choices, by what is hidden.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from bare_scene import THROTTLE
from fork_driver import ForkDriver, lanes_of, path_of, play_trial

from drive_env import Batch, SceneError, generate_scene, resolve_scenes
from drive_env.drivers import LaneDriver
from drive_env.scenes.generate.forks import COMMITMENT_M, FORK_M, LANE_WIDTH_M, WARNING_M, detour_m
from drive_env.tasks import gates, hidden_closure, occluded_crossing

GOAL, COLLISION, TIMEOUT = 1, 2, 4
CAR_WIDTH_M = 1.9

SEEDS = range(6)
TASKS = {
    "gates": (gates(2, 1, SEEDS), list(product((0, 1), repeat=2))),
    "three gates": (gates(3, 1, SEEDS), [(0, 1, 0), (1, 0, 1), (1, 1, 0)]),
    "occluded_crossing": (occluded_crossing(3, 1, SEEDS), [(1, 0, 0), (0, 1, 0), (0, 0, 1)]),
    "five vans": (occluded_crossing(5, 1, SEEDS), [(0, 0, 0, 1, 0)]),
    "hidden_closure": (hidden_closure(2, 1, SEEDS), [(0,), (1,), (2,)]),
    "one closed": (hidden_closure(1, 1, SEEDS), [(0,), (1,), (2,)]),
}


def hidden_of(batch):
    """(worlds,) the option that each world has drawn in each group, as a tuple."""
    found = []
    for world in range(batch.num_worlds):
        scripts = batch.roles[batch.scene_index[world]].scripts
        exists = batch.trial_state(world)["script_frame"] >= 0
        found.append(tuple(int(scripts.option[exists & (scripts.group == group)][0])
                           for group in np.unique(scripts.group)))
    return found


def succeeds(name, choice, hidden):
    """By the rules of the tasks. A car that yields, option 0, is in the lay-by; routes 0, 1, 2 are closed in the pairs
    (0, 1), (0, 2), (1, 2), or alone."""
    if "gates" in name:
        return all(route != (1 if option == 0 else 0) for route, option in zip(choice, hidden, strict=True))
    if name in ("occluded_crossing", "five vans"):
        return choice[hidden[0]] == 1
    return choice[0] == 2 - hidden[0] if name == "hidden_closure" else choice[0] != hidden[0]


def opened(task, num_worlds=20, seed=1):
    batch = Batch(task.scenes, num_worlds=num_worlds, config=task.config.replace(action_type="continuous"), seed=seed,
                  threads=1)
    batch.reset()
    return batch


@pytest.mark.parametrize("name", TASKS)
def test_the_right_choice_reaches_the_goal_and_any_other_collides(name):
    task, choices = TASKS[name]
    with opened(task) as batch:
        chosen = [choices[world % len(choices)] for world in range(batch.num_worlds)]
        right = [succeeds(name, *pair) for pair in zip(chosen, hidden_of(batch), strict=True)]
        outcome = play_trial(batch, chosen)
    assert {True, False} == set(right)
    np.testing.assert_array_equal(outcome, np.where(right, GOAL, COLLISION))


def test_a_trial_of_the_occluded_crossing_has_no_time_for_two_detours():
    task, _ = TASKS["occluded_crossing"]
    with opened(task, num_worlds=8) as batch:
        safe = [hidden != (2,) for hidden in hidden_of(batch)]
        outcome = play_trial(batch, [(1, 1, 0)] * batch.num_worlds)
    np.testing.assert_array_equal(outcome, np.where(safe, TIMEOUT, COLLISION))


@pytest.mark.parametrize("vans", [2, 3, 5])
def test_30_percent_of_spare_time_would_allow_a_second_detour(vans):
    """So the spare time stays below: a trial lasts longer than the way with one detour, at full speed, but not as long
    as that with two."""
    config = occluded_crossing(vans, seeds=[0]).config
    time_m = config.trial_steps * config.dt_s * config.dynamics.max_speed_mps
    scene = occluded_crossing(vans, seeds=[0]).scenes[0]
    straight_m = float(scene.objects.goal_m[0, 0] - scene.objects.x_m[0, 0]) - config.goal_radius_m
    detour_m = 4 * np.pi / 2 * 8.0 + 2 * 4.0 + 10.0 - (4 * 8.0 + 10.0)  # quarter circles of 8 m, up and back 4 m
    one_m, two_m = straight_m + detour_m, straight_m + 2 * detour_m
    assert 1.04 * one_m < time_m < two_m < 1.3 * one_m


def shortest_m(path, reach_m):
    """The length of the shortest way along a path that stays within `reach_m` of it, by dynamic programming over
    places 1 m apart along the path and 21 across it."""
    path = path[::4]
    along = np.gradient(path, axis=0)
    left = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.hypot(*along.T)[:, None]
    places = path[:, None] + np.linspace(-reach_m, reach_m, 21)[:, None] * left[:, None]
    length_m = np.zeros(21)
    for before, after in zip(places[:-1], places[1:]):
        steps_m = np.linalg.norm(after[:, None] - before[None], axis=2)
        length_m = (length_m + steps_m).min(axis=1)
    return length_m.min()


@pytest.mark.parametrize("vans", [2, 5])
def test_no_short_cut_of_two_detours_fits_into_a_trial(vans):
    """At full speed, with every corner cut as far as a car on the road can, and up to the goal's radius."""
    task = occluded_crossing(vans, seeds=range(3))
    reach_m = task.config.dynamics.max_speed_mps * task.config.trial_steps * task.config.dt_s
    for scene in task.scenes:
        path = path_of(scene, [1, 1] + [0] * (vans - 2))
        path = path[path[:, 0] <= scene.objects.goal_m[0, 0] - task.config.goal_radius_m]
        assert shortest_m(path, (LANE_WIDTH_M - CAR_WIDTH_M) / 2) > reach_m


@pytest.mark.parametrize("name", TASKS)
def test_equal_actions_give_equal_observations_until_a_choice_is_made(name):
    """So the first observation, and all others before the line of the first fork, predict what is hidden at chance."""
    task, _ = TASKS[name]
    with Batch(task.scenes[:1], num_worlds=48, config=task.config, seed=1, threads=1) as batch:
        batch.reset()
        assert len(set(hidden_of(batch))) > 1
        line_x_m = task.scenes[0].scripts.line_m[0, 0]
        while batch.vehicles(0)["x_m"][0] < line_x_m:
            assert (batch.observations == batch.observations[0]).all()
            batch.step(np.full(48, THROTTLE))
        if "clos" not in name:  # whose street may be open in all worlds
            for _ in range(10):
                batch.step(np.full(48, THROTTLE))
            assert (batch.observations != batch.observations[0]).any()


def test_trials_of_an_episode_begin_alike_but_for_the_trial_features():
    """What was drawn stays, and what the other cars did is undone."""
    task = gates(2, trials=2, seeds=SEEDS)
    with opened(task, num_worlds=8) as batch:
        features = [batch.observation_layout()[f"trial/{name}"].offset for name in (
            "index", "reward", "outcome_none", "outcome_goal", "outcome_collision")]
        first, hidden = batch.observations.copy(), hidden_of(batch)
        driver = ForkDriver(batch, [options if world % 2 else (1 - options[0], 0)
                                    for world, options in enumerate(hidden)])  # right, and wrong
        second, begun, outcomes = first.copy(), np.zeros(8, bool), set()
        for _ in range(task.config.trial_steps + 1):
            batch.step(driver.act())
            begins = np.flatnonzero(batch.invalid_step & (batch.trial_index == 1) & ~begun)
            second[begins], begun[begins] = batch.observations[begins], True
            assert [hidden_of(batch)[world] for world in begins] == [hidden[world] for world in begins]
            outcomes |= set(batch.outcome[~begun].tolist())
    assert begun.all() and {GOAL, COLLISION} <= outcomes
    assert set(np.flatnonzero((second != first).any(axis=0))) == set(features)


@pytest.mark.parametrize(("generator", "forks", "task"), [
    ("gates", 2, "gates"), ("occluded", 3, "occluded_crossing"), ("closures", 1, "hidden_closure")])
def test_a_scene_that_hides_nothing_shows_before_the_fork_which_route_is_open_and_links_no_other(
        generator, forks, task):
    """Along the routes that remain in its lane graph, every world reaches the goal."""
    config = TASKS[task][0].config.replace(action_type="continuous", max_trials=1)
    scenes = resolve_scenes(generator, seeds=SEEDS, parameters={"known_share": 1.0})
    with Batch(scenes, num_worlds=6, config=config, seed=1, threads=1) as batch:
        batch.reset()
        fork_x_m = np.array([scenes[index].scripts.line_m[0, 0] for index in batch.scene_index])
        fork_x_m += WARNING_M - COMMITMENT_M
        driver, shows, outcome = ForkDriver(batch, [(0,) * forks] * 6), np.zeros(6, bool), np.zeros(6, int)
        for _ in range(config.trial_steps):
            batch.step(driver.act())
            frames = np.array([batch.trial_state(world)["script_frame"].max() for world in range(6)])
            shows |= (frames > 0) & (np.array([batch.vehicles(world)["x_m"][0] for world in range(6)]) < fork_x_m)
            outcome = np.where(batch.trial_ended & (outcome == 0), batch.outcome, outcome)
            if outcome.all():
                break
    assert shows.all()
    np.testing.assert_array_equal(outcome, np.full(6, GOAL))


@pytest.mark.parametrize(("generator", "task"), [("gates", "three gates"), ("closures", "hidden_closure")])
def test_a_trial_is_long_enough_to_slow_down_in_the_loops(generator, task):
    """A rule-based driver does, and reaches the goal along the open routes."""
    config, parameters = TASKS[task][0].config, {"gates": 3} if generator == "gates" else {}
    scenes = resolve_scenes(generator, seeds=SEEDS, parameters={"known_share": 1.0, **parameters})
    with Batch(scenes, num_worlds=6, config=config, seed=1, threads=1) as batch:
        batch.reset()
        driver, outcome = LaneDriver(batch), np.zeros(6, int)
        while not outcome.all():
            batch.step(driver.act_all())
            outcome = np.where(batch.trial_ended & (outcome == 0), batch.outcome, outcome)
    np.testing.assert_array_equal(outcome, np.full(6, GOAL))


def test_a_share_of_the_scenes_hides_nothing_and_the_others_are_as_without_it():
    hides, mixed = ([generate_scene("gates", seed=seed, known_share=share) for seed in range(80)] for share in (0, 0.3))
    links = np.array([scene.lanes.successor.size for scene in mixed])
    assert {scene.lanes.successor.size for scene in hides} == {8} and set(links) == {4, 8}
    assert abs((links == 4).mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 80)
    for index in np.flatnonzero(links == 8):
        one, other = mixed[index], hides[index]
        assert all(map(np.array_equal, (one.roads.x_m, one.roads.y_m, one.objects.y_m, one.scripts.line_m),
                       (other.roads.x_m, other.roads.y_m, other.objects.y_m, other.scripts.line_m)))


@pytest.mark.parametrize("name", TASKS)
def test_routes_are_lanes_that_join_and_a_loop_is_as_long_as_stated(name):
    task, _ = TASKS[name]
    for scene in task.scenes:
        lanes = lanes_of(scene)
        for lane, points in enumerate(lanes):
            for after in scene.lanes.after(lane):
                assert (lanes[after][0] == points[-1]).all()
        loops = [lane for lane in lanes if len(lane) > 2]
        rise_m = np.abs(loops[0][:, 1]).max() - 16.0
        length_m = [np.hypot(*np.diff(loop, axis=0).T).sum() for loop in loops]
        # The points of a quarter circle are corners of a polygon, 0.2% shorter than the circle.
        assert length_m == pytest.approx([FORK_M + detour_m(rise_m)] * len(loops), rel=0.004)


@pytest.mark.parametrize(("task", "sentence"), [
    (lambda: gates(4), "gates is 4; it must be a whole number from 1 to 3"),
    (lambda: occluded_crossing(6), "vans is 6; it must be a whole number from 2 to 5"),
    (lambda: hidden_closure(3), "closed is 3; it must be a whole number from 1 to 2")])
def test_a_number_out_of_its_range_is_refused(task, sentence):
    with pytest.raises(SceneError, match=sentence):
        task()
