"""How well does a policy drive? One episode of every scene, measured by the metrics of drive-env.

    python -m baselines.evaluate runs/town                             a table, on the scenes of the training
    python -m baselines.evaluate runs/town --evaluator multi_scenario  as `drive-env evaluate runs/town`
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from .tools.interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.evaluate").install()

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from drive_env import Batch, ConfigError, DriveConfig, DriveError, MetricValue, Scene, trial_metrics
from drive_env.cli.evaluation import evaluators as selected_evaluators
from drive_env.cli.evaluation import run as run_evaluators
from drive_env.evaluation import first_episodes
from drive_env.policies import Act, MakeAct, TrainedPolicy, policy_maker

from .adaptation.interventions import Blanked, Exchanged, Wiped, WipedAndBlanked, of_another_episode
from .config import EnvConfig, TrainConfig
from .partners.loaded import with_partners
from .policy.runner import PolicyRunner
from .rollout.batches import scenes_of
from .tools.checkpoint import about, check_fits, checkpoint_at, load_policy
from .tools.checkpoint_config import WEIGHTS
from .tools.dist import join

Repeated = tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]]
"""An option with several values that may also be repeated, as those of `drive-env evaluate`; `values_of` joins them."""

Settings = Annotated[Repeated, tyro.conf.arg(name="set")]
All, Listed, Shown = (Annotated[bool, tyro.conf.arg(name=name)] for name in ("all", "list", "show"))
"""Options with the names of built-in functions, which a parameter must not shadow."""

ABLATIONS = {"wiped": Wiped, "blanked": Blanked, "wiped_and_blanked": WipedAndBlanked}
"""The ablations of memory that evaluators play, by name, under which the actions of an agent depend on its world alone;
beside them they play "redrawn", under which they depend on the episodes of its scene. That with the memory of an agent
in another scene is in `baselines.ablate` alone: which scenes are in a batch depends on the shard."""

WORLDS_AT_ONCE = 64
"""Worlds of one batch: enough to keep the threads of a machine busy, few enough for its memory."""


def values_of(repeated: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """All values of an option, in their order on the command line."""
    return tuple(chain.from_iterable(repeated))


def evaluate(make_act: MakeAct, scenes: list[Scene], drive: DriveConfig, seed: int = 0,
             threads: int = 0) -> dict[str, MetricValue]:
    """`trial_metrics` over one episode of every scene: each of the `max_trials` trials of each agent once."""
    return trial_metrics(episode_records(make_act, scenes, drive, seed, threads))


def episode_records(make_act: MakeAct, scenes: list[Scene], drive: DriveConfig, seed: int = 0, threads: int = 0,
                    episodes: int = 1, worlds_at_once: int | None = None) -> np.ndarray:
    """The trial records of `episodes` episodes of every scene; agents and scenes are numbered through all batches.

    Each episode is that of a world of its own. World w of a batch of n scenes plays scene (w + k) mod n, with a
    constant k, so the next world has another scene. No batch has a single scene unless `scenes` has only one.
    """
    records, agents, scenes_at_once = [], 0, max((worlds_at_once or WORLDS_AT_ONCE) // episodes, 2)
    starts = list(range(0, len(scenes), scenes_at_once))
    if len(starts) > 1 and starts[-1] == len(scenes) - 1:
        starts.pop()  # the last batch would have one scene
    for start, end in zip(starts, [*starts[1:], len(scenes)], strict=True):
        chunk = scenes[start:end]
        # With consecutive world ids, "cycle" gives each scene to equally many worlds.
        ids = range(start * episodes, (start + len(chunk)) * episodes)
        with Batch(chunk, num_worlds=len(ids), config=replace(drive, scene_order="cycle"), seed=seed, threads=threads,
                   world_ids=ids, trial_records=drive.max_trials) as batch:
            records.append(first_episodes(batch, make_act(batch)))
            records[-1]["agent"] += agents
            records[-1]["scene"] += start
            agents += batch.num_agents
    return np.concatenate(records)


def policy_of(path: str | Path, device: str = "auto", deterministic: bool = True) -> TrainedPolicy:
    """The policy of a checkpoint, as evaluators, films and replay pages of drive-env accept it.

    Args:
        path: a checkpoint's folder, or a run's folder for its newest checkpoint.
        device: a device of torch; auto: a GPU if there is one, else the CPU.
        deterministic: take the most probable action instead of a sample.

    Raises:
        ConfigError: the folder has no checkpoint, or a damaged one, or torch has no such device.
    """
    try:
        torch_device, checkpoint = join(device).device, checkpoint_at(Path(path))
        found = about(checkpoint)
        identity = identity_of(checkpoint, found["files"][WEIGHTS], found["counters"])
        policy, config = load_policy(checkpoint, torch_device)
    except ValueError as error:  # its message is one sentence
        raise ConfigError(str(error)) from None
    runner = PolicyRunner(policy.eval(), torch_device, deterministic)

    def check(batch: Batch) -> None:
        try:
            check_fits(checkpoint, batch)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    return trained_policy(runner, check, identity, config)


def trained_policy(runner: PolicyRunner, check: Callable[[Batch], None], checkpoint: Mapping[str, Any],
                   config: TrainConfig) -> TrainedPolicy:
    """A policy of the trainer, as evaluators accept it, under `ABLATIONS` and "redrawn" if it has a memory. In worlds
    with co-players, these are driven by the partners of the training, if it had any.

    Args:
        runner: the policy, without intervention.
        check: raises a `ConfigError` if the policy does not fit a batch.
        checkpoint: path, sha256, update and steps. config: of the training.
    """
    def for_batch(batch: Batch, runner: PolicyRunner = runner) -> Act:
        check(batch)
        return with_partners(runner, config.partners, runner.device, runner.policy.precision)(batch)

    kinds = {**{name: partial(kind, device=runner.device) for name, kind in ABLATIONS.items()},
             "redrawn": partial(Exchanged, runner=runner, donors=of_another_episode)}
    ablated = {name: partial(for_batch, runner=replace(runner, intervene=kind))
               for name, kind in kinds.items() if runner.policy.has_memory}
    return TrainedPolicy(for_batch, checkpoint, config.env.drive, scene_settings(config.env), ablated)


def identity_of(path: str | Path, sha256: str, counters: Mapping[str, int]) -> dict[str, Any]:
    """What identifies a trained policy in a result: path, hash of the weights, update and agent-steps.

    Args:
        path: of the checkpoint or of the run. counters: of the run.
    """
    return {"path": os.path.abspath(path), "sha256": sha256, "update": counters["update"],
            "steps": counters["agent_steps"]}


def scene_settings(env: EnvConfig) -> dict[str, Any]:
    """The scenes of a training as settings of an evaluator, which plays held-out seeds of the generators.

    If `scene_agents_of` sets the number of vehicles of some generators, all generators have their default numbers.
    """
    # A training may list a generator several times, to draw its scenes more often.
    scenes, agents = list(dict.fromkeys(env.scenes)), None if env.scene_agents_of else env.scene_agents
    return {"scenes": scenes, "scene_agents": agents, "scene_parameters": env.scene_parameters}


def print_table(checkpoint: Path, chosen: tuple[tuple[str, ...], int | None, int | None], first_seed: int,
                deterministic: bool, seed: int, device: str) -> None:
    """Prints the metrics of a checkpoint's policy beside those of a random policy, on every scene.

    Args:
        chosen: scenes, scenes per generator and vehicles in a generated scene, as for `EnvConfig.on_scenes`.

    Raises:
        ValueError: the checkpoint is damaged, or the scenes do not fit it; the message is one sentence.
    """
    # The policy and the scenes.
    torch_device, checkpoint = join(device).device, checkpoint_at(checkpoint)
    policy, config = load_policy(checkpoint, torch_device)
    changed = config.env.on_scenes(*chosen)
    all_scenes = scenes_of(changed, first_seed)
    with Batch(all_scenes, config=changed.drive, seed=seed) as batch:  # checks all scenes before the evaluation
        check_fits(checkpoint, batch)

    # Both evaluations, as one table.
    together = partial(with_partners, config=config.partners, device=torch_device, precision=policy.precision)
    trained = evaluate(together(PolicyRunner(policy, torch_device, deterministic)), all_scenes, changed.drive, seed)
    random = evaluate(together(policy_maker("random", seed)), all_scenes, changed.drive, seed)
    table = Table(title=f"{checkpoint.name} on {len(all_scenes)} scenes")
    for column in ("metric", "policy", "random policy", "n"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for name, metric in trained.items():
        table.add_row(name, f"{metric.value:.4g}", f"{random[name].value:.4g}", str(metric.n))
    Console().print(table)


def set_once(settings: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The settings of `--set`, followed by those that have options of their own.

    Raises:
        ConfigError: one is set in both ways.
    """
    names = {setting.partition("=")[0].strip() for setting in settings}
    found = {name: value for name, value in options.items() if value is not None}
    for name in found:
        if name in names:
            raise ConfigError(f"--{name.replace('_', '-')} and --set {name} are both set; at most one may be")
    return [*settings, *(f"{name}={value}" for name, value in found.items())]


def main() -> None:
    """The command: `python -m baselines.evaluate CHECKPOINT`."""

    def run(checkpoint: Path, scenes: Repeated = (), scene_count: int | None = None,
            first_seed: int | None = None, scene_agents: int | None = None, deterministic: bool = True,
            seed: int | None = None, device: str = "auto", evaluator: Repeated = (), all_enabled: All = False,
            config: Path | None = None, listed: Listed = False, shown: Shown = False,
            out: Path | None = None, settings: Settings = (), shard: str = "0/1", bounds: bool = True,
            threads: int = 0, failures: int | None = None) -> None:
        """Evaluates the policy of a checkpoint on every scene and prints its metrics beside those of a random policy.

        With an evaluator or a config it does what `drive-env evaluate` does: figures with intervals, beside several
        other policies, on held-out seeds of the generators.

        Args:
            checkpoint: a checkpoint's folder, or a run's folder for its newest checkpoint.
            scenes: generators and paths; none: those of the training.
            scene_count: scenes per generator; none: as in the training, for an evaluator 64.
            first_seed: of the generators' scenes; those of the training begin at 0; none: 0, for an evaluator 10000000.
            scene_agents: vehicles in a generated scene; none: as in the training.
            deterministic: take the most probable action instead of a sample.
            seed: of the worlds and of the random policy; none: 0.
            device: a device of torch, or auto.
            evaluator: a section of the config, or without a config a type of evaluator; takes several.
            all_enabled: run all enabled sections of the config, as if neither this nor `evaluator` is set.
            config: a TOML file with sections [eval.NAME].
            listed: list the evaluators and exit.
            shown: show all settings of the evaluators as JSON and exit.
            out: the result to write (.json), with its rows beside it; with several evaluators, a folder.
            settings: of an evaluator, such as scene_count=8 or env.trial_steps=40; takes several.
            shard: play part I of N of an evaluator's scenes, I/N, from 0; `drive-env merge` joins results.
            bounds: whether an evaluator also plays policies that need no training.
            threads: number of threads that step the worlds of an evaluator; 0: one per available core.
            failures: number of episodes with the lowest scores to show beside the result of an evaluator.
        """
        try:
            # Without an evaluator, the table.
            if all_enabled and (config is None or evaluator):
                raise ConfigError("--all is set; it needs --config, and no --evaluator beside it")
            if not (evaluator or config or listed or shown):
                for option, is_set in (("--out", out), ("--set", settings), ("--shard", shard != "0/1"),
                                       ("--no-bounds", not bounds), ("--threads", threads),
                                       ("--failures", failures is not None)):
                    if is_set:
                        raise ConfigError(f"{option} is set; it needs --evaluator or --config")
                print_table(checkpoint, (values_of(scenes), scene_count, scene_agents), first_seed or 0, deterministic,
                            seed or 0, device)
                return

            # The evaluators.
            policy = policy_of(checkpoint, device, deterministic)
            options = set_once(values_of(settings), {"scene_count": scene_count, "first_seed": first_seed,
                                                     "scene_agents": scene_agents, "seed": seed})
            chosen = selected_evaluators(values_of(scenes), values_of(evaluator), config, None, None, options, policy,
                                         failures)
            code = run_evaluators(str(checkpoint), policy, chosen, out, shard, bounds, threads, listed, shown)
        except (DriveError, ValueError, OSError) as error:  # the message is one sentence
            sys.exit(f"baselines.evaluate: {error}")
        sys.exit(code)

    tyro.cli(run, prog="python -m baselines.evaluate", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
