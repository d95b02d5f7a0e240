"""By which version, machine and command is a run made? Written into its log when it starts and when it is resumed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import drive_env

from .dist import Ranks


def provenance(ranks: Ranks) -> dict[str, Any]:
    """Versions of drive-env, of the checkout and of torch; device, number of processes, and command."""
    device = ranks.device
    return {"version": drive_env.__version__, "commit": commit(), "torch": torch.__version__,
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
            "ranks": ranks.count, "command": shlex.join(sys.argv)}


def commit() -> str | None:
    """The commit of the checkout that this file is in, with `-dirty` where files were changed; None outside of one."""
    try:
        found = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"], text=True,
                               cwd=Path(__file__).parent, capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
