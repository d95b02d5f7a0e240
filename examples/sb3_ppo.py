"""How does one train with stable-baselines3? PPO on the Gymnasium env, or on the adapter, which plays the same faster.

    pip install 'drive-env[sb3]'
    python examples/sb3_ppo.py --face adapter --steps 100000
"""

import argparse

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

from drive_env import DriveConfig, RewardConfig
from drive_env.sb3 import DriveVecEnv

parser = argparse.ArgumentParser()
parser.add_argument("--face", choices=("gymnasium", "adapter", "all-rows"), default="adapter")
parser.add_argument("--steps", type=int, default=100_000)
parser.add_argument("--worlds", type=int, default=8)
options = parser.parse_args()

config = DriveConfig(trial_steps=100, partners=7, roads=32, reward=RewardConfig(progress_per_m=0.02))
if options.face == "gymnasium":
    env = make_vec_env("drive_env/Drive-v0", options.worlds, seed=0, env_kwargs={"config": config})
elif options.face == "adapter":  # one `Batch` and its threads instead of one env at a time
    env = VecMonitor(DriveVecEnv("town", options.worlds, config))
else:  # every vehicle is an env; those that are done early wait for their world, see docs/clients/sb3.md
    env = VecMonitor(DriveVecEnv("town", 2, config.replace(agents_per_world=8), rows="all"))

model = PPO("MlpPolicy", env, n_steps=64, batch_size=256, n_epochs=4, policy_kwargs={"net_arch": [64, 64]}, seed=0)
model.learn(options.steps)
mean, _ = evaluate_policy(model, env, n_eval_episodes=10)
print(f"steps {model.num_timesteps}, mean return of 10 episodes {mean:.2f}")
