"""Which clients are here? Their tests skip, and say so, where they are not installed."""

from __future__ import annotations

import warnings
from importlib import import_module

import pytest


def client(module: str, package: str | None = None):
    """A client's module; skips the tests that want it where its package is missing.

    What clients warn of while they are imported is theirs.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
                raise
            pytest.skip(f"{package or module.partition('.')[0]} is not installed; make test-clients runs this",
                        allow_module_level=True)
