"""How is a scene kept in the own format, `.drv`? Its arrays as sections; docs/scenes.md has every byte.

The core checks a file; here its sections become the arrays of a scene, without a copy of their own, and back.
"""

from __future__ import annotations

import dataclasses
import operator
import zlib

import numpy as np

from ..arrays import aligned_block
from ..core import OF_THREAD, check, ffi, lib
from ..errors import SceneError
from .drv_layout import ALIGNMENT_BYTES, ENTRY, HEADER, HEADER_FIELDS, KINDS, MAGIC, VERSION
from .metadata import decode_metadata, encode_metadata
from .scene import LaneGraph, Objects, Roads, Scene
from .validate import validate_scene


def has_signature(data: bytes) -> bool:
    """Whether a file begins as those of this format do."""
    return data.startswith(MAGIC)


def read_drv(data: bytes, source: str = "") -> Scene:
    """The scene in the bytes of a file.

    Args:
        data: the whole file.
        source: not used, for the file itself says what it was made from.

    Raises:
        SceneError: names section, byte and element, and what is wrong there.
    """
    block = aligned_block(len(data))
    block[:] = np.frombuffer(data, np.uint8)
    file, message = ffi.new("drv_file *"), OF_THREAD.message
    check(lib.drv_file_read(ffi.from_buffer("uint8_t[]", block), len(block), file, message), message)
    arrays = {kind.name: _view(block, kind, section) for kind, section in zip(KINDS, file.sections, strict=True)}
    shape = (file.frame_count, file.object_count)
    valid = np.unpackbits(arrays["objects.valid"], count=shape[0] * shape[1], bitorder="little")
    arrays["objects.valid"] = valid.view(np.bool_).reshape(shape)
    arrays["objects.marked_expert"] = arrays["objects.marked_expert"].view(np.bool_)
    try:
        told = decode_metadata(arrays["metadata"].tobytes(), later=file.minor > VERSION[1])
    except SceneError as error:
        raise SceneError(f"section metadata at byte {file.sections[0].offset}: {error}") from None
    return Scene(
        **told, generated=bool(file.generated), dt_s=file.dt_s,
        origin_m=np.array([file.origin_x_m, file.origin_y_m]), objects=_part(Objects, "objects", arrays),
        roads=_part(Roads, "roads", arrays), lanes=_part(LaneGraph, "lanes", arrays), sdc=file.sdc,
        tracks_to_predict=tuple(arrays["tracks_to_predict"].tolist()),
        objects_of_interest=tuple(arrays["objects_of_interest"].tolist()))


def _view(block, kind, section):
    size_bytes = section.rows * section.columns * kind.dtype.itemsize
    array = block[section.offset : section.offset + size_bytes].view(kind.dtype)
    return array.reshape(section.rows, section.columns) if kind.columns else array


def _part(part, prefix, arrays):
    return part(**{field.name: arrays[f"{prefix}.{field.name}"] for field in dataclasses.fields(part)})


def drv_bytes(scene: Scene) -> bytes:
    """The scene as the bytes of a file; the same scene gives the same bytes.

    Raises:
        SceneError: the scene is not sound.
    """
    validate_scene(scene)
    sections = [_section(scene, kind) for kind in KINDS]
    table = np.zeros(len(KINDS), ENTRY)
    end = HEADER.itemsize + table.nbytes
    for entry, kind, section in zip(table, KINDS, sections, strict=True):
        entry["code"], entry["element_bytes"], entry["crc"] = kind.code, kind.dtype.itemsize, zlib.crc32(section)
        entry["offset"] = -(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        entry["bytes"], entry["count"] = len(section), len(section) // kind.dtype.itemsize
        end = int(entry["offset"]) + len(section)
    parts = [_header(scene, len(sections[0]), len(KINDS), end, table.tobytes()), table.tobytes()]
    written = HEADER.itemsize + table.nbytes
    for entry, section in zip(table, sections, strict=True):
        parts += [bytes(int(entry["offset"]) - written), section]
        written = int(entry["offset"]) + len(section)
    return b"".join(parts)


def _header(scene, metadata_bytes, section_count, file_bytes, table):
    header = np.zeros(1, HEADER)
    objects, roads = scene.objects, scene.roads
    values = dict(
        magic=MAGIC, major=VERSION[0], minor=VERSION[1], section_count=section_count, file_bytes=file_bytes,
        origin_x_m=scene.origin_m[0], origin_y_m=scene.origin_m[1], dt_s=scene.dt_s, object_count=objects.count,
        frame_count=objects.frame_count, road_count=roads.count, point_count=len(roads.x_m),
        link_count=len(scene.lanes.successor), predicted_count=len(scene.tracks_to_predict), sdc=scene.sdc,
        interest_count=len(scene.objects_of_interest), generated=scene.generated, metadata_bytes=metadata_bytes,
        table_crc=zlib.crc32(table))
    for name, value in values.items():
        header[name] = value
    before_crc = header.tobytes()[: HEADER.fields["crc"][1]]
    header["crc"] = zlib.crc32(before_crc)
    return header.tobytes()


def _section(scene, kind):
    """The bytes of one section."""
    if kind.name == "metadata":
        return _metadata(scene)
    array = np.asarray(operator.attrgetter(kind.name)(scene))
    if kind.name == "objects.valid":
        return np.packbits(array, bitorder="little").tobytes()
    return array.astype(kind.dtype, order="C", copy=False).tobytes()


def _metadata(scene):
    """The words of a scene. The first program to write it is named, where there is room; who copies it later is not."""
    from .. import __version__

    if not scene.provenance.converter:
        provenance = dataclasses.replace(scene.provenance, converter=f"drive-env {__version__}")
        try:
            return encode_metadata(dataclasses.replace(scene, provenance=provenance))
        except SceneError:  # the scene is sound, so what is too much is the name
            pass
    return encode_metadata(scene)


def describe_drv(data: bytes) -> tuple[dict, np.ndarray]:
    """Header and table of sections of a file that was read without an error, by the names of their fields."""
    header = np.frombuffer(data, HEADER, 1)[0]
    table = np.frombuffer(data, ENTRY, int(header["section_count"]), HEADER.itemsize)
    return {field.name: header[field.name] for field in HEADER_FIELDS}, table
