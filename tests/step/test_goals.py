"""Which goals does an agent have with on_goal="next"? One after another along the lanes."""

from dataclasses import replace

import numpy as np
import pytest
from scripted_scenes import COAST_ACTION, batch_of, driver, stage

from drive_env import Batch, ConfigError, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver
from drive_env.scenes import LaneGraph

NEXT = {"on_goal": "next", "on_offroad": "ignore"}


def straight(lengths_m, successors=None, **options):
    """A batch of one car at 10 m/s on lanes in a row along x, each leading to the next, with the first goal at 10 m."""
    ends_m = np.cumsum([0.0, *lengths_m])
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(10.0, 0.0))],
                  [("lane", [(start, 0.0), (end, 0.0)]) for start, end in zip(ends_m, ends_m[1:])])
    links = [[i + 1] for i in range(len(lengths_m) - 1)] + [[]] if successors is None else successors
    lanes = LaneGraph(np.cumsum([0, *map(len, links)]).astype(np.int32), np.array(sum(links, []), np.int32))
    return batch_of(replace(scene, lanes=lanes), **{**NEXT, **options})


def coast(batch, steps):
    """The goal's x after every step, and whether a goal was reached in it."""
    found = []
    for _ in range(steps):
        batch.step([COAST_ACTION])
        found.append((batch.trial_state()["goal_m"][0, 0], batch.step_events()["goal"][0]))
    return np.array(found).T


@pytest.mark.parametrize("lengths_m", [[200.0], [30.0, 1.0, 0.5, 60.0, 108.5]])
def test_each_goal_is_one_spacing_further_along_the_lanes(lengths_m):
    """Wherever these begin and end. A goal is reached when the car comes within 2.5 m."""
    batch = straight(lengths_m, goal_spacing_m=25.0, trial_steps=150, goal_radius_m=2.5)
    goal_m, reached = coast(batch, 150)
    steps = np.flatnonzero(reached)
    assert goal_m[steps] == pytest.approx([35.0, 60.0, 85.0, 110.0, 135.0, 160.0], abs=1e-3)
    assert (np.diff(steps) == 25).all() and batch.trial_state()["goals_reached"][0] == 6
    assert batch.rewards[0] == 0 and batch.trial_ended[0]


def test_an_agent_whose_lanes_end_has_finished():
    batch = straight([60.0], goal_spacing_m=25.0, trial_steps=150)
    _, reached = coast(batch, 58)
    assert reached.sum() == 3 and reached[-1] and batch.removed[0]
    assert batch.outcome[0] == 1 and batch.terminations[0] and batch.trial_ended[0]


@pytest.mark.parametrize(("length_m", "reached"), [(200.0, [8, 33, 58]), (61.0, [8, 33, 58]), (40.0, [8, 33])])
def test_an_agent_has_finished_after_the_most_goals_or_where_lanes_end_before(length_m, reached):
    """A car at 10 m/s that comes within 2.5 m of goals at 10, 35 and 60 m. All goals that it has make a score."""
    batch = straight([length_m], goal_spacing_m=25.0, trial_steps=100, max_goals=3, goal_radius_m=2.5)
    _, onsets = coast(batch, reached[-1])
    assert (np.flatnonzero(onsets) + 1).tolist() == reached and batch.terminations[0] and batch.outcome[0] == 1
    assert batch.metrics()["score"].value == 1 and batch.metrics()["goals"].value == len(reached)


def test_a_part_of_a_limited_number_of_goals_makes_no_score():
    batch = straight([200.0], goal_spacing_m=25.0, trial_steps=50, max_goals=3)
    coast(batch, 50)
    report = batch.metrics()
    assert (report["score"].value, report["goal"].value, report["goals"].value) == (0, 1, 2)
    assert report["timeout"].value == 1


def test_a_goal_on_no_lane_is_the_last():
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(10.0, 0.0))], [("lane", [(0.0, 6.0), (90.0, 6.0)])])
    batch = batch_of(scene, **NEXT)
    _, reached = coast(batch, 8)
    assert reached[-1] and batch.terminations[0]


def test_lanes_without_length_that_lead_to_one_another_end():
    batch = straight([20.0, 0.001, 0.001], [[1], [2], [1]], goal_spacing_m=25.0)
    _, reached = coast(batch, 8)
    assert reached[-1] and batch.terminations[0]


def drawn_goals(seed, spacing_m=15.0, trials=2):
    """The second goals of 60 worlds with a fork after 20 m, in every trial, (trials, worlds, 2)."""
    lanes = [[(0.0, 0.0), (20.0, 0.0)], [(20.0, 0.0), (60.0, 40.0)], [(20.0, 0.0), (60.0, -40.0)]]
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(10.0, 0.0))], [("lane", lane) for lane in lanes])
    scene = replace(scene, lanes=LaneGraph(np.int32([0, 2, 2, 2]), np.int32([1, 2])))
    config = DriveConfig(**NEXT, goal_spacing_m=spacing_m, trial_steps=12, max_trials=trials)
    found = []
    with Batch([scene], num_worlds=60, config=config, seed=seed) as batch:
        batch.reset()
        for _ in range(trials):
            for _ in range(12):
                batch.step(np.full(60, COAST_ACTION))
            found.append([batch.trial_state(world)["goal_m"][0] for world in range(60)])
            batch.step(np.full(60, COAST_ACTION))
    return np.array(found)


def test_each_lane_of_a_fork_is_drawn_by_the_episode_and_the_same_in_all_its_trials():
    goals = drawn_goals(seed=4)
    assert (goals[0] == goals[1]).all() and not (goals[0] == drawn_goals(seed=5)[0]).all()
    side = np.sign(goals[0, :, 1])
    assert np.abs(goals[0] - np.stack([np.full(60, 20 + 5 / 2**0.5), side * 5 / 2**0.5], 1)).max() < 1e-4
    assert 15 < (side > 0).sum() < 45  # 3.9 standard deviations of 60 draws


def test_nothing_but_goals_changes():
    """With the same actions, agents observe the same but for goals and rewards, and their goals are the same until the
    first is reached."""
    scene, plays, played = generate_scene("town", seed=1, agents=6), [], []
    for on_goal in ("ignore", "next"):
        config = DriveConfig(on_goal=on_goal, on_collision="ignore", on_offroad="ignore", observation={"roads": 8})
        with Batch([scene], config=config) as batch:
            batch.reset()
            layout = batch.observation_layout()
            driver = LaneDriver(batch) if on_goal == "ignore" else None
            goal, reward = layout["ego/goal_x"].offset, layout["trial/reward"].offset
            steps = []
            for step in range(150):
                if driver is not None:
                    played.append(driver.act_all())
                batch.step(played[step])
                state = batch.trial_state()
                steps.append((np.delete(batch.observations, [*range(goal, goal + 5), reward], axis=1),
                              np.where(state["had_goal"][:, None], 0, state["goal_m"])))
            plays.append([np.array(values) for values in zip(*steps)])
            assert state["had_goal"].any()
    assert all((one == other).all() for one, other in zip(*plays))


def test_rates_count_every_goal():
    batch = straight([200.0], goal_spacing_m=25.0, trial_steps=150, detailed_metrics=True)
    coast(batch, 150)
    report = batch.metrics()
    assert report["goals"].value == 6 and report["goal"].value == 1 == report["score"].value
    assert report["goals_per_km"].value == pytest.approx(6 / 0.15, rel=1e-4)
    assert report["time_per_goal_s"].value == pytest.approx(15.0 / 6, rel=1e-5)


@pytest.mark.parametrize(("offset_m", "reached"), [(1.9, True), (2.1, False)])
def test_no_step_is_so_long_that_it_passes_a_goal_within_its_radius(offset_m, reached):
    """At 40 m/s, 4 m a step."""
    scene = stage([driver(0.0, offset_m, speed_mps=40.0, goal_m=(10.0, 0.0))], [("lane", [(0.0, 0.0), (90.0, 0.0)])])
    _, onsets = coast(batch_of(scene, **NEXT), 5)
    assert onsets.any() == reached


def test_critics_observe_the_present_goal():
    batch = straight([200.0], goal_spacing_m=25.0, trial_steps=150, critic_observations=True)
    feature, seen_m = batch.critic_layout()["critic/goal_x"], []
    for _ in range(60):
        batch.step([COAST_ACTION])
        ahead_m = batch.critic_observations[0, feature.slice][0] / feature.scale
        seen_m.append(batch.vehicles()["x_m"][0] + ahead_m - batch.trial_state()["goal_m"][0, 0])
    assert np.abs(seen_m).max() < 1e-3 and batch.trial_state()["goals_reached"][0] == 3


def test_co_players_get_goals_of_their_own_and_masks_do_not_depend_on_goals():
    """Of three cars on parallel lanes, one is a co-player: all reach the same goals, and two reports share them out."""
    lanes = [[(0.0, 20.0 * i), (200.0, 20.0 * i)] for i in range(3)]
    scene = stage([driver(0.0, 20.0 * i, speed_mps=10.0, goal_m=(10.0, 20.0 * i)) for i in range(3)],
                  [("lane", lane) for lane in lanes])
    masks = []
    for choices in ({"on_goal": "ignore"}, {"on_goal": "next", "goal_spacing_m": 25.0}):
        batch = batch_of(scene, coplayers=1, action_mask=True, dynamics={"max_speed_mps": 10.0}, trial_steps=60,
                         on_offroad="ignore", **choices)
        masks.append([])
        for _ in range(60):
            batch.step(np.full(3, COAST_ACTION))
            masks[-1].append(batch.action_mask.copy())
    assert (np.array(masks[0]) == masks[1]).all() and not np.all(masks)
    assert batch.trial_state()["goals_reached"].tolist() == [3, 3, 3]
    assert batch.trial_state()["goal_m"][:, 1].tolist() == [0.0, 20.0, 40.0]
    assert [(batch.metrics(of=of)["goals"].value, batch.metrics(of=of)["goals"].n) for of in ("ego", "coplayer")] == [
        (3.0, 2), (3.0, 1)]


def observed_goals(batch):
    """(goals, 5): x_m and y_m in the scene's frame, direction x and y likewise, and number, of the only agent."""
    layout, vehicle = batch.observation_layout(), batch.vehicles()
    names = ("x", "y", "direction_x", "direction_y", "number", "kind")
    found = np.stack([batch.observations[0, layout[f"goals/{name}"].slice] / layout[f"goals/{name}"].scale
                      for name in names], axis=1)
    found = found[found[:, 5] > 0]
    cos, sin = np.cos(vehicle["heading_rad"][0]), np.sin(vehicle["heading_rad"][0])
    for first in (0, 2):
        found[:, first : first + 2] = found[:, first : first + 2] @ [[cos, sin], [-sin, cos]]
    found[:, :2] += [vehicle["x_m"][0], vehicle["y_m"][0]]
    return found[:, :5]


def test_the_observed_goals_are_those_that_the_agent_gets_later():
    """On lanes with forks: observed in the first step, and reached one after the other."""
    lanes = [[(0.0, 0.0), (20.0, 0.0)], [(20.0, 0.0), (50.0, 1.0)], [(20.0, 0.0), (50.0, -1.0)],
             [(50.0, 1.0), (90.0, 1.0)], [(50.0, -1.0), (90.0, -1.0)]]
    scene = stage([driver(0.0, speed_mps=10.0, heading_rad=0.01, goal_m=(10.0, 0.0))],
                  [("lane", lane) for lane in lanes])
    scene = replace(scene, lanes=LaneGraph(np.int32([0, 2, 3, 4, 4, 4]), np.int32([1, 2, 3, 4])))
    batch = batch_of(scene, **NEXT, goal_spacing_m=25.0, goal_radius_m=6.0, observation={"goals": 5})
    seen, got = observed_goals(batch), [batch.trial_state()["goal_m"][0]]
    assert seen[:, 4].tolist() == pytest.approx([0, 1, 2, 3], abs=1e-5)  # a fifth goal would be beyond the lanes
    while not batch.trial_ended[0]:
        batch.step([COAST_ACTION])
        if batch.step_events()["goal"][0] and not batch.removed[0]:
            got.append(batch.trial_state()["goal_m"][0])
            assert observed_goals(batch)[:, :4] == pytest.approx(seen[len(got) - 1 :, :4], abs=1e-3)
    assert np.array(got) == pytest.approx(seen[:, :2], abs=1e-3) and len(got) == 4
    side = np.sign(got[1][1])
    assert seen[:, 2:4] == pytest.approx(np.array(
        [(1.0, 0.0), *[np.array([30.0, side]) / np.hypot(30.0, 1.0)], (1.0, 0.0), (1.0, 0.0)]), abs=1e-4)


def test_no_more_goals_are_observed_than_the_agent_has_left():
    batch = straight([200.0], goal_spacing_m=25.0, max_goals=3, observation={"goals": 4})
    counts = [len(observed_goals(batch))]
    for _ in range(40):
        batch.step([COAST_ACTION])
        counts.append(len(observed_goals(batch)))
    assert sorted(set(counts)) == [1, 2, 3] and counts == sorted(counts, reverse=True)


def test_hidden_goals_are_in_no_slot_and_noise_moves_all_goals_alike():
    hidden = straight([200.0], goal_spacing_m=25.0, observation={"goals": 3, "goal_reveal_s": 0.0})
    assert len(observed_goals(hidden)) == 0
    noisy = straight([200.0], goal_spacing_m=25.0, observation={"goals": 3}, sensors={"goal_position_noise_m": 1.0})
    exact = straight([200.0], goal_spacing_m=25.0, observation={"goals": 3})
    error_m = (observed_goals(noisy) - observed_goals(exact))[:, :2]
    layout = noisy.observation_layout()
    own_m = [(noisy.observations - exact.observations)[0, layout[f"ego/goal_{axis}"].offset]
             / layout[f"ego/goal_{axis}"].scale for axis in "xy"]
    assert np.abs(error_m).min() > 1e-3 and error_m == pytest.approx(np.tile(own_m, (3, 1)), abs=1e-4)


def test_goals_are_refused_where_observations_cannot_have_them():
    with pytest.raises(ConfigError, match="observation.goals is 2; with on_goal 'stop' it must be 0 or 1"):
        DriveConfig(on_goal="stop", observation={"goals": 2})
    with pytest.raises(ConfigError, match="observation.goals is 1; with observation.type 'index' it must be 0"):
        DriveConfig(observation={"goals": 1, "type": "index"})


def test_a_reward_for_the_route_to_the_first_goal_is_refused():
    for choices, text in (({"reward": {"route_progress_per_m": 0.1}}, "reward.route_progress_per_m is 0.1; .* be 0"),
                          ({"reward_ranges": {"route_progress_per_m": (0.0, 0.1)}}, "reward_ranges.* must be None")):
        with pytest.raises(ConfigError, match=text):
            DriveConfig(on_goal="next", **choices)


@pytest.mark.parametrize(("name", "value", "default"), [("goal_spacing_m", 30.0, "40"), ("max_goals", 3, "None")])
def test_fields_of_next_goals_are_refused_without_them(name, value, default):
    with pytest.raises(ConfigError, match=f"{name} is {value}; with on_goal 'stop' it must be {default}"):
        DriveConfig(on_goal="stop", **{name: value})
