"""Which configs are known to work? Each by name, for `python -m baselines.ppo NAME`."""

from drive_env import DriveConfig, RewardConfig

from .config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig

DEFAULT = TrainConfig(
    env=EnvConfig(worlds=16, drive=DriveConfig(max_trials=2)), model=ModelConfig(context=402),
    run=RunConfig(folder="runs/default"))
"""The embedded towns, two trials an episode, all of it in the context."""

SMALL = TrainConfig(
    env=EnvConfig(
        worlds=16, scene_agents=8, drive=DriveConfig(
            dt_s=0.2, trial_steps=100, partners=3, roads=16, goal_radius_m=4.0,
            reward=RewardConfig(collision=-0.2, progress_per_m=0.02))),
    model=ModelConfig(width=64, layers=1, heads=2, object_width=32, context=16),
    ppo=PPOConfig(agent_steps=400_000, segment=32, epochs=3, gamma=0.99, learning_rate=1e-3, entropy_weight=0.01),
    run=RunConfig(folder="runs/small", checkpoint_updates=0, evaluate_updates=20, torch_threads=1))
"""Towns of eight cars, paid by the metre: learns to drive in two minutes on two cores."""

PRESETS = {"default": DEFAULT, "small": SMALL}
