"""Declares the binding: the declarations are the header's own, cut out between its two marks."""

from pathlib import Path

from cffi import FFI

header = (Path(__file__).parent / "include" / "drive.h").read_text()
declarations = header.split("/* --- cffi begins --- */")[1].split("/* --- cffi ends --- */")[0]

ffibuilder = FFI()
ffibuilder.cdef(declarations)
ffibuilder.set_source("drive_env._core", '#include "drive.h"', py_limited_api=True)
