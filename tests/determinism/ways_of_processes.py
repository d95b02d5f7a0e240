"""Does a rollout have the same bytes whatever the settings of the thread and of the process are?"""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import build_core
import golden
from golden import Hashes
from ways import Unavailable, opened, way

from drive_env import ConfigError
from drive_env.native_batch import ISA_VARIABLE


def _rounding(mode, rollout):
    # the function that sets the mode; FE_UPWARD, FE_DOWNWARD and FE_TOWARDZERO of x86-64, FE_TONEAREST is 0
    libm = ctypes.CDLL(None)
    if sys.platform != "linux" or not hasattr(libm, "fesetround"):
        raise Unavailable("the C library has no fesetround")
    code = {"up": 0x800, "down": 0x400, "to zero": 0xC00}[mode]
    if os.uname().machine != "x86_64":
        raise Unavailable("the codes of fesetround are known for x86-64")

    # the batch
    class Rounded:
        """A batch whose core is called in the rounding mode; numpy and Python keep the default."""

        def __init__(self, batch):
            self._batch = batch

        def __getattr__(self, name):
            found = getattr(self._batch, name)
            return self._in_mode(found) if name in ("step", "metrics", "restart_observations") else found

        @staticmethod
        def _in_mode(call):
            def called(*arguments):
                libm.fesetround(code)
                try:
                    return call(*arguments)
                finally:
                    libm.fesetround(0)
            return called

    return golden.hashes_of(Rounded(opened(rollout, threads=2)))


for _mode in ("up", "down", "to zero"):
    way(f"called by a thread that rounds {_mode}")(functools.partial(_rounding, _mode))


def _in_process(rollout, *options, variables=None, before="") -> Hashes:
    """The rollout in a separate interpreter, which stays for the next rollouts of the same way."""
    opened(rollout).close()  # raises Unavailable if this machine cannot
    settings = (options, variables, before)
    if not _interpreter or _interpreter[0] != settings:
        _end_interpreter()
        _interpreter[:] = settings, *_started(*settings)
    _, process, errors = _interpreter
    process.stdin.write(f"{rollout}\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        errors.seek(0)
        raise AssertionError(errors.read()[-4000:])
    found = json.loads(line)
    return Hashes({int(world): parts for world, parts in found["worlds"].items()}, found["report"])


_interpreter = []
"""Settings, process and file of errors of the interpreter that runs."""


def _started(options, variables, before):
    """An interpreter that reads names of rollouts and writes their hashes, and the file of its errors."""
    program = (f"import sys; sys.path.insert(0, {str(Path(golden.__file__).parent)!r}); {before}\n"
               "import golden, json, dataclasses\n"
               "for line in sys.stdin:\n"
               "    batch = golden.begin(line.strip())\n"
               "    batch.reset()\n"
               "    print(json.dumps(dataclasses.asdict(golden.hashes_of(batch))), flush=True)\n")
    errors = tempfile.TemporaryFile("w+")
    process = subprocess.Popen([sys.executable, *options, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=errors, text=True, env={**os.environ, **(variables or {})})
    return process, errors


@atexit.register
def _end_interpreter():
    if _interpreter:
        _, process, errors = _interpreter
        process.kill()
        process.communicate()
        errors.close()
        _interpreter.clear()


@functools.cache
def _fast_math_library() -> str:
    """A library built with -ffast-math, which makes the thread that loads it flush subnormal numbers to zero."""
    for compiler in build_core.compilers():
        library = build_core.small_library("float drive_twice(float value) { return 2.0f * value; }\n", compiler,
                                           ("-ffast-math",))
        if subprocess.run([sys.executable, "-c", _loaded(library)], check=False, capture_output=True).returncode == 0:
            return library
    raise Unavailable("no compiler here whose -ffast-math changes the thread that loads a library")


def _loaded(library):
    return f"import ctypes; ctypes.CDLL({library!r}); assert 5e-324 * 1.0 == 0.0"


@way("a process changed by a library that was built with -ffast-math")
def _(rollout):
    return _in_process(rollout, before=_loaded(_fast_math_library()))


@way("another PYTHONHASHSEED")
def _(rollout):
    return _in_process(rollout, variables={"PYTHONHASHSEED": "4242"})


@way("python -X dev, all warnings errors")
def _(rollout):
    return _in_process(rollout, "-X", "dev", "-W", "error")


@way("python -OO, which drops asserts and docstrings")
def _(rollout):
    return _in_process(rollout, "-OO")


@way("memory that malloc fills with garbage")
def _(rollout):
    return _in_process(rollout, variables={"MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc"})


@way("a numpy limited to the baseline instructions")
def _(rollout):
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__ as extras
    except ImportError:
        raise Unavailable("this numpy does not list its instruction sets") from None
    return _in_process(rollout, variables={"NPY_DISABLE_CPU_FEATURES": " ".join(extras)})


@way("one processor alone")
def _(rollout):
    if not hasattr(os, "sched_setaffinity"):
        raise Unavailable("this platform cannot pin a process to one processor")
    only = min(os.sched_getaffinity(0))
    return _in_process(rollout, before=f"import os; os.sched_setaffinity(0, [{only}])")


def _by_own_set(name, rollout):
    before = os.environ.get(ISA_VARIABLE)
    os.environ[ISA_VARIABLE] = name
    try:
        batch = opened(rollout)
    except ConfigError as error:
        raise Unavailable(str(error)) from None
    finally:
        os.environ.pop(ISA_VARIABLE)
        if before is not None:
            os.environ[ISA_VARIABLE] = before
    assert batch.instruction_set == name
    return golden.hashes_of(batch)


for _set in ("baseline", "v3", "v4"):
    way(f"the package's own code for {_set}")(functools.partial(_by_own_set, _set))


@functools.cache
def _comma_locale() -> dict[str, str]:
    """Variables of a locale that writes numbers with a comma: an installed one, or one made by localedef."""
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8", "pt_BR.UTF-8"):
        if _has_comma({"LC_ALL": name}):
            return {"LC_ALL": name}
    if shutil.which("localedef"):
        folder = tempfile.mkdtemp(prefix="drive_locale_")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"], check=False,
                       capture_output=True)
        made = {"LC_ALL": "de_DE.UTF-8", "LOCPATH": folder}
        if _has_comma(made):
            return made
    raise Unavailable("no locale here writes numbers with a comma, and localedef makes none")


IN_LOCALE = "import locale; locale.setlocale(locale.LC_ALL, ''); assert locale.localeconv()['decimal_point'] == ','"


def _has_comma(variables) -> bool:
    return subprocess.run([sys.executable, "-c", IN_LOCALE], check=False, capture_output=True,
                          env={**os.environ, **variables}).returncode == 0


@way("a locale that writes numbers with a comma")
def _(rollout):
    return _in_process(rollout, variables=_comma_locale(), before=IN_LOCALE)
