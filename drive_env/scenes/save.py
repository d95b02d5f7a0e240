"""How does a scene become a file? Whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil

from ..errors import ConfigError, SceneError, checked_path, shown
from .drv import drv_bytes
from .load import FILE_LIMIT_BYTES
from .scene import Scene


def save_scene(scene: Scene, path: str | os.PathLike, *, overwrite: bool = True) -> None:
    """Writes the scene into a `.drv` file, which `load_scene` reads back bit for bit.

    Whoever opens the path meanwhile finds the old file or the new one, never a part of one.

    Args:
        path: ends in .drv, in a folder that is there.
        overwrite: False refuses a path that is taken.

    Raises:
        SceneError: the scene is not sound, or more than a file may hold.
        ConfigError: the path does not end in .drv, has no folder, or is taken.
        OSError: the file cannot be written.
    """
    path = checked_path(path, (".drv",))
    if not overwrite and os.path.lexists(path):
        raise ConfigError(f"path is {path!r}; it is taken, and overwrite is False")
    data = drv_bytes(scene)
    if len(data) > FILE_LIMIT_BYTES:
        raise SceneError(f"scene {shown(scene.name)}: it takes {len(data)} bytes; a file may have {FILE_LIMIT_BYTES}")
    _write_whole(path, data)


def _write_whole(path, data):
    path = os.path.realpath(path)  # a link goes on to say where the file is
    if os.path.islink(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    folder, name = os.path.split(path)
    start = os.fsdecode(os.fsencode(name)[:100])  # a name may have 255 bytes in all
    beside = os.path.join(folder, f".{start}.{secrets.token_hex(8)}.part")
    try:
        _replace(path, beside, data)
    except OSError as error:
        error.filename, error.filename2 = path, None  # the file that was asked for
        raise


def _replace(path, beside, data):
    # Made by os.open, so that it gets the permissions that any new file gets here.
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):  # who may read a file is not for a new version of it to change
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
