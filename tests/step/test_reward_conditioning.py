"""Are weights drawn once per agent and episode, observed, and those that the reward has?"""

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL, batch_of, play_randomly

from drive_env import REWARD_TERMS, Batch, ConfigError, DriveConfig, RewardRanges, generate_scene

SCENES = [generate_scene("intersection", seed=seed, agents=6) for seed in range(3)]
RANGES = {"collision": (-3.0, 0.0), "progress_per_m": (0.0, 0.5), "discomfort_per_s": (-0.1, -0.02)}
COLUMNS = [REWARD_TERMS.index(name) for name in ("collision", "progress", "discomfort")]


def make(num_worlds=4, ranges=RANGES, **choices):
    config = {**IGNORE_ALL, "trial_steps": 12, "max_trials": 2, "reward_terms": True, **choices}
    return batch_of(SCENES, num_worlds=num_worlds, reward_ranges=ranges, **config)


def features(batch):
    return [batch.observation_layout()[f"reward/{name}"].offset for name in ("collision", "progress", "discomfort")]


def test_the_reward_is_the_sum_of_the_facts_with_the_agent_s_own_weights():
    batch = make()
    for _ in play_randomly(batch, 60):
        assert batch.rewards == pytest.approx((batch.reward_terms * batch.reward_weights).sum(axis=1), abs=1e-5)
    assert np.ptp(batch.reward_weights[:, COLUMNS], axis=0).min() > 0


def test_weights_hold_for_an_episode_with_all_its_trials():
    batch = make()
    weights, opened = batch.reward_weights, 0
    for _ in play_randomly(batch, 80):
        new = batch.first
        assert (batch.reward_weights[~new] == weights[~new]).all()
        assert (batch.reward_weights[new][:, COLUMNS] != weights[new][:, COLUMNS]).all()
        weights, opened = batch.reward_weights, opened + new.any()
    assert opened == 3


def test_weights_are_uniform_in_their_ranges_and_those_without_one_are_of_the_config():
    batch = make(num_worlds=400, reward={"goal": 2.0})
    weights = batch.reward_weights
    for column, (low, high) in zip(COLUMNS, RANGES.values()):
        shares = np.sort((weights[:, column] - low) / (high - low))
        assert 0.0 <= shares[0] and shares[-1] <= 1.0
        # the Kolmogorov-Smirnov distance, which 2400 uniform values exceed once in a thousand times
        assert np.abs(shares - (np.arange(2400) + 0.5) / 2400).max() < 1.95 / np.sqrt(2400)
    assert np.abs(np.corrcoef(weights[:, COLUMNS].T) - np.eye(3)).max() < 0.08
    assert (weights[:, REWARD_TERMS.index("goal")] == 2.0).all() and (
        weights[:, REWARD_TERMS.index("offroad")] == np.float32(-0.2)).all()


def test_the_stream_of_a_weight_is_its_own():
    """Another range, hidden variation or a longer batch changes no weight; weights change neither scene nor world."""
    base, alone = make(), make(ranges={"collision": RANGES["collision"]})
    hidden, longer = make(hidden={"steering_gain": (0.5, 1.5)}), make(num_worlds=9)
    plain = make(ranges={}, hidden={"steering_gain": (0.5, 1.5)})
    for _ in zip(*(play_randomly(batch, 60) for batch in (base, alone, hidden, plain, longer))):
        assert (base.reward_weights == hidden.reward_weights).all()
        assert (base.reward_weights[:, COLUMNS[0]] == alone.reward_weights[:, COLUMNS[0]]).all()
        assert (hidden.hidden["steering_gain"] == plain.hidden["steering_gain"]).all()
        assert (base.scene_index == alone.scene_index).all() and (hidden.reward_terms == plain.reward_terms).all()
        assert (base.reward_weights == longer.reward_weights[: base.num_agents]).all()


def test_each_weight_is_observed_by_its_position_in_the_range():
    batch = make()
    for _ in play_randomly(batch, 30):
        weights = batch.reward_weights[:, COLUMNS]
        for place, (low, high), weight in zip(features(batch), RANGES.values(), weights.T):
            on_map = ~batch.removed
            assert batch.observations[on_map, place] == pytest.approx(2 * (weight[on_map] - low) / (high - low) - 1,
                                                                      abs=1e-5)
    indexed = make(observation={"type": "index", "partners": 8, "roads": 8})
    assert (indexed.float_observations()[:, features(indexed)] == make().observations[:, features(indexed)]).all()
    assert not [name for name in make(ranges={}).observation_layout() if name.startswith("reward/")]


def test_without_draws_the_weights_are_those_of_the_config_and_are_observed_alike():
    fixed = {"collision": -1.5, "progress_per_m": 0.5, "discomfort_per_s": -1.0}  # middle, end, and beyond the range
    batch, plain = make(draw_reward_weights=False, reward=fixed), make(ranges={}, reward=fixed)
    assert batch.observation_layout() == make().observation_layout()
    assert (batch.observations[:, features(batch)] == [0.0, 1.0, -1.0]).all()
    for _ in zip(play_randomly(batch, 40), play_randomly(plain, 40)):
        assert (batch.rewards == plain.rewards).all() and (batch.reward_weights == plain.reward_weights).all()
    assert batch.metrics() == plain.metrics()


def test_a_range_of_no_width_is_its_value():
    batch, plain = make(ranges={"collision": (-2.0, -2.0)}), make(ranges={}, reward={"collision": -2.0})
    assert (batch.observations[:, batch.observation_layout()["reward/collision"].offset] == 0.0).all()
    for _ in zip(play_randomly(batch, 40), play_randomly(plain, 40)):
        assert (batch.rewards == plain.rewards).all()


def test_a_heavier_penalty_never_raises_the_reward_of_the_same_trajectory():
    light, heavy = (make(ranges={"offroad": ends}, trial_steps=80) for ends in ((-1.0, -0.5), (-3.0, -1.0)))
    lower = 0
    for _ in zip(play_randomly(light, 80), play_randomly(heavy, 80)):
        assert (heavy.rewards <= light.rewards).all()
        lower += (heavy.rewards < light.rewards).sum()
    assert lower > 0


def test_a_part_has_the_weights_of_its_worlds():
    batch = Batch(SCENES, num_worlds=4, parts=2, config={"reward_ranges": RANGES})
    batch.reset()
    assert (batch.parts[1].reward_weights == batch.reward_weights[batch.parts[1].agent_slice]).all()


def test_a_range_is_a_pair_of_numbers_the_lower_one_first():
    assert DriveConfig(reward_ranges={"goal": [0, 2]}).reward_ranges == RewardRanges(goal=(0, 2))
    with pytest.raises(ConfigError, match=r"^reward_ranges.collision is \(1, -1\); it must be None .does not vary."):
        RewardRanges(collision=(1, -1))
    with pytest.raises(ConfigError, match="^RewardRanges has no field 'colision'; did you mean collision"):
        DriveConfig(reward_ranges={"colision": (0, 1)})
