"""The settings of one evaluator: which scenes it plays, how often, and with which config."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..config import DriveConfig
from ..errors import ConfigError, checked_int, value_text
from ..fields import Check, Checked, Fields, Nested, count, nested, setting, switch
from ..per_world import SEED_LIMIT
from ..scenes import Scene
from .sources import HELD_OUT_SEED, SEEDS

EPISODE_LIMIT = 100_000


def _are_scenes(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) > 0 and all(
        isinstance(one, (str, os.PathLike, Scene)) for one in value)


def _as_tuple(value: Any) -> Any:
    if isinstance(value, (str, os.PathLike, Scene)):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluatorConfig(Checked):
    """The settings of an evaluator; an unknown name or a value out of its range raises a `ConfigError`."""

    scenes: tuple[Any, ...] = setting(
        ("town",), "", "generators' names, files, folders and, in Python, scenes", Check(
            _are_scenes, "a generator's name, a path, a Scene, or a non-empty list of these", _as_tuple))
    first_seed: int = setting(
        HELD_OUT_SEED, "", "first seed of a generator's scenes; `Batch(\"town\")` plays seeds 0 to 63",
        count(0, SEED_LIMIT))
    scene_count: int = setting(SEEDS, "scenes", "number of scenes of each generator", count(1, EPISODE_LIMIT))
    scene_agents: int | None = setting(
        None, "agents", "number of vehicles of generated scenes", count(1, 4096, none="the generator's default"))
    sample: int | None = setting(
        None, "sources", "number of files and generated scenes to draw from the list; the draw depends on the "
        "evaluator's name and `seed` alone", count(1, EPISODE_LIMIT, none="all are played"))
    episodes: int = setting(1, "episodes", "number of episodes of each scene", count(1, EPISODE_LIMIT))
    seed: int = setting(0, "", "seed of the worlds and of the random policy", count(0, SEED_LIMIT))
    enabled: bool = setting(True, "", "whether it runs if no evaluator is named", switch())
    env: Nested[DriveConfig, Fields] = nested(DriveConfig(), "config of the worlds")
    options: Any = setting(None, "", "settings of the type of evaluator, by name", Check(
        lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
        "a mapping of values by name, or None (the defaults)", lambda value: {} if value is None else value))

    def to_dict(self) -> dict[str, Any]:
        """All settings in the types of JSON; a scene is replaced by its name."""
        scenes = [f"Scene {one.name}" if isinstance(one, Scene) else os.fsdecode(one) for one in self.scenes]
        return super().to_dict() | {"scenes": scenes, "options": dict(self.options)}


def checked_options(kind: str, options: Mapping[str, Any], defaults: Mapping[str, Any],
                    allowed: Mapping[str, tuple[Any, ...] | range]) -> dict[str, Any]:
    """The options of a type of evaluator, completed by its defaults.

    Args:
        kind: the type, for error messages. options: the ones that were set. defaults: all options with their defaults.
        allowed: the values that each option may have, or their range.

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
        elif (type(value), value) not in [(type(one), one) for one in bounds]:  # 1 is no bool
            raise ConfigError(f"eval.{name} is {value_text(value)}; it must be one of "
                              + ", ".join(map(repr, bounds)))
    return {**defaults, **options}
