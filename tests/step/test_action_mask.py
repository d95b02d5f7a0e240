"""Which discrete actions are masked? Those whose acceleration leaves the speed of the next step as it is."""

import numpy as np
import pytest
from gymnasium.spaces import MultiDiscrete
from pettingzoo.test import parallel_api_test
from scripted_scenes import ACTION_COUNT, IGNORE_ALL, batch_of, drive, driver, stage

from drive_env import Batch, ConfigError, DriveConfig, generate_scene, parallel_env
from drive_env.action_space import action_dimensions, bins_of_index
from drive_env.api.gym import DriveEnv, DriveVectorEnv

LIMITS = {"max_speed_mps": 6.0, "min_speed_mps": -2.0}
SPEEDS_MPS = [-2.0, -1.9, 0.0, 3.0, 5.9, 6.0]


def far_apart(speeds_mps=SPEEDS_MPS):
    return stage([driver(0.0, 100.0 * i, speed_mps=speed) for i, speed in enumerate(speeds_mps)])


def masked_bins(batch):
    """(R, accelerations) a copy of the flags of each acceleration; all of its actions have the same."""
    first, *others = [dimension.bins for dimension in action_dimensions(batch.config)]
    if batch.config.action_type == "multi_discrete":
        assert batch.action_mask[:, first:].all() and batch.action_mask.shape[1] == first + sum(others)
        return batch.action_mask[:, :first].copy()
    flags = batch.action_mask.reshape(batch.num_agents, first, -1)
    assert (flags == flags[:, :, :1]).all()
    return flags[:, :, 0].copy()


@pytest.mark.parametrize("action_type", ["discrete", "multi_discrete"])
@pytest.mark.parametrize("model", ["bicycle", "classic", "grip", "invertible_bicycle", "single_track"])
def test_a_masked_acceleration_changes_no_speed_and_a_valid_one_does(model, action_type):
    """Every acceleration is tried from every speed."""
    bins = action_dimensions(DriveConfig(dynamics=model))[0].bins
    steering = action_dimensions(DriveConfig(dynamics=model))[1].bins // 2
    batch = batch_of(far_apart(), dynamics={"model": model, **LIMITS}, action_type=action_type, action_mask=True,
                     **IGNORE_ALL)
    for acceleration in range(bins):
        batch.reset()
        valid, before = masked_bins(batch)[:, acceleration], batch.vehicles()["speed_mps"]
        action = (acceleration, steering)
        batch.step(np.tile(action if action_type == "multi_discrete" else action[0] * (2 * steering + 1) + steering,
                           (6, 1) if action_type == "multi_discrete" else 6))
        changed = batch.vehicles()["speed_mps"] != before
        assert (changed == (valid & (acceleration != bins // 2))).all()
        assert valid.all() == (acceleration == bins // 2)


def test_masks_follow_the_speed_and_reports_have_the_share_of_valid_actions():
    """From rest, at full throttle, the limit of 1.9 m/s is reached after five steps; from then on 4 of 7 are valid."""
    config = DriveConfig(dynamics={"max_speed_mps": 1.9}, action_mask=True, trial_steps=8)
    batch = Batch(far_apart([0.0]), config=config, trial_records=4)
    batch.reset()
    valid = [masked_bins(batch).sum()]
    for _ in range(8):
        drive(batch, 1, 6)
        valid.append(masked_bins(batch).sum())
    # the first mask excludes braking at rest; the last one belongs to the restart, whatever its action
    assert valid == [4, 7, 7, 7, 7, 4, 4, 4, 7]
    share = np.mean(valid[:8]) / 7
    assert batch.metrics()["valid_action_share"].value == pytest.approx(share)
    assert batch.trial_records()["valid_action_share"] == pytest.approx([share])
    assert "valid_action_share" not in Batch(far_apart()).metrics()


def test_an_invalid_action_is_executed_like_any_other():
    scene = far_apart()
    plain, masked = (batch_of(scene, dynamics=LIMITS, action_mask=on, **IGNORE_ALL) for on in (False, True))
    rng = np.random.default_rng(0)
    met = 0
    for _ in range(60):
        actions = rng.integers(0, ACTION_COUNT, 6)
        met += (~masked.action_mask[np.arange(6), actions]).sum()
        plain.step(actions), masked.step(actions)
        for name, array in plain._core.arrays.items():
            assert (array == masked._core.arrays[name]).all(), name
    assert met > 10


def test_agents_that_wait_may_do_anything():
    scene = stage([driver(speed_mps=10.0, goal_m=(5.0, 0.0)), driver(0.0, 40.0)])
    batch = batch_of(scene, action_mask=True)
    drive(batch, 10)
    assert batch.removed[0] and batch.action_mask[0].all() and not batch.action_mask[1].all()


@pytest.mark.parametrize("action_type", ["discrete", "multi_discrete"])
def test_infos_have_masks_that_spaces_sample_with(action_type):
    scene = generate_scene("intersection", agents=3)
    config = {"action_mask": True, "action_type": action_type, "dynamics": {"max_speed_mps": 3.0}, "trial_steps": 30}
    parallel_api_test(parallel_env(scenes=scene, config=config), num_cycles=60)
    env = parallel_env(scenes=scene, config=config)
    _, infos = env.reset(seed=1)
    for _ in range(15):
        actions = {agent: env.action_space(agent).sample(info["action_mask"]) for agent, info in infos.items()}
        masks = {f"agent_{index}": row for index, row in enumerate(env.batch.action_mask.copy())}
        for agent, action in actions.items():
            bins = action if isinstance(env.action_space(agent), MultiDiscrete) else bins_of_index(
                action, action_dimensions(env.batch.config))
            assert masks[agent][bins[0] if action_type == "multi_discrete" else action]
        infos = env.step(actions)[-1]

    one, many = DriveEnv(scene, config), DriveVectorEnv(2, scene, config)
    _, info = one.reset(seed=4)
    assert one.action_space.sample(info["action_mask"]) in one.action_space
    infos = many.reset(seed=4)[1]
    assert (infos["action_mask"] == many.action_masks()).all() and many.action_masks().shape[0] == 2
    assert (one.action_masks() == many.action_masks()[0]).all() and one.action_masks().dtype == np.bool_


@pytest.mark.parametrize("choices, found", [
    ({"action_type": "continuous"}, "with action_type 'continuous' it must be False"),
    ({"dynamics": "jerk"}, "for dynamics.model 'jerk', whose actions set no acceleration, it must be False"),
    ({"hidden": {"action_delay_steps": (0, 2)}}, "with hidden.action_delay_steps it must be False")])
def test_a_mask_is_refused_where_it_has_no_meaning(choices, found):
    with pytest.raises(ConfigError, match=f"action_mask is True; {found}"):
        DriveConfig(action_mask=True, **choices)


def test_without_the_option_the_error_names_it():
    env = DriveEnv("intersection")
    env.reset(seed=0)
    with pytest.raises(AttributeError, match="action_mask True only"):
        env.action_masks()
