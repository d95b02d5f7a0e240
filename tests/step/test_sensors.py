"""Do sensors err as much as the config says, and in nothing else?"""

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL

from drive_env import Batch, ConfigError, DictObservation, DriveConfig, generate_scene
from drive_env.layout import observation_layout

TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(3)]
WIDE = {"partners": 8, "roads": 24, "view_radius_m": 1000.0}
"""Nothing is clipped: the towns are smaller than this radius."""

SMALL_NOISE = {"partner_position_noise_m": 0.5, "partner_heading_noise_rad": 0.1, "partner_speed_noise_mps": 0.7,
               "road_position_noise_m": 0.2, "road_heading_noise_rad": 0.02}


def observations_of(sensors, steps=30, **choices):
    """(steps + 1, agents, observation size): a rollout with seeded actions; and what else the batch returned."""
    choices = {"observation": WIDE, **IGNORE_ALL} | choices
    config = DriveConfig(sensors=sensors, trial_steps=60, **choices)
    rng, seen, rest = np.random.default_rng(0), [], []
    with Batch(TOWNS, num_worlds=6, config=config, threads=1, seed=4) as batch:
        batch.reset()
        seen.append(batch.float_observations())
        for _ in range(steps):
            batch.step(rng.integers(20, 71, batch.num_agents))
            seen.append(batch.float_observations())
            rest.append((batch.rewards.tobytes(), batch.code.tobytes()))
        rest.append(batch._core.block.tobytes())
    return np.array(seen), rest


@pytest.fixture(scope="module")
def exact():
    return observations_of({})


@pytest.fixture(scope="module")
def noisy():
    return observations_of(SMALL_NOISE)


def errors_of(noisy, exact, feature):
    """The errors of a feature in its unit, in the slots that are filled."""
    layout = observation_layout(DriveConfig(observation=WIDE))
    one, kind = layout[feature], layout[feature.split("/")[0] + "/kind"]
    filled = exact[..., kind.slice] > 0
    return ((noisy[..., one.slice].astype(np.float64) - exact[..., one.slice]) / one.scale)[filled]


@pytest.mark.parametrize("kind, position_m", [("partner", 0.5), ("road", 0.2)])
def test_positions_err_by_normal_numbers_of_that_deviation(noisy, exact, kind, position_m):
    ahead, left = (errors_of(noisy[0], exact[0], f"{kind}s/{axis}") / position_m for axis in "xy")
    count = len(ahead)
    assert count > 5000
    for error in (ahead, left):
        assert abs(error.mean()) < 4 / np.sqrt(count)
        assert abs((error**2).mean() - 1) < 4 * np.sqrt(2 / count)
        assert abs((error**4).mean() - 3) < 4 * np.sqrt(96 / count)
        assert abs((error[1:] * error[:-1]).mean()) < 4 / np.sqrt(count)  # of the next slot or agent
    assert abs((ahead * left).mean()) < 4 / np.sqrt(count)


def test_headings_and_speeds_err_by_normal_numbers_of_that_deviation(noisy, exact):
    form = DictObservation(DriveConfig(observation=WIDE))
    for entry, heading_rad in (("partners", 0.1), ("roads", 0.02)):
        found, true = form.split(noisy[0])[entry], form.split(exact[0])[entry]
        long = (true[..., -1] > 0) & (np.hypot(true[..., 2], true[..., 3]) > 0.5)  # a point has no direction
        turned = np.angle((found[..., 2] + 1j * found[..., 3]) / (true[..., 2] + 1j * true[..., 3] + ~long))[long]
        assert abs(turned.mean()) < 4 * heading_rad / np.sqrt(turned.size)
        assert turned.std() == pytest.approx(heading_rad, rel=4 / np.sqrt(2 * turned.size) + 1e-3)
        np.testing.assert_array_equal(found[..., 4:6], true[..., 4:6])
        np.testing.assert_array_equal(found[..., 7], true[..., 7])
    np.testing.assert_array_equal(found[..., 6], true[..., 6])  # speed limits
    speeds = errors_of(noisy[0], exact[0], "partners/speed")
    assert speeds.std() == pytest.approx(0.7, rel=4 / np.sqrt(2 * len(speeds)))


def test_own_features_err_only_where_the_config_says(noisy, exact):
    head = observation_layout(DriveConfig(observation=WIDE))["partners/x"].offset
    np.testing.assert_array_equal(noisy[0][..., :head], exact[0][..., :head])
    own, _ = observations_of({"ego_speed_noise_mps": 0.4, "goal_position_noise_m": 3.0})
    np.testing.assert_array_equal(own[..., head:], exact[0][..., head:])
    layout = observation_layout(DriveConfig(observation=WIDE))
    value = {name: (own[..., one.slice][..., 0] / one.scale, exact[0][..., one.slice][..., 0] / one.scale)
             for name, one in layout.items() if name.startswith("ego/")}
    changed = {name for name, (found, true) in value.items() if (found != true).any()}
    assert changed == {"ego/speed", *(f"ego/goal_{name}" for name in (
        "x", "y", "direction_x", "direction_y", "distance"))}
    for name, deviation in (("ego/speed", 0.4), ("ego/goal_x", 3.0), ("ego/goal_y", 3.0)):
        errors = value[name][0] - value[name][1]
        assert errors.std() == pytest.approx(deviation, rel=4 / np.sqrt(2 * errors.size))
    goal = value["ego/goal_x"][0] + 1j * value["ego/goal_y"][0]
    np.testing.assert_allclose(value["ego/goal_distance"][0], np.abs(goal), rtol=1e-4)
    np.testing.assert_allclose(value["ego/goal_direction_x"][0] + 1j * value["ego/goal_direction_y"][0],
                               goal / np.abs(goal), atol=1e-4)


def test_errors_change_observations_alone(noisy, exact):
    assert noisy[1] == exact[1]
    assert (noisy[0] != exact[0]).any() and abs(noisy[0]).max() <= 1


def records_of(observations, entry):
    return DictObservation(DriveConfig(observation=WIDE)).split(observations)[entry]


@pytest.mark.parametrize("entry, share", [("partners", 0.3), ("roads", 0.45)])
def test_dropout_leaves_each_record_out_with_its_probability(exact, entry, share):
    name = f"{entry[:-1]}_dropout"
    kept, true = records_of(observations_of({name: share})[0], entry), records_of(exact[0], entry)
    before, after = (true[..., -1] > 0).sum(), (kept[..., -1] > 0).sum()
    assert abs(after / before - (1 - share)) < 3 * np.sqrt(share * (1 - share) / before)
    # What is left is in order, in the first slots; the others are exactly zero.
    filled = kept[..., -1] > 0
    assert (filled[..., :-1] >= filled[..., 1:]).all() and (kept[~filled] == 0).all()
    for found, of in zip(kept.reshape(-1, *kept.shape[-2:])[:200], true.reshape(-1, *true.shape[-2:])):
        rest = iter(of.tolist())
        assert all(record in rest for record in found[found[:, -1] > 0].tolist())  # a subsequence
    none = records_of(observations_of({name: 1.0}, steps=2)[0], entry)
    assert (none == 0).all()


def test_one_error_does_not_change_the_draws_of_another(noisy):
    both = records_of(observations_of({**SMALL_NOISE, "partner_dropout": 0.4, "goal_position_noise_m": 1.0})[0],
                      "partners")
    full = records_of(noisy[0], "partners")
    kept = 0
    for found, of in zip(both.reshape(-1, *both.shape[-2:]), full.reshape(-1, *full.shape[-2:])):
        rest = iter(of.tolist())
        filled = found[found[:, -1] > 0].tolist()
        assert all(record in rest for record in filled)
        kept += len(filled)
    assert kept > 1000
    shared = records_of(observations_of({"road_position_noise_m": 0.2, "road_heading_noise_rad": 0.02})[0], "roads")
    np.testing.assert_array_equal(shared, records_of(noisy[0], "roads"))


def test_every_trial_of_an_episode_has_the_same_errors():
    config = DriveConfig(max_trials=2, trial_steps=6, on_collision="ignore", observation=WIDE, sensors={
        **SMALL_NOISE, "road_dropout": 0.3, "goal_position_noise_m": 1.0})
    trial = [name.startswith("trial/") for name, one in observation_layout(config).items() for _ in range(one.slots)]
    offsets = np.concatenate([np.arange(one.offset, one.offset + one.slots * one.stride, one.stride)
                              for one in observation_layout(config).values() if one.slots])
    others = np.sort(offsets[~np.array(trial)])
    with Batch(TOWNS, num_worlds=3, config=config, threads=1) as batch:
        batch.reset(seed=1)
        trials = []
        for _ in range(2):
            seen = [batch.observations[:, others].copy()]
            for _ in range(6):
                batch.step(batch.actions)
                seen.append(batch.observations[:, others].copy())
            expected = batch.restart_observations()[:, others]
            batch.step(batch.actions)
            trials.append(seen)
            if len(trials) == 1:
                np.testing.assert_array_equal(expected, batch.observations[:, others])
    np.testing.assert_array_equal(*trials)
    assert (trials[0][0] != trials[0][1]).any()


def test_index_observations_drop_what_vectors_drop():
    errors = {"partner_dropout": 0.3, "road_dropout": 0.5, "ego_speed_noise_mps": 0.5}
    floats, _ = observations_of(errors, steps=5)
    indices, _ = observations_of(errors, steps=5, observation={**WIDE, "type": "index"})
    np.testing.assert_array_equal(indices, floats)


@pytest.mark.parametrize("sensors, observation, sentence", [
    ({"partner_dropout": 0.5}, {"partners": 0}, r"sensors\.partner_dropout is 0\.5; with observation\.partners 0 it"),
    ({"road_heading_noise_rad": 1}, {"roads": 0}, r"sensors\.road_heading_noise_rad is 1; with observation\.roads 0"),
    ({"partner_speed_noise_mps": 1}, {"type": "index"}, r"speed_noise_mps is 1; with observation\.type 'index' it"),
    ({"goal_position_noise_m": 1}, {"goal_reveal_s": 0}, r"noise_m is 1; with .* the goal is never observed, it"),
    ({"partner_dropout": 1}, {"type": "image"}, r"partner_dropout is 1\.?0?; with observation\.type 'image', where"),
    ({"ego_speed_noise_mps": 1}, {"type": "image"}, r"noise_mps is 1; with observation\.type 'image', where images"),
    ({"road_dropout": 2}, {}, r"sensors\.road_dropout is 2; it must be a number in \[0, 1\]")])
def test_errors_without_effect_or_out_of_range_are_refused(sensors, observation, sentence):
    with pytest.raises(ConfigError, match=sentence):
        DriveConfig(sensors=sensors, observation=observation)
