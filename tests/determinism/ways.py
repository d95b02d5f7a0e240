"""In which ways can a play be run with the same bytes? Threads, other worlds, processes, settings of the process.

A way runs a play in its own manner and returns the hashes, to be compared with those of the same worlds alone on one
thread; worlds outside the play are not compared. `NotHere` gives the reason why this machine cannot run a way.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import build_core
import golden
import numpy as np
from golden import SEED, STEPS, Hashes, Look

from drive_env import ConfigError
from drive_env.native_batch import ISA_VARIABLE

HALF = STEPS // 2
CROWD = tuple(range(16))


class NotHere(Exception):
    """This machine cannot run the way; the text gives the reason."""


class Way(NamedTuple):
    play: object
    """Function of the name of a play; returns its Hashes."""
    parts: tuple[str, ...] = golden.PARTS
    """The parts that must be equal; a report survives the reset of a used batch."""


WAYS: dict[str, Way] = {}


def way(name: str, parts=golden.PARTS):
    def keep(function):
        WAYS[name] = Way(function, parts)
        return function
    return keep


def differences(found: Hashes, alone: Hashes, parts=golden.PARTS) -> list[str]:
    """Differences from the play of the same worlds alone, as sentences."""
    names = [f"world {world}: {part}" for world in alone.worlds if world in found.worlds for part in parts
             if found.worlds[world][part] != alone.worlds[world][part]]
    if set(found.worlds) == set(alone.worlds) and "told" in parts and found.report != alone.report:
        names.append("the report")
    return names


def opened(play: str, *arguments, **choices):
    batch = golden.begin(play, *arguments, **choices)
    if batch is None:
        raise NotHere("the real sample map_942.bin is missing; DRIVE_SAMPLES may name its folder")
    batch.reset()
    return batch


@functools.cache
def alone(play: str) -> Hashes:
    """Hashes of the worlds of a play on one thread."""
    return golden.hashes_of(opened(play))


@functools.cache
def crowd_alone(play: str) -> Hashes:
    return golden.hashes_of(opened(play, CROWD))


# ---- threads and other worlds ----


def _by_threads(count, play):
    found = golden.hashes_of(opened(play, CROWD, threads=count))
    if found != crowd_alone(play):
        return found
    # The report is of all 16 worlds.
    return Hashes({world: found.worlds[world] for world in golden.WORLD_IDS}, alone(play).report)


for _count in (1, 2, 3, 4, 5, 7, 8, 11, 16):
    way(f"16 worlds on {_count} threads")(functools.partial(_by_threads, _count))


@way("more threads than worlds")
def _(play):
    return golden.hashes_of(opened(play, threads=64))


def _by_company(world_ids, play):
    found = golden.hashes_of(opened(play, world_ids, threads=2))
    # A report sums its agents in the order of the worlds: another order may change the last digit.
    return Hashes({world: parts for world, parts in found.worlds.items() if world in golden.WORLD_IDS},
                  alone(play).report)


for _ids in ((3, 2, 1, 0), (2,), (0, 3), (1, 900, 0, 7, 3, 2, 55)):
    way(f"worlds {', '.join(map(str, _ids))} in this order")(functools.partial(_by_company, _ids))


@way("worlds that were reset to other seeds in between")
def _(play):
    batch = opened(play, seed=1)
    batch.reset(seed=[SEED, 5, SEED, 6])
    found = golden.hashes_of(batch)
    return Hashes({world: found.worlds[world] for world in (0, 2)}, "")


@way("a batch used before, reset to the seed", ("shown", "state"))
def _(play):
    batch = opened(play, threads=2, seed=99)
    golden.hashes_of(batch, steps=37)
    batch.reset(seed=SEED)
    return golden.hashes_of(batch)


# ---- copies and processes ----


def kept(looks) -> list[Look]:
    """Copies of the looks, which the next step does not overwrite."""
    return [Look(*([array.copy() for array in part] if isinstance(part, list) else part for part in look))
            for look in looks]


def half_played(batch) -> list[Look]:
    return kept(golden.play_on(batch, HALF))


def other_half(batch) -> tuple[list[Look], np.ndarray]:
    """Looks of the steps after `HALF`, and the report."""
    looks = []
    for step in range(HALF + 1, STEPS + 1):
        batch.step(golden.draw(batch, step))
        looks += kept([golden.look_at(batch, step % golden.RESTARTS_EVERY == 0)])
    return looks, golden.report_of(batch)


def joined(before, after) -> Hashes:
    looks, report = after
    return golden.hash_looks([*before, *looks], golden.WORLD_IDS, lambda: report)


@way("a pickled copy, made in the middle of an episode")
def _(play):
    batch = opened(play, threads=2)
    before = half_played(batch)
    copy = pickle.loads(pickle.dumps(batch))
    found, original = joined(before, other_half(copy)), joined(before, other_half(batch))
    return found if found != original else original


def _half_in_child(batch, pipe):
    pipe.send(other_half(batch))
    pipe.close()


@way("a forked child, and its parent afterwards")
def _(play):
    if "fork" not in multiprocessing.get_all_start_methods():
        raise NotHere("this platform has no fork")
    batch = opened(play, threads=2)
    before = half_played(batch)
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_half_in_child, args=(batch, sender))
    with warnings.catch_warnings():
        # Newer interpreters warn at every fork beside threads; this test shows that the core's are harmless.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sender.close()
    of_child = joined(before, receiver.recv())
    child.join()
    of_parent = joined(before, other_half(batch))
    return of_child if of_child != of_parent else of_parent


@way("a spawned process that got the batch in the middle")
def _(play):
    batch = opened(play, threads=2)
    before = half_played(batch)
    return joined(before, _spawned().apply(other_half, (batch,)))


@functools.cache
def _spawned():
    pool = multiprocessing.get_context("spawn").Pool(1)
    atexit.register(pool.terminate)
    return pool


@way("another thread from the middle on")
def _(play):
    batch = opened(play, threads=2)
    before = half_played(batch)
    with ThreadPoolExecutor(1) as pool:
        return joined(before, pool.submit(other_half, batch).result())


def _in_turns(batch, barrier):
    def looks():
        for look in golden.play_on(batch):
            barrier.wait(60)
            yield look
    return golden.hash_looks(looks(), batch.world_ids, lambda: golden.report_of(batch))


@way("two batches in two threads, stepped in turns")
def _(play):
    other = next(name for name in golden.PLAYS if name != play)
    barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(_in_turns, opened(name, threads=2), barrier) for name in (play, other)]
        assert both[1].result() == alone(other), f"{other} beside {play}"
        return both[0].result()


class Stepped:
    """A batch whose steps are made in another way."""

    def __init__(self, batch, step):
        self._batch, self._step = batch, step

    def __getattr__(self, name):
        return getattr(self._batch, name)

    def step(self, actions):
        self._step(self._batch, actions)


def _in_flight(batch, actions):
    """The caller overwrites its actions while the step is in flight."""
    batch.bound_actions[...] = actions
    batch.step_async(batch.bound_actions)
    batch.bound_actions[...] = 99
    batch.wait()


def _parts_in_flight(batch, actions):
    """All in flight at once, waited for in reverse order."""
    for part in batch.parts:
        part.step_async(actions[part.agent_slice])
    for part in reversed(batch.parts):
        part.wait()


def _parts_by_halves(batch, actions):
    """One part in flight while another is stepped by its caller."""
    first, *others = batch.parts
    first.step_async(actions[first.agent_slice])
    for part in others:
        part.step(actions[part.agent_slice])
    first.wait()


def _parts_in_threads(batch, actions):
    with ThreadPoolExecutor(len(batch.parts)) as pool:
        list(pool.map(lambda part: part.step(actions[part.agent_slice]), batch.parts))


def _stepped(step, threads, parts, play):
    return golden.hashes_of(Stepped(opened(play, threads=threads, parts=parts), step))


for _count in (1, 2, 4):
    way(f"every step in flight, {_count} threads")(functools.partial(_stepped, _in_flight, _count, 1))
for _count, _parts in ((1, 2), (2, 3), (3, 4)):
    way(f"{_parts} parts, all in flight at once, {_count} threads")(
        functools.partial(_stepped, _parts_in_flight, _count, _parts))
    way(f"{_parts} parts, one in flight beside the others, {_count} threads")(
        functools.partial(_stepped, _parts_by_halves, _count, _parts))
way("3 parts in 3 threads of their callers")(functools.partial(_stepped, _parts_in_threads, 2, 3))


@way("two batches in one thread, stepped in turns")
def _(play):
    batch, beside = opened(play), opened(play, seed=3)

    def looks():
        for look, _ in zip(golden.play_on(batch), golden.play_on(beside), strict=True):
            yield look

    return golden.hash_looks(looks(), batch.world_ids, lambda: golden.report_of(batch))


# ---- settings of the thread and of the process ----


def _rounding(mode, play):
    libm = ctypes.CDLL(None)
    if sys.platform != "linux" or not hasattr(libm, "fesetround"):
        raise NotHere("the C library has no fesetround")
    code = {"up": 0x800, "down": 0x400, "to zero": 0xC00}.get(mode)
    if os.uname().machine != "x86_64":
        raise NotHere("the codes of fesetround are known for x86-64")

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

    return golden.hashes_of(Rounded(opened(play, threads=2)))


for _mode in ("up", "down", "to zero"):
    way(f"called by a thread that rounds {_mode}")(functools.partial(_rounding, _mode))


def _in_process(play, *options, variables=None, before="") -> Hashes:
    """The play in a separate interpreter."""
    opened(play).close()  # raises NotHere if this machine cannot
    return _all_in_process(options, tuple((variables or {}).items()), before)[play]


@functools.cache
def _all_in_process(options, variables, before) -> dict[str, Hashes]:
    """Every play whose scenes are here, one after another in one interpreter."""
    program = (f"import sys; sys.path.insert(0, {str(Path(golden.__file__).parent)!r}); {before}\n"
               "import golden, json, dataclasses\n"
               "found = {}\n"
               "for play in golden.PLAYS:\n"
               "    batch = golden.begin(play)\n"
               "    if batch is not None:\n"
               "        batch.reset()\n"
               "        found[play] = dataclasses.asdict(golden.hashes_of(batch))\n"
               "print(json.dumps(found))")
    done = subprocess.run([sys.executable, *options, "-c", program], check=False, capture_output=True, text=True,
                          env={**os.environ, **dict(variables)}, timeout=300)
    if done.returncode:
        raise AssertionError(done.stderr[-4000:])
    return {play: Hashes({int(world): parts for world, parts in found["worlds"].items()}, found["report"])
            for play, found in json.loads(done.stdout).items()}


@functools.cache
def _fast_math_library() -> str:
    """A library built with -ffast-math, which makes the thread that loads it flush subnormal numbers to zero."""
    for compiler in build_core.compilers():
        library = build_core.small_library("float drive_twice(float value) { return 2.0f * value; }\n", compiler,
                                           ("-ffast-math",))
        if subprocess.run([sys.executable, "-c", _loaded(library)], check=False, capture_output=True).returncode == 0:
            return library
    raise NotHere("no compiler here whose -ffast-math changes the thread that loads a library")


def _loaded(library):
    return f"import ctypes; ctypes.CDLL({library!r}); assert 5e-324 * 1.0 == 0.0"


@way("a process changed by a library that was built with -ffast-math")
def _(play):
    return _in_process(play, before=_loaded(_fast_math_library()))


@way("another PYTHONHASHSEED")
def _(play):
    return _in_process(play, variables={"PYTHONHASHSEED": "4242"})


@way("python -X dev, all warnings errors")
def _(play):
    return _in_process(play, "-X", "dev", "-W", "error")


@way("python -OO, which drops asserts and docstrings")
def _(play):
    return _in_process(play, "-OO")


@way("memory that malloc fills with garbage")
def _(play):
    return _in_process(play, variables={"MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc"})


@way("a numpy limited to the baseline instructions")
def _(play):
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__ as extras
    except ImportError:
        raise NotHere("this numpy does not list its instruction sets") from None
    return _in_process(play, variables={"NPY_DISABLE_CPU_FEATURES": " ".join(extras)})


@way("one processor alone")
def _(play):
    if not hasattr(os, "sched_setaffinity"):
        raise NotHere("this platform cannot pin a process to one processor")
    only = min(os.sched_getaffinity(0))
    return _in_process(play, before=f"import os; os.sched_setaffinity(0, [{only}])")


def _by_own_set(name, play):
    before = os.environ.get(ISA_VARIABLE)
    os.environ[ISA_VARIABLE] = name
    try:
        batch = opened(play)
    except ConfigError as error:
        raise NotHere(str(error)) from None
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
    raise NotHere("no locale here writes numbers with a comma, and localedef makes none")


IN_LOCALE = "import locale; locale.setlocale(locale.LC_ALL, ''); assert locale.localeconv()['decimal_point'] == ','"


def _has_comma(variables) -> bool:
    return subprocess.run([sys.executable, "-c", IN_LOCALE], check=False, capture_output=True,
                          env={**os.environ, **variables}).returncode == 0


@way("a locale that writes numbers with a comma")
def _(play):
    return _in_process(play, variables=_comma_locale(), before=IN_LOCALE)
