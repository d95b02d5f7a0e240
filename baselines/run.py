"""Who writes into a run's folder, and how does a run end early? One process at a time, over no other run, whole."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from filelock import FileLock, Timeout

from . import checkpoint
from .config import RunConfig
from .dist import Ranks
from .lines import LOG, read_lines
from .metrics import report

LOCK, HOLDER = ".lock", ".lock.holder"
"""The locked file, and who locked it: another file, since a locked one cannot be read everywhere."""

WRITTEN = re.compile(r"\.?update-\d{8}(\.unfinished)?|curves\.png|events\.out\.tfevents\..*|metrics(\.\d+)?\.jsonl")
"""What a run leaves in its folder."""


class FolderError(ValueError):
    """The folder is in use, or holds a run that would be lost."""


@contextmanager
def claimed(run: RunConfig, ranks: Ranks) -> Iterator[Path | None]:
    """Holds the run's folder for this process or its ranks; gives the checkpoint to go on from, None for a new run.

    The system releases the lock of a process that ends, however it ends. Every rank calls it.

    Raises:
        FolderError: another process writes into the folder, or it holds a run and neither `resume` nor `overwrite` is
            set.
        LogError: the log of the run to go on with is damaged.
    """
    with ExitStack() as held:
        yield ranks.lead(lambda: _claim(Path(run.folder), run, held))


def _claim(folder: Path, run: RunConfig, held: ExitStack) -> Path | None:
    folder.mkdir(parents=True, exist_ok=True)
    _lock(folder, held)
    if run.overwrite:
        _clear(folder)
    found = checkpoint.newest(folder) if checkpoint.checkpoints(folder) else None
    if found and not run.resume:
        raise FolderError(f"folder {str(folder)!r} holds a run up to {found.name}; --run.resume goes on with it, "
                          "--run.overwrite deletes it, another --run.folder leaves it alone")
    log = folder / LOG
    last = max((line["update"] for line in read_lines(log)), default=0)
    if found or not last:
        return found
    if not run.resume:
        raise FolderError(f"folder {str(folder)!r} holds the log of a run up to update {last}, without a checkpoint; "
                          "--run.overwrite deletes it, another --run.folder leaves it alone")
    # Whoever restarts a run with --run.resume until it ends must not be stopped by a death before the first checkpoint.
    kept = next(path for n in range(1, 1 << 30) if not (path := log.with_stem(f"{log.stem}.{n}")).exists())
    log.rename(kept)
    report(f"folder {str(folder)!r} has no checkpoint to go on from; its log is kept as {kept.name}, a new run begins")
    return None


def _lock(folder: Path, held: ExitStack) -> None:
    holder = folder / HOLDER
    try:
        held.enter_context(FileLock(folder / LOCK, timeout=0))
    except Timeout:
        who = holder.read_text() if holder.is_file() else "another process"
        raise FolderError(f"folder {str(folder)!r} is in use by {who}; wait for its end, or choose another --run.folder"
                          ) from None
    holder.write_text(f"process {os.getpid()} on host {socket.gethostname()!r}")
    held.callback(holder.unlink, missing_ok=True)


def _clear(folder: Path) -> None:
    """Deletes what a run wrote, its log last: what a deletion that breaks off leaves still counts as a run."""
    for path in sorted(filter(lambda path: WRITTEN.fullmatch(path.name), folder.iterdir()),
                       key=lambda path: path.name == LOG):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


class Interrupted(KeyboardInterrupt):
    """A signal ended the run; the message says what was saved."""

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.exit_code = 128 + number
        """As shells have it."""


class Interrupts:
    """SIGINT (Ctrl-C) and SIGTERM while a run is on: `Interrupted` at once, or, where that would leave half an update
    behind, `asked` until it is done. A second signal does not wait.

    Handlers that a caller installed stay, as does a SIGINT that is ignored; so do all where a thread trains.
    """

    def __init__(self):
        self.asked = 0
        """The number of the first signal; 0: none so far."""
        self._waits = False

    def __enter__(self) -> Interrupts:
        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        main = threading.current_thread() is threading.main_thread()
        self._before = {number: handler for number, handler in usual.items()
                        if main and signal.getsignal(number) == handler}
        for number in self._before:
            signal.signal(number, self._handle)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked, self.asked or number
        if again or not self._waits:
            raise Interrupted("interrupted at once; what was saved before is left as it was", number)

    def postpone(self) -> None:
        """From now on a first signal is only noted."""
        self._waits = True

    def cut_short(self, call: Callable[[], None]) -> None:
        """After `postpone`: a call that a signal may end at any point, or that after one is not made."""
        try:
            self._waits = False
            if not self.asked:
                call()
        except Interrupted:
            pass
        finally:
            self._waits = True
