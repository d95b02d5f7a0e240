"""Which files show a scene or a policy? Films, contact sheets, plots and replay pages, made with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from .. import render  # imports its names, and the extra's packages, on first use
from ..config import checked_config
from ..errors import ConfigError, SceneError
from ..policies import Policy, TrainedPolicy, config_for, config_of_episode, resolved
from ..render.hand_controls import HELP
from ..replay import write_replay
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

FILM_TRIALS, REPLAY_TRIALS = 1, 2
"""Trials of an episode that is played by a policy without a training: a page shows trials side by side."""

OPTION_OF = {"policy": "--policy", "path": "--out", "agents_per_world": "--agents", "agents": "--agents",
             "agent": "--agent"}
"""The options of `play`, `drive` and `replay`, by the argument of the error."""


def prepare(folder: Path) -> None:
    """Creates the folder and imports the extra, so that either error is raised before anything is played."""
    folder.mkdir(parents=True, exist_ok=True)
    _ = render.SceneView


def play(scene: str, out: Path, policy: str | None, agents: int | None, trials: int | None, seed: int,
         view: str, agent: int, index: int) -> None:
    """Writes a film or a contact sheet of an episode and prints its outcome."""
    found, name = _scene(scene, seed, agents, index), policy or _policy(scene)
    with _by_option(**OPTION_OF):
        driver = resolved(name)
        with _bar(f"playing into {out.name}") as progress:
            metrics = render.play(found, out, policy=driver, agents=agents, seed=seed, view=view, agent=agent,
                                  trials=trials or _trials(driver, FILM_TRIALS), config=_config(scene, driver),
                                  progress=progress)
    show.lines(f"{out}: {_outcome(metrics, name)}")


def replay(scene: str, out: Path, policy: str | None, agents: int | None, trials: int | None, seed: int,
           index: int) -> None:
    """Writes a replay page of an episode and prints its size."""
    found = _scene(scene, seed, agents, index)
    with _by_option(**OPTION_OF):
        driver = resolved(policy or _policy(scene))
        with _bar(f"recording into {out.name}") as progress:
            own = _config(scene, driver)
            write_replay(found, out, policy=driver, agents=agents, seed=seed,
                         trials=trials or _trials(driver, REPLAY_TRIALS), progress=progress,
                         config=config_for(driver, checked_config(own)) if driver == "replay" else own)
    show.lines(f"{out}: {out.stat().st_size / 1e6:.1f} MB, open it in a browser")


def drive(scene: str, policy: str | None, agents: int | None, trials: int | None, seed: int, view: str, agent: int,
          index: int) -> None:
    """Opens a window in which a person drives, and prints the outcome of each trial."""
    found = _scene(scene, seed, agents, index)
    with _by_option(**OPTION_OF):
        driver = resolved(policy or _policy(scene))
        config = config_of_episode(_config(scene, driver), driver, trials, agents)
        if not isinstance(driver, TrainedPolicy):
            config = config.replace(action_type="continuous")  # finer than bins
        show.lines(HELP)
        render.drive(found, policy=driver, agent=agent, seed=seed, view=view, config=config,
                     ended=lambda one: show.lines(
                         f"trial {one.trial + 1}: {one.outcome} after {show.plural(one.steps, 'step')}"))


def plot(scene: Scene, out: Path) -> None:
    """Plots a scene and prints into which file."""
    with _by_option(path="--plot"):
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


def _scene(name: str, seed: int, agents: int | None, index: int) -> Scene:
    vehicles = vehicle_count(name, agents) if is_generator(name) else None
    scene = find_scene(name, seed, vehicles, index)
    if not scene.generated and agents is not None and agents > scene.objects.count:
        raise SceneError(f"--agents is {agents}; scene {scene.name} has {scene.objects.count} objects")
    return scene


def _policy(name: str) -> str:
    """The rule-based policy for a scene."""
    return POLICY_OF.get(name, LANE_POLICY)


def _config(name: str, policy: Policy) -> dict[str, Any] | None:
    """The fields that a generator's task needs, with the length of its trials, or that a packaged scene has; none for
    other scenes.

    None for the policy of a checkpoint: it needs the config of its training.
    """
    if isinstance(policy, TrainedPolicy):
        return None
    if is_packaged(name):
        return CONFIG_OF_PACKAGED[name]
    own = CONFIG_OF[name] if is_generator(name) else {}
    return own | {"trial_steps": TRIAL_STEPS[name]} if own else {}


def _trials(policy: Policy, default: int) -> int:
    """Those of the training of a trained policy, whose observations have another scale under another number."""
    return policy.config.max_trials if isinstance(policy, TrainedPolicy) else default


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
