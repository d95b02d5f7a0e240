"""Which process may write into a run's folder? One at a time, and never over another run."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ..config import RunConfig
from . import checkpoint
from .checkpoint_folder import NAME, delete
from .dist import Ranks
from .log import WANDB_ID, report
from .log_file import LOG, read_lines

LOCK, HOLDER = ".lock", ".lock.holder"
"""The locked file, and the file that names its holder: on some systems a locked file cannot be read."""

EVALUATORS, EVALUATIONS = "evaluators.toml", "evaluations"
"""The copy of `run.evaluators`, and the folder with the newest result of each of these evaluators."""

WRITTEN = re.compile(rf"{NAME}|\.{NAME}\.unfinished|{re.escape(EVALUATORS)}|{EVALUATIONS}|curves\.png"
                     rf"|{re.escape(WANDB_ID)}"
                     r"|events\.out\.tfevents\..*|metrics(\.[0-9]+)?\.jsonl|\.metrics\.jsonl\.unfinished")
"""Names of the files that a run writes."""


class FolderError(ValueError):
    """The folder cannot be written to, is locked, or contains a run that would be lost."""


@dataclass(frozen=True)
class Lock:
    """The lock file that this run holds open, so that no other file can get its inode while the run lasts."""

    path: Path
    device: int
    inode: int

    @staticmethod
    def of(path: Path) -> Lock:
        """The lock of a file that exists."""
        found = path.stat()
        return Lock(path, found.st_dev, found.st_ino)

    def lost(self) -> bool:
        """Whether the folder was deleted or replaced, so that its files do not belong to this run."""
        try:
            return Lock.of(self.path) != self
        except OSError:
            return True

    def error(self) -> FolderError:
        """The error that ends a run whose lock is lost."""
        return FolderError(f"folder {str(self.path.parent)!r} was deleted or replaced while this run trained in it; "
                           "the run ends and writes nothing more")


@dataclass(frozen=True)
class Claim:
    """A locked folder, and the changes to be made in it by `prepare` before the run writes.

    Attributes:
        lock: of the folder.
        resumed: the checkpoint to resume from; None: a new run.
        deleted: files and folders of an old run, the log last, so that an interrupted deletion still leaves a run.
        renamed: old and new path of the log of a run without a checkpoint.
    """

    lock: Lock
    resumed: Path | None = None
    deleted: tuple[Path, ...] = ()
    renamed: tuple[Path, Path] | None = None

    def check(self) -> None:
        """A FolderError if the folder was deleted or replaced; the main rank calls it before the run writes."""
        if self.lock.lost():
            raise self.lock.error()

    def prepare(self) -> None:
        """Deletes the old run, or renames its log; the main rank calls it, after every check of the new run."""
        self.check()
        for path in self.deleted:
            delete(path)
        if self.renamed:
            old, new = self.renamed
            old.rename(new)
            report(f"folder {str(old.parent)!r} has no checkpoint to resume from; its log is renamed to {new.name}, a "
                   "new run starts")


@contextmanager
def claimed(run: RunConfig, ranks: Ranks) -> Iterator[Claim]:
    """Locks the run's folder for this process and its ranks, and decides whether its run is resumed or deleted.

    Every rank calls it. The operating system releases the lock when the process ends, even if it is killed.

    Raises:
        FolderError: the folder cannot be written to, is locked, or contains a run and neither `resume` nor
            `overwrite` is set.
        LogError: the log of the run to resume is damaged.
    """
    with ExitStack() as held:
        yield ranks.on_main(lambda: _claim(Path(run.folder), run, held))


def _claim(folder: Path, run: RunConfig, held: ExitStack) -> Claim:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _lock(folder, held)
    except OSError as error:
        reason = "it is a file" if folder.is_file() else error.strerror or str(error)
        raise FolderError(f"folder {str(folder)!r} cannot be written to: {reason}; choose another --run.folder"
                          ) from error
    if run.overwrite:
        written = [path for path in folder.iterdir() if WRITTEN.fullmatch(path.name)]
        return Claim(lock, deleted=tuple(sorted(written, key=lambda path: path.name == LOG)))
    found = checkpoint.newest(folder) if checkpoint.checkpoints(folder) else None
    if found and not run.resume:
        raise FolderError(f"folder {str(folder)!r} contains a run up to {found.name}; --run.resume continues it, "
                          "--run.overwrite deletes it, another --run.folder leaves it unchanged")
    log = folder / LOG
    last = max((line["update"] for line in read_lines(log)), default=0)
    if found or not last:
        return Claim(lock, found)
    if not run.resume:
        raise FolderError(f"folder {str(folder)!r} contains the log of a run up to update {last}, without a checkpoint;"
                          " --run.overwrite deletes it, another --run.folder leaves it unchanged")
    # A script that restarts a run with --run.resume must also get past a crash before the first checkpoint.
    renamed = next(path for n in range(1, 1 << 30) if not (path := log.with_stem(f"{log.stem}.{n}")).exists())
    return Claim(lock, renamed=(log, renamed))


def _lock(folder: Path, held: ExitStack) -> Lock:
    holder = folder / HOLDER
    try:
        held.enter_context(FileLock(folder / LOCK, timeout=0))
    except Timeout:
        process = holder.read_text() if holder.is_file() else "another process"
        raise FolderError(f"folder {str(folder)!r} is in use by {process}; wait until it ends, or choose another "
                          "--run.folder") from None
    holder.write_text(f"process {os.getpid()} on host {socket.gethostname()!r}")
    lock = Lock.of(folder / LOCK)
    held.callback(lambda: lock.lost() or holder.unlink(missing_ok=True))
    return lock
