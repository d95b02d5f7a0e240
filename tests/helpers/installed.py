"""Which clients are here? Tests that want one that is not skip and say so, save where a run promises it.

`make test-clients` names in PROMISED what it installed, so that no test of those can skip there.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module

import pytest

PROMISED = frozenset(os.environ.get("DRIVE_ENV_CLIENTS", "").split())
"""Top-level modules that this run must find."""


def client(module: str, package: str | None = None):
    """A client's module; skips the test file that wants it where its package is not installed.

    What clients warn of while they are imported is theirs.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(module)
        except ImportError as error:
            skip_where_missing(error, package, allow_module_level=True)


def skip_where_missing(error: ImportError, package: str | None = None, **how) -> None:
    """Skips for an import that found no package; raises what is another fault, or a package promised."""
    cause = error if error.name else error.__cause__ or error  # our errors of extras say why in their cause
    name = (cause.name or "").partition(".")[0]
    if not isinstance(cause, ModuleNotFoundError) or name in PROMISED or name == "drive_env":
        raise error
    pytest.skip(f"{package or name} is not installed; make test-clients has it", **how)
