"""How does one train all agents of a world with SuperSuit and stable-baselines3? With one shared policy.

    pip install supersuit stable-baselines3
    python examples/supersuit_sb3.py --steps 100000
"""

import argparse

import supersuit
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from drive_env import DriveConfig, RewardConfig, generate_scene, parallel_env

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100_000)
options = parser.parse_args()

# Learnable in minutes on a laptop: small intersections, near goals, long steps, no penalty for collisions.
scenes = [generate_scene("intersection", seed=seed, agents=4, arm_length_m=24.0, lanes=1) for seed in range(8)]
config = DriveConfig(trial_steps=40, dt_s=0.3, goal_radius_m=4.0, observation={"partners": 3, "roads": 8},
                     on_collision="ignore", on_offroad="ignore", reward=RewardConfig(collision=0.0, offroad=0.0))
env = parallel_env(scenes, config)
env = supersuit.black_death_v3(env)  # agents that are done stay, with observations and rewards of 0
envs = supersuit.pettingzoo_env_to_vec_env_v1(env)
envs = supersuit.concat_vec_envs_v1(envs, 4, num_cpus=0, base_class="stable_baselines3")

# No `seed`: SuperSuit's wrapper for SB3 cannot be seeded; `drive_env.api.sb3.DriveVecEnv(agents="all")` can.
model = PPO("MlpPolicy", VecMonitor(envs), n_steps=64, batch_size=256, n_epochs=4, learning_rate=1e-3, gamma=0.98,
            policy_kwargs={"net_arch": [64, 64]})
model.learn(options.steps)
returns = [episode["r"] for episode in model.ep_info_buffer]
print(f"steps {model.num_timesteps}, {len(returns)} agent episodes, mean return {sum(returns) / len(returns):.2f}")
