"""What do later trials gain from memory? The score of each trial of a policy under ablations, on held-out scenes.

    python -m baselines.ablate runs/hidden_exit
    python -m baselines.ablate runs/hidden_exit --compare informed=runs/informed feed-forward=runs/no-memory
    python -m baselines.ablate runs/hidden_exit --training      all checkpoints of the run
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from .tools.interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.ablate").install()

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import torch

from drive_env import Batch, DriveConfig, Scene
from drive_env.outputs import checked_folder
from drive_env.policies import MakeAct

from .adaptation.interventions import ablations
from .adaptation.report import as_data, as_table, draw_scores, draw_training
from .adaptation.scores import Scores, optimal_curves
from .config import TrainConfig
from .evaluate import Repeated, episode_records, values_of
from .partners.loaded import with_partners
from .policy.runner import PolicyRunner
from .rollout.batches import scenes_of, seeds_used
from .tools.checkpoint import about, check_fits, checkpoint_at, checkpoints, load_policy
from .tools.dist import join

MIN_EPISODES = 2
"""Of every scene: the past of another agent in the same scene is needed."""

IN_TRAINING = ("full", "wiped")
"""With `training`, the ablations under which every checkpoint of the run is evaluated."""

MAX_TABLE_COLUMNS = 1000
"""Characters in a line of a table: more than any table has."""


def beside_partners(runner: PolicyRunner, config: TrainConfig) -> MakeAct:
    """A policy with the partners of its training, if it had any."""
    return with_partners(runner, config.partners, runner.device, runner.policy.precision)


def scores_of(runners: Mapping[str, tuple[MakeAct, DriveConfig]], scenes: list[Scene], episodes: int,
              seed: int) -> dict[str, Scores]:
    """The scores of each policy, by name, in the same episodes of every scene and with the same random numbers; those
    of co-players do not count."""
    found = {}
    for name, (runner, drive) in runners.items():
        torch.manual_seed(seed)
        records = episode_records(runner, scenes, drive, seed, episodes=episodes)
        found[name] = Scores(records[~records["coplayer"]], len(scenes))
    return found


def scores_in_training(paths: list[Path], scenes: list[Scene], episodes: int, seed: int, deterministic: bool,
                       device: torch.device) -> list[tuple[int, dict[str, Scores]]]:
    """For each checkpoint of a run its agent-steps, and the scores of the policies `IN_TRAINING`.

    Raises:
        CheckpointError: a checkpoint is damaged.
    """
    points = []
    for path in paths:
        policy, config = load_policy(path, device)
        found = ablations(PolicyRunner(policy, device, deterministic))
        runners = {name: (beside_partners(found[name], config), config.env.drive) for name in IN_TRAINING}
        points.append((about(path)["counters"]["agent_steps"], scores_of(runners, scenes, episodes, seed)))
    return points


def compared_checkpoints(compare: tuple[str, ...], taken: Mapping[str, object]) -> dict[str, Path]:
    """The checkpoints of further policies by name, from arguments NAME=CHECKPOINT.

    Raises:
        ValueError: an argument has another form, or its name is taken.
    """
    found: dict[str, Path] = {}
    for argument in compare:
        name, equals, path = argument.partition("=")
        if not (name and equals and path):
            raise ValueError(f"compare is {argument!r}; it must be NAME=CHECKPOINT")
        if name in taken or name in found:
            raise ValueError(f"compare has {name!r}, which is the name of another policy; it must be a new one")
        found[name] = checkpoint_at(Path(path))
    return found


def main() -> None:
    """The command: `python -m baselines.ablate CHECKPOINT`."""
    import tyro
    from rich.console import Console

    def run(checkpoint: Path, scenes: Repeated = (), scene_count: int | None = None,
            first_seed: int | None = None, episodes: int = 8, compare: Repeated = (),
            training: bool = False, deterministic: bool = False, seed: int = 0, device: str = "auto",
            out: Path = Path("ablation")) -> None:
        """Prints the score of each trial under ablations of memory and trial features, with 95% intervals over scenes.

        Writes `scores.json` and `scores.png`, too.

        Args:
            checkpoint: a checkpoint's folder, or a run's folder for its newest checkpoint.
            scenes: generators and paths; none: those of the training.
            scene_count: scenes per generator; none: as in the training.
            first_seed: of the generators' scenes; none: the first after those of the training.
            episodes: of every scene, at least 2.
            compare: further policies without ablations, NAME=CHECKPOINT, each with its own config on the same scenes.
            training: also draw the scores with and without memory of all checkpoints of the run, `training.png`.
            deterministic: take the most probable action instead of a sample.
            seed: of the worlds and of the samples.
            device: a device of torch, or auto.
            out: the folder to write into.
        """
        try:
            checked_folder("--out", out)

            # The policy under each ablation.
            if episodes < MIN_EPISODES:
                raise ValueError(f"episodes is {episodes}; it must be {MIN_EPISODES} or more")
            torch_device, checkpoint = join(device).device, checkpoint_at(checkpoint)
            policy, config = load_policy(checkpoint, torch_device)
            if config.env.drive.max_trials == 1:
                raise ValueError(f"'{checkpoint}' has max_trials 1; an ablation needs an episode of 2 or more trials")
            env = config.env.on_scenes(values_of(scenes), scene_count)
            held_out = scenes_of(env, seeds_used(config.env) if first_seed is None else first_seed)
            if len(held_out) < 2:
                raise ValueError(f"scenes has {len(held_out)} scene; it must have 2 or more, since `shuffled` needs "
                                 "agents in another one")
            full = PolicyRunner(policy, torch_device, deterministic)
            runners = {name: (beside_partners(runner, config), env.drive) for name, runner in ablations(full).items()}

            # Further policies, each with the config of its training.
            paths = {"full": checkpoint}
            for name, path in compared_checkpoints(values_of(compare), runners).items():
                other, of_other = load_policy(path, torch_device)
                paths[name] = path
                runner = PolicyRunner(other, torch_device, deterministic)
                runners[name] = beside_partners(runner, of_other), of_other.env.drive
            for name, path in paths.items():  # checks all scenes before any is played
                with Batch(held_out, config=runners[name][1], seed=seed) as batch:
                    check_fits(path, batch)
            out.mkdir(parents=True, exist_ok=True)
        except (ValueError, OSError) as error:  # from checkpoints, scenes or the folder; the message is one sentence
            sys.exit(f"baselines.ablate: {error}")

        # Scores, as a table, a file and pictures.
        policies, optimal = scores_of(runners, held_out, episodes, seed), optimal_curves(env, held_out)
        data = as_data(policies, optimal)
        title = f"{checkpoint.name} on {len(held_out)} scenes, {episodes} episodes of each"
        table = as_table(title, policies, optimal)
        width = Console(width=MAX_TABLE_COLUMNS).measure(table).maximum
        Console(width=max(Console().width, width)).print(table)  # not cut in a narrow terminal or a pipe
        (out / "scores.json").write_text(json.dumps({
            "checkpoints": {name: str(path) for name, path in paths.items()},
            "scenes": [scene.name for scene in held_out], "episodes": episodes, "seed": seed,
            "deterministic": deterministic, "optimal": optimal, "policies": data}, indent=1))
        draw_scores(data, optimal, out / "scores.png")
        print(f"scores: {out / 'scores.json'}\npicture: {out / 'scores.png'}")
        if training:
            try:
                of_run = checkpoints(checkpoint.parent) or [checkpoint]
                points = scores_in_training(of_run, held_out, episodes, seed, deterministic, torch_device)
            except ValueError as error:  # from a checkpoint
                sys.exit(f"baselines.ablate: {error}")
            draw_training(points, optimal, out / "training.png")
            print(f"training: {out / 'training.png'}")

    tyro.cli(run, prog="python -m baselines.ablate", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
