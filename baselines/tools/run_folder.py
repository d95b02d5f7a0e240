"""Which process may write into a run's folder? One at a time, and never over another run."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ..config import RunConfig
from . import checkpoint
from .dist import Ranks
from .log import report
from .log_file import LOG, read_lines

LOCK, HOLDER = ".lock", ".lock.holder"
"""The locked file, and the file that names its holder: on some systems a locked file cannot be read."""

CHECKPOINT = r"update-(?:[0-9]{8}|[1-9][0-9]{8,})"
WRITTEN = re.compile(rf"{CHECKPOINT}|\.{CHECKPOINT}\.unfinished|curves\.png|events\.out\.tfevents\..*"
                     r"|metrics(\.[0-9]+)?\.jsonl|\.metrics\.jsonl\.unfinished")
"""Names of the files that a run writes."""


class FolderError(ValueError):
    """The folder is locked, or contains a run that would be lost."""


@dataclass(frozen=True)
class Claim:
    """A locked folder, and what is to be done in it before the run writes; nothing is done before `prepare`.

    Attributes:
        resumed: the checkpoint to resume from; None: a new run.
        deleted: files and folders of an old run, the log last, so that an interrupted deletion still leaves a run.
        renamed: old and new path of the log of a run without a checkpoint.
    """

    resumed: Path | None = None
    deleted: tuple[Path, ...] = ()
    renamed: tuple[Path, Path] | None = None

    def prepare(self) -> None:
        """Deletes the old run, or renames its log; the main rank calls it, after every check of the new run."""
        for path in self.deleted:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        if self.renamed:
            old, new = self.renamed
            old.rename(new)
            report(f"folder {str(old.parent)!r} has no checkpoint to resume from; its log is renamed to {new.name}, a "
                   "new run starts")


@contextmanager
def claimed(run: RunConfig, ranks: Ranks) -> Iterator[Claim]:
    """Locks the run's folder for this process and its ranks, and decides what becomes of the run that it contains.

    Every rank calls it. The operating system releases the lock when the process ends, even if it is killed.

    Raises:
        FolderError: the folder is locked, or contains a run and neither `resume` nor `overwrite` is set.
        LogError: the log of the run to resume is damaged.
    """
    with ExitStack() as held:
        yield ranks.on_main(lambda: _claim(Path(run.folder), run, held))


def _claim(folder: Path, run: RunConfig, held: ExitStack) -> Claim:
    folder.mkdir(parents=True, exist_ok=True)
    _lock(folder, held)
    if run.overwrite:
        written = [path for path in folder.iterdir() if WRITTEN.fullmatch(path.name)]
        return Claim(deleted=tuple(sorted(written, key=lambda path: path.name == LOG)))
    found = checkpoint.newest(folder) if checkpoint.checkpoints(folder) else None
    if found and not run.resume:
        raise FolderError(f"folder {str(folder)!r} contains a run up to {found.name}; --run.resume continues it, "
                          "--run.overwrite deletes it, another --run.folder leaves it unchanged")
    log = folder / LOG
    last = max((line["update"] for line in read_lines(log)), default=0)
    if found or not last:
        return Claim(found)
    if not run.resume:
        raise FolderError(f"folder {str(folder)!r} contains the log of a run up to update {last}, without a checkpoint;"
                          " --run.overwrite deletes it, another --run.folder leaves it unchanged")
    # A script that restarts a run with --run.resume must also get past a crash before the first checkpoint.
    renamed = next(path for n in range(1, 1 << 30) if not (path := log.with_stem(f"{log.stem}.{n}")).exists())
    return Claim(renamed=(log, renamed))


def _lock(folder: Path, held: ExitStack) -> None:
    holder = folder / HOLDER
    try:
        held.enter_context(FileLock(folder / LOCK, timeout=0))
    except Timeout:
        process = holder.read_text() if holder.is_file() else "another process"
        raise FolderError(f"folder {str(folder)!r} is in use by {process}; wait until it ends, or choose another "
                          "--run.folder") from None
    holder.write_text(f"process {os.getpid()} on host {socket.gethostname()!r}")
    held.callback(holder.unlink, missing_ok=True)
