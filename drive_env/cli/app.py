"""Which subcommands are there, and what may be asked of each?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config import DriveConfig
from ..errors import ConfigError
from ..scenes.generate import GENERATORS
from ..version import package_version
from . import bench as bench_command
from . import conversion, inspection, looking
from . import demo as demo_command

SCENE_HELP = (f"A scene file, or a generator's name ({', '.join(GENERATORS)}), which a file of that name does not "
              "hide: write ./town for it.")
DEFAULTS = DriveConfig()

app = typer.Typer(
    help="A multi-agent driving environment whose episodes are made of trials.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    rich_markup_mode=None,  # it would take [render] for a style
    context_settings={"help_option_names": ["-h", "--help"]})


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"drive-env {package_version()}")
        raise typer.Exit()


@app.callback()
def _command(
    version: Annotated[bool, typer.Option(
        "--version", callback=_show_version, is_eager=True, help="Show the version and leave.")] = False,
) -> None:
    pass


@app.command()
def demo(
    scene: Annotated[str | None, typer.Argument(
        metavar="SCENE", help=f"Played after the town. {SCENE_HELP}")] = None,
    episodes: Annotated[int, typer.Option(min=1, max=1000, help="Episodes for each driver.")] = 6,
    seed: Annotated[int, typer.Option(min=0, help="The same seed plays the same demo.")] = 0,
    out: Annotated[Path | None, typer.Option(
        help="Folder for a film and a replay page of the last scene; needs the extra [render].")] = None,
) -> None:
    """Play the town, and your SCENE, through the PettingZoo API: random actions, then a rule.

    Every episode is two trials of the same scene.
    Shown are the metrics of both drivers, agent-steps a second, and where the time went.
    """
    demo_command.run(scene, episodes, seed, out)


@app.command()
def inspect(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=SCENE_HELP)],
    seed: Annotated[int, typer.Option(min=0, help="Seed of a generated scene.")] = 0,
    agents: Annotated[int, typer.Option(min=1, max=4096, help="Vehicles of a generated scene.")] = 32,
    plot: Annotated[Path | None, typer.Option(
        help="Also draw it into this file (.png, .svg or .pdf); needs the extra [render].")] = None,
) -> None:
    """Say what a scene holds, what was dropped or made up in reading it, and who would drive."""
    found = inspection.run(scene, seed, agents)
    if plot is not None:
        looking.picture(found, plot)


@app.command()
def convert(
    sources: Annotated[list[str], typer.Argument(
        metavar="SOURCE...", help="Scene files, folders of them, or a generator's name "
                                  f"({', '.join(GENERATORS)}).")],
    out: Annotated[Path, typer.Argument(
        metavar="OUT", help="The file to write, .drv, for one source; else a folder, made if it is not there.")],
    licence: Annotated[str | None, typer.Option(help="The terms of the data, kept in every file.")] = None,
    licence_file: Annotated[Path | None, typer.Option(help="A file that holds them.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset, kept in every file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a generated scene.")] = 0,
    agents: Annotated[int, typer.Option(min=1, max=4096, help="Vehicles of a generated scene.")] = 32,
) -> None:
    """Write scenes of any readable format as .drv, which opens fastest, and say what was dropped or made up."""
    if licence is not None and licence_file is not None:
        raise ConfigError("licence and licence-file are both given; one may be")
    if licence_file is not None:
        licence = conversion.text_in(licence_file)
    given = {"licence": licence, "dataset": dataset}
    stated = {name: text for name, text in given.items() if text is not None}
    conversion.run(sources, out, stated, force, seed, agents)


AGENTS = Annotated[int | None, typer.Option(
    min=1, max=4096, help="Agents of the world.", show_default="as many as the scene has")]
TRIALS = Annotated[int, typer.Option(min=1, max=100, help="Trials of the episode.")]
SEED = Annotated[int, typer.Option(min=0, help="The same seed plays the same episode.")]


@app.command()
def play(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=SCENE_HELP)],
    out: Annotated[Path, typer.Option(
        help="The file to write: a film (.mp4, .gif) or a sheet of pictures (.png).")],
    policy: Annotated[str, typer.Option(
        help="random, lane (a rule) or replay (the log, in which one agent drives by rule).")] = "lane",
    agents: AGENTS = None,
    trials: TRIALS = 1,
    seed: SEED = 0,
    view: Annotated[str, typer.Option(
        help="scene (all of it) or follow (one agent and what it sees).")] = "scene",
    agent: Annotated[int, typer.Option(min=0, help="The agent that follow follows.")] = 0,
) -> None:
    """Play an episode and film it. Needs the extra [render]."""
    looking.play(scene, out, policy, agents, trials, seed, view, agent)


@app.command()
def replay(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=SCENE_HELP)],
    out: Annotated[Path, typer.Option(help="The page to write (.html or .htm).")],
    policy: Annotated[str, typer.Option(help="random or lane (a rule).")] = "lane",
    agents: AGENTS = None,
    trials: TRIALS = 2,
    seed: SEED = 0,
) -> None:
    """Play an episode into a page that plays in any browser, without a network."""
    looking.replay(scene, out, policy, agents, trials, seed)


@app.command()
def bench(
    scene: Annotated[str, typer.Option(help=f"{SCENE_HELP} A folder stands for the files in it.")] = "town",
    worlds: Annotated[int, typer.Option(min=1, max=65536, help="Worlds stepped together.")] = 64,
    agents: Annotated[int | None, typer.Option(
        min=1, max=4096, help="Agents of each world.", show_default="as many as the scene has")] = None,
    threads: Annotated[int, typer.Option(
        min=0, max=1024, help="Threads; 0 takes as many as this process may use.")] = 0,
    partners: Annotated[int, typer.Option(min=0, max=255, help="Vehicles an agent sees.")] = DEFAULTS.partners,
    roads: Annotated[int, typer.Option(min=0, max=1024, help="Road segments an agent sees.")] = DEFAULTS.roads,
    action: Annotated[bench_command.Action, typer.Option(
        help="Form of an action.")] = bench_command.Action.discrete,
    seconds: Annotated[float, typer.Option(min=0.05, max=600.0, help="Time of each of five repeats.")] = 2.0,
) -> None:
    """Measure agent-steps a second of the array API under random actions: the median of five repeats.

    An agent-step is one agent that acted in one step.
    Events are ignored, so that only the steps which restart a trial do not count.
    Phases are timed in a sixth repeat.
    """
    bench_command.run(scene, worlds, agents, threads, partners, roads, action, seconds)
