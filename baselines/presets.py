"""Which configs are there to begin with? Each by name, for `python -m baselines.ppo NAME`."""

from dataclasses import replace

from drive_env import DriveConfig, RewardConfig

from .config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig

PAID_BY_THE_METRE = RewardConfig(offroad=-0.5, progress_per_m=0.05)
"""A town's goals are too far to be found by chance."""

LEARNS_TOWNS = PPOConfig(learning_rate=1e-3, entropy_weight=0.003)
"""With a lower rate the same four minutes brought fewer goals (docs/results.md)."""

DEFAULT = TrainConfig(
    env=EnvConfig(num_worlds=16, drive=DriveConfig(max_trials=2, reward=PAID_BY_THE_METRE)), model=ModelConfig(context=402),
    ppo=LEARNS_TOWNS, run=RunConfig(folder="runs/default"))
"""The embedded towns, two trials an episode, all of it in the context, on any machine. Nobody ran it to its end."""

TOWN = TrainConfig(
    env=EnvConfig(num_worlds=256, drive=DriveConfig(reward=PAID_BY_THE_METRE)), model=ModelConfig(context=128),
    ppo=replace(LEARNS_TOWNS, agent_steps=200_000_000, minibatches=8, gamma=0.99), run=RunConfig(folder="runs/town"))
"""The embedded towns, one trial an episode: learns to drive in four minutes on one GPU (docs/results.md)."""

SMALL = TrainConfig(
    env=EnvConfig(
        num_worlds=16, scene_agents=8, drive=DriveConfig(
            dt_s=0.2, trial_steps=100, partners=3, roads=16, goal_radius_m=4.0,
            reward=RewardConfig(collision=-0.2, progress_per_m=0.02))),
    model=ModelConfig(width=64, layers=1, heads=2, object_width=32, context=16),
    ppo=PPOConfig(agent_steps=400_000, segment=32, epochs=3, gamma=0.99, learning_rate=1e-3, entropy_weight=0.01),
    run=RunConfig(folder="runs/small", checkpoint_updates=0, evaluate_updates=20, torch_threads=1))
"""Towns of eight cars, paid by the metre: learns to drive in two minutes on two cores."""

PRESETS = {"default": DEFAULT, "town": TOWN, "small": SMALL}
