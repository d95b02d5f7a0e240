"""The compiled core as Python calls it: `ffi`, `lib`, and the exception that each status code raises."""

from __future__ import annotations

import functools
import threading
from typing import Any

try:
    from ._core import ffi, lib
except ImportError as error:  # the source folder shadows an installed package
    raise ImportError(
        "the compiled core of drive_env was not found beside its Python files; install the package with "
        "'pip install -e .' in a checkout, or leave the checkout's folder after 'pip install .'"
    ) from error

from .errors import ActionError, CallError, ConfigError, DriveError, DriveMemoryError, SceneError

__all__ = ["check", "choices", "ffi", "lib", "per_thread", "table", "text"]

_ERRORS = {
    lib.DRV_ERROR_CONFIG: ConfigError,
    lib.DRV_ERROR_SCENE: SceneError,
    lib.DRV_ERROR_ACTION: ActionError,
    lib.DRV_ERROR_CALL: CallError,
    lib.DRV_ERROR_MEMORY: DriveMemoryError,
}


class _PerThread(threading.local):
    def __init__(self):
        self.message = ffi.new("char[]", lib.DRV_MESSAGE_BYTES)


per_thread = _PerThread()
"""`per_thread.message` is this thread's buffer for error messages, so that no thread reads a message of another."""


def check(status: int, message) -> None:
    """Raises the exception of a status code with the core's message; returns on DRV_OK.

    Args:
        status: what a function of `lib` returned.
        message: the buffer that the function filled, char[DRV_MESSAGE_BYTES].

    Raises:
        DriveError: the subclass that belongs to the status.
    """
    if status != lib.DRV_OK:
        text = ffi.string(message).decode("utf-8", "replace")
        raise _ERRORS.get(status, DriveError)(text)


def text(characters: Any) -> str:
    """A string of the core."""
    return ffi.string(characters).decode()


def table(fill: Any, entry: str, *arguments: Any) -> Any:
    """A table of the core as an array of `entry` structs.

    Args:
        fill: the function of `lib` that takes the arguments, the array and its capacity, and returns the number of
            entries.
        entry: C type of an entry.
        arguments: those before the array.
    """
    entries = ffi.new(f"{entry}[]", fill(*arguments, ffi.NULL, 0))
    fill(*arguments, entries, len(entries))
    return entries


@functools.cache
def choices(member: str) -> tuple[str, ...]:
    """The names of the values of an enum in the core's config, in the order of their codes; none for a number."""
    return next(tuple(text(field.choices).split()) for field in table(lib.drv_config_fields, "drv_config_field")
                if text(field.name) == member)
