"""Can RL code that never mentions drive-env use it? This random search imports Gymnasium alone and takes an env id.

    pip install .                # in a checkout; once published: pip install drive-env
    python examples/foreign_code.py drive_env:drive_env/Drive-v0 --steps 20000
"""

import argparse

import gymnasium as gym
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("env_id", nargs="?", default="drive_env:drive_env/Drive-v0")
parser.add_argument("--steps", type=int, default=20_000)
options = parser.parse_args()

env, rng, done, best = gym.make(options.env_id), np.random.default_rng(0), 0, (-np.inf, 0.0)
shape = (env.action_space.n, env.observation_space.shape[0])
while done < options.steps:  # random search: perturb the best linear policy so far, evaluate on one episode
    weights, score, over = best[1] + 0.1 * rng.normal(size=shape), 0.0, False
    observation, _ = env.reset(seed=0)
    while not over:
        observation, reward, terminated, truncated, _ = env.step(int((weights @ observation).argmax()))
        score, over, done = score + reward, terminated or truncated, done + 1
    if score >= best[0]:
        best = score, weights
print(f"steps {done}, best return {best[0]:.2f}")
