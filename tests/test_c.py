"""Do the C tests pass? Each test of tests/c/test_*.c by name, built with the core's own flags and sanitizers."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import build_core
import pytest
from build_core import (
    ADDRESS, EACH_FILE, INSTRUCTION_SETS, MEMCHECK, ON_VALUES, PLAIN, PROGRAMS, THREAD, THREADED)

FOLDER = Path(__file__).parent / "c"
NOT_UNDER_MEMCHECK = {
    # Memory that another thread was freeing when the process forked has no owner in the child.
    "a_copy_forked_in_the_middle_of_closing_ends_once",
    # valgrind emulates neither flush-to-zero nor traps.
    "the_callers_environment_changes_no_byte_and_is_restored",
    "a_step_in_flight_does_not_run_in_the_callers_environment",
}
SEARCH = tuple(build_core.ROOT / "c" / "src" / "math" / name for name in ("grid.c", "k_nearest.c"))


def names_in(program):
    return re.findall(r"^TEST\((\w+)\)", program.read_text(), re.MULTILINE)


def cases(programs):
    return [pytest.param(program, name, id=f"{program.stem}-{name}") for program in programs
            for name in names_in(program)]


# A forked child cannot join its parent's threads, which the thread sanitizer reports as a leak.
ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": "report_thread_leaks=0"}


def run(*command, **variables):
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600,
                          env=ENVIRONMENT | variables)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr[-6000:]}"


def compiler_for(flags, what):
    compiler = build_core.working_compiler(flags)
    if compiler is None:
        pytest.skip(f"neither gcc nor clang builds programs that run with {what}")
    return compiler


@pytest.mark.parametrize("program, name", cases(PROGRAMS))
def test_in_c(program, name):
    compiler = compiler_for(ADDRESS, "the address and undefined behaviour sanitizers")
    run(build_core.test_program(program, compiler, ADDRESS), name)


@pytest.mark.parametrize("program", THREADED, ids=lambda program: program.stem)
def test_threads_race_nowhere(program):
    compiler = compiler_for(THREAD, "the thread sanitizer")
    run(build_core.test_program(program, compiler, THREAD), CHECK_SHARE="4")


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program not in ON_VALUES],
                         ids=lambda program: program.stem)
def test_memcheck_finds_nothing(program):
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind here")
    compiler = compiler_for(PLAIN, "debug information")
    path = build_core.test_program(program, compiler, PLAIN)
    names = [name for name in names_in(program) if name not in NOT_UNDER_MEMCHECK]
    run(*MEMCHECK, path, *names, CHECK_SHARE="8")


def test_memcheck_and_the_leak_sanitizer_report_leaks(tmp_path):
    """The tools detect the faults that the tests above rely on them for."""
    source = tmp_path / "test_leak.c"
    source.write_text(
        '#include <stdlib.h>\n#include "check.h"\n'
        'TEST(leak) { char *volatile left = malloc(77); left[0] = 1; left = NULL; }\n'
        'TEST(unset) { char *volatile used = malloc(77); CHECK(used[3] == 0, "set"); free(used); }\n')
    where = (f"-I{FOLDER}",)
    faults = [(ADDRESS, (), "leak", "77 byte")]
    if shutil.which("valgrind"):
        faults += [(PLAIN, MEMCHECK, "leak", "77 bytes"), (PLAIN, MEMCHECK, "unset", "uninitialised")]
    for flags, command, name, message in faults:
        program = build_core.test_program(source, compiler_for(flags, "sanitizers"), (*flags, *where), ())
        done = subprocess.run([*command, program, name], check=False, capture_output=True, text=True)
        assert done.returncode != 0 and message in done.stderr


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_vectors_and_searches_are_right_on_every_instruction_set(instruction_set):
    if not build_core.runs_here(instruction_set):
        pytest.skip(f"this processor does not run {instruction_set}")
    flags, _ = INSTRUCTION_SETS[instruction_set]
    compiler = compiler_for((*ADDRESS, *flags), f"sanitizers for {instruction_set}")
    for program in ("test_vector.c", "test_grid.c", "test_k_nearest.c"):
        run(build_core.test_program(FOLDER / program, compiler, (*ADDRESS, *flags), SEARCH), CHECK_SHARE="8")


@pytest.mark.parametrize("compiler", ("gcc", "clang"))
def test_each_file_of_the_step_includes_all_that_it_needs_and_compiles_without_a_warning(compiler):
    """tests/determinism compiles the whole core with warnings as errors, as one unit per instruction set."""
    if compiler not in build_core.compilers():
        pytest.skip(f"no {compiler} here")
    build_core.core_objects(compiler, EACH_FILE, build_core.step_sources(), in_units=False)
    build_core.core_objects(compiler, (*EACH_FILE, "-DDRV_ISA=baseline"), build_core.step_sources())


def test_a_failed_check_is_reported(tmp_path):
    compiler = compiler_for((), "no flags at all")
    source = tmp_path / "test_check.c"
    source.write_text('#include "check.h"\n'
                      'TEST(right) { CHECK(1, "no"); }\n'
                      'TEST(wrong) { CHECK(1 > 2, "%d", 7); }\n')
    program = build_core.test_program(source, compiler, (f"-I{FOLDER}",), ())
    run(program, "right")
    for names, message in (["wrong"], "1 > 2: 7"), ([], "1 > 2: 7"), (["absent"], "no such test"):
        done = subprocess.run([program, *names], check=False, capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr


def test_what_runs_in_a_step_names_no_allocator():
    """No file that is compiled for every instruction set calls an allocator."""
    compilers = build_core.compilers()
    if not compilers or not shutil.which("nm"):
        pytest.skip("no C compiler and nm here")
    objects = build_core.core_objects(compilers[0], EACH_FILE, build_core.step_sources(), in_units=False)
    assert len(objects) > 8
    for path in objects:
        wanted = subprocess.run(["nm", "-u", path], check=True, capture_output=True, text=True).stdout
        assert not re.search(r"\b(malloc|calloc|realloc|free|aligned_alloc|mmap|strdup)\b", wanted), path
