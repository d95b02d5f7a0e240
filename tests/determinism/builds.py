"""Which builds of the core must give the same bytes? Compilers, levels, instruction sets, and what each requires."""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import build_core
import golden

X86_LEVELS = {
    "x86-64": (),
    "x86-64-v2": ("cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"),
    "x86-64-v3": ("avx2", "bmi2", "fma", "abm", "movbe", "f16c"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""Level to the flags that /proc/cpuinfo must list in addition to those of lower levels."""

COMPILERS = ("gcc", "clang")
LEVELS = ("-O1", "-O3")
SETS = (*X86_LEVELS, "native", "no vectors")


class Build(NamedTuple):
    """One way to compile the core for this processor."""

    compiler: str
    level: str
    instruction_set: str

    @property
    def flags(self) -> tuple[str, ...]:
        # The core's portable code, which other processors run: its x86 code is behind this macro.
        how = "-U__SSE2__" if self.instruction_set == "no vectors" else f"-march={self.instruction_set}"
        return (self.level, how, *build_core.WARNINGS)

    def skip_reason(self) -> str:
        """The reason why it cannot be built and run here; "" if there is none."""
        if self.compiler not in build_core.compilers():
            return f"no {self.compiler} here"
        if self.instruction_set in X86_LEVELS:
            if platform.machine() not in ("x86_64", "AMD64"):
                return f"this processor is {platform.machine()}"
            missing = [name for level in list(X86_LEVELS)[: list(X86_LEVELS).index(self.instruction_set) + 1]
                       for name in X86_LEVELS[level] if name not in _processor_lists()]
            if missing:
                return f"this processor has no {', '.join(missing)}"
        return ""


BUILDS = tuple(Build(*parts) for parts in
               ((compiler, level, name) for compiler in COMPILERS for level in LEVELS for name in SETS))

SETS_OF_FEW = ("x86-64", "x86-64-v3", "x86-64-v4", "no vectors")
"""x86-64-v2 adds no vectors to x86-64, and `native` is one of the levels or close to it."""

FEW_BUILDS = tuple(build for build in BUILDS if build.instruction_set in SETS_OF_FEW and
                   (COMPILERS.index(build.compiler) + LEVELS.index(build.level) +
                    SETS_OF_FEW.index(build.instruction_set)) % 2 == 0)
"""Builds that have every pair of compiler and level, compiler and set, and level and set, of these sets."""


class CrossBuild(NamedTuple):
    """One way to compile the core for another processor, system or C library, and what runs the program here."""

    platform: str
    compiler: str
    emulator: str
    level: str

    def skip_reason(self) -> str:
        missing = [program for program in (self.compiler, self.emulator) if program and not _path_of(program)]
        return f"no {' and no '.join(missing)} here" if missing else ""

    def flags(self) -> tuple[str, ...]:
        return (self.level, "-static", *(build_core.modern_windows(self.compiler) if "mingw" in self.compiler else ()))

    def command(self, program: str) -> list[str]:
        return [_path_of(self.emulator), program] if self.emulator else [program]


CROSS_BUILDS = tuple(CrossBuild(*names, level) for names in (
    ("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64"), ("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64"),
    ("Windows", "x86_64-w64-mingw32-gcc-posix", "wine64"), ("musl", "musl-gcc", "")) for level in LEVELS)


def _path_of(program: str) -> str | None:
    # Debian keeps its 64-bit wine off the path.
    return shutil.which(program) or shutil.which(program, path="/usr/lib/wine")


REPLAY_PROGRAM = build_core.ROOT / "tests" / "c" / "replay_recording.c"


@functools.cache
def _processor_lists() -> frozenset[str]:
    try:
        return frozenset(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return frozenset()


def hashes_by_library(library: str, rollouts, **variables) -> dict[str, dict[str, str] | None]:
    """The hashes by a shared library of the core, of each rollout; None where the real file is missing."""
    command = [sys.executable, str(Path(golden.__file__)), "--core", library, *rollouts]
    return json.loads(_output(command, variables))


def hashes_of_build(build: Build, rollouts) -> dict[str, dict[str, str] | None]:
    return hashes_by_library(build_core.core_library(build.compiler, build.flags), rollouts)


EXPERT = """
import hashlib, sys, types
import golden, numpy as np
if sys.argv[1]:
    golden.use_core(sys.argv[1])
from drive_env import DriveConfig
from drive_env.binding import choices
from drive_env.scenes.expert_actions import expert_actions
# Vehicles that wander, at any speed and with gaps: every branch of the inverse.
frames, count = 200, 37
share = (golden.bits(5, np.arange(frames)[:, None, None], np.arange(count)[:, None], np.arange(4)) >> 40) * 2.0**-24
heading, speed = np.cumsum(share[..., 0] - 0.5, axis=0), np.cumsum(share[..., 1] - 0.5, axis=0)
values = dict(x_m=share[..., 2], y_m=share[..., 2], heading_rad=heading, vx_mps=speed, vy_mps=speed)
tracks = {name: value.astype(np.float32) for name, value in values.items()}
tracks["valid"] = share[..., 3] > 0.1
digest = hashlib.sha256()
models = choices("dynamics")
for model, action_type in [("bicycle", "discrete"), *((model, "continuous") for model in models)]:
    config = DriveConfig(action_type=action_type, dynamics={"model": model, "min_speed_mps": -3.0})
    for found in expert_actions(config, 0.1, 1 + 9 * share[0, :, 2], types.SimpleNamespace(**tracks)):
        digest.update(np.ascontiguousarray(found).tobytes())
print(digest.hexdigest())
"""


def expert_hash(library: str = "") -> str:
    """The hash of the expert actions of logs, by a shared library of the core; "": by the package's own."""
    helpers = str(Path(golden.__file__).parent)
    return _output([sys.executable, "-c", EXPERT, library], {"PYTHONPATH": helpers}).decode()


def hashes_of_cross_build(build: CrossBuild, rollouts) -> dict[str, dict[str, str] | None]:
    program = build_core.test_program(REPLAY_PROGRAM, build.compiler, build.flags())
    return {rollout: hash_by_program([*build.command(program), "3"], rollout) for rollout in rollouts}


def hash_by_program(command: list[str], rollout: str) -> dict[str, str] | None:
    """The hashes by tests/c/replay_recording.c, run by the command; None where the real file is missing."""
    import recording

    recorded = recording.record(rollout)
    if recorded is None:
        return None
    return recording.hash_output(recorded, _output(command, {}, recorded.data)).combined()


def _output(command, variables, stdin=None) -> bytes:
    # Wine gets a registry and drives of its own, and prints nothing.
    wine = {"WINEPREFIX": build_core.folder("wine"), "WINEDEBUG": "-all"}
    done = subprocess.run(command, check=False, capture_output=True, input=stdin, timeout=300,
                          env={**os.environ, **wine, **variables})
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-4000:]}")
    return done.stdout
