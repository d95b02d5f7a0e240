"""Which configs come with the trainer? By name, for `python -m baselines.ppo NAME`."""

from dataclasses import replace

from drive_env import DriveConfig, RewardConfig
from drive_env.tasks import hidden_exit

from .config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig

PROGRESS_REWARD = RewardConfig(offroad=-0.5, progress_per_m=0.05)
"""A random policy never reaches the goals of a town, so progress towards them is rewarded."""

TOWN_PPO = PPOConfig(learning_rate=1e-3, entropy_weight=0.003)
"""A lower learning rate with a larger entropy weight reached fewer goals in the same four minutes (docs/results.md)."""

DEFAULT = TrainConfig(
    env=EnvConfig(num_worlds=16, drive=DriveConfig(max_trials=2, reward=PROGRESS_REWARD)),
    model=ModelConfig(context=402), ppo=TOWN_PPO, run=RunConfig(folder="runs/default"))
"""64 towns, two trials per episode, the whole episode in the context. It has not been run to its end."""

TOWN = TrainConfig(
    env=EnvConfig(num_worlds=256, drive=DriveConfig(reward=PROGRESS_REWARD)), model=ModelConfig(context=128),
    ppo=replace(TOWN_PPO, agent_steps=200_000_000, minibatches=8, gamma=0.99), run=RunConfig(folder="runs/town"))
"""64 towns, one trial per episode: learns to drive in four minutes on one GPU (docs/results.md)."""

SMALL = TrainConfig(
    env=EnvConfig(
        num_worlds=16, scene_agents=8, drive=DriveConfig(
            dt_s=0.2, trial_steps=100, observation={"partners": 3, "roads": 16}, goal_radius_m=4.0,
            reward=RewardConfig(collision=-0.2, progress_per_m=0.02))),
    model=ModelConfig(width=64, layers=1, heads=2, object_width=32, context=16),
    ppo=PPOConfig(agent_steps=400_000, rollout_steps=32, epochs=3, gamma=0.99, learning_rate=1e-3, entropy_weight=0.01),
    run=RunConfig(folder="runs/small", checkpoint_updates=0, evaluate_updates=20, torch_threads=1))
"""Towns with eight cars: learns to drive in less than two minutes on two cores."""

HIDDEN_EXIT_DRIVE = hidden_exit(seeds=range(1)).config
"""The config of the task; it does not depend on the seeds of the scenes."""

HIDDEN_EXIT_PPO = PPOConfig(rollout_steps=96, gamma=0.99, learning_rate=5e-4)
"""What the three phases of a training have in common (docs/trials_that_teach.md)."""

HIDDEN_EXIT_SHOWN = TrainConfig(
    env=EnvConfig(
        scenes=("exits",), scene_count=256, num_worlds=2048,
        drive=HIDDEN_EXIT_DRIVE.replace(observation={"goal_reveal_s": None}, reward={"progress_per_m": 0.02})),
    model=ModelConfig(context=90), ppo=replace(HIDDEN_EXIT_PPO, agent_steps=25_000_000, entropy_weight=0.01),
    run=RunConfig(folder="runs/hidden_exit_shown"))
"""Three trials with the same one of three exits as the goal, which is observed: the policy learns to drive to it."""

HIDDEN_EXIT_MIXED = TrainConfig(
    env=replace(HIDDEN_EXIT_SHOWN.env, drive=HIDDEN_EXIT_DRIVE.replace(observation={"goal_reveal_share": 0.3})),
    model=HIDDEN_EXIT_SHOWN.model,
    ppo=replace(HIDDEN_EXIT_PPO, agent_steps=105_000_000, entropy_weight=0.01, final_entropy_weight=0.002,
                noise_correlation=0.9),
    run=RunConfig(folder="runs/hidden_exit_mixed", start_from="runs/hidden_exit_shown"))
"""The goal is hidden in 70% of the trials: the policy learns to search for it, and still drives to a known one."""

HIDDEN_EXIT = TrainConfig(
    env=replace(HIDDEN_EXIT_SHOWN.env, drive=HIDDEN_EXIT_DRIVE), model=HIDDEN_EXIT_SHOWN.model,
    ppo=replace(HIDDEN_EXIT_PPO, agent_steps=14_000_000, entropy_weight=0.002, learning_rate=1e-4),
    run=RunConfig(folder="runs/hidden_exit", start_from="runs/hidden_exit_mixed"))
"""The goal is always hidden: the task that needs a memory (docs/trials_that_teach.md)."""

PRESETS = {"default": DEFAULT, "town": TOWN, "small": SMALL, "hidden_exit_shown": HIDDEN_EXIT_SHOWN,
           "hidden_exit_mixed": HIDDEN_EXIT_MIXED, "hidden_exit": HIDDEN_EXIT}
