"""Where are the files that would be published? In the folder that DRIVE_ENV_DIST names; `make wheel` fills it."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def wheel() -> Path:
    return _only("*.whl")


@pytest.fixture(scope="session")
def sdist() -> Path:
    return _only("*.tar.gz")


def _only(pattern: str) -> Path:
    folder = os.environ.get("DRIVE_ENV_DIST")
    if not folder:
        pytest.skip("DRIVE_ENV_DIST names no folder of built files; `make wheel` builds and tests them")
    found = sorted(Path(folder).resolve().glob(pattern))
    assert len(found) == 1, f"{folder} has {len(found)} files {pattern}; it must have 1"
    return found[0]
