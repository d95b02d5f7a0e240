"""How is the package's own format, `.drv`, read? The core checks the file; its sections become views of one block.

docs/scenes.md describes every byte.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from ....arrays import aligned_block
from ....binding import check, ffi, lib, per_thread
from ....errors import SceneError
from ...file_layout import ENTRY, HEADER, HEADER_FIELDS, KINDS, MAGIC, VERSION
from ...metadata import decode_metadata
from ...scene import GoalLists, LaneGraph, Objects, Roads, Scene, Scripts, TrafficControls
from ..source import Source


def has_signature(data: bytes) -> bool:
    """Whether the bytes begin with the format's magic number."""
    return data.startswith(MAGIC)


def open(source: Source) -> Iterator[Scene]:
    """The one scene of a `.drv` file."""
    yield read_drv(source.data)


def read_drv(data: bytes) -> Scene:
    """The scene in the bytes of a file.

    Raises:
        SceneError: names section, byte and element, and the reason.
    """
    # Copy the file to an aligned block and check it in the core.
    block = aligned_block(len(data))
    block[:] = np.frombuffer(data, np.uint8)
    file, message = ffi.new("drv_file *"), per_thread.message
    check(lib.drv_file_read(ffi.from_buffer("uint8_t[]", block), len(block), file, message), message)
    # View the sections as arrays; expand bits and flags to bool.
    arrays = {kind.name: _view(block, kind, section) for kind, section in zip(KINDS, file.sections, strict=True)}
    shape = (file.frame_count, file.object_count)
    valid = np.unpackbits(arrays["objects.valid"], count=shape[0] * shape[1], bitorder="little")
    arrays["objects.valid"] = valid.view(np.bool_).reshape(shape)
    arrays["objects.marked_expert"] = arrays["objects.marked_expert"].view(np.bool_)
    try:
        metadata = decode_metadata(arrays["metadata"].tobytes(), later=file.minor > VERSION[1])
    except SceneError as error:
        raise SceneError(f"section metadata at byte {file.sections[0].offset}: {error}") from None
    return Scene(
        **metadata, generated=bool(file.generated), dt_s=file.dt_s,
        origin_m=np.array([file.origin_x_m, file.origin_y_m]), objects=_part(Objects, "objects", arrays),
        roads=_part(Roads, "roads", arrays), lanes=_part(LaneGraph, "lanes", arrays),
        traffic_controls=_part(TrafficControls, "traffic_controls", arrays), sdc=file.sdc,
        tracks_to_predict=tuple(arrays["tracks_to_predict"].tolist()),
        objects_of_interest=tuple(arrays["objects_of_interest"].tolist()),
        candidate_goals_m=arrays["candidate_goals_m"], scripts=_part(Scripts, "scripts", arrays),
        goal_lists=_part(GoalLists, "goal_lists", arrays))


def _view(block, kind, section):
    if section.offset == 0:  # the file is of an earlier minor version
        array = np.full(section.rows * section.columns, np.nan if kind.may_be_nan else 0, kind.dtype)
    else:
        size_bytes = section.rows * section.columns * kind.dtype.itemsize
        array = block[section.offset : section.offset + size_bytes].view(kind.dtype)
    return array.reshape(section.rows, section.columns) if kind.columns else array


def _part(part, prefix, arrays):
    return part(**{field.name: arrays[f"{prefix}.{field.name}"] for field in dataclasses.fields(part)})


def describe_drv(data: bytes) -> tuple[dict, np.ndarray]:
    """Header and section table of a valid file, by the names of their fields."""
    header = np.frombuffer(data, HEADER, 1)[0]
    table = np.frombuffer(data, ENTRY, int(header["section_count"]), HEADER.itemsize)
    return {field.name: header[field.name] for field in HEADER_FIELDS}, table
