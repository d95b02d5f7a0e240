"""Do the envs to learn to drive in match their table, and can a short training learn in the first of them?"""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gym_rollouts import rollout

from drive_env import OUTCOMES, ArgumentError, ConfigError, DriveConfig, generate_scene, parallel_env
from drive_env.api.ladder import LADDER

each_level = pytest.mark.parametrize("level", LADDER, ids=[level.name for level in LADDER])


def few_scenes(level):
    """One scene of each generator, in place of the 64 that its name stands for."""
    return [generate_scene(name, seed=1) for name in level.scenes]


def test_the_first_task_is_the_id_that_libraries_are_shown():
    assert [level.id for level in LADDER] == [
        "drive_env/Drive-v0", "drive_env/DriveJunctions-v0", "drive_env/DriveTown-v0"]


@each_level
def test_a_level_is_registered_as_the_table_says(level):
    env = gymnasium.make(level.id, scenes=few_scenes(level)).unwrapped
    config, roles = env.batch.config, env.batch.roles
    assert gymnasium.spec(level.id).kwargs["scenes"] == list(level.scenes)
    assert (config.observation.partners, config.observation.roads, config.observation.route) == (level.partners, 0, 4)
    assert (config.max_trials, config.on_goal, config.others) == (1, "remove", "idm")
    assert {role.trial_steps * role.dt_s for role in roles} == {level.horizon_s}
    # Nothing is parked on a lane: all other vehicles drive by rules.
    assert all(role.num_agents == 1 and role.rule_based_count > 0 and role.static_count == 0 for role in roles)
    env.close()


# The checker warns of every env without a render mode.
@pytest.mark.filterwarnings("ignore:.*render")
@each_level
def test_the_standard_check_passes(level):
    check_env(gymnasium.make(level.id, scenes=few_scenes(level)).unwrapped, skip_render_check=True)


@each_level
def test_the_same_seed_gives_the_same_bytes(level):
    def played(seed):
        env = gymnasium.make(level.id, scenes=few_scenes(level))
        record = rollout(env, seed, 40)
        env.close()
        return record

    assert played(7) == played(7) != played(8)


@each_level
def test_a_spec_survives_json(level):
    spec = gymnasium.spec(level.id)
    assert EnvSpec.from_json(spec.to_json()) == spec


def test_the_config_of_a_level_is_one_for_all_vehicles_of_its_scene():
    level = LADDER[0]
    env = parallel_env(few_scenes(level), level.kwargs["defaults"])
    observations, _ = env.reset(seed=0)
    assert len(observations) == generate_scene("racetrack").objects.count
    env.close()


def test_what_a_user_sets_wins():
    changed = gymnasium.make("drive_env/Drive-v0", scenes="narrow", config={"observation": {"partners": 5}})
    config = changed.unwrapped.batch.config
    assert (config.observation.partners, config.observation.route, config.dt_s) == (5, 4, 0.2)
    changed.close()
    whole = gymnasium.make("drive_env/Drive-v0", scenes="narrow", config=DriveConfig())
    assert whole.unwrapped.batch.config == DriveConfig(agents_per_world=1)
    whole.close()


@pytest.mark.parametrize("arguments, error, sentence", [
    ({"config": {"trial_step": 3}}, ArgumentError, "DriveConfig has no field 'trial_step'; did you mean trial_steps"),
    ({"config": {"observation": {"route": 65}}}, ConfigError,
     "observation.route is 65; it must be a whole number from 0 to 64"),
    ({"config": {"agents_per_world": 2}}, ConfigError, "agents_per_world is 2; this API has 1"),
])
@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_bad_arguments_are_refused(make, arguments, error, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        make("drive_env/Drive-v0", scenes="narrow", **arguments)


def goals_of(gain, throttle, scenes, seed):
    """Mean return and share of goals of 24 episodes of a policy that steers to the point 8 m ahead on its route."""
    envs = gymnasium.make_vec("drive_env/Drive-v0", num_envs=24, scenes=scenes, threads=1,
                              config={"action_type": "continuous"})
    layout = envs.unwrapped.batch.observation_layout()
    bearing = layout["route/bearing_y"]
    observations, _ = envs.reset(seed=seed)
    returns, outcome = np.zeros(24), np.zeros(24, int)
    while not outcome.all():
        steer = gain * observations[:, bearing.offset + bearing.stride]
        speed = observations[:, layout["ego/speed"].offset] / layout["ego/speed"].scale
        actions = np.stack([throttle - 0.1 * speed, steer], axis=1)
        observations, rewards, terminations, truncations, infos = envs.step(
            np.clip(actions, -1.0, 1.0).astype(np.float32))
        returns += np.where(outcome == 0, rewards, 0.0)
        ended = (terminations | truncations) & (outcome == 0)
        outcome[ended] = infos["outcome"][ended]
    envs.close()
    return returns.mean(), (outcome == OUTCOMES.index("goal")).mean()


def test_a_short_search_learns_to_reach_goals_of_scenes_that_it_has_not_seen():
    """Of ten random policies, that with the best return; so the reward has to lead to goals, the route has to be
    observed, and it has to suffice."""
    scenes, held_out = ([generate_scene(name, seed=seed) for name in LADDER[0].scenes for seed in seeds]
                        for seeds in (range(4), range(1000, 1004)))
    rng = np.random.default_rng(0)
    policies = [(rng.uniform(-4.0, 4.0), rng.uniform(-0.5, 1.0)) for _ in range(10)]
    chosen = max(policies, key=lambda policy: goals_of(*policy, scenes, 0)[0])
    assert goals_of(*chosen, held_out, 1)[1] >= 0.5
    assert goals_of(*policies[0], held_out, 1)[1] < 0.3
