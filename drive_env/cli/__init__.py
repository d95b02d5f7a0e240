"""How does the command `drive-env` start, and how does it report errors?

`import drive_env` does not import this package: typer and rich belong to the extra [cli].
"""

from __future__ import annotations

import os
import sys

from ..errors import DriveError, printable

EXTRA = ("typer", "rich")
"""The packages of the extra [cli]."""

INTERRUPTED = 130
"""The exit code after Ctrl-C, as of shells: 128 and the number of the signal."""


def main() -> None:
    """Runs the command. An error is one sentence on stderr and exit code 1; an invalid option is exit code 2."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in EXTRA:
            raise
        sys.exit(f'drive-env: the command needs {error.name}; install it with: pip install "drive-env[cli]"')
    except KeyboardInterrupt:  # while the packages are imported; later typer does the same
        sys.exit(INTERRUPTED)
    from . import show

    if hasattr(sys.stdout, "reconfigure"):
        # File names may hold characters that the terminal cannot encode.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="drive-env")
    except DriveError as error:
        sys.exit(f"drive-env: {printable(str(error))}")
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        if error.filename is None:  # stdout failed: discard what is buffered
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"drive-env: {printable(show.os_error_text(error))}")
