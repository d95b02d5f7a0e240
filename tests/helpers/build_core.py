"""How do tests build the C core without the package's own build? From its sources, with its own flags.

What is made of files of this checkout is kept in build/core, for the other processes and for later sessions, until a C
file changes. Everything else is deleted at the end of the session. `python tests/helpers/build_core.py`, or `make
test-cores`, compiles in advance what takes longest; any Python runs it, without a package.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEP_UNIT = ROOT / "c" / "src" / "step" / "unit.c"
"""What the package compiles once per instruction set: it includes the files of the step."""

SOURCES = tuple(source for source in sorted((ROOT / "c" / "src").glob("**/*.c")) if source != STEP_UNIT)
INCLUDES = (f"-I{ROOT / 'c' / 'include'}", f"-I{ROOT / 'c' / 'src'}")
C_FOLDERS = ("c", "tests/c", "tests/fuzz")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror")
LIBRARIES = ("-pthread", "-lm")

# With more optimisation, instrumented code takes three times as long to compile and finds no more faults. Debug
# information beyond lines takes half as long again.
ADDRESS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1", "-O1")
PLAIN = ("-g1", "-O1")
THREAD = ("-fsanitize=thread", "-g1", "-O1")

EACH_FILE = (*WARNINGS, "-O0")
"""For files of the step by themselves: no call is inlined."""

# The coverage that guides libFuzzer, without comparisons: the harnesses are twice as fast and lose nothing. With
# `-O2`, it takes half as long again to compile, and the harnesses are no faster.
COVERED = ("-fsanitize=address,undefined", "-fsanitize-coverage=inline-8bit-counters,pc-table",
           "-fno-sanitize-recover=all", "-g1", "-O1")

MEMCHECK = ("valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite",
            "--fair-sched=yes")
"""Runs a program built `PLAIN`; every read of unset memory and every leak is an error. Interior pointers keep a block
alive: a scene does not begin at the start of its allocation."""

INSTRUCTION_SETS = {
    "portable": (("-U__SSE2__",), ()),
    "v3": (("-march=x86-64-v3",), ("avx2", "bmi2", "fma", "abm", "movbe", "f16c")),
    "v4": (("-march=x86-64-v4",),
           ("avx2", "bmi2", "fma", "abm", "movbe", "f16c", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")),
}
"""Name to the compiler flags, and the flags that /proc/cpuinfo must list."""


PROGRAMS = tuple(sorted((ROOT / "tests" / "c").glob("test_*.c")))
"""The unit tests in C."""

THREADED = tuple(ROOT / "tests" / "c" / f"test_{name}.c" for name in ("pool", "batch", "parts", "road_cache", "arena"))
"""Those that start threads."""

ON_VALUES = tuple(ROOT / "tests" / "c" / f"test_{name}.c" for name in ("geometry", "idm", "sweep"))
"""Those that work on values alone: valgrind has no memory to check there, and would take most of the time."""


ONE_AT_A_TIME = threading.Lock()
"""Held while folders are made and deleted."""


class BuildError(Exception):
    """The compiler failed; the text is its output."""


def compilers() -> list[str]:
    return [name for name in ("gcc", "clang") if shutil.which(name)]


@functools.cache
def core_flags() -> tuple[str, ...]:
    """The options with which the package compiles every file of the core, warnings included."""
    text = (ROOT / "c" / "CMakeLists.txt").read_text()
    options = re.search(r"target_compile_options\([^)]*?(-O3[^$)]*)", text)
    return ("-std=c11", "-fPIC", *options[1].split())


def runs_here(instruction_set: str) -> bool:
    try:
        listed = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return False
    flags, needed = INSTRUCTION_SETS[instruction_set]
    return listed >= set(needed) and (not flags[0].startswith("-march") or "sse2" in listed)


@functools.cache
def working_compiler(flags: tuple[str, ...]) -> str | None:
    """The first compiler whose programs run when built with these flags: a sanitizer may lack its runtime."""
    source = _folder() / "probe.c"
    source.write_text("int main(void) { return 0; }\n")
    for compiler in compilers():
        program = _folder() / f"probe_{compiler}"
        build = [compiler, *flags, str(source), "-o", str(program), *LIBRARIES]
        if all(subprocess.run(command, check=False, capture_output=True).returncode == 0
               for command in (build, [str(program)])):
            return compiler
    return None


@functools.cache
def fuzzer_works() -> bool:
    """Whether clang and the runtime of libFuzzer are installed."""
    if "clang" not in compilers():
        return False
    source, program = _folder() / "probe_fuzzer.c", _folder() / "probe_fuzzer"
    source.write_text("#include <stddef.h>\n#include <stdint.h>\n"
                      "int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return data && size == 1000; }\n")
    build = ["clang", *COVERED, "-fsanitize=fuzzer", str(source), "-o", str(program)]
    return all(subprocess.run(command, check=False, capture_output=True).returncode == 0
               for command in (build, [str(program), "-runs=1"]))


@functools.cache
def step_sources() -> tuple[Path, ...]:
    """The files that `STEP_UNIT` includes."""
    return tuple(ROOT / "c" / "src" / name for name in re.findall(r'^#include "(.+\.c)"$', STEP_UNIT.read_text(), re.M))


@functools.cache
def core_objects(compiler: str, flags: tuple[str, ...] = (), sources: tuple[Path, ...] = SOURCES,
                 in_units: bool = True) -> tuple[str, ...]:
    """Object files of the core; `flags` come after the core's own and override them.

    Args:
        in_units: whether the files of the step are compiled as one unit, as in the package; its functions stay
            external, so that tests can call them. False, or if `sources` lacks one of them: each file by itself.

    Raises:
        BuildError: a file does not compile.
    """
    if in_units and set(step_sources()) <= set(sources):
        sources = (STEP_UNIT, *(source for source in sources if source not in step_sources()))
    with ThreadPoolExecutor() as pool:
        return tuple(pool.map(lambda source: _made(
            source.stem, ".o", compiler, *core_flags(), *flags, *INCLUDES, "-c", str(source)), sources))


@functools.cache
def core_library(compiler: str, flags: tuple[str, ...] = ()) -> str:
    """Path of a shared library of the whole core."""
    return _made("core", ".so", compiler, "-shared", *flags, *core_objects(compiler, flags), *LIBRARIES)


@functools.cache
def small_library(text: str, compiler: str, flags: tuple[str, ...]) -> str:
    """Path of a shared library of one C file of the test's own."""
    folder = Path(tempfile.mkdtemp(dir=_folder()))
    (folder / "small.c").write_text(text)
    _run([compiler, "-shared", "-fPIC", *flags, str(folder / "small.c"), "-o", str(folder / "small.so")])
    return str(folder / "small.so")


@functools.cache
def modern_windows(compiler: str) -> tuple[str, ...]:
    """Options that make MinGW-w64 use the C library of Python for Windows instead of an older one."""
    specs = Path(folder("specs")) / compiler
    defaults = subprocess.run([compiler, "-dumpspecs"], check=True, capture_output=True, text=True).stdout
    specs.write_text(defaults.replace("-lmsvcrt", "-lucrt"))
    return ("-D_UCRT", f"-specs={specs}")


@functools.cache
def test_program(source: Path, compiler: str, flags: tuple[str, ...], sources: tuple[Path, ...] = SOURCES,
                 libraries: tuple[str, ...] = LIBRARIES) -> str:
    """Path of a C test, linked with the core. Its own linker flags follow `link with:` in its text."""
    own = re.search(r"link with: (.*)$", source.read_text(), re.MULTILINE)
    # Tests use POSIX and GNU functions; the core itself uses C11 and threads.
    return _made(source.stem, ".exe" if "mingw" in compiler else "", compiler, *core_flags(), *WARNINGS, *flags,
                 "-D_GNU_SOURCE", *INCLUDES, str(source), *core_objects(compiler, flags, sources),
                 *(own[1].split() if own else ()), *libraries)


def fuzz_program(source: Path, sources: tuple[Path, ...] = SOURCES) -> str:
    """Path of a fuzzer of the C file."""
    return test_program(source, "clang", COVERED, sources, (*LIBRARIES, "-fsanitize=fuzzer"))


test_program.__test__ = False  # not a test by itself


@functools.cache
def folder(name: str) -> str:
    """Path of an empty folder of that name, the same one for the whole session."""
    path = _folder() / name
    path.mkdir()
    return str(path)


@functools.cache
def _folder() -> Path:
    path = tempfile.mkdtemp(prefix="drive_core_")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def _made(name: str, suffix: str, *command: str) -> str:
    """Path of the file that the command makes, with `-o` and the path as its last arguments."""
    own = any(word.startswith(("/", f"-specs={_folder()}")) and not Path(word).is_relative_to(ROOT) for word in command)
    digest = hashlib.sha256("\0".join(command).encode()).hexdigest()[:16]
    path = (_folder() if own else _kept(command[0])) / f"{name}-{digest}{suffix}"
    if own or not path.exists():
        # Another process may make the same file.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder) / path.name
            _run([*command, "-o", str(made)])
            os.replace(made, path)
    return str(path)


def _kept(compiler: str) -> Path:
    """The folder for what this compiler builds from the current C files. If it is new, all older folders of this
    compiler but the newest are deleted."""
    # Read at every call: files may change while a session runs.
    digest = hashlib.sha256(_version(compiler))
    for source in sorted(path for folder in C_FOLDERS for path in (ROOT / folder).glob("**/*.[ch]")):
        digest.update(source.read_bytes())
    path = ROOT / "build" / "core" / f"{compiler}-{digest.hexdigest()[:16]}"
    with ONE_AT_A_TIME:
        if not path.exists():
            # A session that is running may use the last one.
            for stale in sorted(path.parent.glob(f"{compiler}-*"), key=os.path.getctime)[:-1]:
                shutil.rmtree(stale, ignore_errors=True)
            path.mkdir(parents=True, exist_ok=True)
    return path


@functools.cache
def _version(compiler: str) -> bytes:
    return subprocess.run([compiler, "--version"], check=True, capture_output=True).stdout


def _run(command):
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{' '.join(command)}\n{done.stderr}")


def main() -> None:
    checked = tuple(program for program in PROGRAMS if program not in ON_VALUES)
    for flags, programs in ((ADDRESS, PROGRAMS), (PLAIN, checked), (THREAD, THREADED)):
        if compiler := working_compiler(flags):
            for program in programs:
                test_program(program, compiler, flags)
    if fuzzer_works():
        core_objects("clang", COVERED)


if __name__ == "__main__":
    main()
