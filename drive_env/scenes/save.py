"""How is a scene saved? Atomically: a complete file or none."""

from __future__ import annotations

import os

from ..errors import ConfigError, SceneError, checked_path, value_text
from ..whole_file import whole_file
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
    with whole_file(path) as beside, open(beside, "wb") as file:
        file.write(data)
