"""Do agents fail as often and as long as the config says, and how do they then drive?"""

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL

from drive_env import Batch, ConfigError, DictObservation, DriveConfig, generate_scene

TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(2)]
KINDS = {"partner_blindness": "blind_steps", "phantom_braking": "braking_steps"}


def made(disturbances, num_worlds=4, **choices):
    config = DriveConfig(disturbances=disturbances, **{
        "trial_steps": 400, "observation": {"partners": 4, "roads": 0}, **IGNORE_ALL, **choices})
    batch = Batch(TOWNS, num_worlds=num_worlds, config=config, threads=1, seed=2)
    batch.reset()
    return batch


def steps_left(batch, kind):
    """(agents,): steps for which the disturbance of that kind is still on."""
    return batch._core.state[KINDS[kind]].reshape(-1).copy()


@pytest.mark.parametrize("kind", KINDS)
def test_agents_can_have_one_with_half_the_probability_of_the_config(kind):
    worlds, agents, most = 400, 6, 0.4
    with made({kind: most, "trigger_probability": 1.0}, worlds, trial_steps=2) as batch:
        can_have = steps_left(batch, kind).reshape(worlds, agents) > 0
    # Uniform p from 0 to `most`: the variance of a world's share is most**2 / 12 + E[p (1 - p)] / agents.
    deviation = np.sqrt((most**2 / 12 + (most / 2 - most**2 / 3) / agents) / worlds)
    assert abs(can_have.mean() - most / 2) < 3 * deviation


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("duration_s, steps", [(1.0, 10), (3.0, 30), (0.04, 1)])
def test_it_begins_with_its_probability_for_those_that_can_have_it_and_lasts_its_time(kind, duration_s, steps):
    with made({kind: 1.0, "trigger_probability": 1.0}, 16) as batch:
        can_have = steps_left(batch, kind) > 0
    with made({kind: 1.0, "trigger_probability": 0.03, "duration_s": duration_s}, 16) as batch:
        counts = [steps_left(batch, kind)]
        for _ in range(300):
            batch.step(batch.actions)
            counts.append(steps_left(batch, kind))
    before, after = np.array(counts[:-1]), np.array(counts[1:])
    begins = (before <= 1) & (after > 0)  # also one right after another
    assert set(after[begins]) == {steps} and (after[before > 1] == before[before > 1] - 1).all()
    assert not begins[:, ~can_have].any() and 0 < can_have.sum() < len(can_have)
    at_risk = (before[:, can_have] <= 1).sum()
    assert abs(begins[:, can_have].sum() / at_risk - 0.03) < 3 * np.sqrt(0.03 * 0.97 / at_risk)


def test_steps_under_a_disturbance_are_invalid_and_not_rewarded():
    seen = 0
    with made({"partner_blindness": 1.0, "phantom_braking": 1.0, "duration_s": 0.5}, max_trials=2, trial_steps=40,
              on_goal="remove", on_collision="stop", reward={"time_per_s": -1.0}) as batch:
        for _ in range(160):
            disturbed = np.any([steps_left(batch, kind) > 0 for kind in KINDS], axis=0)
            waits, restarts = batch.waits.copy(), batch.trial_ended.copy()
            batch.step(batch.actions)
            np.testing.assert_array_equal(batch.invalid_step, waits | (disturbed & ~restarts))
            assert (batch.rewards[batch.invalid_step] == 0).all() and (batch.rewards[~batch.invalid_step] != 0).all()
            assert not batch.observations[batch.removed].any()
            seen += (disturbed & ~waits).sum()
    assert seen > 100


def test_an_agent_that_is_blind_observes_no_vehicle_and_nothing_else_changes():
    clear, blind, hidden = made({}), made({"partner_blindness": 1.0}), 0
    form = DictObservation(clear.config)
    for _ in range(80):
        parts, expected = form.split(blind.observations), form.split(clear.observations)
        is_blind = steps_left(blind, "partner_blindness") > 0
        assert not parts["partners"][is_blind].any()
        np.testing.assert_array_equal(parts["partners"][~is_blind], expected["partners"][~is_blind])
        np.testing.assert_array_equal(parts["ego"], expected["ego"])
        hidden += expected["partners_mask"][is_blind].sum()
        for batch in (clear, blind):
            batch.step(batch.actions)
    assert hidden > 100


def test_the_critic_of_a_blind_agent_observes_no_goals_of_partners():
    with made({"partner_blindness": 1.0, "trigger_probability": 1.0}, critic_observations=True) as batch:
        is_blind = steps_left(batch, "partner_blindness") > 0
        goals = batch.critic_observations[:, batch.critic_layout()["partner_goals/exists"].slice]
        assert not goals[is_blind].any() and goals[~is_blind].any() and is_blind.any()


@pytest.mark.parametrize("model", ["bicycle", "classic", "invertible_bicycle", "grip", "jerk", "single_track"])
def test_an_agent_that_brakes_comes_to_rest_whatever_its_actions_are(model):
    with made({"phantom_braking": 1.0, "trigger_probability": 1.0, "duration_s": 40.0}, 2, action_type="continuous",
              dynamics={"model": model, "min_speed_mps": -3.0}) as batch:
        brakes = steps_left(batch, "phantom_braking") > 0
        speeds = [batch.observations[:, 1].copy()]
        for _ in range(150):
            batch.actions[:] = (1.0, 0.7)
            batch.step(batch.actions)
            speeds.append(batch.observations[:, 1].copy())
    speeds = np.array(speeds)
    assert 0 < brakes.sum() < len(brakes)
    assert (speeds[1:, brakes] <= speeds[:-1, brakes] + 1e-6).all() and (abs(speeds[-1, brakes]) < 1e-4).all()
    assert (speeds[-1, ~brakes] > 0.1).all()


def test_braking_has_the_full_deceleration_and_keeps_the_wheels():
    with made({"phantom_braking": 1.0, "duration_s": 2.0}, action_type="continuous") as batch:
        checked = 0
        for _ in range(100):
            brakes = steps_left(batch, "phantom_braking") > 0
            before = batch.observations.copy()
            batch.actions[:] = (1.0, 0.5)
            batch.step(batch.actions)
            fast = brakes & (before[:, 1] * 40.0 > 1.0)
            np.testing.assert_allclose((batch.observations - before)[fast, 1] * 40.0, -0.4, atol=1e-4)
            np.testing.assert_array_equal(batch.observations[fast, 4], before[fast, 4])
            checked += fast.sum()
    assert checked > 50


def test_every_trial_of_an_episode_has_the_same_disturbances():
    with made({"partner_blindness": 1.0, "phantom_braking": 1.0}, max_trials=2, trial_steps=30) as batch:
        trials = []
        for _ in range(2):
            seen = []
            for _ in range(31):
                seen.append([steps_left(batch, kind) for kind in KINDS])
                batch.step(batch.actions)
            trials.append(seen)
    np.testing.assert_array_equal(*trials)
    assert np.any(trials)


@pytest.mark.parametrize("choices, sentence", [
    ({"disturbances": {"partner_blindness": 0.1}, "observation": {"partners": 0}}, r"blindness is 0\.1; with"),
    ({"disturbances": {"phantom_braking": 0.1}, "dynamics": "state", "action_type": "continuous"}, "has no brake"),
    ({"disturbances": {"duration_s": 1.0}}, r"duration_s is 1\.0; without a disturbance it must be 3\.0"),
    ({"disturbances": {"phantom_braking": 2}}, r"phantom_braking is 2; it must be a number in \[0, 1\]")])
def test_what_has_no_effect_or_is_out_of_range_is_refused(choices, sentence):
    with pytest.raises(ConfigError, match=sentence):
        DriveConfig(**choices)
