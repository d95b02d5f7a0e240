"""Do dict observations hold what the flat vectors hold, by name, in every API?"""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test

from drive_env import Batch, ConfigError, DictObservation, DriveConfig, aec_env, generate_scene, parallel_env
from drive_env.api.gym import DriveEnv, DriveVectorEnv

TOWNS = [generate_scene("town", seed=seed, agents=6, lights=True) for seed in range(2)]
SMALL = DriveConfig(trial_steps=8, max_trials=2, observation={"partners": 3, "roads": 5, "view_radius_m": 60.0})
SETS = ("partners", "roads", "candidates", "controls", "goals", "route")
CONFIGS = {
    "small": SMALL,
    "half": SMALL.replace(observation={"type": "float16"}),
    "all": SMALL.replace(hidden={"steering_gain": (0.5, 1.5)}, reward_ranges={"goal": (0.0, 1.0)},
                         observation={"reveal_hidden": True, "candidates": 3, "controls": 3, "goals": 2, "route": 2},
                         traffic_controls=True, on_goal="next"),
    "no sets": SMALL.replace(observation={"partners": 0, "roads": 0}),
}


@pytest.fixture(scope="module", params=CONFIGS)
def batch(request):
    with Batch([*TOWNS, generate_scene("exits", agents=1)], num_worlds=3, threads=1, seed=0,
               config=CONFIGS[request.param].replace(scene_order="cycle")) as made:
        made.reset()
        for _ in range(5):
            made.step(made.actions)
        yield made


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name], strict=True)


def test_every_feature_of_the_layout_is_in_its_entry(batch):
    form, flat = DictObservation(batch.config), batch.observations
    parts, seen = form.split(flat), 0
    for feature in batch.observation_layout().values():
        entry, name = feature.name.split("/")
        if feature.slots:
            column = parts[entry][..., form.features[entry].index(name)]
            np.testing.assert_array_equal(column.reshape(len(flat), feature.slots), flat[:, feature.slice])
            seen += feature.slots
        else:
            assert entry not in parts
    assert seen == flat.shape[1] == sum(part[0].size for name, part in parts.items() if not name.endswith("_mask"))


def test_masks_select_the_filled_slots(batch):
    parts = DictObservation(batch.config).split(batch.observations)
    for name in parts.keys() & set(SETS):
        mask = parts[f"{name}_mask"]
        assert mask.dtype == np.int8 and mask.shape == parts[name].shape[:2] and 0 < mask.sum()
        assert (parts[name][mask == 0] == 0).all() and parts[name][mask == 1].any(axis=1).all()
    assert {name for name in parts if name.endswith("_mask")} == {f"{name}_mask" for name in parts.keys() & set(SETS)}


def test_entries_are_views_and_in_the_space(batch):
    form = DictObservation(batch.config)
    flat = batch.observations.copy()
    parts = form.split(flat)
    assert all(np.shares_memory(part, flat) for name, part in parts.items() if not name.endswith("_mask"))
    each = form.split_each(flat)
    assert len(each) == len(flat) and all(one in form.space for one in each)
    assert all(one[name].dtype == form.space[name].dtype for one in each for name in one)
    for index, one in enumerate(each):
        assert_equal(one, form.split(flat[index]))
    grouped = form.split(flat.reshape(3, -1, flat.shape[1]))
    assert_equal({name: part.reshape(len(flat), *part.shape[2:]) for name, part in grouped.items()}, parts)


def test_index_observations_are_split_as_floats():
    found = []
    for config in (SMALL, SMALL.replace(observation={"type": "index"})):
        with Batch(TOWNS, num_worlds=2, config=config, threads=1) as batch:
            batch.reset(seed=1)
            found.append(DictObservation(config).split(batch.float_observations()))
    assert_equal(*found)


@pytest.mark.parametrize("wrong, found", [
    (np.zeros(7), r"of shape \(7,\)"), (np.zeros(()), r"of shape \(\)"), ([0.0], r"\[0\.0\]"), (None, "None")])
def test_what_is_no_vector_of_the_config_is_refused(wrong, found):
    size = 24 + 8 * 8
    with pytest.raises(ConfigError, match=rf"^observations are {found}; .* array of shape \(\.\.\., {size}\)$"):
        DictObservation(SMALL).split(wrong)
    with pytest.raises(ConfigError, match="^observations are of type uint8; they must be floats$"):
        DictObservation(SMALL).split(np.zeros(size, np.uint8))


def test_a_wrong_argument_is_refused():
    with pytest.raises(ConfigError, match=r"^config is 'x'; it must be a DriveConfig$"):
        DictObservation("x")
    for make in (DriveEnv, parallel_env):
        with pytest.raises(ConfigError, match=r"^dict_observations is 1; it must be True or False$"):
            make(TOWNS, SMALL, dict_observations=1)


# ---- adapters: each returns the dict of what it returns without the option ----


def test_the_gymnasium_env_returns_dicts():
    form = DictObservation(SMALL)
    flat, env = DriveEnv(TOWNS, SMALL), DriveEnv(TOWNS, SMALL, dict_observations=True)
    assert env.observation_space == form.space
    assert_equal(env.reset(seed=1)[0], form.split(flat.reset(seed=1)[0]))
    copied = pickle.loads(pickle.dumps(env))
    for each in (env, copied):
        again = copy.deepcopy(flat)
        found, expected = each.step(3), again.step(3)
        assert_equal(found[0], form.split(expected[0]))
        assert found[1:] == expected[1:]


@pytest.mark.filterwarnings("ignore:.*render")
def test_gymnasium_s_check_passes_and_a_spec_survives_json():
    env = gymnasium.make("drive_env/Drive-v0", scenes="intersection", config=SMALL, dict_observations=True)
    check_env(env.unwrapped, skip_render_check=True)
    recovered = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert recovered.observation_space == env.observation_space == DictObservation(SMALL).space
    env.close()
    recovered.close()


@pytest.mark.parametrize("mode", ("NextStep", "SameStep"))
@pytest.mark.parametrize("copies", (True, False))
def test_the_vector_env_returns_dicts(mode, copies):
    form, steps, finals = DictObservation(SMALL), 40, 0
    flat = DriveVectorEnv(3, TOWNS, SMALL, 1, mode, copies)
    envs = DriveVectorEnv(3, TOWNS, SMALL, 1, mode, copies, dict_observations=True)
    assert_equal(envs.reset(seed=1)[0], form.split(flat.reset(seed=1)[0]))
    for _ in range(steps):
        found, expected = envs.step(np.full(3, 90)), flat.step(np.full(3, 90))
        assert_equal(found[0], form.split(expected[0]))
        assert found[0] in envs.observation_space
        np.testing.assert_equal(found[1:4], expected[1:4])
        for env in np.flatnonzero(expected[4].get("_final_obs", [])):
            assert_equal(found[4]["final_obs"][env], form.split(expected[4]["final_obs"][env]))
            finals += 1
    assert (finals > 0) == (mode == "SameStep")


@pytest.mark.parametrize("copies", (True, False))
def test_the_pettingzoo_env_returns_dicts(copies):
    config, sizes = SMALL.replace(max_trials=1, trial_steps=60), set()
    form, flat = DictObservation(config), parallel_env(TOWNS, config, copy=copies)
    env = parallel_env(TOWNS, config, copy=copies, dict_observations=True)
    found, expected = env.reset(seed=1)[0], flat.reset(seed=1)[0]
    while True:
        assert found.keys() == expected.keys()
        for agent, observation in found.items():
            assert_equal(observation, form.split(expected[agent]))
            assert observation in env.observation_space(agent)
        np.testing.assert_array_equal(env.state(), flat.state())
        sizes.add(len(env.agents))
        if not env.agents:
            break
        actions = dict.fromkeys(env.agents, 84)  # full throttle, straight on
        found, expected = env.step(actions)[0], flat.step(actions)[0]
    assert len(sizes) > 2  # some left before others


@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be",
                            "ignore:Observation is not a NumPy array")
def test_pettingzoo_s_tests_pass():
    parallel_api_test(parallel_env(TOWNS, SMALL, dict_observations=True), num_cycles=40)
    api_test(aec_env(TOWNS, SMALL, dict_observations=True), num_cycles=40)
