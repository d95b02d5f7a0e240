"""What did the user mean by `scenes`? A generator's name, the path of a file or folder, a Scene, or a list of these.

A string that is a generator's name means the generator wherever a source may stand, in every API and command. Any other
string is a path, as is every os.PathLike; a file or folder of a generator's name is written `./town`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import SceneError
from .generate import GENERATORS, generate_scene
from .load import decompressed, read_file, scene_in
from .scene import Scene
from .validate import validate_scene

NAMES = ", ".join(repr(name) for name in GENERATORS)

NAMED_SEEDS = range(64)
"""The seeds that a generator's name stands for."""

LEAST_AGENTS = 32
"""A named scene has at least this many vehicles, so that a lone agent still meets traffic."""


SceneSource = Scene | str | os.PathLike[str]
"""A scene, a generator's name, or the path of a file or folder."""

Scenes = SceneSource | Sequence[SceneSource]
"""What may stand where scenes are asked for: one source, or a list or tuple of them."""


def resolve_scenes(scenes: Scenes, agents_per_world: int | None = None, seeds: Iterable[int] = NAMED_SEEDS,
                   agents: int | None = None, parameters: Mapping[str, Any] | None = None) -> tuple[Scene, ...]:
    """Validated scenes, in the order given.

    Args:
        scenes: a generator's name, the path of a file or folder (str or os.PathLike), a `Scene`, or a non-empty list
            or tuple of these. A folder stands for the files right in it, by name, save hidden ones. A string that is a
            generator's name means the generator; write `./town` for a file or folder of that name.
        agents_per_world: generated scenes get this many vehicles, but at least 32.
        seeds: those that a generator's name stands for; 0 to 63 where none are given.
        agents: vehicles of generated scenes instead, exactly.
        parameters: further ones of the generators, as `generate_scene` takes them.

    Raises:
        SceneError: says what is allowed, or what is wrong with a scene.
    """
    sources = scenes if isinstance(scenes, (list, tuple)) else (scenes,)
    if not sources:
        raise SceneError("scenes is an empty list; it must hold at least one scene")
    if agents is None:
        agents = max(agents_per_world or 0, LEAST_AGENTS)
    found: list[Scene] = []
    for source in sources:
        if isinstance(source, Scene):
            found.append(validate_scene(source))
        elif is_generator(source):
            found += [generate_scene(source, seed=seed, agents=agents, **(parameters or {})) for seed in seeds]
        elif isinstance(source, (str, os.PathLike)):
            found += [scene_in(*read_source(file)) for file in files_of(source)]
        else:
            raise SceneError(f"scenes holds a {type(source).__name__}; it must be one of {NAMES}, a path, a Scene, "
                             "or a list of these")
    return tuple(found)


def is_generator(source: Any) -> bool:
    """Whether a source means a generator and not a path."""
    return isinstance(source, str) and source in GENERATORS


def files_of(path: str | os.PathLike) -> Sequence[str | os.PathLike]:
    """The path itself, or the files right in it where it is a folder, by name; hidden ones are not looked at.

    A link that leads nowhere is one of them: reading it says so.

    Raises:
        SceneError: a folder without files.
    """
    try:
        if not os.path.isdir(path):
            return [path]
        names = sorted(name for name in os.listdir(path) if not os.fsdecode(name).startswith("."))
    except TypeError:  # it calls itself a path; reading it says what is wrong
        return [path]
    except OSError as error:
        raise SceneError(f"{os.fspath(path)}: {error.strerror or error}") from error
    files = [file for name in names if not os.path.isdir(file := os.path.join(path, name))]
    if not files:
        raise SceneError(f"{os.fspath(path)}: the folder holds no files")
    return files


def read_source(path: str | os.PathLike) -> tuple[str, bytes]:
    """The name and the unpacked bytes of a file that stands where a generator's name might as well."""
    try:
        name, data = read_file(path)
    except SceneError as error:
        if isinstance(path, str) and isinstance(error.__cause__, FileNotFoundError):
            raise SceneError(f"scenes is {path!r}; it is neither a file nor one of {NAMES}") from error
        raise
    return name, decompressed(name, data)
