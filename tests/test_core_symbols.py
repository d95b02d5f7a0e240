"""Is every symbol of the core used? What only tests use belongs to the tests; what only its own file uses is static."""

import re
import shutil
import subprocess
from pathlib import Path

import build_core
import pytest

CORE = build_core.ROOT / "c"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def text_of(*patterns):
    """Path to text without comments, of the files of the core that fit a pattern."""
    return {path: COMMENT.sub("", path.read_text()) for pattern in patterns for path in sorted(CORE.glob(pattern))}


def without_a_user(defined, used, declared):
    """The symbols that no other file uses and the public header does not declare.

    Args:
        defined, used: the symbols that each file defines, and those that it takes from others.
        declared: those of the public header.
    """
    return {name for path, names in defined.items() for name in names
            if name not in declared and not any(name in used[other] for other in used if other != path)}


def symbols(object_file):
    """The external symbols that an object file defines, and those that it takes from others."""
    lines = subprocess.run(["nm", "-P", object_file], check=True, capture_output=True, text=True).stdout.splitlines()
    kinds = [line.split()[:2] for line in lines]
    return {name for name, kind in kinds if kind in "TDBRC"}, {name for name, kind in kinds if kind == "U"}


def test_every_external_symbol_has_a_user_in_the_library_or_is_public():
    if not build_core.compilers() or not shutil.which("nm"):
        pytest.skip("no C compiler and nm here")
    # Each file is compiled by itself, so that nm shows which symbols the files of the step take from each other. The
    # flags are those of other tests, which share the objects.
    compiler, step = build_core.compilers()[0], build_core.step_sources()
    files = (*build_core.core_objects(compiler, build_core.EACH_FILE, step, in_units=False),
             *build_core.core_objects(compiler, build_core.PLAIN, tuple(set(build_core.SOURCES) - set(step))))
    tables = {Path(file).stem: symbols(file) for file in files}
    defined = {name: found for name, (found, _) in tables.items()}
    public = set(re.findall(r"\b(drv_\w+)\(", "".join(text_of("include/**/*.h").values())))
    assert len(public) > 40 and sum(map(len, defined.values())) > 100
    assert without_a_user(defined, {name: used for name, (_, used) in tables.items()}, public) == set()


def test_every_inline_function_of_a_header_has_a_user_in_the_library():
    files = text_of("src/**/*.[ch]")
    whole = "\n".join(files.values())
    inline = {name for path, text in files.items() if path.suffix == ".h"
              for name in re.findall(r"^static inline [\w *]*?\b(drv_\w+)\(", text, re.MULTILINE)}
    assert len(inline) > 20
    assert {name for name in inline if len(re.findall(rf"\b{name}\b", whole)) < 2} == set()


def test_every_function_that_a_header_declares_is_defined():
    files = text_of("include/**/*.h", "src/**/*.[ch]")
    whole = "\n".join(files.values())
    declared = {name for path, text in files.items() if path.suffix == ".h"
                for name in re.findall(r"^(?!static|typedef|#)\w[\w *]*?\b(drv_\w+)\([^;{}]*\);", text, re.MULTILINE)}
    defined = set(re.findall(r"^(?!static inline)[\w *]*?\b(drv_\w+)\([^;{}]*\) \{", whole, re.MULTILINE))
    assert len(declared) > 100
    assert declared - defined == set()


def test_a_symbol_without_a_user_is_found():
    defined, used = {"a": {"one", "two", "three"}, "b": {"four"}}, {"a": {"four"}, "b": {"one"}}
    assert without_a_user(defined, used, {"three"}) == {"two"}
