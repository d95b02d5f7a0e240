"""How does a file become bytes? Whole and decompressed, within limits that bound the memory of a small file."""

from __future__ import annotations

import os
import stat
import zlib

from ...errors import SceneError, a_type
from ..json_text import HEAD_BYTES, looks_like_json, parsed_bytes_at_most
from ..metadata import as_text
from ..packaged import PACKAGED, is_packaged
from .foreign import HEAD_BYTES as FOREIGN_HEAD_BYTES
from .foreign import described_foreign

FILE_LIMIT_BYTES = 256 * 2**20
"""About a thousand times a common scene; larger files are not read into memory."""

DECOMPRESSED_BYTES, DECOMPRESSED_SHARE = 16 * 2**20, 32
"""Limit of decompressed JSON: the larger of a constant and a multiple of the file; real JSON shrinks to a fifth."""

BINARY_BYTES, BINARY_SHARE = 8 * 2**20, 12
"""The same for all other formats. Scenes of binary files take up to nine times their bytes while they are read and
checked; real ones shrink to between a half and an eighth. Parsed XML is bounded by itself, too."""

PARSED_BYTES, PARSED_SHARE = 90 * 10**6, 96
"""Limit of the memory of parsed XML, and of parsed JSON from a compressed file, likewise; real ones of the latter take
55 times their size."""

WAYMO_DT_S = 0.1
"""The step of the Waymo Open Motion logs, for the formats whose files have them without their step."""

GZIP_MAGIC = b"\x1f\x8b\x08"


class Source:
    """What a reader reads: one file, and its siblings by name.

    Attributes:
        path: of the file.
        name: the path as a scene may hold it, see `as_text`.
        stored: the bytes of the file.
        data: the same, decompressed if they are a gzip member.
    """

    def __init__(self, path: str, stored: bytes) -> None:
        self.path, self.stored = path, stored
        self.name = as_text(path)
        self.data = decompressed(path, stored)

    def sibling(self, name: str) -> Source:
        """The file called `name` in the same folder.

        Raises:
            SceneError: it cannot be read.
        """
        return Source(*read_file(os.path.join(os.path.dirname(self.path), name)))


def read_source(path: str | os.PathLike) -> Source:
    """The file at `path`, or that of the packaged scene with this name.

    Raises:
        SceneError: names the file and the reason.
    """
    return Source(*read_file(PACKAGED[str(path)] if is_packaged(path) else path))


def read_file(path: str | os.PathLike) -> tuple[str, bytes]:
    """The path as a string, and the bytes of the file."""
    try:
        name = os.fspath(path)
    except TypeError:
        name = path
    if not isinstance(name, str):
        raise SceneError(f"path is {a_type(type(name))}; it must be a str or a path of str")
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            what = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
            raise SceneError(f"{name}: it is {what}; it must be a file")
        if status.st_size > FILE_LIMIT_BYTES and (foreign := _foreign_of(name)):
            raise SceneError(f"{name}: {foreign}")
        if not 0 < status.st_size <= FILE_LIMIT_BYTES:
            raise SceneError(f"{name}: it has {status.st_size} bytes; it must have 1 to {FILE_LIMIT_BYTES}")
        with open(name, "rb") as file:
            return name, file.read(status.st_size)  # one allocation
    except SceneError:
        raise
    except OSError as error:
        raise SceneError(f"{name}: {error.strerror or error}") from error
    except ValueError as error:
        # A null character, or a character that the file system cannot encode.
        raise SceneError(f"{name!r}: it is no path: {error}") from error


def _foreign_of(name):
    """What a file that is too large to be read is, if it is foreign."""
    with open(name, "rb") as file:
        head = file.read(FOREIGN_HEAD_BYTES)
    if head.startswith(GZIP_MAGIC):
        try:
            head = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(head, FOREIGN_HEAD_BYTES)
        except zlib.error:
            return None
    return described_foreign(head)


def decompressed(name: str, data: bytes) -> bytes:
    """The content of one gzip member; other data unchanged.

    Raises:
        SceneError: the member is damaged, or its content exceeds the limit for a file of this size.
    """
    if not data.startswith(GZIP_MAGIC):
        return data
    # Decompress up to one byte beyond the limit of what it begins like.
    head, member = (zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) for _ in range(2))
    try:
        is_json = looks_like_json(head.decompress(data, HEAD_BYTES))
        least, share = (DECOMPRESSED_BYTES, DECOMPRESSED_SHARE) if is_json else (BINARY_BYTES, BINARY_SHARE)
        limit = min(FILE_LIMIT_BYTES, max(least, share * len(data)))
        content = member.decompress(data, limit + 1)
    except zlib.error as error:
        raise SceneError(f"{name}: it cannot be decompressed: {error}") from None
    if len(content) > limit:
        if foreign := described_foreign(content):
            raise SceneError(f"{name}: {foreign}")
        raise SceneError(f"{name}: it has {len(data)} bytes, decompressed more than {limit}; it may have {limit}")
    # The member must be complete and fill the file.
    if not member.eof:
        raise SceneError(f"{name}: it ends within its compressed data, after {len(data)} bytes")
    if member.unused_data:
        raise SceneError(f"{name}: byte {len(data) - len(member.unused_data)}: {len(member.unused_data)} bytes are "
                         "left after its compressed data; none may be")
    # A small file may not make the JSON parser allocate much memory.
    allowed = max(PARSED_BYTES, PARSED_SHARE * len(data))
    if looks_like_json(content) and (needed := parsed_bytes_at_most(content)) > allowed:
        raise SceneError(f"{name}: it has {len(data)} bytes, decompressed {len(content)}, which may take {needed} in "
                         f"memory once parsed; at most {allowed} are allowed")
    return content
