"""How does a file become a scene? By its content, never by its name: every known format is tried."""

from __future__ import annotations

import os
import stat

from ..errors import SceneError
from .pufferdrive import read_early
from .scene import Scene
from .validate import validate_scene

FILE_LIMIT_BYTES = 256 * 2**20
"""About a thousand times a common scene; what is larger is no scene and is not read into memory."""

IMPORTERS = {"PufferDrive .bin, early layout": read_early}
"""Format to its reader: (bytes, source) to a Scene, or a SceneError that says why it is not of the format."""


def load_scene(path: str | os.PathLike) -> Scene:
    """Reads the scene in one file and validates it.

    Raises:
        SceneError: names the file and why it cannot be read, or for every format why the file is not of it.
    """
    name, data = _read_file(path)
    scenes, reasons = [], []
    for layout, read in IMPORTERS.items():
        try:
            scenes.append(validate_scene(read(data, name)))
        except SceneError as error:
            reasons.append(f"as {layout}: {error}")
    if not scenes:
        raise SceneError(f"{name}: no known format fits; " + "; ".join(reasons))
    if len(scenes) > 1:
        raise SceneError(f"{name}: {len(scenes)} formats fit; exactly one must")
    return scenes[0]


def _read_file(path):
    """The path as a string, and the file's bytes."""
    try:
        name = os.fspath(path)
    except TypeError:
        name = path
    if not isinstance(name, str):
        raise SceneError(f"path is a {type(name).__name__}; it must be a str or a path of str")
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            what = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
            raise SceneError(f"{name}: it is {what}; it must be a file")
        if not 0 < status.st_size <= FILE_LIMIT_BYTES:
            raise SceneError(f"{name}: it has {status.st_size} bytes; it must have 1 to {FILE_LIMIT_BYTES}")
        with open(name, "rb") as file:
            return name, file.read(FILE_LIMIT_BYTES)
    except SceneError:
        raise
    except OSError as error:
        raise SceneError(f"{name}: {error.strerror or error}") from error
    except ValueError as error:
        # A null character, or one the file system cannot write.
        raise SceneError(f"{name!r}: it is no path: {error}") from error
