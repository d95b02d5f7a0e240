"""Declares the binding: the declarations are those of the core's header, as the C preprocessor expands it."""

import os
import shutil
import subprocess
from pathlib import Path

from cffi import FFI

HEADER = Path(__file__).parent / "include" / "drive.h"


def declarations() -> str:
    """The public declarations, every list expanded. DRIVE_CC is the compiler of the build; without it, any will do."""
    compiler = os.environ.get("DRIVE_CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), "cc")
    command = [compiler, "-E", "-P", "-DDRV_BINDING", f"-I{HEADER.parent}", str(HEADER)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


ffibuilder = FFI()
ffibuilder.cdef(declarations())
ffibuilder.set_source("drive_env._core", '#include "drive.h"', py_limited_api=True)
