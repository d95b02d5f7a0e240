"""Do the envs with the names of scenes match their table, and do a user's arguments win over it?"""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gym_rollouts import rollout

from drive_env import OUTCOMES, ArgumentError, ConfigError, DriveConfig, generate_scene, parallel_env
from drive_env.api.scene_envs import SCENE_ENVS
from drive_env.drivers import LaneDriver
from drive_env.scenes.generate import GENERATORS, TASK_OF

each_env = pytest.mark.parametrize("row", SCENE_ENVS, ids=[row.name for row in SCENE_ENVS], scope="module")
"""All tests of a row follow each other, so that its scenes are made once."""


def few_scenes(row):
    """Two scenes, in place of the 64 that the name of a generator stands for."""
    return [generate_scene(row.scenes, seed=seed) for seed in range(2)]


def test_every_scene_that_is_no_task_has_an_env():
    assert {row.scenes for row in SCENE_ENVS} == set(GENERATORS) - set(TASK_OF)
    ids = [row.id for row in SCENE_ENVS]
    assert len(set(ids)) == len(ids) and {"drive_env/Highway-v0", "drive_env/HighwayFast-v0"} < set(ids)


def test_the_scenes_of_an_env_are_those_of_seeds_0_to_63():
    """All ids name their generator in the same way, so that the fastest one stands for them."""
    assert all(gymnasium.spec(row.id).kwargs["scenes"] == row.scenes for row in SCENE_ENVS)
    for env in (gymnasium.make("drive_env/Narrow-v0").unwrapped, parallel_env("narrow")):
        assert {role.scene.name for role in env.batch.roles} == {f"narrow/{seed}" for seed in range(64)}
        env.close()


@each_env
def test_an_env_matches_the_table(row):
    """One agent; all other vehicles are rule-based, in a parking lot static; one trial of the horizon; the row's
    weights."""
    env = gymnasium.make(row.id, scenes=few_scenes(row)).unwrapped
    config, roles = env.batch.config, env.batch.roles
    assert {role.num_agents for role in roles} == {1} and config.max_trials == 1
    reacting, static = {role.rule_based_count for role in roles}, {role.static_count for role in roles}
    present, absent = (static, reacting) if row.name == "Parking" else (reacting, static)
    assert min(present) >= GENERATORS[row.scenes].DEFAULT_AGENTS - 1 and absent == {0}
    assert [role.trial_steps * role.dt_s for role in roles] == pytest.approx([row.horizon_s] * len(roles))
    assert isinstance(env.action_space, {"discrete": spaces.Discrete, "continuous": spaces.Box}[row.action_type])
    assert getattr(config.reward, row.progress) == row.progress_per_m > 0
    assert config.reward.collision == config.reward.offroad == -1
    env.close()


@each_env
def test_signs_have_an_effect_where_a_scene_has_some(row):
    scene = generate_scene(row.scenes)
    has_signs = scene.traffic_controls is not None and scene.traffic_controls.count > 0
    config = DriveConfig.from_dict(row.defaults)
    assert config.traffic_controls == has_signs == (config.observation.controls > 0)


# The checker warns of every env without a render mode.
@pytest.mark.filterwarnings("ignore:.*render")
@each_env
def test_the_standard_check_passes(row):
    check_env(gymnasium.make(row.id, scenes=few_scenes(row)).unwrapped, skip_render_check=True)


@each_env
def test_the_same_seed_gives_the_same_bytes(row):
    first, second = (gymnasium.make(row.id, scenes=few_scenes(row)) for _ in range(2))
    assert rollout(first, 7) == rollout(second, 7)
    assert rollout(first, 7) == rollout(first, 7) != rollout(first, 8)
    first.close()
    second.close()


@each_env
def test_a_vector_env_plays_what_single_envs_play(row):
    envs = gymnasium.make_vec(row.id, num_envs=2, scenes=few_scenes(row))
    singles = [gymnasium.make(row.id, scenes=few_scenes(row)) for _ in range(2)]
    envs.action_space.seed(0)
    observations = envs.reset(seed=3)[0]
    for index, single in enumerate(singles):
        np.testing.assert_array_equal(observations[index], single.reset(seed=3 + index)[0])
    actions = envs.action_space.sample()
    found = envs.step(actions)
    for index, single in enumerate(singles):
        observation, reward, terminated, truncated, _ = single.step(actions[index])
        np.testing.assert_array_equal(found[0][index], observation)
        assert (reward, terminated, truncated) == tuple(values[index] for values in found[1:4])
        single.close()
    envs.close()


@pytest.mark.parametrize("name", ["Highway", "HighwayFast", "Merge", "Roundabout", "TJunction", "Exit", "UTurn"])
def test_a_driver_that_reaches_its_goal_earns_on_the_way(name):
    """The way counts about as much as the goal, whose reward is 1; a stop sign passed without a stop costs 0.5."""
    scenes_of = {row.name: row.scenes for row in SCENE_ENVS}
    scenes = [generate_scene(scenes_of[name], seed=seed) for seed in range(8)]
    envs = gymnasium.make_vec(f"drive_env/{name}-v0", num_envs=8, scenes=scenes)
    batch = envs.unwrapped.batch
    envs.reset(seed=0)
    driver, earned, ended = LaneDriver(batch), np.zeros(8), np.full(8, "", dtype=object)
    for _ in range(batch.config.trial_steps):
        _, rewards, terminations, truncations, infos = envs.step(driver.act_all())
        driving = ended == ""
        earned[driving] += rewards[driving]
        done = driving & (terminations | truncations)
        ended[done] = [OUTCOMES[code] for code in infos["outcome"][done]]
    envs.close()
    reached = ended == "goal"
    assert reached.sum() >= 5
    assert np.all((earned[reached] > 1.3) & (earned[reached] < 2.6))
    assert earned[reached].min() > earned[~reached].max(initial=-1)


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_the_arguments_of_a_user_win(make):
    """A mapping changes what it names, nested fields one by one; a `DriveConfig` is the whole config."""
    row = next(row for row in SCENE_ENVS if row.name == "TJunction")
    changed = make(row.id, config={"trial_steps": 50, "reward": {"goal": 5.0}, "observation": {"partners": 3}})
    config = changed.unwrapped.batch.config
    assert (config.trial_steps, config.reward.goal, config.observation.partners) == (50, 5.0, 3)
    assert (config.reward.stop_sign, config.observation.controls, config.others) == (-0.5, 4, "idm")
    whole = make(row.id, config=DriveConfig(dt_s=0.05))
    assert whole.unwrapped.batch.config == DriveConfig(dt_s=0.05, agents_per_world=1)
    other = make(row.id, scenes=generate_scene("t_junction", seed=99, agents=2, control="lights"))
    assert [role.scene.name for role in other.unwrapped.batch.roles] == ["t_junction/99"]
    assert other.unwrapped.batch.config.reward.stop_sign == -0.5
    for env in (changed, whole, other):
        env.close()


@pytest.mark.parametrize("arguments, error, sentence", [
    ({"config": {"trial_step": 3}}, ArgumentError, "DriveConfig has no field 'trial_step'; did you mean trial_steps"),
    ({"config": {3: 4}}, ArgumentError, "DriveConfig has no field 3; it has dt_s"),
    ({"config": {"reward": {"goal": 1e9}}}, ConfigError, r"reward.goal is 1000000000.0; it must be a number in \["),
    ({"config": {"agents_per_world": 2}}, ConfigError, "agents_per_world is 2; this API has 1"),
    ({"config": [3]}, ConfigError, "config is a list; it must be a DriveConfig, or a mapping"),
    ({"defaults": 3}, ConfigError, "defaults is an int; it must be a DriveConfig, or a mapping"),
    ({"defaults": {"dt_s": 0}}, ConfigError, "dt_s is 0; it must be a number in"),
])
@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_bad_arguments_are_refused(make, arguments, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        make("drive_env/UTurn-v0", **arguments)


@pytest.mark.parametrize("written, meant", [
    ("highway", "Highway"), ("highway-fast", "HighwayFast"), ("Highway-fast", "HighwayFast"), ("merge", "Merge"),
    ("roundabout", "Roundabout"), ("racetrack", "Racetrack"), ("two-way", "TwoWay"), ("exit", "Exit"),
    ("intersection", "Intersection"), ("t_junction", "TJunction")])
def test_the_spelling_of_highway_env_is_answered_with_ours(written, meant):
    with pytest.raises(gymnasium.error.NameNotFound, match=re.escape(f"Did you mean: `{meant}`?")):
        gymnasium.make(f"drive_env/{written}-v0")


@each_env
def test_a_spec_survives_json(row):
    env = gymnasium.make(row.id, scenes="narrow", config={"max_trials": 2})
    spec = EnvSpec.from_json(env.spec.to_json())
    assert spec == env.spec
    again = gymnasium.make(spec)
    assert again.unwrapped.batch.config == env.unwrapped.batch.config
    env.close()
    again.close()


@each_env
def test_the_scenes_of_an_env_make_a_pettingzoo_env_of_all_their_vehicles(row):
    """With the default config, and with that of the id; only vehicles marked for log replay then still follow rules."""
    for config in (None, gymnasium.spec(row.id).kwargs["defaults"]):
        env = parallel_env(few_scenes(row), config)
        assert len(env.possible_agents) == GENERATORS[row.scenes].DEFAULT_AGENTS
        env.reset(seed=0)
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        env.close()
