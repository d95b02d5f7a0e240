"""Can a command write its files? Checked before any work, with the option in the error."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import ConfigError, checked_path

__all__ = ["checked_file", "checked_folder"]


def checked_file(option: str, path: str | os.PathLike[str], extensions: tuple[str, ...]) -> Path:
    """The path of a file that can be written; its folder must exist.

    Args:
        option: that sets the path, for the message.
        path: to check.
        extensions: those allowed, in lower case, such as ".html".

    Raises:
        ConfigError: as from `checked_path`, or the system refuses to write the file.
    """
    try:
        found = Path(checked_path(path, extensions))
    except ConfigError as error:
        raise ConfigError(option + str(error).removeprefix("path")) from None
    _check_writable(option, found, found.parent)
    if found.exists():
        try:
            found.open("ab").close()
        except OSError as error:
            raise ConfigError(f"{option} is {str(path)!r}; it cannot be written: {error.strerror}") from None
    return found


def checked_folder(option: str, path: str | os.PathLike[str]) -> Path:
    """The path of a folder in which files can be written, or that can be made; it is not made here.

    Args:
        option: that sets the path, for the message.
        path: to check.

    Raises:
        ConfigError: it exists and is not a folder, or the system refuses to write there.
    """
    found = Path(path)
    existing = next((one for one in (found, *found.parents) if os.path.lexists(one)), Path())
    if not existing.is_dir():
        which = "which" if existing == found else f"but {str(existing)!r}"
        raise ConfigError(f"{option} is {str(path)!r}, {which} exists and is no folder; it must be a folder")
    _check_writable(option, found, existing)
    return found


def _check_writable(option: str, path: Path, folder: Path) -> None:
    """Raises a ConfigError if no file can be made in a folder."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigError(f"{option} is {str(path)!r}; the folder {str(folder)!r} cannot be written: "
                          f"{error.strerror or error}") from None
