"""Which configs are known to work? Each by name, for `python -m baselines.ppo NAME`."""

from drive_env import DriveConfig, RewardConfig

from .config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig

DEFAULT = TrainConfig(
    env=EnvConfig(worlds=16, drive=DriveConfig(max_trials=2)), model=ModelConfig(context=402),
    run=RunConfig(folder="runs/default"))
"""The embedded towns, two trials an episode, all of it in the context."""

SMALL = TrainConfig(
    env=EnvConfig(
        scenes=("intersection",), scene_count=8, scene_agents=4, scene_parameters={"arm_length_m": 24.0, "lanes": 1},
        worlds=32, drive=DriveConfig(
            dt_s=0.3, trial_steps=40, partners=3, roads=8, goal_radius_m=4.0, on_collision="ignore",
            on_offroad="ignore", reward=RewardConfig(collision=0.0, offroad=0.0))),
    model=ModelConfig(width=64, layers=1, heads=2, object_width=32, context=16),
    ppo=PPOConfig(agent_steps=400_000, segment=32, epochs=3, minibatches=4, gamma=0.98, learning_rate=1e-3,
                  entropy_weight=0.01),
    run=RunConfig(folder="runs/small", checkpoint_updates=0, evaluate_updates=20, minutes=2.0, torch_threads=1))
"""Learns to drive to its goal, past whatever is in the way, in two minutes on two cores."""

PRESETS = {"default": DEFAULT, "small": SMALL}
