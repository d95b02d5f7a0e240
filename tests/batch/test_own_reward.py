"""Do `rewards`, metrics and recordings have what the function of the caller returns, and is all else as without it?"""

import copy
import math
import pickle

import gymnasium
import numpy as np
import pytest
from golden import OUTPUTS
from replay_reader import Page
from small_batch import SCENE, draw

from drive_env import (
    REWARD_TERMS,
    Batch,
    CallError,
    ConfigError,
    DriveConfig,
    aec_env,
    generate_scene,
    parallel_env,
    record,
)
from drive_env.replay import Recorder

CONFIG = DriveConfig(max_trials=2, trial_steps=15)
TOWNS = [generate_scene("town", seed=seed, agents=agents) for seed, agents in ((0, 6), (1, 3))]
UNIT = 2.0**-6
"""Sums of multiples of it are exact."""


def graded(batch):
    """Another reward for every agent: multiples of `UNIT`."""
    return np.arange(1, batch.num_agents + 1, dtype=np.float32) * np.float32(UNIT)


def doubled(batch):
    return 2 * batch.rewards


class Counted:
    """Rewards each step with its number, and remembers what it was called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, batch):
        self.calls.append(batch)
        return np.full(batch.num_agents, len(self.calls) * UNIT, np.float32)


def made(reward=None, config=CONFIG, scenes=TOWNS, **options):
    batch = Batch(scenes, **{"num_worlds": 3, "threads": 1, "seed": 5, "config": config, "reward": reward, **options})
    batch.reset()
    return batch


def play(batch, steps, seed=0):
    """Steps with random actions; yields the number of each step, from 1."""
    rng = np.random.default_rng(seed)
    for step in range(1, steps + 1):
        batch.step(draw(batch, rng))
        yield step


# ---- rewards ----


def test_the_function_is_called_once_after_each_step_and_its_result_is_the_reward():
    reward = Counted()
    batch = made(reward)
    assert reward.calls == [] and not batch.rewards.any()
    waited = 0
    for step in play(batch, 70):
        assert len(reward.calls) == step and reward.calls[-1] is batch
        assert (batch.rewards == np.where(batch.invalid_step, 0, step * UNIT)).all()
        waited += batch.invalid_step.sum()
    assert waited > 100
    batch.reset()
    assert len(reward.calls) == 70 and not batch.rewards.any()


def test_the_function_finds_the_finished_step_with_the_reward_of_the_config():
    config = CONFIG.replace(reward_terms=True, reward={"progress_per_m": 0.5})
    seen = {}

    def reward(batch):
        seen.update({name: getattr(batch, name).copy() for name in (*OUTPUTS, "reward_terms", "actions")})
        seen["x_m"] = batch.vehicles()["x_m"]
        seen["outcome of the trial"] = batch.trial_state()["outcome"]
        return batch.reward_terms[:, REWARD_TERMS.index("progress")]

    own, plain = made(reward, config), made(None, config)
    for _ in zip(play(own, 40), play(plain, 40)):
        for name in (*OUTPUTS, "reward_terms", "actions"):
            assert (seen[name] == getattr(plain, name)).all(), name
        assert (seen["x_m"] == plain.vehicles()["x_m"]).all()
        assert (seen["outcome of the trial"] == plain.trial_state()["outcome"]).all()
        assert (own.rewards == plain.reward_terms[:, REWARD_TERMS.index("progress")]).all()


@pytest.mark.parametrize("observation", ("float32", "float16", "index"))
def test_all_but_rewards_is_as_without_the_function(observation):
    config = CONFIG.replace(observation={"type": observation})
    own, plain = made(graded, config), made(None, config)
    for _ in zip(play(own, 60), play(plain, 60)):
        for name in OUTPUTS:
            assert name == "rewards" or getattr(own, name).tobytes() == getattr(plain, name).tobytes(), name
    states = own.state_dict(), plain.state_dict()
    different = {name for name in states[0] if states[0][name].tobytes() != states[1][name].tobytes()}
    assert different == {"arrays/rewards", "state/average", "state/own_reward", "state/reward_is_due"}
    assert states[1]["state/own_reward"].size == states[1]["state/reward_is_due"].size == 0
    assert own.has_own_reward and not plain.has_own_reward


def test_a_disturbed_agent_is_not_rewarded():
    config = CONFIG.replace(disturbances={"phantom_braking": 1.0, "trigger_probability": 0.5})
    batch = made(graded, config)
    for _ in play(batch, 14):
        assert (batch.rewards == np.where(batch.invalid_step, 0, graded(batch))).all()
    braking = [batch.trial_state(world)["braking"].any() for world in range(3)]
    assert any(braking)


# ---- reports ----


def test_records_and_metrics_have_the_sums_of_the_function():
    batch = made(graded, trial_records=100)
    sums, due = np.zeros(batch.num_agents), {}
    for _ in play(batch, 90):
        sums += batch.rewards
        for agent in np.flatnonzero(batch.trial_ended):
            world = int(batch.world_of_agent[agent])
            if agent % batch.agents_per_world < batch.roles[int(batch.scene_index[world])].num_agents:
                due.setdefault(int(agent), []).append(sums[agent])
            sums[agent] = 0
    records = batch.trial_records()
    found = {}
    for one in records:
        found.setdefault(int(one["agent"]), []).append(float(one["reward"]))
    assert found == due and len(records) > 50

    # The moving averages of metrics.md: per trial index, then over indices, then over agents.
    alpha, values = CONFIG.log_ema_alpha, []
    for agent in due:
        of_agent = records[records["agent"] == agent]
        means = []
        for index in (0, 1):
            mean = math.nan
            for reward in of_agent["reward"][of_agent["trial"] == index].astype(float):
                mean = reward if math.isnan(mean) else alpha * mean + (1 - alpha) * reward
            means.append(mean)
        values.append(np.mean(means))
    assert batch.metrics()["reward"] == (pytest.approx(np.mean(values), rel=1e-12), len(due))


def test_the_parts_of_the_reward_stay_those_of_the_config():
    own, plain = made(graded, trial_records=100), made(None, trial_records=100)
    for _ in zip(play(own, 60), play(plain, 60)):
        pass
    ours, theirs = own.trial_records(), plain.trial_records()
    assert len(ours) > 20 and (ours["reward"] != theirs["reward"]).any()
    for name in ours.dtype.names:
        assert name == "reward" or (ours[name] == theirs[name]).all(), name


def test_a_trial_that_a_reset_cut_leaves_no_reward_behind():
    batch = made(graded, CONFIG.replace(on_goal="ignore", on_collision="ignore", on_offroad="ignore"),
                 scenes=[SCENE], trial_records=5)
    for _ in play(batch, 10):
        pass
    batch.reset()
    for _ in play(batch, 15):
        pass
    assert (batch.trial_records()["reward"] == 15 * graded(batch)).all()


# ---- calls ----


@pytest.mark.parametrize("threads", (1, 4))
def test_parts_and_steps_in_flight_are_rewarded_like_whole_steps(threads):
    called = []

    def reward(batch):
        called.append(batch)
        return (batch.observations[:, 1] + np.float32(UNIT)).astype(np.float32)

    split, whole = (made(reward, num_worlds=5, parts=parts, threads=threads, trial_records=50) for parts in (2, 1))
    rng, total = np.random.default_rng(3), 0
    for step in range(70):
        actions = draw(whole, rng)
        whole.step(actions)
        called.clear()
        if step % 2:
            for part in split.parts:
                part.step_async(actions[part.agent_slice])
            assert called == []
            for part in reversed(split.parts):
                part.wait()
            assert called == [*reversed(split.parts)]
        else:
            for part in split.parts:
                part.step(actions[part.agent_slice])
            assert called == [*split.parts]
        assert (split.rewards == whole.rewards).all()
        total += np.count_nonzero(whole.rewards)
    assert total > 200
    assert (split.trial_records() == whole.trial_records()).all()
    whole.step_async(whole.actions)
    whole.wait()
    assert called[-1] is whole


def test_copies_continue_with_the_function_and_its_sums():
    batch = made(graded, trial_records=50)
    for _ in play(batch, 20):
        pass
    copies = [pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), made(graded, trial_records=50)]
    copies[2].load_state_dict(batch.state_dict())
    for one in (batch, *copies):
        assert [*play(one, 40, seed=7)] and one.rewards.tobytes() == batch.rewards.tobytes()
    for one in copies:
        assert (one.state_dict()["state/own_reward"] == batch.state_dict()["state/own_reward"]).all()
        assert one.metrics() == batch.metrics()
    batch.close()
    batch.reopen()
    batch.reset()
    batch.step(batch.actions)
    assert (batch.rewards == np.where(batch.invalid_step, 0, graded(batch))).all()


def test_a_state_fits_a_batch_of_the_same_kind_of_reward_alone():
    own, plain = made(graded), made()
    for one, other in ((own, plain), (plain, own)):
        with pytest.raises(CallError, match="state/own_reward"):
            one.load_state_dict(other.state_dict())
    state = own.state_dict()
    state["state/own_reward"] = np.full_like(state["state/own_reward"], 1e20)
    with pytest.raises(CallError, match="own_reward"):
        own.load_state_dict(state)


def test_the_path_of_a_function_stands_for_it(tmp_path, monkeypatch):
    (tmp_path / "rewards_by_path.py").write_text(
        "import numpy as np\n\n\ndef three(batch):\n    return np.full(batch.num_agents, 3.0)\n\n\nfive = 5\n")
    monkeypatch.chdir(tmp_path)
    batch = made("rewards_by_path:three")
    batch.step(batch.actions)
    assert (batch.rewards == np.where(batch.invalid_step, 0, 3)).all()
    for path, complaint in (("rewards_by_path:five", "which is 5; it must be a function"), ("nothing", "as 'package"),
                            ("rewards_by_path:four", "cannot be imported: AttributeError")):
        with pytest.raises(ConfigError, match=complaint) as raised:
            Batch(reward=path)
        assert str(raised.value).startswith(f"reward is {path!r}")


# ---- errors ----


@pytest.mark.parametrize("bad", (1, {}, np.zeros(3), Counted))
def test_what_is_no_function_is_refused(bad):
    with pytest.raises(ConfigError, match="reward is .*; it must be a function from the batch to the reward of each"):
        Batch(reward=bad)


@pytest.mark.parametrize("returned, complaint", [
    (lambda count: None, "reward returned None; it must return float32 or float64 of shape (12,), one number"),
    (lambda count: 1.0, "reward returned 1.0; it must"),
    (lambda count: [0.0] * count, "reward returned [0.0, 0.0"),
    (lambda count: np.zeros(count - 1, np.float32), "reward returned float32 of shape (11,); it must"),
    (lambda count: np.zeros((count, 1)), "reward returned float64 of shape (12, 1); it must"),
    (lambda count: np.zeros(count, int), "reward returned int64 of shape (12,); it must"),
    (lambda count: np.zeros(count, object), "reward returned object of shape (12,); it must"),
    (lambda count: np.where(np.arange(count) == 4, np.nan, 0), "the reward of agent 4 is nan; it must be from -1000"),
    (lambda count: np.where(np.arange(count) == 7, -np.inf, 0), "the reward of agent 7 is -inf; it must be"),
    (lambda count: np.full(count, 1e300), "the reward of agent 0 is inf; it must be"),
    (lambda count: np.full(count, 1000001.0), "the reward of agent 0 is 1e+06; it must be")])
def test_what_does_not_fit_is_one_sentence_and_a_reset_must_follow(returned, complaint):
    results = [returned]
    batch = made(lambda batch: results[0](batch.num_agents), scenes=[SCENE], trial_records=3)
    with pytest.raises(CallError) as raised:
        batch.step(batch.actions)
    assert str(raised.value).startswith(complaint)
    with pytest.raises(CallError, match="the last step of world 0 has no reward, .*; call reset before the next step"):
        batch.step(batch.actions)
    results[0] = lambda count: np.full(count, UNIT)
    batch.reset()
    batch.step(batch.actions)
    assert (batch.rewards == UNIT).all()


def test_an_exception_of_the_function_reaches_the_caller_and_a_reset_must_follow():
    def reward(batch):
        if fails:
            raise ZeroDivisionError("of the user")
        return graded(batch)

    fails = True
    batch = made(reward, parts=3)
    for call in (lambda: batch.step(batch.actions), batch.wait):
        if call == batch.wait:
            batch.step_async(batch.actions)
        with pytest.raises(ZeroDivisionError, match="of the user"):
            call()
        batch.reset(worlds=[True, False, False])
        with pytest.raises(CallError, match="the last step of world 1 has no reward"):
            batch.step(batch.actions)
        batch.reset()
    fails = False
    batch.parts[1].step(batch.parts[1].actions)
    batch.step(batch.actions)
    assert batch.rewards.any()


def test_a_function_that_steps_its_batch_is_refused():
    batch = made(lambda batch: batch.step(batch.actions))
    with pytest.raises(CallError, match="the last step of world 0 has no reward"):
        batch.step(batch.actions)


def test_what_is_returned_for_agents_that_wait_is_not_read():
    batch = made(lambda batch: np.where(batch.invalid_step, np.nan, UNIT))
    for _ in play(batch, 60):
        assert (batch.rewards == np.where(batch.invalid_step, 0, UNIT)).all()


# ---- adapters ----


def test_the_gymnasium_env_returns_the_reward():
    env = gymnasium.make("drive_env/Drive-v0", scenes=TOWNS, config=CONFIG, reward=Counted())
    env.reset(seed=1)
    for step in range(1, 16):
        _, reward, terminated, truncated, info = env.step(env.unwrapped.noop_action())
        assert reward == (0 if info["invalid_step"] else step * UNIT) and type(reward) is float
        if terminated or truncated:
            break


@pytest.mark.parametrize("mode", ("NextStep", "SameStep"))
def test_make_vec_returns_the_reward_of_the_function(mode):
    envs = gymnasium.make_vec("drive_env/Drive-v0", num_envs=4, scenes=TOWNS, config=CONFIG, reward=graded,
                              autoreset_mode=mode)
    envs.reset(seed=1)
    envs.action_space.seed(1)
    rewarded = done = 0
    for _ in range(80):
        _, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
        ended = (terminations | truncations) if mode == "SameStep" else np.zeros(4, bool)
        invalid = infos["invalid_step"] & ~ended
        # In the mode SameStep, the flag of an env that ended is that of its next episode.
        assert rewards.dtype == np.float64 and (rewards == np.where(invalid, 0, graded(envs.batch))).all()
        rewarded, done = rewarded + (rewards > 0).sum(), done + (terminations | truncations).sum()
    assert rewarded > 100 and done > 4


@pytest.mark.parametrize("finished", ("leave", "wait"))
def test_the_pettingzoo_env_returns_the_reward_of_each_agent(finished):
    env = parallel_env(TOWNS, CONFIG, finished=finished, reward=graded)
    env.reset(seed=1)
    rng, waited = np.random.default_rng(1), 0
    while env.agents:
        _, rewards, _, _, infos = env.step({agent: int(rng.integers(91)) for agent in env.agents})
        for agent, reward in rewards.items():
            index = int(agent.removeprefix("agent_"))
            assert reward == (0 if infos[agent]["invalid_step"] else (index + 1) * UNIT)
            waited += infos[agent]["invalid_step"]
    assert waited


def test_the_aec_env_takes_the_function():
    env = aec_env(TOWNS[:1], CONFIG, reward=graded)
    env.reset(seed=1)
    for _ in range(len(env.agents)):
        env.step(45)
    assert [env.rewards[agent] for agent in env.agents] == [(index + 1) * UNIT for index in range(len(env.agents))]


# ---- recordings ----


def test_a_recording_has_the_function_as_the_only_term():
    batch = made(Counted(), num_worlds=1, scenes=TOWNS[:1])
    recorder, rewards = Recorder(batch), []
    recorder.capture()
    for _ in play(batch, 31):  # two trials and the restart
        recorder.capture()
        rewards.append(batch.rewards.copy())
    recording = recorder.recording()
    assert recording.rewarded == ("own",) and recording.has_own_reward
    sums = [trial.reward_sums[-1, :, 0] for trial in recording.trials]
    ends = np.array([len(trial.x_m) for trial in recording.trials])
    assert len(sums) == 2 and (np.array(sums).sum(axis=0) == np.sum(rewards[:ends.sum() - 1], axis=0)).all()
    assert (sums[1] > sums[0]).any()
    page = Page(recording.html())
    assert page.header["rewarded"] == ["own"] and page.header["has_own_reward"] is True
    assert (page.array("trial1/reward_sum_own")[:, -1] == sums[1]).all()


def test_record_takes_the_function():
    recording = record(TOWNS[:1], "random", CONFIG, reward=doubled)
    plain = record(TOWNS[:1], "random", CONFIG)
    assert not plain.has_own_reward and "own" not in plain.rewarded
    for own, other in zip(recording.trials, plain.trials, strict=True):
        assert (own.rewards == 2 * other.rewards).all() and (own.x_m == other.x_m).all()
        assert own.reward_sums[:, :, 0] == pytest.approx(2 * other.reward_sums.sum(axis=2), abs=1e-5)
