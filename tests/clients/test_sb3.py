"""Do stable-baselines3's tools work with the adapters, and does DriveVecEnv return what the Gymnasium env returns?"""

import pickle

import gymnasium
import numpy as np
import pytest
from installed import client

from drive_env import Batch, CallError, ConfigError, DictObservation, DriveConfig, generate_scene

client("stable_baselines3", "stable-baselines3")

from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecCheckNan,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

from drive_env.api.sb3 import DriveVecEnv

TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(3)]
SHORT = DriveConfig(trial_steps=15, max_trials=2)
SMALL = DriveConfig(trial_steps=15, max_trials=2, observation={"partners": 3, "roads": 8})
TINY_NET = {"net_arch": [8]}


def single(config=SHORT):
    return gymnasium.make("drive_env/Drive-v0", scenes=TOWNS, config=config)


@pytest.mark.parametrize("action_type", ("discrete", "multi_discrete", "continuous"))
def test_sb3_s_own_check_passes_on_the_gymnasium_env(action_type):
    check_env(single(SHORT.replace(action_type=action_type)))


def test_sb3_s_own_check_passes_with_its_render_check():
    pytest.importorskip("cv2")
    check_env(gymnasium.make("drive_env/Drive-v0", scenes=TOWNS, render_mode="rgb_array"), skip_render_check=False)


@pytest.mark.parametrize("max_trials", (1, 3))
@pytest.mark.parametrize("action_type", ("discrete", "multi_discrete", "continuous"))
def test_the_adapter_is_the_gymnasium_env_step_by_step(action_type, max_trials):
    config = SHORT.replace(action_type=action_type, max_trials=max_trials, trial_steps=40)
    ours = DriveVecEnv(TOWNS, num_worlds=4, config=config)
    theirs = DummyVecEnv([lambda: single(config)] * 4)
    assert ours.seed(11) == theirs.seed(11) == [11, 12, 13, 14]
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    space, cut, ended = theirs.action_space, 0, 0
    space.seed(0)
    for _ in range(150):
        actions = np.stack([space.sample() for _ in range(4)])
        left, right = ours.step(actions), theirs.step(actions)
        for mine, other in zip(left[:3], right[:3]):
            assert mine.dtype == other.dtype
            np.testing.assert_array_equal(mine, other)
        np.testing.assert_equal(left[3], right[3])
        ended += left[2].sum()
        cut += sum(info["TimeLimit.truncated"] for info in left[3])
        for mine, other in zip(ours.reset_infos, theirs.reset_infos):
            assert mine == other | {"TimeLimit.truncated": False}
    assert ended >= 4 and (max_trials > 1 or 0 < cut < ended)


def rollout(env, steps, seed=0):
    """The return values of a seeded random rollout."""
    rng = np.random.default_rng(seed)
    env.seed(seed)
    record = [env.reset()]
    for _ in range(steps):
        record.append(env.step(rng.integers(91, size=env.num_envs)))
    return record


@pytest.mark.parametrize("agents", ("ego", "all"))
def test_the_same_seed_gives_the_same_bytes(agents):
    used = DriveVecEnv(TOWNS, num_worlds=2, config=SHORT, agents=agents)
    rollout(used, 30, seed=5)
    fresh = DriveVecEnv(TOWNS, num_worlds=2, config=SHORT, agents=agents)
    assert pickle.dumps(rollout(used, 60, seed=3)) == pickle.dumps(rollout(fresh, 60, seed=3))
    assert pickle.dumps(rollout(used, 60, seed=4)) != pickle.dumps(rollout(fresh, 60, seed=3))


def test_a_seed_is_used_once_and_worlds_without_one_differ():
    env = DriveVecEnv(TOWNS, num_worlds=3, config=SHORT)
    drawn = env.reset()
    assert len(set(env.batch.seeds.tolist())) == 3
    env.seed(8)
    seeded = env.reset()
    assert env.batch.seeds.tolist() == [8, 9, 10] and not np.array_equal(drawn, seeded)
    assert env.batch.trial_state()["episode"] == 0
    env.reset()
    assert env.batch.seeds.tolist() == [8, 9, 10] and env.batch.trial_state()["episode"] == 1
    with pytest.raises(ConfigError, match="seed is -1"):
        env.seed(-1)
    np.random.seed(0)
    first = env.seed()
    np.random.seed(0)
    assert env.seed() == first


@pytest.mark.parametrize("agents", ("ego", "all"))
def test_rewards_are_those_of_a_function_also_in_the_step_that_ends_an_episode(agents):
    def reward(batch):
        return np.arange(1, batch.num_agents + 1) / 64

    env = DriveVecEnv(TOWNS, num_worlds=2, config=SHORT, agents=agents, reward=reward)
    env.reset()
    rng, ended = np.random.default_rng(0), 0
    for _ in range(60):
        _, rewards, dones, infos = env.step(rng.integers(91, size=env.num_envs))
        acted = ~np.array([info["invalid_step"] for info in infos])
        np.testing.assert_array_equal(rewards, np.where(acted, reward(env.batch), 0).astype(np.float32))
        ended += (dones & acted).sum()
    assert ended > 0


def test_with_all_agents_only_the_world_s_episode_ends_an_env():
    config = SHORT.replace(trial_steps=60, max_trials=2)
    # The batch that the envs should behave like: same seeds, and reset by the caller.
    env = DriveVecEnv(TOWNS, num_worlds=3, config=config, agents="all")
    batch = Batch(TOWNS, num_worlds=3, config=config, world_ids=[0, 0, 0], restart="caller")
    env.seed(4)
    batch.reset(seed=[4, 5, 6])
    np.testing.assert_array_equal(env.reset(), batch.observations)
    assert env.num_envs == batch.num_agents == 18
    # An env is done in the last step of its world, however early its agent was terminated.
    rng, waits, terminated_early, ended = np.random.default_rng(0), 0, 0, 0
    flagged = np.zeros(18, bool)
    for _ in range(400):
        actions = rng.integers(91, size=18)
        observations, rewards, dones, infos = env.step(actions)
        batch.step(actions)
        flagged |= batch.terminations
        last = (batch.trial_index == 1) & batch.trial_ended
        np.testing.assert_array_equal(dones, last)
        np.testing.assert_array_equal(rewards, batch.rewards)
        assert len({bool(done) for done in dones[:6]}) == 1
        for agent, info in enumerate(infos):
            assert info["invalid_step"] == batch.invalid_step[agent]
            assert info["TimeLimit.truncated"] == batch.truncations[agent]
            assert ("terminal_observation" in info) == dones[agent]
            if dones[agent]:
                np.testing.assert_array_equal(info["terminal_observation"], batch.observations[agent])
                assert info["TimeLimit.truncated"] != flagged[agent]
        terminated_early += (batch.terminations & ~dones).sum()
        waits += batch.invalid_step.sum()
        ended += dones.sum()
        if last.any():
            batch.reset(worlds=last[::6])
            flagged &= ~last
        np.testing.assert_array_equal(observations, batch.observations)
    assert waits > 50 and terminated_early > 5 and ended >= 18


def test_absent_agents_are_envs_that_never_act():
    few, many = generate_scene("town", seed=0, agents=3), generate_scene("town", seed=1, agents=5)
    env = DriveVecEnv([few, many], num_worlds=2, config=SHORT.replace(scene_order="cycle"), agents="all")
    env.reset()
    assert env.get_attr("removed").count(True) in (0, 2, 4)
    absent = np.array(env.get_attr("removed"))
    observations, rewards, dones, infos = env.step(np.full(10, 45))
    assert all(info["invalid_step"] for info, gone in zip(infos, absent) if gone)
    assert not observations[absent].any() and not rewards[absent].any() and not dones.any()
    changed = False
    for _ in range(200):  # the next scene may have other absent agents, as the infos of its first observation show
        _, _, dones, _ = env.step(np.full(10, 45))
        if dones.any():
            changed |= absent.tolist() != env.get_attr("removed")
            for agent in np.flatnonzero(dones):
                assert env.reset_infos[agent]["removed"] == env.get_attr("removed")[agent]
    assert changed


@pytest.mark.parametrize("agents", ("ego", "all"))
def test_what_a_client_writes_into_returned_arrays_changes_no_later_step(agents):
    env, reference = (DriveVecEnv(TOWNS, num_worlds=2, config=SHORT, agents=agents) for _ in range(2))
    for each in (env, reference):
        each.seed(0)
    returned_before, _ = env.reset(), reference.reset()
    kept = returned_before.copy()
    for _ in range(80):
        actions = np.full(env.num_envs, 80)
        returned, expected = env.step(actions), reference.step(actions)
        np.testing.assert_array_equal(returned_before, kept)  # the next call does not overwrite returned arrays
        np.testing.assert_equal(returned, expected)
        returned_before, kept = returned[0], returned[0].copy()
        returned[1][:] = 7
        returned[2][:] = True
        for info in returned[3]:
            info.clear()
        env.reset_infos[0].clear()


def test_sb3_s_wrappers_and_learners_run():
    env = VecNormalize(VecFrameStack(VecCheckNan(VecMonitor(DriveVecEnv(TOWNS, num_worlds=4, config=SMALL))), 2))
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, policy_kwargs=TINY_NET, seed=0)
    model.learn(512)
    assert len(model.ep_info_buffer) >= 4
    assert all(2 <= episode["l"] <= 31 for episode in model.ep_info_buffer)
    means, lengths = evaluate_policy(model, env, n_eval_episodes=4, return_episode_rewards=True)
    assert len(means) == 4 and max(lengths) <= 31
    DQN("MlpPolicy", DriveVecEnv(TOWNS, num_worlds=2, config=SMALL), learning_starts=32, buffer_size=500,
        policy_kwargs=TINY_NET, seed=0).learn(128)
    A2C("MlpPolicy", DriveVecEnv(TOWNS, num_worlds=2, config=SMALL, agents="all"), policy_kwargs=TINY_NET,
        seed=0).learn(200)


def test_a_policy_of_several_inputs_trains_on_dicts_of_what_flat_observations_hold():
    env = DriveVecEnv(TOWNS, num_worlds=2, config=SMALL, dict_observations=True)
    flat, form, ends = DriveVecEnv(TOWNS, num_worlds=2, config=SMALL), DictObservation(SMALL), 0
    env.seed(5), flat.seed(5)
    np.testing.assert_equal(env.reset(), form.split(flat.reset()))
    for _ in range(40):
        found, expected = env.step(np.full(2, 84)), flat.step(np.full(2, 84))
        np.testing.assert_equal(found[0], form.split(expected[0]))
        for one, other in zip(found[3], expected[3]):
            assert one.keys() == other.keys()
            if "terminal_observation" in one:
                np.testing.assert_equal(one["terminal_observation"], form.split(other["terminal_observation"]))
                ends += 1
    assert ends and env.get_attr("observation_space") == [form.space] * 2
    PPO("MultiInputPolicy", VecMonitor(env), n_steps=32, batch_size=64, n_epochs=1, policy_kwargs=TINY_NET,
        seed=0).learn(128)
    DQN("MultiInputPolicy", env, learning_starts=32, buffer_size=100, policy_kwargs=TINY_NET, seed=0).learn(64)


@pytest.mark.parametrize("as_dicts", [False, True])
def test_a_convolutional_policy_trains_on_images(as_dicts):
    config = SMALL.replace(observation={"type": "image"}, image={"size": 36})
    if not as_dicts:  # the check warns of arrays of slots, which dicts have
        check_env(single(config))
    env, ends = DriveVecEnv(TOWNS, num_worlds=2, config=config, dict_observations=as_dicts), 0
    image_of = lambda observation: observation["image"] if as_dicts else observation
    env.seed(5)
    np.testing.assert_array_equal(image_of(env.reset()), env.batch.images)
    for _ in range(40):
        observations, _, dones, infos = env.step(np.full(2, 84))
        np.testing.assert_array_equal(image_of(observations), env.batch.images)
        for index in np.flatnonzero(dones):
            true_last = image_of(infos[index]["terminal_observation"])
            assert true_last.dtype == np.uint8 and (true_last != env.batch.images[index]).any()
            ends += 1
    assert ends
    PPO("MultiInputPolicy" if as_dicts else "CnnPolicy", env, n_steps=16, batch_size=32, n_epochs=1, seed=0).learn(64)


@pytest.mark.parametrize("action_type", ["discrete", "multi_discrete"])
def test_a_policy_with_masks_trains_and_takes_valid_actions_alone(action_type):
    client("sb3_contrib", "sb3-contrib")
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

    config = SMALL.replace(action_type=action_type, action_mask=True, dynamics={"max_speed_mps": 3.0})
    for env in (single(config), DriveVecEnv(TOWNS, num_worlds=2, config=config)):
        model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, policy_kwargs=TINY_NET, seed=0)
        model.learn(64)
        many, invalid = model.get_env(), 0
        assert is_masking_supported(many)
        observations = many.reset()
        for _ in range(40):
            masks = get_action_masks(many)
            actions, _ = model.predict(observations, action_masks=masks)
            # of two numbers, the flags of the first come first
            chosen = actions.reshape(len(masks), -1)[:, 0]
            assert masks[np.arange(len(masks)), chosen].all()
            invalid += (~masks).sum()
            observations, *_ = many.step(actions)
        assert invalid


def test_the_same_seed_trains_the_same_policy_on_the_adapter_and_on_single_envs():
    def trained(env):
        model = PPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, policy_kwargs=TINY_NET, seed=0)
        model.learn(256)
        return [weight.detach().numpy() for weight in model.policy.parameters()]

    ours = trained(VecMonitor(DriveVecEnv(TOWNS, num_worlds=2, config=SMALL)))
    theirs = trained(VecMonitor(DummyVecEnv([lambda: single(SMALL)] * 2)))
    for mine, other in zip(ours, theirs):
        np.testing.assert_array_equal(mine, other)


def test_subprocesses_of_single_envs_observe_the_same():
    theirs = SubprocVecEnv([single] * 2, start_method="fork")
    ours = DriveVecEnv(TOWNS, num_worlds=2, config=SHORT)
    for env in (theirs, ours):
        env.seed(3)
    np.testing.assert_array_equal(theirs.reset(), ours.reset())
    theirs.close()


def test_attributes_and_methods_of_single_envs():
    env = DriveVecEnv(TOWNS, num_worlds=3, config=SHORT, agents="all")
    env.reset()
    assert env.get_attr("world") == [0] * 6 + [1] * 6 + [2] * 6
    assert env.get_attr("trial_index", indices=[0, 17]) == [0, 0]
    assert env.env_method("trial_state", indices=7)[0]["episode"] == 0
    np.testing.assert_equal(env.env_method("vehicles", indices=7)[0], env.batch.vehicles(1))
    assert env.env_method("step_events", indices=0)[0].keys() == env.batch.step_events(0).keys()
    env.set_attr("stage", 4, indices=[2])
    assert env.get_attr("stage", indices=2) == [4] and not env.has_attr("stage")
    assert env.get_attr("action_space")[0] is env.action_space and env.get_attr("metadata")[0] is env.metadata
    assert env.env_is_wrapped(Monitor) == [False] * 18
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        env.get_attr("speed")
    for name in ("trial_index", "render_mode", "batch"):
        with pytest.raises(AttributeError, match=f"{name} belongs to the world"):
            env.set_attr(name, 1)


@pytest.mark.parametrize("indices, fault", [(9, "9"), ([0, 6], "6"), (-1, "-1"), (1.0, "1.0"), (np.int64(7), "7"),
                                            ("one", "'o'"), ([True], "True")])
def test_the_error_of_an_env_index_out_of_range_names_the_range(indices, fault):
    env = DriveVecEnv(TOWNS, num_worlds=6, config=SHORT)
    env.reset()
    for call in (lambda: env.get_attr("trial_index", indices), lambda: env.set_attr("stage", 1, indices),
                 lambda: env.env_method("trial_state", indices=indices), lambda: env.env_is_wrapped(Monitor, indices)):
        with pytest.raises(ConfigError) as raised:
            call()
        sentence = str(raised.value).replace("np.int64(7)", "7")
        assert sentence == f"indices is {fault}; it must be a whole number from 0 to 5"
    for some in (np.int64(5), np.array([5]), range(5, 6), {5}, np.array(5)):
        assert env.get_attr("world", some) == [5]


def test_infos_have_copies_of_the_facts_of_the_reward_terms_on_request():
    env = DriveVecEnv(TOWNS, num_worlds=2, config=SHORT.replace(reward_terms=True))
    env.reset()
    infos = env.step(np.zeros(env.num_envs, int))[-1]
    facts = env.batch.reward_terms.copy()
    env.step(np.zeros(env.num_envs, int))
    assert (np.stack([info["reward_terms"] for info in infos]) == facts).all() and facts.any()


def test_the_worlds_are_drawn_side_by_side():
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    env = DriveVecEnv(TOWNS, num_worlds=3, config=SHORT, agents="all", render_mode="rgb_array")
    env.reset()
    pictures = env.get_images()
    assert len(pictures) == 3
    height, width, _ = pictures[0].shape
    assert env.render().shape == (2 * height, 2 * width, 3)
    np.testing.assert_array_equal(env.env_method("render", indices=8)[0], pictures[1])


def test_a_pickled_adapter_goes_on_bit_for_bit():
    env = DriveVecEnv(TOWNS, num_worlds=2, config=SHORT)
    rollout(env, 20)
    restored = pickle.loads(pickle.dumps(env))
    for _ in range(40):
        np.testing.assert_equal(env.step(np.array([80, 70])), restored.step(np.array([80, 70])))


@pytest.mark.parametrize("settings, complaint", [
    ({"num_worlds": 0}, "num_worlds is 0"), ({"agents": "some"}, "agents is 'some'"),
    ({"agents": ["ego"]}, "agents is"),
    ({"render_mode": "human"}, "render_mode is 'human'"), ({"config": DriveConfig(agents_per_world=2)}, "agents='all'"),
    ({"config": {"trials": 2}}, "DriveConfig has no field 'trials'"), ({"config": 2}, "config is an int"),
])
def test_a_choice_not_offered_is_refused_with_what_is(settings, complaint):
    with pytest.raises(ConfigError, match=complaint):
        DriveVecEnv(**{"scenes": TOWNS, **settings})


def test_the_error_of_a_call_out_of_order_names_the_call_to_make():
    env = DriveVecEnv(TOWNS, num_worlds=2, config=SHORT)
    with pytest.raises(CallError, match="call reset first"):
        env.step(np.array([45, 45]))
    env.reset()
    with pytest.raises(CallError, match="step_async first"):
        env.step_wait()
    env.close()
    env.close()
    with pytest.raises(CallError, match="closed"):
        env.step(np.array([45, 45]))
