"""Which scenes are files of the package? A logged one, whose name stands for it in every API and command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PACKAGED = {"example_log": Path(__file__).with_name("example_log.drv")}
"""Files by the names of their scenes. As with generators' names, a string that equals one never means another path."""


PACKAGED_NAMES = ", ".join(repr(name) for name in PACKAGED)
"""The names, for errors."""

CONFIG_OF_PACKAGED: dict[str, dict[str, Any]] = {"example_log": {"traffic_controls": True}}
"""The fields of `DriveConfig` with which commands show them: the lights of the log, and traffic that obeys them."""


def is_packaged(source: Any) -> bool:
    """Whether a source means a scene of the package and not a path."""
    return isinstance(source, str) and not isinstance(source, os.PathLike) and source in PACKAGED
