"""Which subcommands does `drive-env` have, and which options has each?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..config import ObservationConfig
from ..errors import ConfigError
from ..evaluation import EVALUATORS
from ..policies import POLICIES, resolved
from ..scenes.generate import GENERATORS
from ..scenes.packaged import PACKAGED
from ..scenes.resolve import is_name
from ..trained import PACKAGED as PACKAGED_POLICIES
from ..version import package_version
from . import bench as bench_command
from . import classification, comparison, conversion, evaluation, inspection, visuals
from . import demo as demo_command
from . import gallery as gallery_command
from . import hardness as hardness_command
from .several import SeveralValues

SCENE_HELP = (f"A scene file, a folder of them, a generator's name ({', '.join(GENERATORS)}), or the logged scene of "
              f"the package ({', '.join(PACKAGED)}). Write ./town for a file that is called town.")
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


def _number(meaning: str, **how: Any) -> Any:
    """An option that takes a number."""
    return typer.Option(metavar="N", help=meaning, **how)


ONE_SCENE_HELP = f"{SCENE_HELP} Of a folder one scene is taken, see --index."
INDEX = Annotated[int, _number("Index of the scene where SCENE is a folder, whose files are sorted by name.", min=0)]
SCENE_SEED = Annotated[int, _number("Seed of a generated scene.", min=0)]
SCENE_AGENTS = Annotated[int | None, _number("Number of vehicles of a generated scene.", min=1, max=4096,
                                             show_default="that of the generator")]


@app.command(short_help="Play the town, a scene, and trials of a hidden exit.")
def demo(
    scene: Annotated[str | None, typer.Argument(
        metavar="SCENE", help=f"Played after the town. {SCENE_HELP} Of a folder, each episode plays one at random.",
        show_default="the town alone")] = None,
    episodes: Annotated[int, _number("Number of episodes per driver.", min=1, max=1000)] = 6,
    seed: Annotated[int, _number("Seed of the episodes and of the random policy.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option(
        metavar="FOLDER", help="Folder for films and replay pages of SCENE (of a folder, its first scene; without "
                               "SCENE, the town) and of the hidden exit. Needs the extra [render].",
        show_default="none are written")] = None,
) -> None:
    """Play the town and SCENE through the PettingZoo API, with random actions and a rule-based driver.

    Every episode has two trials.
    Reports the metrics of both drivers, agent-steps per second, and the time of each phase.
    Then plays trials of a hidden exit by a trained policy, with its memory and without it.
    """
    demo_command.run(scene, episodes, seed, out)


@app.command(short_help="Show what a scene holds and its agent roles.")
def inspect(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=ONE_SCENE_HELP)],
    index: INDEX = 0,
    seed: SCENE_SEED = 0,
    agents: SCENE_AGENTS = None,
    plot: Annotated[Path | None, typer.Option(
        metavar="FILE", help="File to plot the scene into (.png, .svg or .pdf); needs the extra [render].",
        show_default="no plot")] = None,
) -> None:
    """Show what a scene holds, what reading it dropped or imputed, and the agent roles."""
    if plot is not None:
        visuals.check_plot(plot)
    found = inspection.run(scene, seed, agents, index)
    if plot is not None:
        visuals.plot(found, plot)


@app.command(short_help="Convert scenes of any readable format to .drv.")
def convert(
    sources: Annotated[list[str], typer.Argument(
        metavar="SOURCE...", help="Scene files, folders of them, a generator's name "
                                  f"({', '.join(GENERATORS)}), or {', '.join(PACKAGED)}.")],
    out: Annotated[Path, typer.Argument(
        metavar="OUT", help="The .drv file to write, for one source; else a folder, created if missing.")],
    licence: Annotated[str | None, typer.Option(
        metavar="TEXT", help="The terms of the data, stored in every file.",
        show_default="those of the source")] = None,
    licence_file: Annotated[Path | None, typer.Option(
        metavar="FILE", help="A text file with the terms.", show_default="none")] = None,
    dataset: Annotated[str | None, typer.Option(
        metavar="NAME", help="Name of the dataset, stored in every file.", show_default="that of the source")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    seed: SCENE_SEED = 0,
    agents: SCENE_AGENTS = None,
) -> None:
    """Convert scenes of any readable format to .drv, which loads fastest, and report what was dropped or imputed."""
    if licence is not None and licence_file is not None:
        raise ConfigError("--licence and --licence-file are both set; at most one may be")
    if licence_file is not None:
        licence = conversion.text_in(licence_file)
    options = {"licence": licence, "dataset": dataset}
    provenance = {name: text for name, text in options.items() if text is not None}
    conversion.run(sources, out, provenance, force, seed, agents)


@app.command(short_help="Find the behaviours in the logs of scenes.")
def classify(
    source: Annotated[str, typer.Argument(
        metavar="FOLDER", help=f"A folder of scene files with logs, one such file, or {', '.join(PACKAGED)}.")],
    out: Annotated[Path | None, typer.Option(
        metavar="FILE", help="The table to write (.csv): a line for each vehicle that shows a behaviour.",
        show_default="none is written")] = None,
) -> None:
    """Find the behaviours, such as lane changes, in the logs of scenes, and count the scenes and vehicles with each.

    A file that cannot be read is reported and counted; the others are still classified.
    """
    classification.run(source, out)


POLICY_HELP = (f"{', '.join((*POLICIES, *PACKAGED_POLICIES))}, package.module:name of a function from the batch to the "
               "actions, the folder of a checkpoint or of a run of the trainer, or an exported policy (.npz).")
AGENTS = Annotated[int | None, _number(
    "Number of agents; without --parked and --env, a generated scene has no other vehicles.", min=1, max=4096,
    show_default="as many as the scene has")]
PARKED = Annotated[int, _number("Number of parked vehicles of a generated scene, besides those of --agents.",
                                min=0, max=4096)]
SEED = Annotated[int, _number("Seed of the scene, of the episode and of the random policy.", min=0)]


def _trials(default: int) -> Any:
    return _number("Number of trials of the episode.", min=1, max=100,
                   show_default=f"{default}, or that of a trained policy or env")


class _SeveralSettings(SeveralValues):
    @staticmethod
    def is_value(option: str, word: str) -> bool:
        """Whether a word is a setting and cannot be a scene."""
        return "=" in word


ENV = Annotated[str | None, typer.Option(
    "--env", metavar="ID", help="A Gymnasium env, such as drive_env/Drive-v0: its config, in which one agent drives "
                                "among rule-based vehicles.",
    show_default="none: the default config, or that of the training")]
SETTINGS = Annotated[list[str] | None, typer.Option(
    "--set", metavar="env.FIELD=VALUE", help="A field of the config, such as env.trial_steps=40. Takes several.",
    show_default="none")]


@app.command(short_help="Play an episode and film it.", cls=_SeveralSettings)
def play(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=ONE_SCENE_HELP)],
    out: Annotated[Path, typer.Option(
        metavar="FILE", help="The file to write: a film (.mp4, .gif) or a contact sheet (.png).")],
    policy: Annotated[str | None, typer.Option(
        metavar="POLICY", help=f"{POLICY_HELP} replay: the log, with one rule-based agent.",
        show_default=visuals.DEFAULT_POLICY)] = None,
    index: INDEX = 0,
    agents: AGENTS = None,
    parked: PARKED = 0,
    trials: Annotated[int | None, _trials(visuals.FILM_TRIALS)] = None,
    seed: SEED = 0,
    view: Annotated[visuals.View, typer.Option(
        help="scene (the whole scene) or follow (one agent and its observation).")] = visuals.View.scene,
    agent: Annotated[int, _number("Index of the agent that follow shows.", min=0)] = 0,
    size: Annotated[str | None, typer.Option(
        metavar="WIDTHxHEIGHT", help="Size of the film, or of each picture of a sheet, in pixels.",
        show_default="1280x720; of a sheet 400x300")] = None,
    fps: Annotated[float | None, typer.Option(
        metavar="N", help="Frames per second of a film, which stays in real time: fewer make a smaller file.",
        show_default="one per step, at most 100")] = None,
    agent_colours: Annotated[bool, typer.Option(
        "--agent-colours", help="Give each driving agent, its trail and its goal a colour of their own.")] = False,
    env: ENV = None,
    settings: SETTINGS = None,
) -> None:
    """Play an episode and film it. Needs the extra [render]."""
    visuals.play(visuals.Episode(scene, index, policy, agents, trials, seed, env, settings or (), parked), out,
                 view.value, agent, size, fps, agent_colours)


@app.command(short_help="Drive an agent yourself, by keyboard or gamepad.", cls=_SeveralSettings)
def drive(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=ONE_SCENE_HELP)] = "town",
    policy: Annotated[str | None, typer.Option(
        metavar="POLICY", help=f"Drives the other agents: {POLICY_HELP}", show_default=visuals.DEFAULT_POLICY)] = None,
    index: INDEX = 0,
    agents: AGENTS = None,
    parked: PARKED = 0,
    trials: Annotated[int | None, _trials(1)] = None,
    seed: SEED = 0,
    view: Annotated[visuals.View, typer.Option(
        help="follow (your car and what it observes) or scene (the whole scene).")] = visuals.View.follow,
    agent: Annotated[int, _number("Index of the agent that you drive.", min=0)] = 0,
    env: ENV = None,
    settings: SETTINGS = None,
) -> None:
    """Drive an agent yourself in a window: arrow keys or WASD, Space brakes, R begins the next episode, Esc quits.

    A gamepad's left stick drives, A brakes, and Start begins the next episode. Needs the extra [drive].
    """
    visuals.drive(visuals.Episode(scene, index, policy, agents, trials, seed, env, settings or (), parked), view.value,
                  agent)


@app.command(short_help="Play an episode and write a page that replays it.", cls=_SeveralSettings)
def replay(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help=ONE_SCENE_HELP)],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write (.html or .htm).")],
    policy: Annotated[str | None, typer.Option(
        metavar="POLICY", help=POLICY_HELP, show_default=visuals.DEFAULT_POLICY)] = None,
    index: INDEX = 0,
    agents: AGENTS = None,
    parked: PARKED = 0,
    trials: Annotated[int | None, _trials(visuals.REPLAY_TRIALS)] = None,
    seed: SEED = 0,
    env: ENV = None,
    settings: SETTINGS = None,
) -> None:
    """Play an episode and write a page that replays it in any browser, without a network."""
    visuals.replay(visuals.Episode(scene, index, policy, agents, trials, seed, env, settings or (), parked), out)


@app.command(short_help="Film a scene of every generator, as a page.", cls=SeveralValues)
def gallery(
    out: Annotated[Path, typer.Option(
        metavar="FOLDER",
        help="Folder for the films and their page, index.html; created if missing.")] = Path("gallery"),
    scenes: Annotated[list[str] | None, typer.Option(
        metavar="NAME", help="Generators to film.", show_default="all of them")] = None,
    seed: Annotated[int, _number("Seed of the films, and the first one of the scores.", min=0)] = 0,
    seeds: Annotated[int, _number("Number of seeds over which scores are measured.", min=1, max=1000)] = 5,
    size: Annotated[int, _number("Width of the films, pixels.", min=160, max=1920)] = 480,
) -> None:
    """Film a scene of every generator, driven by its reference driver, and write a page with films, facts and scores.

    The page needs no network. Needs the extra [render].
    """
    gallery_command.run(out, scenes, seed, seeds, size)


class _Evaluate(SeveralValues):
    @staticmethod
    def is_value(option: str, word: str) -> bool:
        """Whether a word can be a scene, an evaluator or a setting, and no policy."""
        return {"--scenes": is_name(word), "--evaluator": word in EVALUATORS, "--set": "=" in word}[option]


@app.command(short_help="Measure how well a policy drives.", cls=_Evaluate)
def evaluate(
    policy: Annotated[str | None, typer.Argument(metavar="POLICY", help=POLICY_HELP, show_default=False)] = None,
    scenes: Annotated[list[str] | None, typer.Option(
        metavar="SCENE", help=f"{SCENE_HELP} A folder stands for all its scenes. Takes several: --scenes A B.",
        show_default="the town; of a checkpoint the generators of its training")] = None,
    evaluator: Annotated[list[str] | None, typer.Option(
        metavar="NAME", help=f"A section of the config, or without a config a type: {', '.join(EVALUATORS)}. Takes "
                             "several.",
        show_default="all sections that are enabled, or multi_scenario")] = None,
    config: Annotated[Path | None, typer.Option(
        metavar="FILE", help="A TOML file with sections [eval.NAME].", show_default="none")] = None,
    control: Annotated[str | None, typer.Option(
        metavar="WHICH", help="Which objects the policy drives: vehicles, all, tracks_to_predict or sdc. sdc selects "
                              "the evaluator human_replay, unless --config or --evaluator is given.",
        show_default="vehicles")] = None,
    trials: Annotated[int | None, _number("Number of trials of an episode.", min=1, max=10_000,
                                          show_default="that of the config, or 1")] = None,
    out: Annotated[Path | None, typer.Option(
        metavar="PATH", help="The result to write (.json), with its rows beside it. With several evaluators, a folder.",
        show_default="none is written")] = None,
    failures: Annotated[int | None, _number(
        "Number of episodes with the lowest scores to show: as replay pages beside the result, with a table that links "
        "them.", min=1, max=100_000, show_default="none, or those of the config")] = None,
    shard: Annotated[str, typer.Option(metavar="I/N", help="Play part I of N, from 0; merge joins results.")] = "0/1",
    bounds: Annotated[bool, typer.Option(
        "--bounds/--no-bounds", help="Whether policies that need no training are evaluated for comparison.")] = True,
    settings: Annotated[list[str] | None, typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting, such as scene_count=8 or env.trial_steps=40. Takes several.",
        show_default="none")] = None,
    threads: Annotated[int, _number(
        "Number of threads; 0: all processors that this process may use.", min=0, max=1024)] = 0,
    listed: Annotated[bool, typer.Option("--list", help="List the evaluators and exit.")] = False,
    shown: Annotated[bool, typer.Option("--show", help="Show all settings as JSON and exit.")] = False,
) -> None:
    """Play every episode of a list of scenes once and show the metrics of a policy.

    The table also has random actions, constant velocity, the lane driver and, where there are logs, their replay.
    The exit code is 3 if an episode was not played.
    """
    found = None if policy is None else resolved(policy)
    chosen = evaluation.evaluators(scenes or [], evaluator or [], config, control, trials, settings or [], found,
                                   failures)
    if code := evaluation.run(policy, found, chosen, out, shard, bounds, threads, listed, shown):
        raise typer.Exit(code)


@app.command(short_help="Join the results of the shards of an evaluation.")
def merge(
    results: Annotated[list[Path], typer.Argument(metavar="RESULT...", help="Results that evaluate --shard wrote.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The result to write (.json).")],
) -> None:
    """Join the results of shards into one result, which equals that of an evaluation without shards.

    The exit code is 3 if shards are missing, or an episode was not played.
    """
    if code := evaluation.merge_files(results, out):
        raise typer.Exit(code)


@app.command(short_help="Compare the results of several policies.")
def compare(
    results: Annotated[list[Path], typer.Argument(
        metavar="RESULT...", help="Results that evaluate wrote with the same settings: several policies in the same "
                                  "episodes.")],
) -> None:
    """Show the figures of several policies in the same episodes, and whether their intervals overlap.

    Runs of the trainer are compared by python -m baselines.compare.
    """
    comparison.run(results)


@app.command(short_help="List the scenes that are hard for the policies of some results.")
def hardness(
    results: Annotated[list[Path], typer.Argument(metavar="RESULT...", help="Results that evaluate --out wrote.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The list of scenes to write (.json), the hardest first.")],
    count: Annotated[int | None, _number("Number of scenes to show and to save.", min=1, max=100_000,
                                         show_default="10, or as many as there are")] = None,
    save: Annotated[Path | None, typer.Option(
        metavar="FOLDER", help="A folder in which the hardest scenes are saved as .drv files, to evaluate or train on.",
        show_default="none are saved")] = None,
) -> None:
    """List the scenes of one or several results by their hardness.

    It is 1 minus the mean score of the trials in a scene, averaged over the results.
    """
    hardness_command.run(results, out, count, save)


@app.command(short_help="Measure agent-steps per second of the array API.")
def bench(
    scene: Annotated[str, typer.Argument(
        metavar="SCENE", help=f"{SCENE_HELP} A folder stands for all its scenes.")] = "town",
    worlds: Annotated[int, _number("Number of worlds.", min=1, max=65536)] = 64,
    agents: Annotated[int | None, _number(
        "Number of agents per world.", min=1, max=4096, show_default="as many as the scene has")] = None,
    threads: Annotated[int, _number(
        "Number of threads; 0: all processors that this process may use.", min=0, max=1024)] = 0,
    partners: Annotated[int, _number("Partner slots of an observation.", min=0, max=255)] = DEFAULTS.partners,
    roads: Annotated[int, _number("Road slots of an observation.", min=0, max=1024)] = DEFAULTS.roads,
    action: Annotated[bench_command.Action, typer.Option(help="Action type.")] = bench_command.Action.discrete,
    seconds: Annotated[float, typer.Option(
        metavar="SECONDS", min=0.05, max=600.0, help="Duration of each of five repeats.")] = 2.0,
) -> None:
    """Measure agent-steps per second of the array API under random actions: the median of five repeats.

    An agent-step is one acting agent in one step.
    Events are ignored, so that every agent acts in all steps but restarts.
    A sixth repeat times the phases.
    """
    bench_command.run(scene, worlds, agents, threads, partners, roads, action, seconds)
