"""What does the command `drive-env` need, and what becomes of its errors?

Nothing here is imported by `import drive_env`: typer and rich come with the extra [cli].
"""

from __future__ import annotations

import os
import sys

from ..errors import DriveError, printable

EXTRA = ("typer", "rich")
"""The packages of the extra [cli]."""


def main() -> None:
    """Runs the command; an error is one sentence on stderr and exit code 1, a wrong option exit code 2."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in EXTRA:
            raise
        sys.exit(f'drive-env: the command needs {error.name}; install it with: pip install "drive-env[cli]"')
    from . import show

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may hold what a terminal has no letters for
    try:
        app(prog_name="drive-env")
    except DriveError as error:
        sys.exit(f"drive-env: {printable(str(error))}")
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        if error.filename is None:  # what was still to be printed cannot be
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"drive-env: {printable(show.words_of(error))}")
