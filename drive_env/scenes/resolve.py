"""What did the user mean by `scenes`? A generator's name, a path, a Scene, or a list of these."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..errors import SceneError
from .generate import GENERATORS, generate_scene
from .load import read_file, scene_in, unpacked
from .scene import Scene
from .validate import validate_scene

NAMES = ", ".join(repr(name) for name in GENERATORS)

NAMED_SEEDS = range(64)
"""The seeds that a generator's name stands for."""

LEAST_AGENTS = 32
"""A named scene has at least this many vehicles, so that a lone row still meets traffic."""


SceneSource = Scene | str | os.PathLike[str]
"""A scene, a generator's name, or a path."""

Scenes = SceneSource | Sequence[SceneSource]
"""What may stand where scenes are asked for: one source, or a list or tuple of them."""


def resolve_scenes(scenes: Scenes, agents_per_world: int | None = None) -> tuple[Scene, ...]:
    """Validated scenes, in the order given; a generator's name stands for `NAMED_SEEDS`.

    Args:
        scenes: a generator's name, a path (str or os.PathLike), a `Scene`, or a non-empty list or tuple of
            these. A string that is a generator's name means the generator; write `./town` for a file of that
            name.
        agents_per_world: generated scenes get this many vehicles, but at least `LEAST_AGENTS`.

    Raises:
        SceneError: says what is allowed, or what is wrong with a scene.
    """
    if not isinstance(scenes, (list, tuple)):
        return _resolve_one(scenes, agents_per_world)
    if not scenes:
        raise SceneError("scenes is an empty list; it must hold at least one scene")
    return tuple(scene for item in scenes for scene in _resolve_one(item, agents_per_world))


def _resolve_one(item, agents_per_world):
    if isinstance(item, Scene):
        return (validate_scene(item),)
    if isinstance(item, str) and item in GENERATORS:
        agents = max(agents_per_world or 0, LEAST_AGENTS)
        return tuple(generate_scene(item, seed=seed, agents=agents) for seed in NAMED_SEEDS)
    if not isinstance(item, (str, os.PathLike)):
        raise SceneError(f"scenes holds a {type(item).__name__}; it must be one of {NAMES}, a path, a Scene, "
                         "or a list of these")
    return (scene_in(*read_source(item)),)


def read_source(path: str | os.PathLike) -> tuple[str, bytes]:
    """The name and the unpacked bytes of a file that stands where a generator's name might as well."""
    try:
        name, data = read_file(path)
    except SceneError as error:
        if isinstance(path, str) and isinstance(error.__cause__, FileNotFoundError):
            raise SceneError(f"scenes is {path!r}; it is neither a file nor one of {NAMES}") from error
        raise
    return name, unpacked(name, data)
