"""How are a population of partners, and egos that drive among them, trained? One run after the other, from a preset.

    python -m baselines.population partners_intersection                      all runs in turn
    python -m baselines.population partners_intersection --runs self_play     some of them, for example on another GPU
    python -m baselines.cross_play runs/partners_intersection                 how egos drive with known and unseen ones

The partners are trained in self-play, with several entropy weights and rewards of collisions; then an ego in self-play,
and egos with the first 2 and 4 partners. No ego is trained with the last partners, the unseen ones. A run that is
finished is skipped, one that was interrupted is resumed.
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from .tools.interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.population").install()

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from textwrap import fill, indent
from typing import Any

from drive_env import Batch, ConfigError

from .config import PopulationConfig, TrainConfig
from .ppo import train
from .rollout.batches import scenes_of
from .tools.checkpoint import checkpoints
from .tools.interrupts import Interrupted
from .tools.log_file import LOG, read_lines

MANIFEST = "population.json"
"""The file in the folder of a population that lists its runs."""

SELF_PLAY = "self_play"
"""The name of the ego that is trained in self-play."""

SEED_STRIDE = 1000
"""Run i of a population has the seed `base.run.seed` * SEED_STRIDE + i: populations of other seeds share none."""


@dataclass(frozen=True)
class Member:
    """One run of a population.

    Attributes:
        config: of its training. partners: names of the runs whose policies drive its co-players; (): self-play.
    """

    config: TrainConfig
    partners: tuple[str, ...] = ()


def members(population: PopulationConfig) -> dict[str, Member]:
    """The runs of a population by name, in the order of training."""
    # Combinations, of which the first ones differ in both numbers.
    entropies, collisions = population.entropy_weights, population.collision_rewards
    pairs = sorted(product(range(len(entropies)), range(len(collisions))),
                   key=lambda pair: ((pair[1] - pair[0]) % len(collisions), pair))
    found: dict[str, Member] = {}

    def add(name: str, known: tuple[str, ...] = (), **parts: Any) -> None:
        run = {"folder": os.path.join(population.folder, name),
               "seed": population.base.run.seed * SEED_STRIDE + len(found)}
        found[name] = Member(population.base.changed(run=run, **parts), known)

    names = [f"partner_{number}" for number in range(1, max(population.egos) + population.unseen + 1)]
    for index, name in enumerate(names):
        entropy, collision = pairs[index % len(pairs)]
        drive = population.base.env.drive.replace(reward={"collision": collisions[collision]})
        add(name, ppo={"entropy_weight": entropies[entropy]}, env={"drive": drive})
    add(SELF_PLAY)
    for count in population.egos:
        known = tuple(names[:count])
        drive = population.base.env.drive.replace(coplayers=population.coplayers)
        add(f"ego_{count}", known, env={"drive": drive},
            partners={"checkpoints": [found[name].config.run.folder for name in known],
                      "per_world": min(population.base.partners.per_world, count)})
    return found


def manifest(population: PopulationConfig) -> dict[str, Any]:
    """The runs as JSON data: `partners`, `unseen`, and `egos` with the partners of their trainings; `coplayers`, and
    `base`, the config that they share."""
    runs = members(population)
    partners = [name for name in runs if name.startswith("partner_")]
    base = population.base.to_dict()
    del base["run"]
    return {
        "base": base, "coplayers": population.coplayers,
        "partners": {name: {"entropy_weight": runs[name].config.ppo.entropy_weight,
                            "collision": runs[name].config.env.drive.reward.collision,
                            "seed": runs[name].config.run.seed} for name in partners},
        "unseen": partners[max(population.egos):],
        "egos": {name: list(member.partners) for name, member in runs.items() if name not in partners}}


def train_population(population: PopulationConfig) -> None:
    """Writes the manifest and trains the runs that are not finished.

    Raises:
        ValueError: something in a config does not fit, or a partner of an ego is not trained yet.
        Interrupted: as from `baselines.ppo.train`.
    """
    runs = members(population)
    for name in population.runs:
        if name not in runs:
            raise ConfigError(f"runs has {name!r}; it must have some of {', '.join(map(repr, runs))}")
    env = runs[f"ego_{population.egos[0]}"].config.env
    with Batch(scenes_of(env), config=env.drive):  # checks the worlds of the egos before the partners are trained
        pass
    folder = Path(population.folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_manifest(folder / MANIFEST, manifest(population))
    for name in population.runs or runs:
        member = runs[name]
        if is_finished(Path(member.config.run.folder)):
            print(f"{name}: finished before")
            continue
        for partner in member.partners:
            if not is_finished(Path(runs[partner].config.run.folder)):
                raise ConfigError(f"runs has {name!r}, whose partner {partner!r} is not trained yet; train it first")
        print(f"{name}: {member.config.run.folder}", flush=True)
        train(member.config.changed(run={"resume": True}))


def write_manifest(path: Path, found: Mapping[str, Any]) -> None:
    """Writes the manifest; several processes that train runs of one population write the same.

    Raises:
        ConfigError: the folder has another population.
    """
    text = json.dumps(found, indent=1)
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise ConfigError(f"folder is {os.fspath(path.parent)!r}, which has a population with another config; choose "
                          "another folder")
    path.write_text(text, encoding="utf-8")


def is_finished(folder: Path) -> bool:
    """Whether a run has reached its end."""
    lines = read_lines(folder / LOG) if checkpoints(folder) else []
    return bool(lines) and lines[-1].get("status") == "finished"


def main() -> None:
    """The command: the name of a preset, then fields of the config."""
    from .presets import PRESETS
    from .tools.command_line import parse_with

    arguments = sys.argv[1:]
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "partners_intersection"
    if name not in PRESETS:
        sys.exit(f"baselines.population: preset is {name!r}; it must be one of {', '.join(map(repr, PRESETS))}")
    usage = f"{__doc__}\nPresets:\n" + indent(fill(", ".join(PRESETS), 72), "    ")
    try:
        default = PopulationConfig(folder=f"runs/{name}", base=PRESETS[name])
        train_population(parse_with(default, default.base, arguments, f"python -m baselines.population {name}", usage))
    except (ValueError, ImportError, OSError) as error:  # from config, files or loggers; the message is one sentence
        sys.exit(f"baselines.population: {error}")
    except Interrupted as error:
        if str(error):
            print(f"baselines.population: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
