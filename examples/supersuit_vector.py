"""How does one step all agents of a world as a vector env? With SuperSuit's wrappers over the PettingZoo env.

SuperSuit's vector env requires a constant set of agents: `finished="wait"` keeps agents that are done until the episode
ends for all. Their infos have `invalid_step` set, so a learner can mask those steps.

    pip install supersuit
    python examples/supersuit_vector.py --steps 300
"""

import argparse

import numpy as np
import supersuit

from drive_env import DriveConfig, parallel_env

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=300)
options = parser.parse_args()

config = DriveConfig(max_trials=2, trial_steps=60, agents_per_world=8, observation={"partners": 7, "roads": 32})
env = parallel_env("town", config, finished="wait")
env = supersuit.clip_reward_v0(env)
env = supersuit.frame_stack_v1(env, 2)
env = supersuit.flatten_v0(env)
envs = supersuit.pettingzoo_env_to_vec_env_v1(env)
envs = supersuit.concat_vec_envs_v1(envs, 3, num_cpus=0, base_class="gymnasium")

observations, infos = envs.reset(seed=0)
counted = np.zeros(envs.num_envs, int)
ended = 0
for _ in range(options.steps):
    actions = np.array([envs.action_space.sample() for _ in range(envs.num_envs)])
    observations, rewards, terminations, truncations, infos = envs.step(actions)
    # In the step that ends an episode SuperSuit returns the infos of the next one, so `invalid_step` is wrong there.
    counted += [not info["invalid_step"] for info in infos]
    ended += sum("terminal_observation" in info for info in infos)
print(f"{envs.num_envs} envs, observations {observations.shape}, steps {options.steps * envs.num_envs}, "
      f"of which {counted.sum()} count; {ended} agent episodes ended")
envs.close()
