"""Do the Gymnasium envs conform, and do they return what their batch shows?"""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics
from parallel_rollout import INFO_KEYS

from drive_env import CallError, ConfigError, DriveConfig, generate_scene
from drive_env.api.gym import DriveVectorEnv

TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(3)]
SHORT = DriveConfig(trial_steps=15, max_trials=2)


def single(config=SHORT):
    return gymnasium.make("drive_env/Drive-v0", scenes=TOWNS, config=config)


def vector(num_envs=4, config=SHORT, **settings):
    return gymnasium.make_vec("drive_env/Drive-v0", num_envs=num_envs, scenes=TOWNS, config=config, **settings)


# The checker warns of every env without a render mode.
@pytest.mark.filterwarnings("ignore:.*render")
@pytest.mark.parametrize("action_type", ("discrete", "multi_discrete", "continuous"))
def test_the_standard_check_passes(action_type):
    check_env(single(SHORT.replace(action_type=action_type)).unwrapped, skip_render_check=True)


def test_the_id_is_found_without_importing_the_package():
    assert gymnasium.make("drive_env:drive_env/Drive-v0", scenes=TOWNS).spec.id == "drive_env/Drive-v0"
    spec = gymnasium.make("drive_env/Drive-v0", scenes="intersection", config=SHORT).spec
    assert pickle.loads(pickle.dumps(spec)) == spec


def rollout(env, seed, steps=80):
    """Observations, rewards and flags of a single env over several episodes of a seeded rollout."""
    rng, record = np.random.default_rng(seed), []
    record.append(env.reset(seed=seed))
    for _ in range(steps):
        record.append(env.step(int(rng.integers(91))))
        if record[-1][2] or record[-1][3]:
            record.append(env.reset())
    return record


def test_the_same_seed_gives_the_same_episodes():
    used = single()
    rollout(used, 5)
    assert pickle.dumps(rollout(used, 3)) == pickle.dumps(rollout(single(), 3))


def test_a_reset_after_close_opens_the_env_again():
    """stable-baselines3's check closes an env and then resets it."""
    env = single()
    rollout(env, 5, steps=7)
    env.close()
    env.close()
    with pytest.raises(CallError, match="closed"):
        env.step(45)
    assert pickle.dumps(rollout(env, 3)) == pickle.dumps(rollout(single(), 3))
    seeds = set()
    for _ in range(3):
        env.close()
        env.reset()
        seeds.add(env.unwrapped.batch.seed)
    assert len(seeds) == 3


def test_a_vector_env_that_was_closed_stays_closed():
    envs = vector()
    envs.reset(seed=0)
    envs.close()
    with pytest.raises(CallError, match="closed"):
        envs.reset(seed=0)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_sub_environment_i_plays_seed_plus_i_like_a_single_env(mode):
    """The native vector env against Gymnasium's own SyncVectorEnv over single envs, number by number."""
    ours = vector(autoreset_mode=mode)
    theirs = gymnasium.vector.SyncVectorEnv([single] * 4, autoreset_mode=mode)
    rng = np.random.default_rng(0)
    (observations, _), (expected, _) = ours.reset(seed=11), theirs.reset(seed=11)
    np.testing.assert_array_equal(observations, expected)
    episodes = 0
    for _ in range(120):
        actions = rng.integers(91, size=4)
        left, right = ours.step(actions), theirs.step(actions)
        for mine, other in zip(left[:4], right[:4]):
            assert mine.dtype == other.dtype
            np.testing.assert_array_equal(mine, other)
        resetting = left[4]["first"] & left[4]["invalid_step"]
        _assert_same_infos(left[4], right[4], skip=resetting if mode is AutoresetMode.NEXT_STEP else None)
        done = left[2] | left[3]
        episodes += done.sum()
        if mode is AutoresetMode.DISABLED and done.any():
            np.testing.assert_array_equal(ours.reset(options={"reset_mask": done})[0],
                                          theirs.reset(options={"reset_mask": done})[0])
    assert episodes > 8


def _assert_same_infos(mine, other, skip):
    assert mine.keys() == other.keys()
    for key, expected in other.items():
        if key == "final_info":
            _assert_same_infos(mine[key], expected, None)
            continue
        assert mine[key].dtype == expected.dtype, key
        if key == "final_obs":
            for left, right in zip(mine[key], expected):
                np.testing.assert_array_equal(left, right)
            continue
        keep = slice(None) if skip is None or key != "invalid_step" else ~skip
        # In the native env an automatic restart is an invalid step; a single env's reset is no step.
        np.testing.assert_array_equal(mine[key][keep], expected[keep], err_msg=key)


def test_infos_mark_waits_and_restarts_inside_an_episode():
    env = single()
    env.reset(seed=0)
    restarts, terminated, truncated = 0, False, False
    while not (terminated or truncated):
        _, reward, terminated, truncated, info = env.step(45)
        assert info.keys() == INFO_KEYS
        if info["invalid_step"]:
            restarts += 1
    assert restarts == 1 and info["trial_index"] == 1


def test_statistics_and_vector_wrappers_work():
    env = RecordEpisodeStatistics(single())
    env.reset(seed=0)
    done = False
    while not done:
        *_, terminated, truncated, info = env.step(45)
        done = terminated or truncated
    assert info["episode"]["l"] >= 2
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        gymnasium.wrappers.vector.NormalizeObservation(vector()))
    envs.reset(seed=0)
    lengths = []
    for _ in range(100):
        *_, infos = envs.step(np.full(4, 45))
        if "episode" in infos:
            lengths += list(infos["episode"]["l"][infos["_episode"]])
    assert lengths and min(lengths) >= 2


def test_an_async_vector_env_of_single_envs_works():
    envs = gymnasium.vector.AsyncVectorEnv([single] * 2)
    observations, _ = envs.reset(seed=0)
    expected, _ = vector(2).reset(seed=0)
    np.testing.assert_array_equal(observations, expected)
    envs.step(np.array([45, 45]))
    envs.close()


def test_seeds_may_be_one_for_each_or_none():
    envs = vector(3)
    first, _ = envs.reset(seed=[7, 8, 9])
    again, _ = vector(3).reset(seed=7)
    np.testing.assert_array_equal(first, again)
    envs.reset(seed=[None, 8, None])
    assert envs.unwrapped.batch.trial_index.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(envs.reset(seed=[None, 8, None])[0][1], first[1])


@pytest.mark.parametrize("settings, complaint", [
    ({"config": DriveConfig(agents_per_world=2)}, "agents_per_world is 2"), ({"autoreset_mode": "never"}, "never"),
    ({"max_episode_steps": 10}, "trial_steps"), ({"render_mode": "human"}, "render_mode"), ({"num_envs": 0}, "0"),
])
def test_a_choice_not_offered_is_refused_with_what_is(settings, complaint):
    with pytest.raises(ConfigError, match=complaint):
        DriveVectorEnv(**{"scenes": TOWNS, **settings})


def test_a_vector_env_whose_constructor_raised_closes_without_error():
    """Gymnasium 1.2 closes it when it is collected; an error there would be printed, not raised."""
    DriveVectorEnv.__new__(DriveVectorEnv).close()


def test_a_step_before_the_due_reset_is_an_error():
    envs = vector(2, SHORT.replace(max_trials=1), autoreset_mode=AutoresetMode.DISABLED)
    with pytest.raises(CallError, match="reset first"):
        envs.step(np.array([45, 45]))
    envs.reset(seed=0)
    done = np.zeros(2, bool)
    while not done.any():
        _, _, terminations, truncations, _ = envs.step(np.array([45, 45]))
        done = terminations | truncations
    with pytest.raises(CallError, match="reset"):
        envs.step(np.array([45, 45]))
    for mask in (np.zeros(2, bool), np.ones(3, bool), [True, False]):
        with pytest.raises(CallError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    envs.reset(options={"reset_mask": done})
    envs.step(np.array([45, 45]))


def test_a_vector_env_takes_any_integer_and_shows_the_seed_it_drew():
    envs = DriveVectorEnv(np.int64(3), TOWNS)
    drawn, _ = envs.reset()
    again, _ = envs.reset(seed=envs.batch.seed)
    np.testing.assert_array_equal(drawn, again)
    envs.reset(seed=np.uint8(255))
    assert envs.batch.seeds.tolist() == [255, 256, 257]
    for bad in (True, -1, 2**64 - 1, 1.5, "one", {1, 2, 3}):
        with pytest.raises(ConfigError, match="seed"):
            envs.reset(seed=bad)
    with pytest.raises(ConfigError, match="options"):
        envs.reset(options=[])


@pytest.mark.parametrize("make", (lambda: single().unwrapped, vector), ids=("env", "vector env"))
def test_copies_of_an_env_that_has_not_begun_play_differently(make):
    env = make()
    copies = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    firsts = [each.reset()[0].tobytes() for each in copies]
    seeds = [each.batch.seed for each in copies]
    assert len(set(seeds)) == 3
    assert [each.reset(seed=seed)[0].tobytes() for each, seed in zip(copies, seeds)] == firsts


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_all_values_in_infos_are_numbers(mode):
    """Clients make tensors of all values in infos."""
    env = single()
    infos = [env.reset(seed=0)[1]]
    infos += [env.step(45)[4] for _ in range(3)]
    assert all(type(value) in (bool, int) for info in infos for value in info.values())
    envs = vector(autoreset_mode=mode)
    infos = [envs.reset(seed=0)[1]]
    done = np.zeros(4, bool)
    while not done.any():
        *_, terminations, truncations, info = envs.step(np.full(4, 80))
        done = terminations | truncations
        infos.append(info | info.get("final_info", {}))
    assert all(value.dtype.kind in "bi" for info in infos for key, value in info.items() if "final" not in key)
