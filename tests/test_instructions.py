"""Has a step become more expensive? The core's instructions, counted by valgrind's callgrind, also on a busy machine.

    python tests/test_instructions.py    counts again and writes instructions.json; the commit gives the reason
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from drive_env import Batch

RECORD = Path(__file__).with_name("instructions.json")
ISA = "v3"
"""valgrind does not emulate AVX-512."""

GROWTH_ALLOWED = 1.02
"""Largest count as a multiple of the recorded one: all options together may cost the default config 2%."""

FIRST_STEPS, STEPS = 10, 30
"""Steps before the count, and counted steps."""

START = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; }
"""
"""A library whose function starts the count. Until then nothing is counted, and the program runs five times as fast."""

MARK = "getpgid"
"""A function of the C library that only the program below calls: callgrind writes its counts before that call."""

PROGRAM = f"""
import ctypes, os, sys
import numpy as np
from drive_env import Batch, DriveConfig
config = DriveConfig(on_goal="ignore", on_collision="ignore", on_offroad="ignore")
with Batch("town", num_worlds=16, config=config, seed=0, threads=1) as batch:
    batch.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, batch.single_action_space.n, (8, batch.num_agents))
    for step in range({FIRST_STEPS + STEPS}):
        if step == {FIRST_STEPS}:
            ctypes.CDLL(sys.argv[1]).start()
        batch.step(actions[step % 8])
    os.{MARK}(0)
    print(batch.num_agents)
"""


def compiler() -> str:
    """The compiler on this machine, which is what built the core, by name and version."""
    found = subprocess.run(["cc", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    return re.sub(r"\s*\(.*\)", "", found)


def starter(folder) -> str | None:
    """The path of the library that starts the count; None if valgrind, its header or cc is not installed."""
    if shutil.which("valgrind") is None or shutil.which("cc") is None:
        return None
    library = str(Path(folder) / "start.so")
    built = subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], check=False, input=START,
                           capture_output=True, text=True)
    return None if built.returncode else library


def per_agent_step(library: str) -> float:
    """Instructions in the core per agent and step, from the start to the mark."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--dump-before={MARK}",
             f"--callgrind-out-file={out}", sys.executable, "-c", PROGRAM, library],
            check=True, capture_output=True, text=True,
            env={**os.environ, "DRIVE_ENV_ISA": ISA, "PYTHONHASHSEED": "0"})
        profile = out.with_name("out.1").read_text()
    return counted_in(profile, "/drive_env/_core.") / (STEPS * int(done.stdout))


def counted_in(profile: str, library: str) -> int:
    """The instructions of one shared library, from callgrind's file; numpy's threads spin for an unknown time.

    A library is named once, `ob=(3) /its/path`, and is `ob=(3)` after that. The line after `calls=` is the cost of the
    called function, which its own library lists again.
    """
    number, total, inside, of_a_call = None, 0, False, False
    for line in profile.splitlines():
        if named := re.match(r"c?ob=\((\d+)\)(?: (.*))?$", line):
            if named[2] and library in named[2]:
                number = named[1]
            if line.startswith("ob="):
                inside = named[1] == number
        elif line.startswith("calls="):
            of_a_call = True
        elif re.match(r"[-+*\d]", line):
            if inside and not of_a_call:
                total += int(line.split()[1])
            of_a_call = False
    return total


@pytest.mark.slow
def test_a_step_takes_no_more_instructions_than_recorded(monkeypatch, tmp_path):
    library = starter(tmp_path)
    if library is None:
        pytest.skip("valgrind, its header callgrind.h or cc is not installed")
    try:
        monkeypatch.setenv("DRIVE_ENV_ISA", ISA)
        Batch("intersection").close()
    except Exception:  # noqa: BLE001  whatever the reason, it cannot be counted here
        pytest.skip(f"this processor does not offer {ISA}")
    recorded = json.loads(RECORD.read_text())
    if compiler() not in recorded:
        pytest.skip(f"no count is recorded for {compiler()}; recorded are {', '.join(recorded)}")
    counted, limit = per_agent_step(library), recorded[compiler()] * GROWTH_ALLOWED
    assert counted > 0.5 * recorded[compiler()], f"only {counted:.0f} instructions were found in the core"
    assert counted <= limit, f"{counted:.0f} instructions an agent-step; at most {limit:.0f} are allowed"


if __name__ == "__main__":
    os.environ["DRIVE_ENV_ISA"] = ISA
    with tempfile.TemporaryDirectory() as made:
        counted_now = round(per_agent_step(starter(made)))
    found = {**(json.loads(RECORD.read_text()) if RECORD.exists() else {}), compiler(): counted_now}
    RECORD.write_text(json.dumps(found, indent=2) + "\n")
