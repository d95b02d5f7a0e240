"""How does one train with stable-baselines3? PPO on the Gymnasium env, or on the adapter: the same steps in less time.

    pip install '.[sb3]'         # in a checkout; once published: pip install 'drive-env[sb3]'
    python examples/sb3_ppo.py --api adapter --steps 100000
"""

import argparse

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

from drive_env import DriveConfig, RewardConfig, generate_scene
from drive_env.api.sb3 import DriveVecEnv

parser = argparse.ArgumentParser()
parser.add_argument("--api", choices=("gymnasium", "adapter", "all-agents"), default="adapter")
parser.add_argument("--steps", type=int, default=100_000)
parser.add_argument("--worlds", type=int, default=32)
options = parser.parse_args()
torch.set_num_threads(1)  # such small networks are faster on one core

# Learnable in minutes on a laptop: small intersections, near goals, long steps, no penalty for collisions.
scenes = [generate_scene("intersection", seed=seed, agents=4, arm_length_m=24.0, lanes=1) for seed in range(8)]
config = DriveConfig(trial_steps=40, dt_s=0.3, goal_radius_m=4.0, observation={"partners": 3, "roads": 8},
                     on_collision="ignore", on_offroad="ignore", reward=RewardConfig(collision=0.0, offroad=0.0))
if options.api == "gymnasium":
    arguments = {"scenes": scenes, "config": config}
    env = make_vec_env("drive_env/Drive-v0", options.worlds, seed=0, env_kwargs=arguments)
elif options.api == "adapter":  # one multi-threaded `Batch` instead of one env after another
    env = VecMonitor(DriveVecEnv(scenes, options.worlds, config))
else:  # every agent is an env; agents that are done early wait for their world, see docs/clients/sb3.md
    env = VecMonitor(DriveVecEnv(scenes, options.worlds // 4, config, agents="all"))

model = PPO("MlpPolicy", env, n_steps=64, batch_size=256, n_epochs=4, learning_rate=1e-3, gamma=0.98, ent_coef=0.01,
            policy_kwargs={"net_arch": [64, 64]}, seed=0, verbose=1)
model.learn(options.steps)
mean, _ = evaluate_policy(model, env, n_eval_episodes=64)
print(f"steps {model.num_timesteps}, mean return of 64 episodes {mean:.2f}")
