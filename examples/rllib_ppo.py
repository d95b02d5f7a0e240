"""How does one train with RLlib? Multi-agent PPO through its PettingZoo wrapper, with one shared policy.

    pip install 'ray[rllib]' torch
    python examples/rllib_ppo.py --steps 100000
"""

import argparse

from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

from drive_env import DriveConfig, RewardConfig, generate_scene, parallel_env

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100_000)
parser.add_argument("--runners", type=int, default=0, help="sampling processes; 0 samples in this one")
parser.add_argument("--batch", type=int, default=2000, help="world steps between updates")
options = parser.parse_args()

# Learnable in minutes on a laptop: small intersections, near goals, long steps, no penalty for collisions.
scenes = [generate_scene("intersection", seed=seed, agents=4, arm_length_m=24.0, lanes=1) for seed in range(8)]
config = DriveConfig(trial_steps=40, dt_s=0.3, goal_radius_m=4.0, observation={"partners": 3, "roads": 8},
                     on_collision="ignore", on_offroad="ignore", reward=RewardConfig(collision=0.0, offroad=0.0))
# The wrapper derives its spaces from the agents of the first reset, so no scene may leave an agent absent.
register_env("drive", lambda _: ParallelPettingZooEnv(parallel_env(scenes, config)))

algorithm = (
    PPOConfig()
    .environment("drive")
    .env_runners(num_env_runners=options.runners)
    .multi_agent(policies={"driver"}, policy_mapping_fn=lambda agent, episode, **_: "driver")
    .training(train_batch_size_per_learner=options.batch, minibatch_size=min(256, options.batch), num_epochs=4)
    .training(lr=1e-3, gamma=0.98, entropy_coeff=0.01)
    .build_algo()
)
done = 0
while done < options.steps:
    found = algorithm.train()["env_runners"]
    done = int(found["num_env_steps_sampled_lifetime"])
    print(f"steps {done}, agent-steps {int(sum(found['num_agent_steps_sampled_lifetime'].values()))}, "
          f"mean return per world {found.get('episode_return_mean', float('nan')):.2f}", flush=True)
algorithm.stop()
