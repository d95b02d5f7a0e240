"""The compiled core as Python calls it: `ffi`, `lib`, and the exception that each status code raises."""

from __future__ import annotations

import threading

try:
    from ._core import ffi, lib
except ImportError as error:  # the source folder shadows an installed package
    raise ImportError(
        "the compiled core of drive_env was not found beside its Python files; install the package with "
        "'pip install -e .' in a checkout, or leave the checkout's folder after 'pip install .'"
    ) from error

from .errors import ActionError, CallError, ConfigError, DriveError, DriveMemoryError, SceneError

__all__ = ["check", "ffi", "lib", "per_thread"]

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
