"""What machine is this? Its processor, and how much of it this process may use."""

from __future__ import annotations

import math
import os
import platform
from pathlib import Path


def usable_threads() -> int:
    """Processors of the affinity mask, or fewer where the control group mounted at /sys/fs/cgroup, which is a
    container's own, has a smaller quota."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(processors, _quota() or processors))


def _quota() -> int | None:
    """Processors that the control group grants, at least 1; None where it sets no limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, math.ceil(int(quota) / int(period)))


def processor() -> str:
    """The processor's model as the system names it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or f"{os.cpu_count()} processors"
