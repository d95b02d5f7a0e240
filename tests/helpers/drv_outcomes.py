"""What do the package and a core under sanitizers make of a `.drv`? The same error, or a valid scene."""

from __future__ import annotations

import struct
import subprocess

import build_core
import pytest
from build_core import ADDRESS
from drv_writer import (
    LATER_SECTIONS,
    drv_file,
    entries,
    full_scene,
    listed_scene,
    raised_scene,
    sections_of,
)

from drive_env import SceneError
from drive_env.scenes.readers.drv import read_drv
from drive_env.scenes.validate import validate_scene

NAN, INF = float("nan"), float("inf")

FULL = full_scene()
DATA = drv_file(FULL)
RAISED, LISTED = raised_scene(), listed_scene()
READER = build_core.ROOT / "tests" / "fuzz" / "read_pack.c"


def errors_of_the_sanitized_core(files):
    """The error of each file; empty if it was read and stepped."""
    compiler = build_core.working_compiler(ADDRESS)
    if compiler is None:
        pytest.skip("neither gcc nor clang builds programs that run with the address sanitizer")
    program = build_core.test_program(READER, compiler, ADDRESS)
    pack = b"".join(struct.pack("<I", len(data)) + data for data in files)
    done = subprocess.run([program], input=pack, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-6000:]
    lines = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
    assert len(lines) == len(files)
    return [line.partition(" ")[2] for line in lines]


def outcomes(files):
    """The error of each file; "" for a valid scene. Anything else fails the test.

    A file that the core reads must pass the validator, too: the checks of the core are stricter.
    """
    found = []
    for data, in_core in zip(files, errors_of_the_sanitized_core(files), strict=True):
        try:
            scene = read_drv(data)
        except SceneError as error:
            message = str(error)
            # The core does not read metadata.
            assert in_core == message or (in_core == "" and message.startswith("section metadata at byte"))
            assert message
            found.append(message)
        else:
            assert in_core == ""
            validate_scene(scene)
            found.append("")
    return found


def scene_with(name):
    """The full scene, the raised one, or the listed one: the first that has a section."""
    return FULL if name not in LATER_SECTIONS else RAISED if name in sections_of(2) else LISTED


def at(name):
    """Where a section begins in the file of `scene_with`."""
    data = drv_file(scene_with(name))
    return next(entry[2] for entry in entries(data) if entry[0] == sections_of(3)[name][0])
