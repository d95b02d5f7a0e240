"""Which files show a scene or a policy? Films, contact sheets, plots and replay pages, made with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from .. import render  # imports its names, and the extra's packages, on first use
from ..api.one_agent import one_agent_config
from ..api.registration import ENV_ARGUMENTS
from ..config import ConfigSource, checked_config, config_over
from ..errors import ConfigError, SceneError, value_text
from ..evaluation.config import as_tables, overrides_of
from ..outputs import checked_file, checked_folder
from ..policies import Policy, TrainedPolicy, config_for, config_of_episode, resolved
from ..render.extensions import CHART_EXTENSIONS, FILM_EXTENSIONS, SHEET_EXTENSIONS
from ..render.hand_controls import HELP
from ..replay import write_replay
from ..replay.record_policy import PAGE_EXTENSIONS
from ..scenes import Scene
from ..scenes.generate import CONFIG_OF, LANE_POLICY, POLICY_OF, TRIAL_STEPS
from ..scenes.packaged import CONFIG_OF_PACKAGED, is_packaged
from ..scenes.resolve import is_generator, vehicle_count
from . import show
from .inspection import find_scene


class View(str, Enum):
    """The views of `play`, for its option."""

    scene = "scene"
    follow = "follow"


DEFAULT_POLICY = "; ".join([LANE_POLICY, *(f"{policy} on the scene {name}" for name, policy in POLICY_OF.items()
                                           if policy != LANE_POLICY)])
"""That of a scene, in words."""

LONGEST_SIZE = 20
"""Characters of a size; no side has that many digits."""

FILM_TRIALS, REPLAY_TRIALS = 1, 2
"""Trials of an episode that is played by a policy without a training: a page shows trials side by side."""

OPTION_OF = {"policy": "--policy", "agents_per_world": "--agents", "agents": "--agents",
             "agent": "--agent", "size": "--size", "width": "--size", "height": "--size", "fps": "--fps"}
"""The options of `play`, `drive` and `replay`, by the argument of the error."""


@dataclass(frozen=True)
class Episode:
    """The options of `play`, `drive` and `replay` that determine the episode.

    Attributes:
        scene, index: its name, and the index of the scene in a folder.
        policy: None: the rule-based one for the scene.
        agents, trials: None: as many as scene and config have.
        parked: number of vehicles of a generated scene beside the agents.
        seed: of the scene, of the episode and of the random policy.
        env: id of the Gymnasium env whose config is used; None: none.
        settings: `env.FIELD=VALUE` each.
    """

    scene: str
    index: int = 0
    policy: str | None = None
    agents: int | None = None
    trials: int | None = None
    seed: int = 0
    env: str | None = None
    settings: Sequence[str] = ()
    parked: int = 0

    def found(self) -> Scene:
        """The scene."""
        scene = find_scene(self.scene, self.seed, self._vehicles(), self.index)
        if not scene.generated and self.agents is not None and self.agents > scene.objects.count:
            raise SceneError(f"--agents is {self.agents}; scene {scene.name} has {scene.objects.count} objects")
        return scene

    def _vehicles(self):
        """The number of vehicles of a generated scene; None: that of the generator."""
        if not is_generator(self.scene):
            if self.parked:
                raise SceneError(f"--parked is {self.parked}; it is for generated scenes, and {self.scene} is a file "
                                 "or folder")
            return None
        if self.parked and self.agents is None:
            raise SceneError(f"--parked is {self.parked}; it needs --agents, the number of the other vehicles")
        # The envs of Gymnasium have one agent among the traffic of their scene.
        if self.env is not None and not self.parked:
            return vehicle_count(self.scene, self.agents)
        return None if self.agents is None else self.agents + self.parked

    @property
    def policy_name(self) -> str:
        """The policy, or the rule-based one for the scene."""
        return self.policy or POLICY_OF.get(self.scene, LANE_POLICY)

    def config(self, policy: Policy) -> ConfigSource | None:
        """The config before `agents` and `trials` change it; None: as for `record`.

        That of the env, of the training, of the packaged scene, or with what the task of the generator needs; then the
        fields that `settings` set.
        """
        if self.env is not None:
            base: ConfigSource | None = self._of_env(policy)
        elif isinstance(policy, TrainedPolicy):
            base = policy.config if self.settings else None
        elif is_packaged(self.scene):
            base = CONFIG_OF_PACKAGED[self.scene]
        else:
            own = CONFIG_OF[self.scene] if is_generator(self.scene) else {}
            base = own | {"trial_steps": TRIAL_STEPS[self.scene]} if own else None
        return config_over(base, self._changes()) if self.settings else base

    def trials_of(self, policy: Policy, default: int) -> int | None:
        """Of a trained policy those of its training, whose observations have another scale under another number.

        None: those of the config, where an env or a setting says how many.
        """
        if self.trials is not None or self.env is not None or "max_trials" in self._changes():
            return self.trials
        return policy.config.max_trials if isinstance(policy, TrainedPolicy) else default

    def _of_env(self, policy):
        if self.env not in ENV_ARGUMENTS:
            raise ConfigError(f"--env is {self.env!r}; it must be one of {', '.join(ENV_ARGUMENTS)}")
        if isinstance(policy, TrainedPolicy):
            raise ConfigError(f"--env is {self.env!r}; with a trained policy, which has the config of its training, it "
                              "must not be set")
        return one_agent_config(ENV_ARGUMENTS[self.env]["defaults"])

    def _changes(self):
        """The fields of the config that `settings` set, nested ones as mappings."""
        # Each of "env.FIELD" and "env.FIELD.FIELD".
        found = overrides_of(self.settings)
        for key in found:
            env, *names = key.split(".")
            if env != "env" or not all(names) or not 1 <= len(names) <= 2:
                raise ConfigError(f"--set is {key!r}; it must name a field of the config, such as env.trial_steps or "
                                  "env.reward.goal")
        changes: dict[str, Any] = as_tables("--set", found).get("env", {})
        # An option of its own would override the field.
        for option, name, number in (("--agents", "agents_per_world", self.agents),
                                     ("--trials", "max_trials", self.trials)):
            if number is not None and name in changes:
                raise ConfigError(f"{option} and --set env.{name} are both set; at most one may be")
        return changes


def check_folder(folder: Path, files: Sequence[str]) -> None:
    """Checks that files of these names can be written into the folder of `--out`, and imports the extra, so that
    either error is raised before anything is played."""
    checked_folder("--out", folder)
    for file in files:
        if os.path.lexists(folder / file):
            checked_file("--out", folder / file, (Path(file).suffix,))
    _ = render.SceneView


def check_plot(out: Path) -> None:
    """Checks the path of `--plot` and imports the extra."""
    checked_file("--plot", out, CHART_EXTENSIONS)
    _ = render.plot_scene


def play(episode: Episode, out: Path, view: str = View.scene.value, agent: int = 0, size: str | None = None,
         fps: float | None = None, agent_colours: bool = False) -> None:
    """Writes a film or a contact sheet of an episode and prints its outcome; the size is WIDTHxHEIGHT, in pixels."""
    size_px = None if size is None else _size_px(size)
    checked_file("--out", out, (*FILM_EXTENSIONS, *SHEET_EXTENSIONS))
    found = episode.found()
    with _by_option(**OPTION_OF):
        driver = resolved(episode.policy_name)
        with _bar(f"playing into {out.name}") as progress:
            metrics = render.play(found, out, policy=driver, agents=episode.agents, seed=episode.seed, view=view,
                                  agent=agent, trials=episode.trials_of(driver, FILM_TRIALS),
                                  config=episode.config(driver), progress=progress, size=size_px, fps=fps,
                                  agent_colours=agent_colours)
    show.lines(f"{out}: {_outcome(metrics, episode.policy_name)}")


def _size_px(text):
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and len(text) <= LONGEST_SIZE):
        raise ConfigError(f"--size is {value_text(text)}; it must be WIDTHxHEIGHT in pixels, such as 640x360")
    return int(width), int(height)


def replay(episode: Episode, out: Path) -> None:
    """Writes a replay page of an episode and prints its size."""
    checked_file("--out", out, PAGE_EXTENSIONS)
    found = episode.found()
    with _by_option(**OPTION_OF):
        driver = resolved(episode.policy_name)
        with _bar(f"recording into {out.name}") as progress:
            own = episode.config(driver)
            write_replay(found, out, policy=driver, agents=episode.agents, seed=episode.seed,
                         trials=episode.trials_of(driver, REPLAY_TRIALS), progress=progress,
                         config=config_for(driver, checked_config(own)) if driver == "replay" else own)
    show.lines(f"{out}: {out.stat().st_size / 1e6:.1f} MB, open it in a browser")


def drive(episode: Episode, view: str, agent: int) -> None:
    """Opens a window in which a person drives, and prints the outcome of each trial."""
    found = episode.found()
    with _by_option(**OPTION_OF):
        driver = resolved(episode.policy_name)
        config = config_of_episode(episode.config(driver), driver, episode.trials, episode.agents)
        if not isinstance(driver, TrainedPolicy):
            config = config.replace(action_type="continuous")  # finer than bins
        show.lines(HELP)
        render.drive(found, policy=driver, agent=agent, seed=episode.seed, view=view, config=config,
                     ended=lambda one: show.lines(
                         f"trial {one.trial + 1}: {one.outcome} after {show.plural(one.steps, 'step')}"))


def plot(scene: Scene, out: Path) -> None:
    """Plots a scene and prints into which file."""
    render.plot_scene(scene, out)
    show.lines(f"\nmap, lane graph, starts and goals: {out}")


@contextmanager
def _by_option(**options: str) -> Iterator[None]:
    """Errors about an argument name the option that sets it: `path="--out"`."""
    try:
        yield
    except ConfigError as error:
        name, verb, rest = str(error).partition(" is ")
        raise ConfigError(options.get(name, name) + verb + rest) from None


def _outcome(metrics: dict, policy: str) -> str:
    """Rates of the outcomes; in a replay those of the one agent, whose trial lasts until the log ends."""
    names = ("goal", "collision", "offroad", "timeout") if policy != "replay" else ("goal", "collision", "offroad")
    rates = ", ".join(f"{name} {metrics[name].value:.2f}" for name in names if metrics[name].n)
    return rates if policy != "replay" else f"the log; the rule-based agent: {rates}"


class _bar:
    """A progress bar; as a context manager it returns the callback (done, most) that updates it."""

    def __init__(self, title: str):
        self._title = title

    def __enter__(self) -> Callable[[int, int], None]:
        self._bars = show.progress()
        self._bars.start()
        bar = self._bars.add_task(self._title, total=None)
        return lambda done, most: self._bars.update(bar, completed=done, total=most)

    def __exit__(self, *_) -> None:
        self._bars.stop()
