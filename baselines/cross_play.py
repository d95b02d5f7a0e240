"""How do egos drive with partners that they know, and with unseen ones? The score of each trial, on held-out scenes.

    python -m baselines.cross_play runs/partners_intersection

The folder is that of `baselines.population`. Every ego drives with itself, with the partners of each ego, and with the
unseen ones; 95% intervals are those of a bootstrap over scenes.
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from .tools.interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.cross_play").install()

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from drive_env import Batch

from .adaptation.scores import Scores
from .config import PartnerConfig
from .evaluate import episode_records
from .partners.loaded import load_partners, with_partners
from .policy.runner import PolicyRunner
from .population import MANIFEST
from .rollout.batches import scenes_of, seeds_used
from .tools.checkpoint import about, check_fits, checkpoint_at, load_policy
from .tools.checkpoint_config import WEIGHTS
from .tools.dist import join

WORLDS_AT_ONCE = 1024
"""Worlds of one batch: policies are slow in small ones on a GPU."""

ITSELF = "itself"
"""The set of co-players in self-play."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """The runs of a population.

    Raises:
        ValueError: the folder has no manifest, or a damaged one.
    """
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {key: found[key] for key in ("coplayers", "partners", "unseen", "egos")}
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{os.fspath(folder)!r} is no folder of a population: {MANIFEST} is missing or damaged; "
                         "python -m baselines.population trains one") from None


def sets_of(manifest: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The sets of co-players by name, as names of runs: the ego itself, the partners of each ego, the unseen ones."""
    known = {_named(partners): tuple(partners) for partners in manifest["egos"].values() if partners}
    return {ITSELF: (), **known, f"unseen: {_named(manifest['unseen'])}": tuple(manifest["unseen"])}


def _named(partners: list[str]) -> str:
    numbers = [name.removeprefix("partner_") for name in partners]
    return f"partners {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"partner {numbers[0]}"


def scores_with(folder: Path, ego: str, partners: tuple[str, ...], coplayers: int | float, scene_count: int,
                episodes: int, seed: int, deterministic: bool, device: torch.device) -> Scores:
    """The scores of an ego with partners, in episodes of scenes that it has not been trained on.

    Args:
        ego, partners: names of runs in the folder; without partners the ego drives all agents.

    Raises:
        ValueError: a run has no checkpoint, or an ego and a partner do not fit each other.
    """
    path = checkpoint_at(folder / ego)
    policy, config = load_policy(path, device)
    env = config.env.on_scenes(count=scene_count)
    scenes, drive = scenes_of(env, seeds_used(config.env)), env.drive.replace(coplayers=coplayers)
    driven = replace(config.partners, checkpoints=tuple(os.fspath(folder / name) for name in partners),
                     per_world=min(config.partners.per_world, max(len(partners), 1)))
    with Batch(scenes, config=drive, seed=seed) as batch:  # checks everything before it is played
        check_fits(path, batch)
        load_partners(driven, batch, device, policy.precision)
    torch.manual_seed(seed)
    together = with_partners(PolicyRunner(policy, device, deterministic), driven, device, policy.precision)
    records = episode_records(together, scenes, drive, seed, episodes=episodes, worlds_at_once=WORLDS_AT_ONCE)
    return Scores(records[~records["coplayer"]], len(scenes))


def as_data(scores: Scores) -> dict[str, Any]:
    """The estimates of each trial and of the gain from the first to the last."""
    return {"scores": [asdict(scores.of_trial(trial)) for trial in range(scores.trials)],
            "gain": asdict(scores.gain(scores.trials - 1))}


def main() -> None:
    """The command: `python -m baselines.cross_play FOLDER`."""
    import tyro
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    def run(folder: Path, scene_count: int = 64, episodes: int = 8, deterministic: bool = False, seed: int = 0,
            device: str = "auto", out: Path | None = None) -> None:
        """Prints the score of each trial of every ego of a population, with its partners and with others.

        Writes `cross_play.json`, too.

        Args:
            folder: of the population.
            scene_count: scenes of each generator, with seeds after those of the training.
            episodes: of every scene.
            deterministic: whether egos take their most probable actions, instead of samples.
            seed: of the worlds and of the samples.
            device: a device of torch, or auto.
            out: the file to write; none: cross_play.json in the folder.
        """
        try:
            # The scores of every ego with every set of partners, and the hashes of all weights.
            manifest, torch_device = read_manifest(folder), join(device).device
            sets, found = sets_of(manifest), {}
            for ego, known in manifest["egos"].items():
                for name, partners in sets.items():
                    scores = scores_with(folder, ego, partners, manifest["coplayers"], scene_count, episodes, seed,
                                         deterministic, torch_device)
                    found[ego, name] = as_data(scores) | {"known": list(partners) == known}
            hashes = {name: about(checkpoint_at(folder / name))["files"][WEIGHTS]
                      for name in (*manifest["partners"], *manifest["egos"])}
        except (ValueError, OSError) as error:  # from checkpoints, scenes or the folder; the message is one sentence
            sys.exit(f"baselines.cross_play: {error}")

        # The table and the file.
        trials = len(next(iter(found.values()))["scores"])
        table = Table(title=f"{folder} on {scene_count} scenes, {episodes} episodes of each", box=SIMPLE)
        for column in ("ego", "co-players", "known", *(f"trial {trial + 1}" for trial in range(trials)),
                       f"trial {trials} - 1", "n"):
            table.add_column(column, no_wrap=True)
        for (ego, name), row in found.items():
            cells = [f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
                     for one in (*row["scores"], row["gain"])]
            table.add_row(ego, name, "yes" if row["known"] else "no", *cells, str(row["gain"]["n"]))
        Console(width=max(Console().width, 160)).print(table)
        path = folder / "cross_play.json" if out is None else out
        path.write_text(json.dumps({
            "scene_count": scene_count, "episodes": episodes, "deterministic": deterministic, "seed": seed,
            "weights": hashes, "rows": [{"ego": ego, "coplayers": name, **row} for (ego, name), row in found.items()]},
            indent=1), encoding="utf-8")
        print(f"scores: {path}")

    tyro.cli(run, prog="python -m baselines.cross_play", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
