"""Is one fault of a `.drv`, under right checksums, named with its place and value?"""

from __future__ import annotations

import struct

import numpy as np
import pytest
from drv_outcomes import DATA, FULL, INF, LISTED, NAN, RAISED, at, outcomes, scene_with
from drv_writer import (
    ENTRY_BYTES,
    HEADER_BYTES,
    LATER_SECTIONS,
    SECTIONS,
    bare_scene,
    file_of,
    full_scene,
    parts_of,
    with_checksums,
    with_entry,
    with_section,
)

from drive_env.scenes.file_layout import HEADER_FIELDS, KINDS, VERSION


def numbers(kind, *values):
    return struct.pack(f"<{len(values)}{kind}", *values)


def element(name, index, number):
    """The file of the first scene that has a section, with one number of the section changed."""
    scene = scene_with(name)
    sections = parts_of(scene)[1]
    kind = next(kind for kind in KINDS if kind.name == name)
    array = np.frombuffer(sections[name], kind.dtype).copy()
    array[index] = number
    return with_section(scene, name, array.tobytes())


def header(**fields):
    return file_of(*parts_of(FULL), **fields)


def with_length(data):
    """The file with its true length in its header."""
    return with_checksums(data[:16] + struct.pack("<Q", len(data)) + data[24:])


def counts(section_lengths, **fields):
    """The full scene's file with other counts in its header, and some sections cut or filled with zeros to match."""
    head, sections = parts_of(FULL)
    changed = {name: sections[name][:length].ljust(length, b"\0") for name, length in section_lengths.items()}
    return file_of(head | fields, sections | changed)


def without(name, *others, later=False, **fields):
    """The full scene's file with one section less, and empty ones in its place. With `later`, it also has the sections
    of later minor versions whose codes are below 81."""
    head, sections = parts_of(FULL)
    if later:
        sections |= {key: data for key, data in parts_of(LISTED)[1].items()
                     if key in LATER_SECTIONS and LATER_SECTIONS[key][0] < 81}
    kept = {key: data for key, data in sections.items() if key != name}
    return file_of(head, kept | dict.fromkeys(others, b""), **fields)


def metadata(text):
    data = text if isinstance(text, bytes) else text.encode()
    head, sections = parts_of(FULL)
    return file_of(head | {"metadata_bytes": len(data)}, sections | {"metadata": data})


def entry_at(name):
    return HEADER_BYTES + ENTRY_BYTES * list(SECTIONS).index(name)


GOOD_METADATA = parts_of(FULL)[1]["metadata"].decode()

SPOILT = {
    # header
    "header at byte 0: it has 96 bytes; the file has 95": DATA[:95],
    "header: magic at byte 0 begins with 89 44 52 57; it must be 89 44 52 56 0d 0a 1a 0a":
        header(magic=b"\x89DRW\r\n\x1a\n"),
    "header: magic at byte 0 begins with 89 44 52 56": header(magic=b"\x89DRV\n\x1a\n\n"),
    "header: major at byte 8 is 0; this version of drive-env reads 1": header(major=0),
    "header: file_bytes at byte 16 is 18446744073709551615; the file has": header(file_bytes=2**64 - 1),
    "header: section_count at byte 12 is 4294967295; behind the header there are bytes for":
        header(section_count=2**32 - 1),
    "header: section_count at byte 12 is 0; it must be 25 to 4096": header(section_count=0),
    "header: section_count at byte 12 is 24; it must be 25 to 4096": without("roads.id"),
    "header: crc at byte 92 is 00000000; the header has": DATA[:92] + bytes(4) + DATA[96:],
    "header: table_crc at byte 88 is": DATA[:100] + b"\x07" + DATA[101:],
    "header: origin_x_m at byte 24 is nan; it must be finite": header(origin_x_m=NAN),
    "header: origin_y_m at byte 32 is -inf; it must be finite": header(origin_y_m=-INF),
    "header: dt_s at byte 40 is 0; it must be 0.0001 to 2": header(dt_s=0.0),
    "header: dt_s at byte 40 is nan; it must be": header(dt_s=NAN),
    "header: dt_s at byte 40 is 2.5; it must be": header(dt_s=2.5),
    "header: object_count at byte 48 is 65536; it must be 0 to 65535": header(object_count=65536),
    "header: frame_count at byte 52 is 0; it must be 1 to 1000000": header(frame_count=0),
    "header: road_count at byte 56 is 4294967295; it must be 0 to 16777216": header(road_count=2**32 - 1),
    "header: point_count at byte 60 is 16777217; it must be": header(point_count=2**24 + 1),
    "header: link_count at byte 64 is 2147483648; it must be": header(link_count=2**31),
    "header: predicted_count at byte 68 is 65536; it must be": header(predicted_count=65536),
    "header: interest_count at byte 72 is 65536; it must be": header(interest_count=65536),
    "header: sdc at byte 76 is -2; it must be -1 to 65534": header(sdc=-2),
    "header: sdc at byte 76 is 3; there are 3 objects": header(sdc=3),
    "header: sdc at byte 76 is 0; there are 0 objects": file_of(*parts_of(bare_scene()), sdc=0),
    "header: generated at byte 80 is 2; it must be 0 to 1": header(generated=2),
    "header: metadata_bytes at byte 84 is 65537; it must be 2 to 65536": header(metadata_bytes=65537),
    "header: metadata_bytes at byte 84 is 0; it must be": header(metadata_bytes=0),
    # table of sections
    f"table: code at byte {HEADER_BYTES} is 0; version 1.0 has no such section": with_entry(DATA, "metadata", code=0),
    f"table: code at byte {entry_at('objects.kind')} is 16 after 16; codes must ascend":
        with_entry(DATA, "objects.kind", code=16),
    f"table: code at byte {entry_at('objects.kind')} is 18; section objects.kind, code 17, must come before it":
        with_entry(DATA, "objects.kind", code=18),
    "82; section objects_of_interest, code 81, must come before it": with_entry(DATA, "objects_of_interest", code=82),
    "table at byte 96: it has no section objects_of_interest, code 81":
        without("objects_of_interest", (70, 4), minor=VERSION[1] + 1, later=True),
    f"table: element_bytes at byte {entry_at('roads.id') + 4} of section roads.id is 4; it must be 8":
        with_entry(DATA, "roads.id", element_bytes=4),
    f"table: element_bytes at byte {entry_at('roads.id') + 4} is 0; it must be 1 to 4096":
        with_entry(DATA, "roads.id", element_bytes=0),
    f"table: offset at byte {entry_at('roads.x_m') + 8} of section roads.x_m is 0; it must be {at('roads.x_m')}":
        with_entry(DATA, "roads.x_m", offset=0),
    f"section roads.y_m is {at('roads.y_m') - 1}; it must be":
        with_entry(DATA, "roads.y_m", offset=at("roads.y_m") - 1),
    f"section roads.width_m is {at('roads.y_m')}; it must be":
        with_entry(DATA, "roads.width_m", offset=at("roads.y_m")),
    f"offset at byte {entry_at('metadata') + 8} is 1.8446744073709552e+19; it must be":
        with_entry(DATA, "metadata", offset=2**64 - 1),
    f"of section metadata is 9007199254740992; it must be {at('metadata')}": with_entry(DATA, "metadata", offset=2**53),
    f"bytes at byte {entry_at('metadata') + 16} is 1.8446744073709552e+19; it must be":
        with_entry(DATA, "metadata", bytes=2**64 - 1),
    f"bytes at byte {entry_at('objects.id') + 16} of section objects.id is 25; it must be 3 elements of 8 bytes":
        with_entry(DATA, "objects.id", bytes=25),
    f"count at byte {entry_at('objects.id') + 24} of section objects.id is 4; by the file's counts it must be 3":
        with_entry(DATA, "objects.id", count=4),
    f"count at byte {entry_at('objects.id') + 24} of section objects.id is 9007199254740992; by the file's":
        with_entry(DATA, "objects.id", count=2**53),
    "of section objects.id is 3; by the file's counts it must be 2": header(object_count=2, sdc=-1),
    "of section objects.x_m is 15; by the file's counts it must be 3000000": header(frame_count=10**6),
    "of section objects.id is 3; by the file's counts it must be 65535":
        header(object_count=65535, frame_count=10**6),
    f"zero at byte {entry_at('objects.id') + 36} is 1; it must be 0 to 0": with_entry(DATA, "objects.id", zero=1),
    f"section objects.id at byte {at('objects.id')}: its 24 bytes have crc": with_entry(DATA, "objects.id", crc=1),
    f"gap before section objects.id: byte {at('objects.id') - 1} is 7; it must be 0":
        DATA[: at("objects.id") - 1] + b"\x07" + DATA[at("objects.id") :],
    f"the last section ends at byte {len(DATA)}; the file has {len(DATA) + 1}":
        with_length(DATA + b"\0"),
    "table: section objects_of_interest has 4 bytes from byte":
        with_length(DATA[:-1]),
    # numbers
    f"section objects.id at byte {at('objects.id')}: 7 occurs more than once": element("objects.id", 2, 7),
    "section objects.kind at byte": element("objects.kind", 1, 0),
    f"element [1] at byte {at('objects.kind') + 1} is 5; it must be 1 to 4": element("objects.kind", 1, 5),
    f"objects.length_m at byte {at('objects.length_m')}: element [2] at byte {at('objects.length_m') + 8} is 0; "
    "it must be 0.01 to 200": element("objects.length_m", 2, 0),
    "section objects.width_m": element("objects.width_m", 0, NAN),
    "section objects.height_m": element("objects.height_m", 0, 201),
    f"element [1, 1] at byte {at('objects.goal_m') + 12} is inf; it must be -50000 to 50000":
        element("objects.goal_m", 3, INF),
    f"element [2, 1] at byte {at('objects.goal_m') + 20} is nan; it must be -50000 to 50000":
        with_section(FULL, "objects.goal_m", numbers("f", 0, 50000, -50000, 0, 50000, NAN)),
    "section objects.marked_expert": element("objects.marked_expert", 0, 2),
    f"section objects.x_m at byte {at('objects.x_m')}: element [2, 1] at byte {at('objects.x_m') + 28} is nan":
        element("objects.x_m", 7, NAN),
    f"section objects.x_m at byte {at('objects.x_m')}: element [0, 1] at byte {at('objects.x_m') + 4} is 1.4013e-45 "
    "where objects.valid is 0; it must be 0 there": element("objects.x_m", 1, 1e-45),
    "section objects.y_m": element("objects.y_m", 0, 50001),
    "section objects.heading_rad": element("objects.heading_rad", 0, 3.1415930),
    "section objects.vx_mps": element("objects.vx_mps", 0, -201),
    "section objects.vy_mps": element("objects.vy_mps", 14, 1),
    "is 150 and objects.vy_mps 150, a speed of 212.132034 m/s; it must be at most 200":
        file_of(parts_of(FULL)[0], parts_of(FULL)[1] | {"objects.vx_mps": numbers("f", 150, *[0] * 14),
                                                        "objects.vy_mps": numbers("f", 150, *[0] * 14)}),
    f"section objects.valid at byte {at('objects.valid')}: element [1] at byte {at('objects.valid') + 1} is 191; "
    "bits from 7 on must be 0": element("objects.valid", 1, 0b10111111),
    "section roads.kind": element("roads.kind", 0, 8),
    "section roads.start": element("roads.start", 0, 1),
    f"element [2] at byte {at('roads.start') + 8} is 2 after 2; it must be at least 1 above it":
        element("roads.start", 2, 2),
    "is 7 after 2147483647; it must be at least 1 above it": element("roads.start", 2, 2**31 - 1),
    "is -2147483648 after 0": element("roads.start", 1, -(2**31)),
    "element [4] at byte": element("roads.start", 4, 9),
    "section roads.x_m": element("roads.x_m", 7, -50000.01),
    "section roads.y_m": element("roads.y_m", 6, INF),
    "section roads.width_m": element("roads.width_m", 3, -1e-6),
    "section roads.speed_limit_mps": element("roads.speed_limit_mps", 1, 200.1),
    "section lanes.start": element("lanes.start", 2, 1),
    "so road 1 of kind 3 has successors; only lanes, kind 1, have them":
        with_section(FULL, "lanes.start", numbers("i", 0, 1, 2, 3, 3)),
    f"section lanes.successor at byte {at('lanes.successor')}: element [1] at byte {at('lanes.successor') + 4} is 4; "
    "it must be an index below 4": element("lanes.successor", 1, 4),
    "element [0] at byte": element("lanes.successor", 0, -1),
    "is road 1 of kind 3; it must be a lane, kind 1": element("lanes.successor", 0, 1),
    "is road 0, the lane itself; it must be another lane": element("lanes.successor", 0, 0),
    "section tracks_to_predict": element("tracks_to_predict", 0, 3),
    "section objects_of_interest": element("objects_of_interest", 0, -1),
    # traffic controls
    "section traffic_controls.kind at byte": element("traffic_controls.kind", 1, 4),
    f"section traffic_controls.line_m at byte {at('traffic_controls.line_m')}: element [1, 2] at byte "
    f"{at('traffic_controls.line_m') + 24} is "
    "50001; it must be -50000 to 50000": element("traffic_controls.line_m", 6, 50001),
    f"section traffic_controls.start at byte {at('traffic_controls.start')}: element [2] at byte "
    f"{at('traffic_controls.start') + 8} is 0 "
    "after 1; it must be at least 0 above it": element("traffic_controls.start", 2, 0),
    "section traffic_controls.lane": element("traffic_controls.lane", 0, 4),
    "is road 1 of kind 3; it must be a lane": element("traffic_controls.lane", 0, 1),
    f"element [4, 2] at byte {at('traffic_controls.state') + 14} is 4; it must be 0 to 3":
        element("traffic_controls.state", 14, 4),
    "section traffic_controls.phase_start": element("traffic_controls.phase_start", 3, 4),
    "section traffic_controls.phase_state": element("traffic_controls.phase_state", 0, 9),
    "section traffic_controls.phase_s": element("traffic_controls.phase_s", 2, 0),
    "section traffic_controls.offset_s": element("traffic_controls.offset_s", 1, -1),
    f"element [0] at byte {at('traffic_controls.junction')} is 3; it must be -1, or an index below 3":
        element("traffic_controls.junction", 0, 3),
    "of section traffic_controls.line_m is 12; by the file's counts it must be 8": file_of(
        parts_of(RAISED)[0], parts_of(RAISED)[1] | {"traffic_controls.kind": b"\1\1"}),
    "of section traffic_controls.kind is 65536; it must be 0 to 65535": file_of(
        parts_of(RAISED)[0], parts_of(RAISED)[1] | {"traffic_controls.kind": b"\1" * 65536}),
    # heights
    f"section objects.goal_z_m at byte {at('objects.goal_z_m')}: element [2] at byte {at('objects.goal_z_m') + 8} is "
    "nan; it must be -50000 to 50000": element("objects.goal_z_m", 2, NAN),
    f"section objects.z_m at byte {at('objects.z_m')}: element [1, 0] at byte {at('objects.z_m') + 12} is 50001; "
    "it must be -50000 to 50000": element("objects.z_m", 3, 50001),
    f"element [0, 1] at byte {at('objects.z_m') + 4} is 3 where objects.valid is 0; it must be 0 there":
        element("objects.z_m", 1, 3),
    "section roads.z_m at byte": element("roads.z_m", 0, INF),
    # candidate goals
    f"element [1, 0] at byte {at('candidate_goals_m') + 8} is 50001; it must be -50000 to 50000":
        element("candidate_goals_m", 2, 50001),
    "of section candidate_goals_m is 130; it must be 0 to 128": file_of(
        parts_of(RAISED)[0], parts_of(RAISED)[1] | {"candidate_goals_m": bytes(4 * 130)}),
    "of section candidate_goals_m is 3; by the file's counts it must be 2": file_of(
        parts_of(RAISED)[0], parts_of(RAISED)[1] | {"candidate_goals_m": bytes(4 * 3)}),
    # scripts
    f"element [1] at byte {at('scripts.object') + 4} is 0 after 0; objects must ascend": element(
        "scripts.object", 1, 0),
    f"element [1] at byte {at('scripts.object') + 4} is 3; it must be an index below 3": element(
        "scripts.object", 1, 3),
    f"element [0] at byte {at('scripts.group')} is 2; it must be an index below 2": element("scripts.group", 0, 2),
    f"element [1] at byte {at('scripts.option') + 4} is -1; it must be an index below 2": element(
        "scripts.option", 1, -1),
    f"element [0, 3] at byte {at('scripts.line_m') + 12} is nan": element("scripts.line_m", 3, NAN),
    # goal lists and headings
    f"section objects.goal_heading_rad at byte {at('objects.goal_heading_rad')}: element [1] at byte "
    f"{at('objects.goal_heading_rad') + 4} is 4; it must be -3.14159 to 3.14159, or nan": element(
        "objects.goal_heading_rad", 1, 4),
    f"element [2] at byte {at('objects.goal_heading_rad') + 8} is inf; it must be": element(
        "objects.goal_heading_rad", 2, INF),
    f"element [0] at byte {at('goal_lists.goal_heading_rad')} is -4; it must be -3.14159 to 3.14159, or nan": element(
        "goal_lists.goal_heading_rad", 0, -4),
    f"element [1] at byte {at('goal_lists.object') + 4} is 3; it must be an index below 3": element(
        "goal_lists.object", 1, 3),
    f"element [2] at byte {at('goal_lists.object') + 8} is -1; it must be an index below 3": element(
        "goal_lists.object", 2, -1),
    f"element [1] at byte {at('goal_lists.object') + 4} is 0 after 2; objects must not descend": element(
        "goal_lists.object", 0, 2),
    f"element [2, 1] at byte {at('goal_lists.goal_m') + 20} is nan; it must be -50000 to 50000": element(
        "goal_lists.goal_m", 5, NAN),
    f"element [0] at byte {at('goal_lists.goal_z_m')} is nan; it must be -50000 to 50000": element(
        "goal_lists.goal_z_m", 0, NAN),
    f"element [0] at byte {at('goal_lists.repeating')} is 1; it must be an object in goal_lists.object": element(
        "goal_lists.repeating", 0, 1),
    f"element [0] at byte {at('goal_lists.repeating')} is 3; it must be an index below 3": element(
        "goal_lists.repeating", 0, 3),
    f"element [1] at byte {at('goal_lists.repeating') + 4} is 2 after 2; objects must ascend": file_of(
        parts_of(LISTED)[0], parts_of(LISTED)[1] | {"goal_lists.repeating": numbers("i", 2, 2)}),
    f"section goal_lists.object at byte {at('goal_lists.object') + 64} has 3 goals and section candidate_goals_m 1; "
    "one of the two must have none": file_of(
        parts_of(LISTED)[0], parts_of(LISTED)[1] | {"candidate_goals_m": bytes(8)}),
    "of section goal_lists.object is 65536; it must be 0 to 65535": file_of(
        parts_of(LISTED)[0], parts_of(LISTED)[1] | {"goal_lists.object": bytes(4 * 65536)}),
    "of section goal_lists.goal_m is 6; by the file's counts it must be 2": file_of(
        parts_of(LISTED)[0], parts_of(LISTED)[1] | {"goal_lists.object": bytes(4)}),
    # consistent counts of 0
    "section roads.start at byte": counts(
        {"roads.id": 0, "roads.kind": 0, "roads.width_m": 0, "roads.speed_limit_mps": 0, "roads.start": 4,
         "lanes.start": 4}, road_count=0),
    # metadata
    f"section metadata at byte {at('metadata')}: metadata is no JSON in UTF-8: byte 0 is 0xff":
        metadata(b"\xff\xfe{}"),
    "metadata begins with a byte order mark": metadata("\ufeff" + GOOD_METADATA),
    "metadata is no JSON in UTF-8: line 1, column 2: Expecting": metadata("{]"),
    "metadata is []; it must be an object with the keys name, source": metadata("[]"),
    "metadata lacks 'name'; it must have the keys name, source": metadata("{}"),
    "metadata is no JSON in UTF-8: line 1, column 101: it is nested more than 100 deep": metadata("[" * 60_000),
    "NaN is not a number in JSON": metadata(GOOD_METADATA.replace('"dt_s":1', '"dt_s":NaN')),
    "the key 'name' is repeated": metadata('{"name":"x",' + GOOD_METADATA[1:]),
    "metadata has 'author'; it must have the keys name, source": metadata('{"author":"x",' + GOOD_METADATA[1:]),
    "metadata dropped['roads without points'] is 2e+40": metadata(GOOD_METADATA.replace(":2}", ":2" + "0" * 40 + "}")),
    "metadata name holds the control character U+0000 at 1": metadata(GOOD_METADATA.replace('"full"', '"f\\u0000ll"')),
    "metadata name holds U+D800 at 1, which is half of a character": metadata(
        GOOD_METADATA.replace('"full"', '"f\\ud800"')),
    "metadata source_sha256 is '0F0F0f0f": metadata(GOOD_METADATA.replace("0f0f", "0F0F", 1)),
    "metadata licence is 3; it must be text": metadata(GOOD_METADATA.replace('"Public domain. Öffentlich."', "3")),
}
"""Files with one fault and right checksums, by their errors."""


@pytest.fixture(scope="module")
def errors():
    return dict(zip(SPOILT, outcomes(list(SPOILT.values())), strict=True))


@pytest.mark.parametrize("words", SPOILT)
def test_a_fault_is_named_with_its_place_and_value(words, errors):
    assert words in errors[words]


def test_every_section_and_every_field_of_the_header_has_a_fault(errors):
    text = "\n".join(errors.values())
    assert [kind.name for kind in KINDS if f"section {kind.name}" not in text] == []
    assert [field.name for field in HEADER_FIELDS if f"header: {field.name} at byte {field.offset} " not in text
            and field.name != "minor"] == []


def test_two_objects_of_one_id_are_refused():
    """Three objects are in the list above; two are the fewest that can be equal."""
    head, sections = parts_of(full_scene())
    two = {name: data[: 2 * SECTIONS[name][1]] for name, data in sections.items()
           if name.startswith("objects.") and len(data) == 3 * SECTIONS[name][1]}
    two |= {name: bytes(4 * 2) for name in ("objects.x_m", "objects.y_m", "objects.heading_rad", "objects.vx_mps",
                                           "objects.vy_mps")}
    two |= {"objects.goal_m": bytes(16), "objects.valid": b"\3"}
    counts = head | {"object_count": 2, "frame_count": 1, "sdc": 1, "predicted_count": 1}
    sections |= two | {"tracks_to_predict": numbers("i", 0)}
    equal = sections | {"objects.id": numbers("q", 2**40, 2**40)}
    assert outcomes([file_of(counts, sections)]) == [""]
    assert "1099511627776 occurs more than once" in outcomes([file_of(counts, equal)])[0]
