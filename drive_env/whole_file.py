"""How is a file written whole or not at all, also on a full disk? Beside its place, then moved there."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """The path of a new, empty file, which replaces `path` when the block ends, and is deleted if the block raises.

    Another process that opens `path` reads the old file or the new one, never a part. A link stays, its target is
    replaced; a new version keeps the permissions. A device or pipe is written itself.

    Raises:
        OSError: the file cannot be written; the error names `path`.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        yield os.fspath(path)  # a device or pipe, such as /dev/stdout, which a file must not replace
        return
    path = os.path.realpath(path)
    if os.path.islink(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    folder, name = os.path.split(path)
    start = os.fsdecode(os.fsencode(name)[:100])  # a name may have 255 bytes
    beside = os.path.join(folder, f".{start}.{secrets.token_hex(8)}.part")
    try:
        # os.open gives the file the default permissions of new files.
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        try:
            yield beside
            _flush(beside)
            if os.path.exists(path):
                shutil.copymode(path, beside)
            os.replace(beside, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(beside)
            raise
    except OSError as error:
        # A write to a full disk names no file; neither does a closed pipe, which is that of stdout.
        if error.filename == beside or error.filename is None and not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror or str(error), path) from error
        raise


def _flush(path: str) -> None:
    """Waits until the content of a file is on the disk; otherwise a crash after the move could leave an empty file."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
