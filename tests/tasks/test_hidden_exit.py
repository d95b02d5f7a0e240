"""Can the hidden exit be reached, and is it revealed by nothing but a trial?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bare_scene import COAST

from drive_env import Batch, ConfigError, SceneError
from drive_env.drivers import LaneDriver
from drive_env.tasks import KNOWLEDGE, hidden_exit
from drive_env.tasks.task import REVEAL_LIMIT_S


def successes_of(task, batch):
    """(trials, worlds) bool, of the episode that every world is at the start of, which a `LaneDriver` plays."""
    driver = LaneDriver(batch)
    successes, goes_on = np.zeros((task.config.max_trials, batch.num_worlds), bool), np.ones(batch.num_worlds, bool)
    for _ in range(task.config.max_trials * (task.config.trial_steps + 1)):
        batch.step(driver.act_all())
        goes_on &= ~batch.first
        successes[batch.trial_index, np.arange(batch.num_worlds)] |= goes_on & (batch.outcome == 1)
    return successes


@pytest.mark.parametrize("exits", [2, 3, 4, 5])
def test_an_exit_is_reached_in_every_trial_of_an_episode_that_rewards_it_and_in_no_other(exits):
    task = hidden_exit(exits, trials=2, seeds=range(12))
    for choice in range(exits):
        chosen = [replace(scene, objects=replace(scene.objects, goal_m=scene.candidate_goals_m[choice:choice + 1]))
                  for scene in task.scenes]
        with Batch(chosen, num_worlds=48, config=task.config, seed=3) as batch:
            batch.reset()
            drawn = np.stack([batch.trial_state(world)["goal_m"][0] for world in range(48)])
            aims = np.stack([chosen[scene].objects.goal_m[0] for scene in batch.scene_index])
            rewarded = (drawn == aims).all(axis=1)
            successes = successes_of(task, batch)
        assert 0 < rewarded.sum() < 48
        assert (successes == rewarded).all()


def test_each_exit_is_the_goal_equally_often_and_the_draw_changes_nothing_else():
    task = hidden_exit(3, trials=1, seeds=range(4))
    with Batch(task.scenes, num_worlds=3000, config=task.config, seed=5) as batch, \
            Batch([replace(scene, candidate_goals_m=scene.candidate_goals_m[:0]) for scene in task.scenes],
                  num_worlds=3000, config=task.config, seed=5) as plain:
        batch.reset()
        plain.reset()
        assert (batch.scene_index == plain.scene_index).all()
        goals = np.stack([batch.trial_state(world)["goal_m"][0] for world in range(3000)])
        candidates = np.stack([task.scenes[scene].candidate_goals_m for scene in batch.scene_index])
        drawn = (goals[:, None] == candidates).all(axis=2).argmax(axis=1)
        counts = np.bincount(drawn + 3 * batch.scene_index, minlength=12)
    # 99.9% of chi-square with 11 degrees of freedom.
    assert ((counts - 250) ** 2 / 250).sum() < 31.3


def test_equal_actions_give_equal_observations_until_an_exit_is_reached():
    """So the first observation, and all others before a trial is decided, predict the hidden exit at chance."""
    task = hidden_exit(3, seeds=[7])
    with Batch(task.scenes, num_worlds=64, config=task.config, seed=1) as batch:
        batch.reset()
        goals = {tuple(batch.trial_state(world)["goal_m"][0]) for world in range(64)}
        assert len(goals) == 3
        straight = np.full(64, COAST)
        for _ in range(20):
            assert (batch.observations == batch.observations[0]).all()
            batch.step(straight)


def test_a_memory_of_what_a_trial_reveals_needs_one_guess():
    """Trial features do not carry it from one trial to the next."""
    scores = hidden_exit(5, trials=3, seeds=[0], reveal_s=0.5).optimal_scores
    assert scores["memory"] == pytest.approx((1 / 5, 1, 1))
    assert scores["trial_features"] == pytest.approx((1 / 5, 2 / 5, 2 / 5))
    assert scores["none"] == pytest.approx((1 / 5,) * 3)


@pytest.mark.parametrize(("reveal_s", "observed"), [(0.0, 0), (0.6, 4), (6.0, 31)])
def test_the_goal_is_observed_in_the_last_reveal_s_of_each_trial(reveal_s, observed):
    """Of the 31 observations of a trial of 30 steps of 0.2 s; with 0, not even in the last."""
    task = hidden_exit(3, trials=2, seeds=[0])
    config = task.config.replace(on_offroad="ignore", on_goal="ignore", observation={"goal_reveal_s": reveal_s})
    with Batch(task.scenes, num_worlds=1, config=config, seed=2) as batch:
        distance = batch.observation_layout()["ego/goal_distance"].slice
        batch.reset()
        shown = []
        for _ in range(2 * config.trial_steps + 1):
            shown.append(batch.observations[0, distance][0] > 0)
            batch.step([0])
    per_trial = [False] * (31 - observed) + [True] * observed
    assert shown == (per_trial + per_trial)[:len(shown)]


def goal_distances(task, share, steps, reveal_s=0.4, delay_s=0.0):
    """(observations, worlds) of `ego/goal_distance`, of 0 where the goal is hidden; and everything else observed."""
    config = task.config.replace(on_offroad="ignore", on_goal="ignore",
                                 observation={"goal_reveal_s": reveal_s, "goal_reveal_share": share,
                                              "goal_reveal_delay_s": delay_s})
    with Batch(task.scenes, num_worlds=400, config=config, seed=2) as batch:
        distance = batch.observation_layout()["ego/goal_distance"].slice.start
        batch.reset()
        observed = [batch.observations.copy()]
        for _ in range(steps):
            batch.step(np.full(400, COAST))
            observed.append(batch.observations.copy())
    observed = np.array(observed)
    return observed[:, :, distance], np.delete(observed, np.s_[distance - 4:distance + 1], axis=2)


def test_a_share_of_trials_shows_the_goal_from_the_first_observation_on():
    """In the others it is hidden until the reveal. Each trial draws anew, and changes no other draw."""
    task, share = hidden_exit(3, trials=2, seeds=range(4)), 0.3
    length = task.config.trial_steps + 1  # observations of a trial, the restart's among them
    distance, other = goal_distances(task, share, 2 * length - 1)
    plain, plain_other = goal_distances(task, 0.0, 2 * length - 1)
    everything, _ = goal_distances(task, 1.0, 2 * length - 1)
    assert (everything > 0).all() and (other == plain_other).all()
    shown = np.stack([distance[0], distance[length]]) > 0
    for trial in (0, 1):
        of_trial = np.s_[trial * length:(trial + 1) * length]
        assert (distance[of_trial] == np.where(shown[trial], everything[of_trial], plain[of_trial])).all()
    # 4 standard deviations of 800 draws, and of 400 pairs that are equal with probability 0.58.
    assert abs(shown.mean() - share) < 4 * np.sqrt(share * (1 - share) / 800)
    assert abs((shown[0] == shown[1]).mean() - 0.58) < 4 * np.sqrt(0.58 * 0.42 / 400)


def test_a_delay_shows_the_same_trials_from_a_uniformly_drawn_step_on():
    """A delay of twice the trial: half of the draws are too late."""
    task, share, steps = hidden_exit(3, trials=1, seeds=range(4)), 0.8, 29
    at_once, other = goal_distances(task, share, steps, reveal_s=0.0)
    late, late_other = goal_distances(task, share, steps, reveal_s=0.0, delay_s=12.0)
    assert (other == late_other).all() and not late[:, at_once[0] == 0].any()
    hidden_steps = (late[:, at_once[0] > 0] == 0).sum(0)
    for world, count in enumerate(hidden_steps):  # hidden up to its draw, shown from then on
        assert (late[count:, at_once[0] > 0][:, world] == at_once[count:, at_once[0] > 0][:, world]).all()
    # The steps 0 to 29 of 0.2 s; 4 standard deviations of a share of some 320 draws.
    for step in (0, 10, 20, 29):
        expected = step * 0.2 / 12.0
        found = (hidden_steps <= step).mean()
        assert abs(found - expected) <= 4 * np.sqrt(max(expected * (1 - expected), 0.003) / len(hidden_steps))


@pytest.mark.parametrize("exits", [2, 3, 4, 5])
def test_a_trial_is_too_short_for_two_exits(exits):
    """And what it reveals comes too late to change to another exit."""
    task = hidden_exit(exits)
    late_m = task.config.dynamics.max_speed_mps * REVEAL_LIMIT_S
    reach_m = task.config.dynamics.max_speed_mps * task.config.trial_steps * task.config.dt_s
    for scene in task.scenes:
        roads, radius_m = scene.roads, task.config.goal_radius_m
        edge = np.stack([roads.x_m, roads.y_m], axis=1)[roads.start[-2]:roads.start[-1]].astype(np.float64)
        start_m, goal_m = -float(scene.objects.x_m[0, 0]), np.linalg.norm(scene.candidate_goals_m, axis=1)
        # The third point after each arm is the corner of two arms; a car cannot change arms farther out than it.
        corner_m = np.linalg.norm(edge[2::3], axis=1)
        for i in range(exits - 1):
            first_m = start_m + goal_m[i] - radius_m
            assert first_m < reach_m
            between_m = goal_m[i] + goal_m[i + 1] - 2 * (corner_m[i] + radius_m)
            assert first_m + between_m > reach_m
            assert between_m > 2 * late_m  # so no place has both exits within reach


def test_bad_arguments_are_refused():
    with pytest.raises(SceneError, match="exits is 6; it must be a whole number from 2 to 5"):
        hidden_exit(6)
    with pytest.raises(SceneError, match="exits is 6; it must be a whole number from 2 to 5"):
        hidden_exit(6, seeds=[0])
    with pytest.raises(ConfigError, match="trials is 0; it must be a whole number from 1 to 5"):
        hidden_exit(trials=0)
    with pytest.raises(ConfigError, match=r"reveal_s is 1.0; it must be a number in \[0, 0.9\]"):
        hidden_exit(reveal_s=1.0)
    with pytest.raises(ConfigError, match=r"goal_reveal_share is 0.5; with .* None, .* it must be 0"):
        hidden_exit().config.replace(observation={"goal_reveal_share": 0.5, "goal_reveal_s": None})
    with pytest.raises(ConfigError, match="goal_reveal_delay_s is 2.0; with .*share 0, .* it must be 0"):
        hidden_exit().config.replace(observation={"goal_reveal_delay_s": 2.0})
    assert set(hidden_exit(2, 2, range(1)).optimal_scores) == set(KNOWLEDGE)


@pytest.mark.parametrize("kind", ["index", "float32"])
def test_a_config_without_slots_for_candidates_observes_none(kind):
    """The scene has them all the same."""
    task = hidden_exit(3, seeds=range(2))
    config = task.config.replace(observation={"type": kind, "candidates": 0})
    plain = [replace(scene, candidate_goals_m=scene.candidate_goals_m[:0]) for scene in task.scenes]
    with Batch(task.scenes, num_worlds=8, config=config) as batch, Batch(plain, num_worlds=8, config=config) as without:
        for one in (batch, without):
            one.reset()
            for _ in range(5):
                one.step(np.full(8, COAST))
        assert batch.observations.shape == without.observations.shape
        head = 7  # the features before those of the goal, which differs
        assert (batch.observations[:, :head] == without.observations[:, :head]).all()
