"""Where are the real files? Beside the checkout or where DRIVE_SAMPLES says; licensed, never copied."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("DRIVE_SAMPLES", Path(__file__).resolve().parents[3] / "shared" / "samples"))


def sample(name: str) -> Path:
    """The path of one real file; skips the test where there is none."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no real sample {name}: set DRIVE_SAMPLES to the folder that holds it")
    return path
