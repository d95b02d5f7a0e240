"""The settings of one evaluator: which scenes it plays, how often, and with which config."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..config import DriveConfig
from ..errors import ConfigError, checked_int, value_text
from ..fields import Check, Checked, Fields, Nested, choice, count, nested, number, setting, subset, switch
from ..per_world import SEED_LIMIT
from ..scenes import Scene
from ..scenes.packaged import PACKAGED_NAMES
from .sources import HELD_OUT_SEED, SEEDS

EPISODE_LIMIT = 100_000

SCHEDULE = ("enabled", "interval", "mode", "timeout_s")
"""Settings that determine when and where an evaluator runs, not what it plays; results do not have them."""

RENDERING = ("render", "render_scenes", "render_steps", "render_views", "render_rotates", "render_kept")
"""Settings that determine which of the played episodes are shown, and how; results do not have them either."""

VIEWS = ("replay", "scene", "follow")
"""How an episode is shown: as a replay page, or as a film of the whole scene, or of one agent and its observation."""

STEP_LIMIT = 1_000_000

Allowed = tuple[Any, ...] | range | type[str]
"""The values that an option of a type of evaluator may have, their range, or `str` for a text or None."""


def _are_scenes(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) > 0 and all(
        isinstance(one, (str, os.PathLike, Scene)) for one in value)


def _are_named(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _as_tuple(value: Any) -> Any:
    if isinstance(value, (str, os.PathLike, Scene)):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _as_parameters(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return {} if value is None else value
    return {name: tuple(one) if isinstance(one, list) else one for name, one in value.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluatorConfig(Checked):
    """The settings of an evaluator; an unknown name or a value out of its range raises a `ConfigError`."""

    scenes: tuple[Any, ...] = setting(
        ("town",), "", "generators' names, files, folders and, in Python, scenes", Check(
            _are_scenes, f"a generator's name, {PACKAGED_NAMES}, a path, a Scene, or a non-empty list of these",
            _as_tuple))
    first_seed: int = setting(
        HELD_OUT_SEED, "", "first seed of a generator's scenes; `Batch(\"town\")` plays seeds 0 to 63",
        count(0, SEED_LIMIT))
    scene_count: int = setting(SEEDS, "scenes", "number of scenes of each generator", count(1, EPISODE_LIMIT))
    scene_agents: int | None = setting(
        None, "agents", "number of vehicles of generated scenes", count(
            1, 4096, none="the generator's default, or `env.agents_per_world` if larger"))
    scene_parameters: Any = setting(
        None, "", "further parameters of the generators, such as `arm_length_m`", Check(
            _are_named, "a mapping of values by name, or None (the defaults)", _as_parameters))
    sample: int | None = setting(
        None, "sources", "number of files and generated scenes to draw from the list; the draw depends on the "
        "evaluator's name and `seed` alone", count(1, EPISODE_LIMIT, none="all are played"))
    episodes: int = setting(1, "episodes", "number of episodes of each scene", count(1, EPISODE_LIMIT))
    seed: int = setting(0, "", "seed of the worlds and of the random policy", count(0, SEED_LIMIT))
    enabled: bool = setting(True, "", "whether it runs if no evaluator is named", switch())
    interval: int = setting(
        100, "updates", "in a training, number of updates between two evaluations; 0: it does not run there",
        count(0, 10**9))
    mode: str = setting(
        "inline", "", "in a training, whether it runs in the process of the training, or in one of its own that reads "
        "a checkpoint", choice("inline", "subprocess"))
    timeout_s: float = setting(
        3600.0, "s", "with the mode 'subprocess', time after which the process is ended and the evaluation fails",
        number(1.0, 1e6))
    render: bool = setting(
        False, "", "whether the episodes with the lowest scores are shown in files beside the result", switch())
    render_scenes: int | None = setting(
        None, "episodes", "number of episodes to show; `render` needs it", count(1, EPISODE_LIMIT, none="not set"))
    render_steps: int | None = setting(
        None, "steps", "number of steps after which a film is cut; `render` needs it", count(
            1, STEP_LIMIT, none="not set"))
    render_views: tuple[str, ...] = setting(
        VIEWS[:1], "", "how an episode is shown: as a replay page, or as a film (.mp4) of the whole scene, or of its "
        "agent with the lowest score", subset(*VIEWS))
    render_rotates: bool = setting(
        False, "", "whether every second scene is preferred, the other ones at the next `interval` of a training",
        switch())
    render_kept: int | None = setting(
        10, "evaluations", "in a training, number of evaluations whose files remain; those of older ones are deleted",
        count(1, EPISODE_LIMIT, none="all remain"))
    env: Nested[DriveConfig, Fields] = nested(DriveConfig(), "config of the worlds")
    options: Any = setting(None, "", "settings of the type of evaluator, by name", Check(
        _are_named, "a mapping of values by name, or None (the defaults)",
        lambda value: {} if value is None else value))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, limit in (("render_scenes", EPISODE_LIMIT), ("render_steps", STEP_LIMIT)):
            if self.render and getattr(self, name) is None:
                raise ConfigError(f"{name} is None; with render = True it must be a whole number from 1 to {limit}")

    def to_dict(self) -> dict[str, Any]:
        """All settings in the types of JSON; a scene is replaced by its name."""
        scenes = [f"Scene {one.name}" if isinstance(one, Scene) else os.fsdecode(one) for one in self.scenes]
        parameters = {name: list(one) if isinstance(one, tuple) else one
                      for name, one in self.scene_parameters.items()}
        return super().to_dict() | {"scenes": scenes, "scene_parameters": parameters, "options": dict(self.options)}


def checked_options(kind: str, options: Mapping[str, Any], defaults: Mapping[str, Any],
                    allowed: Mapping[str, Allowed]) -> dict[str, Any]:
    """The options of a type of evaluator, completed by its defaults.

    Args:
        kind: the type, for error messages. options: the ones that were set. defaults: all options with their defaults.
        allowed: the values that each option may have, their range, or `str` for a text or None.

    Raises:
        ConfigError: there is no such option, or a value is not allowed.
    """
    for name, value in options.items():
        if name not in defaults:
            raise ConfigError(f"eval.{name} is {value_text(value)}; an evaluator of type {kind!r} has "
                              f"the options {', '.join(defaults)}")
        bounds = allowed[name]
        if isinstance(bounds, range):
            checked_int(f"eval.{name}", value, bounds.start, bounds.stop - 1)
        elif isinstance(bounds, type):
            if value is not None and (not isinstance(value, str) or not value):
                raise ConfigError(f"eval.{name} is {value_text(value)}; it must be a text or None")
        elif (type(value), value) not in [(type(one), one) for one in bounds]:  # 1 is no bool
            raise ConfigError(f"eval.{name} is {value_text(value)}; it must be one of "
                              + ", ".join(map(repr, bounds)))
    return {**defaults, **options}
