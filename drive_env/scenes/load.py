"""How does a file become scenes? By the reader whose signature its content has; its name does not matter."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..errors import SceneError
from .generate import GENERATORS
from .json_text import OtherJsonError
from .readers import READERS, Reader
from .readers.foreign import described_foreign
from .readers.source import Source, read_source
from .scene import Scene
from .validate import validate_scene


def load_scene(path: str | os.PathLike) -> Scene:
    """Reads and validates the one scene in the file at `path`, which may be compressed by gzip.

    The string "example_log" stands for the logged scene of the package.

    A file with the signature of a format is read as that format; any other file by every format without a signature.

    Raises:
        SceneError: names the file and why it cannot be read, what it is if that is a format that no reader reads, or
            for every format why the file is not of it; or how many scenes the file holds, if that is not one.
            `resolve_scenes` returns all of them.
    """
    if isinstance(path, str) and path in GENERATORS and not os.path.exists(path):
        raise SceneError(f"{path}: there is no file of this name, but a generator: generate_scene({path!r})")
    return only_scene(read_source(path))


def only_scene(source: Source) -> Scene:
    """The one scene of a source; for errors see `load_scene`."""
    scenes = scenes_of(source)
    scene = next(scenes)
    count = 1 + sum(1 for _ in scenes)
    if count > 1:
        raise SceneError(f"{source.path}: it holds {count} scenes; it must hold one")
    return scene


def scenes_of(source: Source) -> Iterator[Scene]:
    """The validated scenes of a source, at least one, in file order; each is read when it is requested."""
    reader, first, rest = _opened(source)
    yield first
    try:
        for scene in rest:
            yield validate_scene(scene)
    except SceneError as error:
        raise SceneError(f"{source.path}: read as {reader.format}: {error}") from None


def _opened(source: Source) -> tuple[Reader, Scene, Iterator[Scene]]:
    """The one reader that can read the source, its first scene, and the others."""
    candidates = [reader for reader in READERS if reader.has_signature and reader.has_signature(source.data)]
    if not candidates:
        foreign = described_foreign(source.data)
        if foreign is not None:
            raise SceneError(f"{source.path}: {foreign}; formats that can be read are "
                             + ", ".join(reader.format for reader in READERS))
        candidates = [reader for reader in READERS if reader.has_signature is None]
    # Read the first scene by every candidate: only reading identifies a file without a signature.
    opened, reasons, is_foreign = [], {}, False
    for reader in candidates:
        scenes = reader.open(source)
        try:
            first = next(scenes, None)
            if first is None:
                raise SceneError("it holds no scene")
            opened.append((reader, validate_scene(first), scenes))
        except SceneError as error:
            reasons[reader.format] = str(error)
            is_foreign = is_foreign or reader.has_signature is None or isinstance(error, OtherJsonError)
    if len(opened) > 1:
        raise SceneError(f"{source.path}: {len(opened)} formats fit; exactly one must")
    if opened:
        return opened[0]
    # A damaged file of a known format gets one reason, any other file the reason of every format.
    if not is_foreign:
        name, reason = next(iter(reasons.items()))
        raise SceneError(f"{source.path}: read as {name}: {reason}")
    reasons |= {reader.format: f"it lacks {reader.signature}" for reader in READERS if reader not in candidates}
    raise SceneError(f"{source.path}: no known format fits; those that can be read are "
                     + "; ".join(f"{name} ({reason})" for name, reason in reasons.items()))
