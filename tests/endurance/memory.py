"""How much private memory does this process hold? Linux only."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

ROLLUP = Path("/proc/self/smaps_rollup")


def own_mb() -> float:
    """MB of private memory, after releasing all that can be released."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
    lines = ROLLUP.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) / 1024


def resident_mb() -> float:
    """MB of memory of this process that is in use, shared libraries included."""
    lines = ROLLUP.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:")) / 1024


def growth_mb(repeat, times: int, warm: int) -> float:
    """MB by which memory grows over `times` calls of `repeat`, after `warm` calls that do not count."""
    for _ in range(warm):
        repeat()
    before = own_mb()
    for _ in range(times):
        repeat()
    return own_mb() - before
