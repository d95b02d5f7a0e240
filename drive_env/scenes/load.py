"""How does a file become a scene? By its content, never by its name."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import SceneError
from .drv import has_signature, read_drv
from .gpudrive import OtherJsonError, read_gpudrive
from .json_text import looks_like_json, parsed_bytes_at_most
from .metadata import as_text
from .pufferdrive import read_early
from .scene import Scene
from .validate import validate_scene

FILE_LIMIT_BYTES = 256 * 2**20
"""About a thousand times a common scene; what is larger is no scene and is not read into memory."""

UNPACKED_BYTES, UNPACKED_SHARE = 16 * 2**20, 32
"""Limit of unpacked bytes, and per packed byte where that is more; real JSON shrinks to a fifth."""

PARSED_BYTES, PARSED_SHARE = 90 * 10**6, 96
"""Limit of memory that packed JSON may take once parsed, and per packed byte where that is more; real files take 55."""

GZIP_MAGIC = b"\x1f\x8b\x08"


@dataclass(frozen=True)
class Format:
    """One kind of file.

    Attributes:
        read: (bytes, source) to a Scene, or a SceneError that says why the bytes are not of the format.
        told_by: how its files are told from others, as the end of "it is told by ...".
        bears_mark: whether bytes are of the format, by how they begin; None where only reading can tell.
    """

    read: Callable[[bytes, str], Scene]
    told_by: str
    bears_mark: Callable[[bytes], bool] | None = None


FORMATS = {
    "drive-env .drv": Format(read_drv, "the eight bytes it begins with", has_signature),
    "GPUDrive and Nocturne JSON": Format(read_gpudrive, "the opening brace it begins with", looks_like_json),
    "PufferDrive .bin, early layout": Format(read_early, "its sizes, which must use up the file"),
}


def load_scene(path: str | os.PathLike) -> Scene:
    """Reads the scene in the file at `path`, which may be compressed by gzip, and validates it.

    A file that bears the mark of a format is read as that format; any other by every format without a mark.

    Raises:
        SceneError: names the file and why it cannot be read, or for every format why the file is not of it.
    """
    name, data = read_file(path)
    return scene_in(name, decompressed(name, data))


def scene_in(name: str, data: bytes) -> Scene:
    """The scene in the unpacked bytes of a file of that name; `load_scene` says how it is told."""
    tried = {layout: format_ for layout, format_ in FORMATS.items() if format_.bears_mark and format_.bears_mark(data)}
    tried = tried or {layout: format_ for layout, format_ in FORMATS.items() if not format_.bears_mark}
    scenes, reasons, foreign = [], {}, False
    for layout, format_ in tried.items():
        try:
            scenes.append(validate_scene(format_.read(data, as_text(name))))
        except SceneError as error:
            reasons[layout] = str(error)
            foreign = foreign or format_.bears_mark is None or isinstance(error, OtherJsonError)
    if len(scenes) > 1:
        raise SceneError(f"{name}: {len(scenes)} formats fit; exactly one must")
    if scenes:
        return scenes[0]
    if not foreign:
        layout, reason = next(iter(reasons.items()))
        raise SceneError(f"{name}: read as {layout}: {reason}")
    reasons |= {layout: f"it lacks {format_.told_by}" for layout, format_ in FORMATS.items() if layout not in tried}
    raise SceneError(f"{name}: no known format fits; those that can be read are "
                     + "; ".join(f"{layout} ({reason})" for layout, reason in reasons.items()))


def decompressed(name: str, data: bytes) -> bytes:
    """What gzip packed, in one piece; other data as it is. A small file gets no large memory, whatever it packs."""
    if not data.startswith(GZIP_MAGIC):
        return data
    unzip = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    limit = min(FILE_LIMIT_BYTES, max(UNPACKED_BYTES, UNPACKED_SHARE * len(data)))
    try:
        whole = unzip.decompress(data, limit + 1)
    except zlib.error as error:
        raise SceneError(f"{name}: it cannot be decompressed: {error}") from None
    if len(whole) > limit:
        raise SceneError(f"{name}: it has {len(data)} bytes, decompressed more than {limit}; it must have at most so many")
    if not unzip.eof:
        raise SceneError(f"{name}: it ends within its packed data, after {len(data)} bytes")
    if unzip.unused_data:
        raise SceneError(f"{name}: byte {len(data) - len(unzip.unused_data)}: {len(unzip.unused_data)} bytes are left "
                         "after its packed data; none may be")
    allowed = max(PARSED_BYTES, PARSED_SHARE * len(data))
    if looks_like_json(whole) and (needed := parsed_bytes_at_most(whole)) > allowed:
        raise SceneError(f"{name}: it has {len(data)} bytes, decompressed {len(whole)}, which may take {needed} in memory "
                         f"once parsed; it may take {allowed}")
    return whole


def read_file(path: str | os.PathLike) -> tuple[str, bytes]:
    """The path as a string, and the file's bytes."""
    try:
        name = os.fspath(path)
    except TypeError:
        name = path
    if not isinstance(name, str):
        raise SceneError(f"path is a {type(name).__name__}; it must be a str or a path of str")
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            what = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
            raise SceneError(f"{name}: it is {what}; it must be a file")
        if not 0 < status.st_size <= FILE_LIMIT_BYTES:
            raise SceneError(f"{name}: it has {status.st_size} bytes; it must have 1 to {FILE_LIMIT_BYTES}")
        with open(name, "rb") as file:
            return name, file.read(status.st_size)  # allocated before it is read
    except SceneError:
        raise
    except OSError as error:
        raise SceneError(f"{name}: {error.strerror or error}") from error
    except ValueError as error:
        # A null character, or one the file system cannot write.
        raise SceneError(f"{name!r}: it is no path: {error}") from error
