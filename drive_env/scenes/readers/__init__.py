"""Which file formats can be read? One file or folder per format, and one line in `READERS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..scene import Scene
from . import commonroad, drv, gpudrive, pufferdrive
from .source import Source


class Reader(NamedTuple):
    """One format.

    Attributes:
        format: its name in errors and docs.
        extension: of its files by custom; the content alone decides.
        signature: what identifies its files, as in "it lacks ...".
        open: yields the scenes of a source in file order, unvalidated, each read when it is requested. Raises a
            `SceneError` that names the place and the reason.
        has_signature: whether decompressed bytes begin as files of the format do. None for a format without a
            signature; it is tried on files that have no other format's signature.
    """

    format: str
    extension: str
    signature: str
    open: Callable[[Source], Iterator[Scene]]
    has_signature: Callable[[bytes], bool] | None = None


READERS = (
    Reader("drive-env .drv", ".drv", "the eight bytes it begins with", drv.open, drv.has_signature),
    Reader("GPUDrive and Nocturne JSON", ".json", "the opening brace it begins with", gpudrive.open,
           gpudrive.has_signature),
    Reader("CommonRoad XML", ".xml", "the element commonRoad that it begins with", commonroad.open,
           commonroad.has_signature),
    Reader("PufferDrive .bin", ".bin", "its counts, which must fit the file's size exactly", pufferdrive.open),
)
