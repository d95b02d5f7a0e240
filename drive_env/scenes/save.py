"""How is a scene saved? Atomically: a complete file or none."""

from __future__ import annotations

import errno
import os
import secrets
import shutil

from ..errors import ConfigError, SceneError, checked_path, value_text
from .readers.drv.write import drv_bytes
from .readers.source import FILE_LIMIT_BYTES
from .scene import Scene


def save_scene(scene: Scene, path: str | os.PathLike, *, overwrite: bool = True) -> None:
    """Writes the scene into a `.drv` file, which `load_scene` reads back bit for bit.

    Another process that opens the path reads the old file or the new one, never a part.

    Args:
        path: ends in .drv, in an existing folder.
        overwrite: False refuses an existing path.

    Raises:
        SceneError: the scene is invalid, or larger than a file may be.
        ConfigError: the path does not end in .drv, its folder does not exist, it exists and `overwrite` is False, or
            `overwrite` is not a bool.
        OSError: the file cannot be written.
    """
    path = checked_path(path, (".drv",))
    if not isinstance(overwrite, bool):
        raise ConfigError(f"overwrite is {value_text(overwrite)}; it must be True or False")
    if not overwrite and os.path.lexists(path):
        raise ConfigError(f"path is {path!r}; it exists, and overwrite is False")
    data = drv_bytes(scene)
    if len(data) > FILE_LIMIT_BYTES:
        raise SceneError(f"scene {value_text(scene.name)}: its file has {len(data)} bytes; "
                         f"it may have {FILE_LIMIT_BYTES}")
    _write_whole(path, data)


def _write_whole(path, data):
    path = os.path.realpath(path)  # replace the file, not a link to it
    if os.path.islink(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    folder, name = os.path.split(path)
    start = os.fsdecode(os.fsencode(name)[:100])  # a name may have 255 bytes
    beside = os.path.join(folder, f".{start}.{secrets.token_hex(8)}.part")
    try:
        _replace(path, beside, data)
    except OSError as error:
        error.filename, error.filename2 = path, None  # name the target, not the temporary file
        raise


def _replace(path, beside, data):
    # os.open gives the file the default permissions of new files.
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):  # a new version keeps the permissions
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
