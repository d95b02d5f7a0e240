"""Which scenes does an argument `scenes` name? Those of a generator, a file, a folder, a `Scene`, or a list of these.

A string that is a generator's name means the generator, in every API and command, and "example_log" the logged scene of
the package. Any other string is a path, as is every os.PathLike; a file or folder of such a name is written `./town`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import SceneError, checked_int, value_text
from ..names import named_arguments
from .generate import AGENT_LIMIT, GENERATORS, generate_scene, task_hint
from .generate.parameters import fill_parameters
from .load import scenes_of
from .packaged import PACKAGED, is_packaged
from .readers.source import Source, read_source
from .scene import Scene
from .validate import validate_scene

NAMES = ", ".join(repr(name) for name in (*GENERATORS, *PACKAGED))

NAMED_SEEDS = range(64)
"""Seeds of the scenes that a generator's name stands for."""


SceneSource = Scene | str | os.PathLike[str]
"""A scene, the name of a generator or of a packaged scene, or the path of a file or folder."""

Scenes = SceneSource | Sequence[SceneSource]
"""The type of `scenes` arguments: one source, or a list or tuple of them."""


@named_arguments
def resolve_scenes(scenes: Scenes, agents_per_world: int | None = None, seeds: Iterable[int] = NAMED_SEEDS,
                   agents: int | None = None, parameters: Mapping[str, Any] | None = None) -> tuple[Scene, ...]:
    """Validated scenes, in the order given.

    Args:
        scenes: a generator's name, "example_log", the path of a file or folder (str or os.PathLike), a `Scene`, or a
            non-empty list or tuple of these. A file stands for all its scenes; a folder for its visible files, sorted
            by name, without subfolders. A string that is a generator's name means the generator, and "example_log" the
            logged scene of the package; write `./town` for a file or folder of such a name.
        agents_per_world: number of vehicles of generated scenes, but at least the default of `generate_scene`.
        seeds: of the scenes of a generator's name.
        agents: exact number of vehicles of generated scenes; overrides `agents_per_world`.
        parameters: other parameters of the generators, see `generate_scene`.

    Raises:
        ArgumentError: a generator does not have one of the parameters.
        SceneError: names the argument and what is allowed, or the fault of a scene.
    """
    # Check all arguments.
    sources = scenes if isinstance(scenes, (list, tuple)) else (scenes,)
    if not sources:
        raise SceneError("scenes is an empty list; it must hold at least one scene")
    if agents_per_world is not None:
        agents_per_world = checked_int("agents_per_world", agents_per_world, 0, AGENT_LIMIT, SceneError)
    if not isinstance(seeds, Iterable) or getattr(seeds, "ndim", 1) == 0:
        raise SceneError(f"seeds is {value_text(seeds)}; it must be an iterable of whole numbers")
    if not isinstance(seeds, Sequence):
        seeds = tuple(seeds)  # every generator reads all of them
    if not seeds and any(is_generator(source) for source in sources):
        raise SceneError("seeds is empty; for the scenes of a generator it must hold at least one")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise SceneError(f"parameters is {value_text(parameters)}; it must be a mapping of values by name")
    chosen = dict(parameters or {})

    # Scenes of each source, in order.
    found: list[Scene] = []
    for source in sources:
        if isinstance(source, Scene):
            found.append(validate_scene(source))
        elif is_generator(source):
            # Checked before they become keywords, where `seed` or `agents` would collide with those of the call.
            fill_parameters(source, GENERATORS[source].PARAMETERS, chosen)
            count = vehicle_count(source, agents_per_world) if agents is None else agents
            found += [generate_scene(source, seed=seed, agents=count, **chosen) for seed in seeds]
        elif isinstance(source, (str, os.PathLike)):
            found += [scene for _, scene in read_scenes(source)]
        else:
            raise SceneError(f"scenes holds a value of type {type(source).__name__}; it must be one of {NAMES}, a "
                             f"path, a Scene, or a list of these{task_hint(source)}")
    return tuple(found)


def is_generator(source: Any) -> bool:
    """Whether a source means a generator and not a path."""
    return isinstance(source, str) and not isinstance(source, os.PathLike) and source in GENERATORS


def is_name(source: Any) -> bool:
    """Whether a source is the name of a generator or of a packaged scene, and not a path."""
    return is_generator(source) or is_packaged(source)


def vehicle_count(generator: str, agents_per_world: int | None) -> int:
    """The number of vehicles of a generated scene for worlds of so many agents: at least the generator's default."""
    return max(agents_per_world or 0, GENERATORS[generator].DEFAULT_AGENTS)


def read_scenes(path: str | os.PathLike) -> Iterator[tuple[Source, Scene]]:
    """The scenes of a file, or of the files of a folder, each with its source; a file is read when it is reached."""
    for file in files_of(path):
        source = find_source(file)
        for scene in scenes_of(source):
            yield source, scene


def files_of(path: str | os.PathLike) -> Sequence[str | os.PathLike]:
    """The path itself, or the visible files of a folder, sorted by name, without subfolders.

    A broken link is one of the files, so that reading it raises an error.

    Raises:
        SceneError: the folder has no files, or cannot be read.
    """
    try:
        if is_packaged(path) or not os.path.isdir(path):
            return [path]
        names = sorted(name for name in os.listdir(path) if not os.fsdecode(name).startswith("."))
    except TypeError:  # not a path; reading it raises the error
        return [path]
    except OSError as error:
        raise SceneError(f"{os.fspath(path)}: {error.strerror or error}") from error
    files = [file for name in names if not os.path.isdir(file := os.path.join(path, name))]
    if not files:
        raise SceneError(f"{os.fspath(path)}: the folder holds no files")
    return files


def find_source(path: str | os.PathLike) -> Source:
    """As `read_source`; if there is no such file, the error also lists the names of scenes."""
    try:
        return read_source(path)
    except SceneError as error:
        if isinstance(path, str) and isinstance(error.__cause__, FileNotFoundError):
            raise SceneError(f"scenes is {path!r}; it is neither a file nor one of {NAMES}{task_hint(path)}") from error
        raise
