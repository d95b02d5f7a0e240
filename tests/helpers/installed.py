"""Which clients are installed? Tests of a missing one skip, unless the run promises it.

`make test-clients` lists the clients that it installed in PROMISED, so that none of their tests can skip there.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module

import pytest

PROMISED = frozenset(os.environ.get("DRIVE_ENV_CLIENTS", "").split())
"""Top-level modules that must be importable in this run."""


def client(module: str, package: str | None = None):
    """A client's module; skips the test file that needs it where its package is not installed.

    Warnings of the client's import are ignored.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(module)
        except ImportError as error:
            skip_where_missing(error, package, allow_module_level=True)


def skip_where_missing(error: ImportError, package: str | None = None, **how) -> None:
    """Skips after an import of a missing package; raises any other error, and for a promised package."""
    # Errors of the package about its extras have the ImportError as their cause.
    cause = error if error.name else error.__cause__ or error
    name = (cause.name or "").partition(".")[0]
    if not isinstance(cause, ModuleNotFoundError) or name in PROMISED or name == "drive_env":
        raise error
    pytest.skip(f"{package or name} is not installed; make test-clients has it", **how)
