"""Which subcommands does `drive-env` have, and which options has each?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config import ObservationConfig
from ..errors import ConfigError
from ..scenes.generate import GENERATORS
from ..version import package_version
from . import bench as bench_command
from . import conversion, inspection, visuals
from . import demo as demo_command

SCENE_HELP = (f"A scene file, or a generator's name ({', '.join(GENERATORS)}). Write ./town for a file that is called "
              "town.")
DEFAULTS = ObservationConfig()

app = typer.Typer(
    help="A multi-agent driving environment whose episodes consist of trials.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would read [render] as a style
    context_settings={"help_option_names": ["-h", "--help"]})


def _show_version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"drive-env {package_version()}")
        raise typer.Exit()


@app.callback()
def _command(
    version: Annotated[bool, typer.Option(
        "--version", callback=_show_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    pass


@app.command()
def demo(
    scene: Annotated[str | None, typer.Argument(
        metavar="SCENE", help=f"Played after the town. {SCENE_HELP}", show_default="the town alone")] = None,
    episodes: Annotated[int, typer.Option(min=1, max=1000, help="Number of episodes per driver.")] = 6,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the episodes and of the random policy.")] = 0,
    out: Annotated[Path | None, typer.Option(
        help="Folder for a film and a replay page of the last scene; needs the extra [render].",
        show_default="none are written")] = None,
) -> None:
    """Play the town and SCENE through the PettingZoo API, with random actions and a rule-based driver.

    Every episode has two trials.
    Reports the metrics of both drivers, agent-steps per second, and the time of each phase.
    """
    demo_command.run(scene, episodes, seed, out)


@app.command()
def inspect(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=SCENE_HELP)],
    seed: Annotated[int, typer.Option(min=0, help="Seed of a generated scene.")] = 0,
    agents: Annotated[int, typer.Option(min=1, max=4096, help="Number of vehicles of a generated scene.")] = 32,
    plot: Annotated[Path | None, typer.Option(
        help="File to plot the scene into (.png, .svg or .pdf); needs the extra [render].",
        show_default="no plot")] = None,
) -> None:
    """Show what a scene holds, what reading it dropped or imputed, and the agent roles."""
    found = inspection.run(scene, seed, agents)
    if plot is not None:
        visuals.plot(found, plot)


@app.command()
def convert(
    sources: Annotated[list[str], typer.Argument(
        metavar="SOURCE...", help="Scene files, folders of them, or a generator's name "
                                  f"({', '.join(GENERATORS)}).")],
    out: Annotated[Path, typer.Argument(
        metavar="OUT", help="The .drv file to write, for one source; else a folder, created if missing.")],
    licence: Annotated[str | None, typer.Option(
        help="The terms of the data, stored in every file.", show_default="those of the source")] = None,
    licence_file: Annotated[Path | None, typer.Option(help="A text file with the terms.", show_default="none")] = None,
    dataset: Annotated[str | None, typer.Option(
        help="Name of the dataset, stored in every file.", show_default="that of the source")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a generated scene.")] = 0,
    agents: Annotated[int, typer.Option(min=1, max=4096, help="Number of vehicles of a generated scene.")] = 32,
) -> None:
    """Convert scenes of any readable format to .drv, which loads fastest, and report what was dropped or imputed."""
    if licence is not None and licence_file is not None:
        raise ConfigError("--licence and --licence-file are both set; at most one may be")
    if licence_file is not None:
        licence = conversion.text_in(licence_file)
    options = {"licence": licence, "dataset": dataset}
    provenance = {name: text for name, text in options.items() if text is not None}
    conversion.run(sources, out, provenance, force, seed, agents)


AGENTS = Annotated[int | None, typer.Option(
    min=1, max=4096, help="Number of agents.", show_default="as many as the scene has")]
TRIALS = Annotated[int, typer.Option(min=1, max=100, help="Number of trials of the episode.")]
SEED = Annotated[int, typer.Option(min=0, help="Seed of the scene, of the episode and of the random policy.")]


@app.command()
def play(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=SCENE_HELP)],
    out: Annotated[Path, typer.Option(
        help="The file to write: a film (.mp4, .gif) or a contact sheet (.png).")],
    policy: Annotated[str, typer.Option(
        help="random, lane (rule-based) or replay (the log, with one rule-based agent).")] = "lane",
    agents: AGENTS = None,
    trials: TRIALS = 1,
    seed: SEED = 0,
    view: Annotated[str, typer.Option(
        help="scene (the whole scene) or follow (one agent and its observation).")] = "scene",
    agent: Annotated[int, typer.Option(min=0, help="Index of the agent that follow shows.")] = 0,
) -> None:
    """Play an episode and film it. Needs the extra [render]."""
    visuals.play(scene, out, policy, agents, trials, seed, view, agent)


@app.command()
def replay(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=SCENE_HELP)],
    out: Annotated[Path, typer.Option(help="The page to write (.html or .htm).")],
    policy: Annotated[str, typer.Option(help="random or lane (rule-based).")] = "lane",
    agents: AGENTS = None,
    trials: TRIALS = 2,
    seed: SEED = 0,
) -> None:
    """Play an episode and write a page that replays it in any browser, without a network."""
    visuals.replay(scene, out, policy, agents, trials, seed)


@app.command()
def bench(
    scene: Annotated[str, typer.Option(help=f"{SCENE_HELP} A folder stands for the scenes of its files.")] = "town",
    worlds: Annotated[int, typer.Option(min=1, max=65536, help="Number of worlds.")] = 64,
    agents: Annotated[int | None, typer.Option(
        min=1, max=4096, help="Number of agents per world.", show_default="as many as the scene has")] = None,
    threads: Annotated[int, typer.Option(
        min=0, max=1024, help="Number of threads; 0: all processors that this process may use.")] = 0,
    partners: Annotated[int, typer.Option(min=0, max=255, help="Partner slots of an observation.")] = DEFAULTS.partners,
    roads: Annotated[int, typer.Option(min=0, max=1024, help="Road slots of an observation.")] = DEFAULTS.roads,
    action: Annotated[bench_command.Action, typer.Option(
        help="Action type.")] = bench_command.Action.discrete,
    seconds: Annotated[float, typer.Option(min=0.05, max=600.0, help="Duration of each of five repeats, s.")] = 2.0,
) -> None:
    """Measure agent-steps per second of the array API under random actions: the median of five repeats.

    An agent-step is one acting agent in one step.
    Events are ignored, so that every agent acts in all steps but restarts.
    A sixth repeat times the phases.
    """
    bench_command.run(scene, worlds, agents, threads, partners, roads, action, seconds)
