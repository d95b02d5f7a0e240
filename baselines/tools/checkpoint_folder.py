"""Which checkpoints does a run's folder contain?"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from .checkpoint_files import CheckpointError

NAME = r"update-([0-9]{8}|[1-9][0-9]{8,})"
"""The pattern of the name of a checkpoint in the folder of its run: the update in eight digits, or more if needed."""


def path_of(folder: Path, update: int) -> Path:
    """The checkpoint of an update in the folder of its run."""
    return folder / f"update-{update:08d}"


def update_of(path: Path) -> int | None:
    """The update in the name of a checkpoint's folder; None for folders of other names."""
    found = re.fullmatch(NAME, path.name)
    return int(found[1]) if found else None


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first: every folder with the name of one, intact or damaged."""
    folder = Path(folder)
    found = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    return sorted((path for path in found if update_of(path) is not None), key=update_of)


def newest(folder: Path) -> Path:
    """The newest checkpoint in a folder."""
    found = checkpoints(folder)
    if not found:
        raise CheckpointError(f"there is no checkpoint in {os.fspath(folder)!r}")
    return found[-1]


def checkpoint_at(path: Path) -> Path:
    """The checkpoint at a path passed by a user: the path itself, or the newest one if it is the folder of a run."""
    own = (Path(path) / "config.json").is_file()
    return path if own or not checkpoints(path) else newest(path)


def delete(path: Path) -> None:
    """Deletes a file, or a folder with its contents; for a link, only the link. No-op if nothing is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
