"""Does MaskedPPO learn from valid steps alone, with the advantages of the channels' rules?"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from installed import client

client("stable_baselines3", "stable-baselines3")

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecNormalize

from drive_env import CallError, ConfigError, DriveConfig, generate_scene
from drive_env.api.sb3 import DriveVecEnv
from drive_env.api.sb3_masked import MaskedPPO, MaskedRolloutBuffer

TOWNS = [generate_scene("town", seed=seed, agents=6) for seed in range(3)]
CONFIG = DriveConfig(dt_s=0.5, trial_steps=15, observation={"partners": 3, "roads": 8},
                     reward={"progress_per_m": 0.3, "time_per_s": -0.1})
DISTURBED = {"phantom_braking": 0.5, "trigger_probability": 0.2, "duration_s": 0.5}
GAMMA, LAMBDA, STEPS = 0.9, 0.8, 40


def learner(env, kind=MaskedPPO, policy="MlpPolicy", **options):
    return kind(policy, env, seed=0, policy_kwargs={"net_arch": [8]}, device="cpu",
                **{"n_steps": STEPS, "batch_size": STEPS, "n_epochs": 1, **options})


def reference_gae():
    """The module `gae` of the reference trainer, which the installed package does not have."""
    folder = Path(__file__).parents[2] / "baselines"
    spec = spec_from_file_location("reference_trainer", folder / "__init__.py",
                                   submodule_search_locations=[str(folder)])
    sys.modules[spec.name] = module_from_spec(spec)  # not executed: it asks for all packages of the trainer
    return import_module(f"{spec.name}.gae")


class Channels(BaseCallback):
    """Keeps the channels and values of each step, as a `Batch` that restarts by itself would order them."""

    def __init__(self, env):
        super().__init__()
        self.env = env

    def value(self, observations):
        with torch.no_grad():
            return self.model.policy.predict_values(torch.as_tensor(np.array(observations))).numpy().reshape(-1)

    def _on_rollout_start(self):
        self.agents, self.at = ([[] for _ in range(self.env.num_envs)] for _ in range(2))
        self.waits, self.first = self.env.batch.waits.copy(), np.zeros(self.env.num_envs, bool)

    def _on_step(self):
        """One column for each agent; after the end of an episode one more, of its last observation."""
        infos, dones, batch = self.locals["infos"], self.locals["dones"], self.env.batch
        values, rewards = self.locals["values"].numpy().reshape(-1), self.locals["rewards"].copy()
        for agent, (columns, info) in enumerate(zip(self.agents, infos)):
            self.at[agent].append(len(columns))
            columns.append({
                "rewards": rewards[agent], "values": values[agent], "waits": self.waits[agent],
                "invalid": info["invalid_step"], "terminations": self.env.terminations[agent],
                "truncations": info["TimeLimit.truncated"], "truncation": info["truncation"],
                "trial_ended": info["trial_ended"], "first": self.first[agent]})
            if dones[agent]:
                last = self.value([info["terminal_observation"]])[0]
                columns.append({**dict.fromkeys(columns[-1], False), "values": last, "waits": True, "invalid": True})
        self.waits, self.first = batch.waits.copy(), dones.copy()
        return True

    def estimates(self):
        """(steps, envs): the advantages of gae.py, which sees one agent at a time."""
        batch, found, gae = self.env.batch, [], reference_gae()
        last, restart = self.value(batch.observations), self.value(batch.restart_observations())
        for agent, columns in enumerate(self.agents):
            row = lambda name: torch.tensor([[float(column[name]) for column in columns]])
            one = lambda value: torch.tensor([value])
            flags = {name: row(name) > 0 for name in columns[0] if name not in ("rewards", "values")}
            steps = gae.Steps(row("rewards"), row("values"), last_value=one(last[agent]),
                              restart_value=one(restart[agent]), last_waits=one(bool(batch.waits[agent])),
                              last_first=one(bool(self.first[agent])), **flags)
            found.append(gae.advantages(steps, GAMMA, LAMBDA)[0][0, self.at[agent]].numpy())
        return np.stack(found, 1)


@pytest.mark.parametrize("max_trials, disturbances", [(1, {}), (2, {}), (3, {}), (1, DISTURBED), (3, DISTURBED)])
def test_advantages_are_those_of_the_reference_trainer(max_trials, disturbances):
    env = DriveVecEnv(TOWNS, num_worlds=4, config=CONFIG.replace(max_trials=max_trials, disturbances=disturbances),
                      agents="all")
    env.seed(3)
    channels = Channels(env)
    # One rollout, after which no weight changes.
    model = learner(env, gamma=GAMMA, gae_lambda=LAMBDA, learning_rate=0.0)
    model.learn(STEPS * env.num_envs, callback=channels)
    valid = model.rollout_buffer.valid
    found = model.rollout_buffer.advantages.reshape(env.num_envs, STEPS).T  # training has flattened it
    assert 0.1 < valid.mean() < 0.95 and np.all(found[~valid] == 0)
    np.testing.assert_allclose(found, channels.estimates(), rtol=1e-4, atol=1e-5)


def test_minibatches_have_each_valid_step_once_and_no_other():
    env = DriveVecEnv(TOWNS, num_worlds=2, config=CONFIG.replace(max_trials=2), agents="all")
    model = learner(env)
    model.learn(STEPS * env.num_envs)
    buffer = model.rollout_buffer
    samples = [sample for size in (7, None) for sample in buffer.get(size)]
    counts = [len(sample.advantages) for sample in samples]
    assert counts[-1] == buffer.valid.sum() and counts[:-1] == [7] * (counts[-1] // 7) + [counts[-1] % 7] * (
        counts[-1] % 7 > 0)
    valid = buffer.valid.T.reshape(-1)
    whole = np.sort(buffer.observations.reshape(len(valid), -1)[valid], axis=0)
    for part in (samples[:-1], samples[-1:]):
        drawn = torch.cat([sample.observations for sample in part]).numpy()
        np.testing.assert_array_equal(np.sort(drawn, axis=0), whole)


def test_without_invalid_steps_it_trains_the_weights_of_ppo():
    """With one agent, one trial, and no event that stops it, every step is valid, and time limits end the episodes."""
    config = CONFIG.replace(on_collision="ignore", on_offroad="ignore", on_goal="ignore")
    models = []
    for kind in (PPO, MaskedPPO):
        env = VecNormalize(VecMonitor(DriveVecEnv(TOWNS, num_worlds=4, config=config)))
        env.seed(5)
        models.append(learner(env, kind))
        models[-1].learn(2 * STEPS * 4)
    assert models[1].rollout_buffer.valid.all()
    for one, other in zip(models[0].policy.parameters(), models[1].policy.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_dicts_and_normalised_observations_are_learned_from(tmp_path):
    env = VecNormalize(VecMonitor(DriveVecEnv(TOWNS, num_worlds=2, config=CONFIG.replace(max_trials=2), agents="all",
                                              dict_observations=True)), norm_obs_keys=["ego"])
    model = learner(env, policy="MultiInputPolicy")
    model.learn(2 * STEPS * env.num_envs)
    model.save(tmp_path / "model")
    loaded = MaskedPPO.load(tmp_path / "model", env=env, device="cpu")
    loaded.learn(STEPS * env.num_envs)


@pytest.mark.parametrize("make, sentence", [
    (lambda: learner(make_vec_env("drive_env/Drive-v0", 1, env_kwargs={"scenes": TOWNS, "config": CONFIG})),
     "^env is a DummyVecEnv; it must be a DriveVecEnv"),
    (lambda: learner(VecFrameStack(DriveVecEnv(TOWNS, config=CONFIG.replace(max_trials=2)), 2)),
     "^observations have shape .* after the wrappers of the env; with max_trials 2 it must be that of the DriveVecEnv"),
    (lambda: learner(DriveVecEnv(TOWNS, config=CONFIG), rollout_buffer_class=RolloutBuffer),
     "^rollout_buffer_class is RolloutBuffer; it must be a class of"),
    (lambda: learner(DriveVecEnv(TOWNS, config=DriveConfig(max_trials=2, observation={"type": "image"})),
                     policy="CnnPolicy"), "^max_trials is 2; with observation.type 'image' it must be 1")])
def test_what_it_cannot_learn_from_is_one_sentence(make, sentence):
    with pytest.raises(ConfigError, match=sentence):
        make().learn(STEPS)


def test_a_rollout_without_a_valid_step_is_an_error():
    buffer = MaskedRolloutBuffer(2, DriveVecEnv(TOWNS, config=CONFIG).observation_space,
                                 DriveVecEnv(TOWNS, config=CONFIG).action_space, "cpu")
    buffer.valid[:], buffer.full = False, True
    with pytest.raises(CallError, match="^no step of the rollout is valid: all 1 agents wait during its 2 steps"):
        next(buffer.get())


def test_images_of_one_trial_are_learned_from():
    env = DriveVecEnv(TOWNS, config=DriveConfig(trial_steps=15, observation={"type": "image"}), agents="all")
    learner(env, policy="CnnPolicy", n_steps=10, batch_size=10).learn(10 * env.num_envs)
