"""How fast does a plain PPO learn the first task? That of stable-baselines3, or CleanRL's, with their own defaults.

Prints the goals on held-out scenes after 1, 3 and 5 minutes of training; the evaluations do not count as training. As
the evaluations of the two libraries do, SB3 takes the most probable action, and CleanRL draws one.

    pip install '.[sb3]'         # in a checkout; once published: pip install 'drive-env[sb3]'
    python examples/first_task.py --library sb3
    python examples/first_task.py --library cleanrl --env-id drive_env/DriveJunctions-v0
"""

import argparse
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn
from torch.distributions import Categorical

import drive_env
from drive_env.scenes import resolve_scenes

HELD_OUT = range(1000, 1032)
"""Seeds of the scenes of an evaluation, of each generator; training has those of 0 to 63."""

EPISODES = 128
"""Of an evaluation."""


def evaluate(env_id, act):
    """The share of episodes on held-out scenes that end at the goal."""
    scenes = resolve_scenes(gym.spec(env_id).kwargs["scenes"], seeds=HELD_OUT)
    envs = gym.make_vec(env_id, num_envs=EPISODES, scenes=list(scenes), threads=1)
    outcome = np.zeros(EPISODES, int)
    observations, _ = envs.reset(seed=0)
    while not outcome.all():
        observations, _, terminations, truncations, infos = envs.step(act(observations))
        ended = (terminations | truncations) & (outcome == 0)
        outcome[ended] = infos["outcome"][ended]
    envs.close()
    return float(np.mean(outcome == drive_env.OUTCOMES.index("goal")))


class Stopwatch:
    """Evaluates when the training time, without evaluations, or the number of steps reaches the next mark."""

    def __init__(self, env_id, marks, unit):
        self.env_id, self.marks, self.unit = env_id, list(marks), unit
        self.trained_s, self.since, self.found = 0.0, time.perf_counter(), []

    def check(self, steps, act):
        """Called between updates; returns whether training goes on."""
        now = time.perf_counter()
        self.trained_s += now - self.since
        passed = self.trained_s / 60.0 if self.unit == "minutes" else steps
        while self.marks and passed >= self.marks[0]:
            goal = evaluate(self.env_id, act)
            self.found.append((self.marks.pop(0), steps, self.trained_s, goal))
            print(f"{self.found[-1][0]:g} {self.unit}: {steps} steps, {self.trained_s:.0f} s, goals {goal:.1%}",
                  flush=True)
        self.since = time.perf_counter()
        return bool(self.marks)


def train_sb3(env_id, seed, watch):
    """`PPO("MlpPolicy", env)`."""
    model = PPO("MlpPolicy", gym.make(env_id), seed=seed, device="cpu")

    def act(observations):
        return model.predict(observations, deterministic=True)[0]

    class Check(BaseCallback):
        goes_on = True

        def _on_rollout_start(self):
            self.goes_on = watch.check(self.num_timesteps, act)

        def _on_step(self):
            return self.goes_on

    model.learn(10**9, callback=Check())


def layer_init(layer, std=2**0.5):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


def network(inputs, outputs, std):
    return nn.Sequential(layer_init(nn.Linear(inputs, 64)), nn.Tanh(), layer_init(nn.Linear(64, 64)), nn.Tanh(),
                         layer_init(nn.Linear(64, outputs), std))


def train_cleanrl(env_id, seed, watch, num_envs=4, num_steps=128, minibatches=4, epochs=4, learning_rate=2.5e-4,
                  total_steps=500_000, gamma=0.99, gae_lambda=0.95, clip=0.2, entropy_weight=0.01, value_weight=0.5,
                  max_grad_norm=0.5):
    """`ppo.py`, with its defaults. As there, a time limit is treated as an end, and no step is masked."""
    # The vector env, the networks, and storage for a rollout.
    torch.manual_seed(seed)
    envs = gym.make_vec(env_id, num_envs=num_envs, threads=1)
    size = envs.single_observation_space.shape[0]
    actor, critic = network(size, int(envs.single_action_space.n), 0.01), network(size, 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=learning_rate, eps=1e-5)
    shape = (num_steps, num_envs)
    obs, actions = torch.zeros((*shape, size)), torch.zeros(shape, dtype=torch.long)
    logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(4))
    next_obs, next_done, steps = torch.tensor(envs.reset(seed=seed)[0]), torch.zeros(num_envs), 0

    @torch.no_grad()
    def act(observations):
        return Categorical(logits=actor(torch.tensor(observations))).sample().numpy()

    # Collect rollouts; the learning rate falls to 0 over `total_steps`.
    while watch.check(steps, act):
        optimizer.param_groups[0]["lr"] = learning_rate * max(0.0, 1.0 - steps / total_steps)
        for t in range(num_steps):
            obs[t], dones[t] = next_obs, next_done
            with torch.no_grad():
                choice = Categorical(logits=actor(next_obs))
                actions[t] = choice.sample()
                logprobs[t], values[t] = choice.log_prob(actions[t]), critic(next_obs)[:, 0]
            found, reward, terminated, truncated, _ = envs.step(actions[t].numpy())
            next_obs, rewards[t] = torch.tensor(found), torch.tensor(reward)
            next_done = torch.tensor(terminated | truncated, dtype=torch.float32)
        steps += num_steps * num_envs

        # Advantages.
        with torch.no_grad():
            advantages, last = torch.zeros(shape), torch.zeros(num_envs)
            after, goes_on = critic(next_obs)[:, 0], 1.0 - next_done
            for t in reversed(range(num_steps)):
                last = rewards[t] + gamma * after * goes_on - values[t] + gamma * gae_lambda * goes_on * last
                advantages[t], after, goes_on = last, values[t], 1.0 - dones[t]
            returns = advantages + values

        # The losses.
        b_obs, b_actions, b_logprobs = obs.flatten(0, 1), actions.flatten(), logprobs.flatten()
        b_advantages, b_returns, b_values = advantages.flatten(), returns.flatten(), values.flatten()
        for _ in range(epochs):
            for mb in torch.randperm(len(b_obs)).chunk(minibatches):
                choice = Categorical(logits=actor(b_obs[mb]))
                ratio = (choice.log_prob(b_actions[mb]) - b_logprobs[mb]).exp()
                scaled = (b_advantages[mb] - b_advantages[mb].mean()) / (b_advantages[mb].std() + 1e-8)
                pg_loss = -torch.min(scaled * ratio, scaled * ratio.clamp(1 - clip, 1 + clip)).mean()
                value = critic(b_obs[mb])[:, 0]
                clipped = b_values[mb] + (value - b_values[mb]).clamp(-clip, clip)
                v_loss = 0.5 * torch.max((value - b_returns[mb]) ** 2, (clipped - b_returns[mb]) ** 2).mean()
                loss = pg_loss - entropy_weight * choice.entropy().mean() + value_weight * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, max_grad_norm)
                optimizer.step()
    envs.close()


LEARNERS = {"sb3": train_sb3, "cleanrl": train_cleanrl}


def run(library, env_id, seed, marks, unit="minutes"):
    """One training; returns (mark, steps, seconds, share of goals) for each mark."""
    watch = Stopwatch(env_id, marks, unit)
    LEARNERS[library](env_id, seed, watch)
    return watch.found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", choices=LEARNERS, default="sb3")
    parser.add_argument("--env-id", default="drive_env/Drive-v0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, nargs="+", default=[1.0, 3.0, 5.0])
    parser.add_argument("--steps", type=int, nargs="+", help="evaluate after so many steps instead")
    options = parser.parse_args()
    torch.set_num_threads(1)  # such small networks are faster on one core
    marks = options.steps or options.minutes
    run(options.library, options.env_id, options.seed, marks, "steps" if options.steps else "minutes")


if __name__ == "__main__":
    main()
