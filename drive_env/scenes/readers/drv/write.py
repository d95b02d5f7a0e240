"""How does a scene become the bytes of a `.drv` file? Header, section table, sections."""

from __future__ import annotations

import dataclasses
import operator
import zlib

import numpy as np

from ....errors import SceneError
from ....version import package_version
from ...file_layout import ALIGNMENT_BYTES, ENTRY, HEADER, KINDS, MAGIC, VERSION
from ...metadata import encode_metadata
from ...scene import Scene
from ...validate import validate_scene


COUNTED = ("candidate_goals_m", "scripts.object", "goal_lists.object")
"""Sections whose length is a count that the header lacks, and whose elements may all be 0."""


def drv_bytes(scene: Scene) -> bytes:
    """The scene as the bytes of a file, of the lowest minor version that can hold it; equal scenes give equal bytes.

    Raises:
        SceneError: the scene is invalid.
    """
    validate_scene(scene)
    # A section need not be written where a file of an earlier minor version reads as the same.
    sections = [_section(scene, kind) for kind in KINDS]
    minor = max(kind.since for kind, section in zip(KINDS, sections, strict=True) if not _is_absent(kind, section))
    kinds = [kind for kind in KINDS if kind.since <= minor]
    sections = [section for kind, section in zip(KINDS, sections, strict=True) if kind.since <= minor]
    table = np.zeros(len(kinds), ENTRY)
    end = HEADER.itemsize + table.nbytes
    # Place each section at the next multiple of the alignment.
    for entry, kind, section in zip(table, kinds, sections, strict=True):
        entry["code"], entry["element_bytes"], entry["crc"] = kind.code, kind.dtype.itemsize, zlib.crc32(section)
        entry["offset"] = -(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        entry["bytes"], entry["count"] = len(section), len(section) // kind.dtype.itemsize
        end = int(entry["offset"]) + len(section)
    # Concatenate, with zeros as padding.
    parts = [_header(scene, minor, len(sections[0]), len(kinds), end, table.tobytes()), table.tobytes()]
    written = HEADER.itemsize + table.nbytes
    for entry, section in zip(table, sections, strict=True):
        parts += [bytes(int(entry["offset"]) - written), section]
        written = int(entry["offset"]) + len(section)
    return b"".join(parts)


def _header(scene, minor, metadata_bytes, section_count, file_bytes, table):
    header = np.zeros(1, HEADER)
    objects, roads = scene.objects, scene.roads
    values = dict(
        magic=MAGIC, major=VERSION[0], minor=minor, section_count=section_count, file_bytes=file_bytes,
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


def _is_absent(kind, section):
    """Whether the array of an absent section would have these bytes: zeros, or NaN where it may be NaN.

    One candidate goal at the origin, and a script or a list of object 0, are zeros, too, but define how many there are.
    """
    if kind.may_be_nan:
        return bool(np.isnan(np.frombuffer(section, kind.dtype)).all())
    return not section or not (section.strip(b"\0") or kind.name in COUNTED)


def _metadata(scene):
    """The text fields of a scene. An empty `converter` becomes this program, if there is room; a copy keeps it."""
    if not scene.provenance.converter:
        provenance = dataclasses.replace(scene.provenance, converter=f"drive-env {package_version()}")
        try:
            return encode_metadata(dataclasses.replace(scene, provenance=provenance))
        except SceneError:  # the scene is valid, so it is the added name that exceeds the limit
            pass
    return encode_metadata(scene)
