"""How many threads may this process use?"""

from __future__ import annotations

import math
import os
from pathlib import Path


def usable_threads() -> int:
    """Processors of the affinity mask, or fewer where the process's control group has a smaller quota."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(processors, _quota()))


def _quota() -> int:
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return 1 << 16
    return 1 << 16 if quota == "max" else max(1, math.ceil(int(quota) / int(period)))
