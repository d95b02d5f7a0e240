"""Which configs come with the trainer? By name, for `python -m baselines.ppo NAME`."""

from dataclasses import replace

from drive_env import DriveConfig, RewardConfig
from drive_env.tasks import gates, hidden_closure, hidden_exit, occluded_crossing

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

GENERALIST_FAST = TrainConfig(
    env=EnvConfig(
        scenes=("town", "intersection", "highway", "merge", "exit", "bottleneck", "two_way", "narrow", "t_junction",
                "roundabout", "u_turn", "procedural", "racetrack", "oval"),
        scene_count=100, scene_counts={"town": 200, "intersection": 200, "t_junction": 200, "u_turn": 200,
                                       "roundabout": 150, "procedural": 150, "narrow": 400},
        scene_agents=16, scene_agents_of={"narrow": 2, "two_way": 11, "u_turn": 14}, num_worlds=512,
        drive=DriveConfig(
            trial_steps=400, observation={"partners": 15, "roads": 80},
            reward=RewardConfig(offroad=-0.5, progress_per_m=0.02, route_progress_per_m=0.03))),
    model=ModelConfig(context=128),
    ppo=replace(TOWN_PPO, agent_steps=800_000_000, minibatches=8, gamma=0.99),
    run=RunConfig(folder="runs/generalist_fast", evaluate_updates=0, evaluate_scenes=256))
"""The first run towards one policy for all generated scenes in which lanes lead to the goals. Scenes where it learns
slowly, and those with few agents, are played more often. On a "highway" and at an "exit" some goals have no route, so
both kinds of progress are rewarded. Progress is discounted so much that the policy drives fast, 19 m/s on average."""

GENERALIST = replace(
    GENERALIST_FAST,
    env=replace(
        GENERALIST_FAST.env,
        scene_counts=GENERALIST_FAST.env.scene_counts | {"intersection": 300, "t_junction": 250, "roundabout": 200},
        scene_agents_of=GENERALIST_FAST.env.scene_agents_of | {"town": 24, "intersection": 24, "highway": 24},
        drive=GENERALIST_FAST.env.drive.replace(reward={"collision": -1.0, "over_speed_per_m": -0.05})),
    ppo=replace(GENERALIST_FAST.ppo, agent_steps=230_000_000, gamma=0.997, learning_rate=5e-4, warmup_updates=20,
                final_entropy_weight=0.0005),
    run=replace(GENERALIST_FAST.run, folder="runs/generalist", start_from="runs/generalist_fast"))
"""The second run: dense traffic, a speed limit, a larger penalty and a longer horizon teach caution. With these from
the start, a policy learns to stand still (docs/results.md). Its run with seed 1 is the policy of the package."""

HIDDEN_EXIT_DRIVE = hidden_exit(seeds=range(1)).config
"""The config of the task; it does not depend on the seeds of the scenes."""

HIDDEN_EXIT_PPO = PPOConfig(rollout_steps=96, gamma=0.99, learning_rate=5e-4, time_limits="terminal")
"""What the three phases of a training have in common (docs/trials_that_teach.md). A trial has time for one exit, so its
time limit is part of the task."""

HIDDEN_EXIT_SHOWN = TrainConfig(
    env=EnvConfig(
        scenes=("exits",), scene_count=256, num_worlds=2048,
        drive=HIDDEN_EXIT_DRIVE.replace(observation={"goal_reveal_s": None}, reward={"progress_per_m": 0.02})),
    model=ModelConfig(context=90), ppo=replace(HIDDEN_EXIT_PPO, agent_steps=25_000_000, entropy_weight=0.01),
    run=RunConfig(folder="runs/hidden_exit_shown"))
"""Three trials with the same one of three exits as the goal, which is observed: the policy learns to drive to it."""

HIDDEN_EXIT_MIXED = TrainConfig(
    env=replace(HIDDEN_EXIT_SHOWN.env, drive=HIDDEN_EXIT_DRIVE.replace(
        observation={"goal_reveal_share": 0.3}, critic_observations=True)),
    model=HIDDEN_EXIT_SHOWN.model,
    ppo=replace(HIDDEN_EXIT_PPO, agent_steps=45_000_000, entropy_weight=0.01, final_entropy_weight=0.002,
                informed_weight=0.1, warmup_updates=20),
    run=RunConfig(folder="runs/hidden_exit_mixed", start_from="runs/hidden_exit_shown"))
"""The goal is hidden in 70% of the trials: the policy learns to search for it, and still drives to a known one."""

HIDDEN_EXIT = TrainConfig(
    env=replace(HIDDEN_EXIT_SHOWN.env, drive=HIDDEN_EXIT_DRIVE), model=HIDDEN_EXIT_SHOWN.model,
    ppo=replace(HIDDEN_EXIT_PPO, agent_steps=10_000_000, entropy_weight=0.002, learning_rate=1e-4, warmup_updates=10),
    run=RunConfig(folder="runs/hidden_exit", start_from="runs/hidden_exit_mixed"))
"""The goal is always hidden: the task that needs a memory (docs/trials_that_teach.md)."""

FORKS_PPO = PPOConfig(rollout_steps=96, learning_rate=5e-4, time_limits="terminal")
"""What the three phases of a training on streets with forks have in common. A trial has the time
that its task needs, so an agent that is late has failed."""


def _phases(name: str, generator: str, drive: DriveConfig) -> dict[str, TrainConfig]:
    """Three runs for a task on streets with forks, each with the weights of the one before (docs/tasks.md).

    `<name>_known` teaches driving, in scenes that hide nothing, by a reward for progress along the open routes.
    `<name>_mixed` has 30% of such scenes, and teaches the search in the others; progress is rewarded, so that of two
    trials that fail, the one that came farther is better. `<name>` is the task, whose only reward is the goal.
    """
    # What the runs share.
    env = EnvConfig(scenes=(generator,), scene_count=256, num_worlds=2048, drive=drive)
    model, folder = ModelConfig(context=drive.max_trials * drive.trial_steps), f"runs/{name}"
    # One run after the other.
    known = TrainConfig(
        env=replace(env, scene_parameters={"known_share": 1.0},
                    drive=drive.replace(reward={"route_progress_per_m": 0.02})),
        model=model, ppo=replace(FORKS_PPO, agent_steps=20_000_000, entropy_weight=0.01),
        run=RunConfig(folder=f"{folder}_known"))
    mixed = TrainConfig(
        env=replace(env, scene_parameters={"known_share": 0.3}, drive=drive.replace(reward={"progress_per_m": 0.01})),
        model=model, ppo=replace(FORKS_PPO, agent_steps=50_000_000, entropy_weight=0.01, final_entropy_weight=0.002,
                                 noise_correlation=0.9),
        run=RunConfig(folder=f"{folder}_mixed", start_from=f"{folder}_known"))
    task = TrainConfig(
        env=env, model=model,
        ppo=replace(FORKS_PPO, agent_steps=14_000_000, entropy_weight=0.002, learning_rate=1e-4),
        run=RunConfig(folder=folder, start_from=f"{folder}_mixed"))
    return {f"{name}_known": known, f"{name}_mixed": mixed, name: task}


PARTNERS_INTERSECTION = TrainConfig(
    env=EnvConfig(
        scenes=("intersection",), scene_count=256, scene_agents=4,
        scene_parameters={"lanes": 1, "arm_length_m": 40.0}, num_worlds=1024,
        drive=DriveConfig(
            dt_s=0.2, max_trials=2, trial_steps=60, goal_radius_m=4.0, observation={"partners": 3, "roads": 32},
            reward=RewardConfig(collision=-0.5, offroad=-0.5, progress_per_m=0.05))),
    model=ModelConfig(width=64, heads=2, object_width=32, context=120),
    ppo=PPOConfig(agent_steps=20_000_000, minibatches=8, gamma=0.99, learning_rate=1e-3, entropy_weight=0.005),
    run=RunConfig(folder="runs/partners_intersection", evaluate_updates=0))
"""Four cars meet at a junction without signs, twice: who goes first is a convention. It is the preset of
`baselines.population`, whose partners have conventions of their own."""

PRESETS = {"default": DEFAULT, "town": TOWN, "small": SMALL,
           "generalist_fast": GENERALIST_FAST, "generalist": GENERALIST,
           "partners_intersection": PARTNERS_INTERSECTION, "hidden_exit_shown": HIDDEN_EXIT_SHOWN,
           "hidden_exit_mixed": HIDDEN_EXIT_MIXED, "hidden_exit": HIDDEN_EXIT,
           **_phases("gates", "gates", gates(seeds=[0]).config),
           **_phases("occluded_crossing", "occluded", occluded_crossing(seeds=[0]).config),
           **_phases("hidden_closure", "closures", hidden_closure(seeds=[0]).config)}
