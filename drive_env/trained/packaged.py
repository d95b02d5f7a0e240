"""Which trained policies are files of the package? Their names stand for them in every API and command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PACKAGED = {name: Path(__file__).with_name(f"{name}.npz") for name in ("generalist", "hidden_exit")}
"""Files by the names of their policies: one for generated scenes, and one for the task `hidden_exit`."""


def is_packaged(source: Any) -> bool:
    """Whether a source means a policy of the package; a `pathlib.Path` always means a path."""
    return isinstance(source, str) and source in PACKAGED
