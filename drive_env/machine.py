"""The processor of this machine, and the share of it that this process may use."""

from __future__ import annotations

import math
import os
import platform
from pathlib import Path


def usable_threads() -> int:
    """Processors of the affinity mask, or the quota of the control group at /sys/fs/cgroup (in a container: its own)
    where that is smaller."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(processors, _quota() or processors))


def _quota() -> int | None:
    """Processors that the control group grants, rounded up; None where it sets no limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, math.ceil(int(quota) / int(period)))


def processor() -> str:
    """The name of the processor's model."""
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or f"{os.cpu_count()} processors"
