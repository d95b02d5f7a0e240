"""How do tests write a `.drv`? Number by number, from docs/scenes.md, without the core; also with single faults."""

from __future__ import annotations

import dataclasses
import json
import struct
import zlib

import numpy as np
from small_scene import changed, roads_of, small_scene

from drive_env.scenes import GoalLists, LaneGraph, Objects, Provenance, Report, Scene, Scripts, TrafficControls

HEADER = "<8sHHIQdddIIIIIIIiIIII"
ENTRY = "<IIQQQII"
HEADER_BYTES, ENTRY_BYTES = 96, 40
FIELDS = ("magic", "major", "minor", "section_count", "file_bytes", "origin_x_m", "origin_y_m", "dt_s", "object_count",
          "frame_count", "road_count", "point_count", "link_count", "predicted_count", "interest_count",
          "sdc", "generated", "metadata_bytes", "table_crc", "crc")

SECTIONS = {
    "metadata": (1, 1), "objects.id": (16, 8), "objects.kind": (17, 1), "objects.length_m": (18, 4),
    "objects.width_m": (19, 4), "objects.height_m": (20, 4), "objects.goal_m": (21, 4),
    "objects.marked_expert": (22, 1), "objects.x_m": (32, 4), "objects.y_m": (33, 4), "objects.heading_rad": (34, 4),
    "objects.vx_mps": (35, 4), "objects.vy_mps": (36, 4), "objects.valid": (37, 1), "roads.id": (48, 8),
    "roads.kind": (49, 1), "roads.start": (50, 4), "roads.x_m": (51, 4), "roads.y_m": (52, 4), "roads.width_m": (53, 4),
    "roads.speed_limit_mps": (54, 4), "lanes.start": (64, 4), "lanes.successor": (65, 4), "tracks_to_predict": (80, 4),
    "objects_of_interest": (81, 4),
}
"""Name to code and size of an element, in the order of the file."""

LATER_SECTIONS = {
    **{f"traffic_controls.{name}": section for name, section in {
        "kind": (96, 1), "line_m": (97, 4), "start": (98, 4), "lane": (99, 4), "state": (100, 1),
        "phase_start": (101, 4), "phase_state": (102, 1), "phase_s": (103, 4), "offset_s": (104, 4),
        "junction": (105, 4)}.items()},
    "candidate_goals_m": (112, 4),
    "objects.goal_z_m": (23, 4), "objects.z_m": (38, 4), "roads.z_m": (55, 4),
    "scripts.object": (120, 4), "scripts.group": (121, 4), "scripts.option": (122, 4), "scripts.line_m": (123, 4),
    "objects.goal_heading_rad": (24, 4), "goal_lists.object": (128, 4), "goal_lists.goal_m": (129, 4),
    "goal_lists.goal_z_m": (130, 4), "goal_lists.goal_heading_rad": (131, 4), "goal_lists.repeating": (132, 4),
}
"""The same for the sections that later minor versions add: 1.1, 1.2 the heights and scripts, and 1.3 lists and headings
of goals."""


def full_scene() -> Scene:
    """A scene that fills every section of format 1.0, none of them with zeros alone, as in a new array."""
    # tracks with gaps
    rng = np.random.default_rng(3)
    frames, count = 5, 3
    valid = np.ones((frames, count), bool)
    valid[:2, 1] = valid[4, 2] = False

    def track(low, high):
        return np.where(valid, rng.uniform(low, high, valid.shape), 0).astype(np.float32)

    # objects, roads and the rest
    objects = Objects(
        id=np.array([7, -3, 2**40]), kind=np.array([1, 2, 4], np.uint8),
        length_m=np.array([4.5, 0.6, 12], np.float32), width_m=np.array([2, 0.5, 2.5], np.float32),
        height_m=np.array([1.5, 1.8, 3], np.float32), goal_m=np.array([[40, 1], [0, 9], [-30, -2]], np.float32),
        marked_expert=np.array([False, True, False]), x_m=track(-30, 30), y_m=track(-3, 3),
        heading_rad=track(-3.1, 3.1), vx_mps=track(-9, 9), vy_mps=track(-1, 1), valid=valid)
    roads = roads_of([(1, [(0, 0), (20, 0)]), (3, [(0, -3), (25, -3), (50, -3)]), (1, [(20, 0), (50, 0)]),
                      (5, [(9, 9)])])
    roads = dataclasses.replace(roads, id=np.array([11, 5, 5, -1]), width_m=np.array([3.5, 0, 3, 0], np.float32),
                                speed_limit_mps=np.array([13.9, 0, 8, 0], np.float32))
    return Scene(
        name="full", source="a test", generated=False, dt_s=0.1, origin_m=np.array([1e6 + 0.25, -2e5]), objects=objects,
        roads=roads, lanes=LaneGraph(np.array([0, 2, 2, 3, 3], np.int32), np.array([2, 2, 0], np.int32)), sdc=2,
        tracks_to_predict=(2, 0), objects_of_interest=(1,), scenario_id="a1",
        report=Report({"roads without points": 2}, {"dt_s": 1}, ["z is not kept"]),
        provenance=Provenance("none", "Public domain. Öffentlich.", "0f" * 32, "a test"))


def controlled_scene() -> Scene:
    """The full scene with a light that has a log, a light that has a program, a stop sign, and candidate goals."""
    scene = full_scene()
    state = np.zeros((scene.objects.frame_count, 3), np.uint8)
    state[:, 0] = [3, 3, 2, 1, 1]
    candidates_m = np.array([[48, 0], [-20, 1.5]], np.float32)
    return dataclasses.replace(scene, candidate_goals_m=candidates_m, traffic_controls=TrafficControls(
        kind=np.array([1, 1, 2], np.uint8),
        line_m=np.array([[19, 2, 19, -2], [49, 2, 49, -2], [21, -2, 21, 2]], np.float32),
        start=np.array([0, 1, 3, 3], np.int32), lane=np.array([0, 0, 2], np.int32), state=state,
        phase_start=np.array([0, 0, 3, 3], np.int32), phase_state=np.array([3, 2, 1], np.uint8),
        phase_s=np.array([6, 3.25, 9], np.float32), offset_s=np.array([0, 4.5, 0], np.float32),
        junction=np.array([-1, 2, -1], np.int32)))


def raised_scene() -> Scene:
    """The controlled scene with heights and scripts."""
    scripts = Scripts(np.array([0, 2], np.int32), np.array([1, 0], np.int32), np.array([0, 1], np.int32),
                      np.array([[5, 4, 5, -4], [8, -2, 8, 2]], np.float32))
    scene = dataclasses.replace(controlled_scene(), scripts=scripts)
    rng = np.random.default_rng(4)
    z_m = np.where(scene.objects.valid, rng.uniform(90, 110, scene.objects.valid.shape), 0).astype(np.float32)
    return changed(scene, objects={"z_m": z_m, "goal_z_m": np.array([101, 99.5, 108], np.float32)},
                   roads={"z_m": rng.uniform(90, 110, len(scene.roads.x_m)).astype(np.float32)})


def listed_scene() -> Scene:
    """The raised scene with goal lists, of which one repeats, and headings of goals, in place of candidate goals."""
    lists = GoalLists(
        object=np.array([0, 0, 2], np.int32), goal_m=np.array([[45, 2], [48, 5], [-32, 1]], np.float32),
        goal_z_m=np.array([101, 102, 108.5], np.float32), goal_heading_rad=np.array([0.5, np.nan, -3], np.float32),
        repeating=np.array([2], np.int32))
    scene = dataclasses.replace(raised_scene(), candidate_goals_m=np.zeros((0, 2), np.float32), goal_lists=lists)
    return changed(scene, objects={"goal_heading_rad": np.array([np.nan, 1.5, 3], np.float32)})


def bare_scene(frames: int = 1) -> Scene:
    """The smallest valid scene: most sections are empty."""
    roads, scene = roads_of([]), small_scene()
    objects = {name: array[:0] for name, array in vars(scene.objects).items()}
    tracks = {name: np.zeros((frames, 0), array.dtype) for name, array in vars(scene.objects).items()
              if array.shape == scene.objects.valid.shape}
    return changed(scene, name="bare", objects=objects | tracks, roads=roads,
                   lanes=LaneGraph(np.zeros(1, np.int32), np.zeros(0, np.int32)))


def sections_of(minor: int) -> dict[str, tuple[int, int]]:
    """The sections of a minor version."""
    since = {name: 3 if name.startswith("goal_lists") or name.endswith("goal_heading_rad")
             else 2 if name.endswith("z_m") or name.startswith("scripts") else 1 for name in LATER_SECTIONS}
    return SECTIONS | {name: section for name, section in LATER_SECTIONS.items() if minor >= since[name]}


def parts_of(scene: Scene) -> tuple[dict, dict]:
    """Header and sections of a scene, as numbers and bytes by name."""
    # the minor version that the scene needs
    objects, roads, lanes = scene.objects, scene.roads, scene.lanes
    has_height = any(heights_m.any() for heights_m in (objects.z_m, objects.goal_z_m, roads.z_m))
    has_controls = scene.traffic_controls.count > 0 or len(scene.candidate_goals_m) > 0
    minor = 2 if has_height or scene.scripts.count else int(has_controls)
    if scene.goal_lists.count or not np.isnan(objects.goal_heading_rad).all():
        minor = 3
    # sections
    known = dataclasses.asdict(scene.provenance)
    metadata = {"name": scene.name, "source": scene.source, "dataset": known.pop("dataset"),
                "scenario_id": scene.scenario_id, **known, **dataclasses.asdict(scene.report)}
    bits = [0] * -(-objects.valid.size // 8)
    for place, valid in enumerate(objects.valid.ravel().tolist()):
        bits[place // 8] |= valid << place % 8
    sections = {
        "metadata": json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode(),
        **{f"{part}.{name}": getattr(getattr(scene, part), name).tobytes() for part, name in
           (name.split(".") for name in sections_of(minor) if "." in name)},
        "objects.valid": bytes(bits),
        **{name: struct.pack(f"<{len(getattr(scene, name))}i", *getattr(scene, name))
           for name in ("tracks_to_predict", "objects_of_interest")},
        **({"candidate_goals_m": scene.candidate_goals_m.tobytes()} if minor else {}),
    }
    # header
    header = dict(
        magic=b"\x89DRV\r\n\x1a\n", major=1, minor=minor, origin_x_m=scene.origin_m[0], origin_y_m=scene.origin_m[1],
        dt_s=scene.dt_s, object_count=objects.count, frame_count=objects.frame_count, road_count=roads.count,
        point_count=len(roads.x_m), link_count=len(lanes.successor), predicted_count=len(scene.tracks_to_predict),
        interest_count=len(scene.objects_of_interest), sdc=scene.sdc, generated=scene.generated,
        metadata_bytes=len(sections["metadata"]))
    return header, sections


def file_of(header: dict, sections: dict, **overrides) -> bytes:
    """The file; `overrides` replaces fields of its header, and the checksums are recomputed.

    `sections` maps names, or (code, element size) for sections of no version, to bytes.
    """
    known = sections_of(3)
    kinds = sorted((known[key] if isinstance(key, str) else key, data) for key, data in sections.items())
    end, table, body = HEADER_BYTES + ENTRY_BYTES * len(kinds), b"", b""
    for (code, element_bytes), data in kinds:
        gap = -end % 64
        table += struct.pack(ENTRY, code, element_bytes, end + gap, len(data), len(data) // element_bytes,
                             zlib.crc32(data), 0)
        body += bytes(gap) + data
        end += gap + len(data)
    head = {"section_count": len(kinds), "file_bytes": end, "table_crc": 0, "crc": 0, **header, **overrides}
    return with_checksums(struct.pack(HEADER, *(head[name] for name in FIELDS)) + table + body)


def drv_file(scene: Scene) -> bytes:
    return file_of(*parts_of(scene))


def entries(data: bytes) -> list[list[int]]:
    """The table of a file: code, element bytes, offset, bytes, count, crc, zero."""
    count = struct.unpack_from("<I", data, 12)[0]
    return [list(struct.unpack_from(ENTRY, data, HEADER_BYTES + ENTRY_BYTES * place)) for place in range(count)]


def with_entry(data: bytes, name: str, **fields) -> bytes:
    """The file with numbers of one entry of its table replaced, and the checksum of the header recomputed."""
    place = next(place for place, entry in enumerate(entries(data)) if entry[0] == sections_of(3)[name][0])
    entry = entries(data)[place]
    for field, value in fields.items():
        entry[("code", "element_bytes", "offset", "bytes", "count", "crc", "zero").index(field)] = value
    at = HEADER_BYTES + ENTRY_BYTES * place
    return with_head_checksums(data[:at] + struct.pack(ENTRY, *entry) + data[at + ENTRY_BYTES :])


def with_section(scene: Scene, name: str, content: bytes) -> bytes:
    """The file of the scene with other bytes in one section, as many as before, and the checksums recomputed."""
    header, sections = parts_of(scene)
    assert len(content) == len(sections[name])
    return file_of(header, sections | {name: content})


def with_checksums(data: bytes) -> bytes:
    """The file with all its checksums recomputed, as far as it has fields for them."""
    if len(data) < HEADER_BYTES:
        return data
    entry_count = (len(data) - HEADER_BYTES) // ENTRY_BYTES
    data = bytearray(data)
    for place in range(min(struct.unpack_from("<I", data, 12)[0], entry_count)):
        at = HEADER_BYTES + ENTRY_BYTES * place
        _, _, offset, size, *_ = struct.unpack_from(ENTRY, data, at)
        if offset + size <= len(data):
            struct.pack_into("<I", data, at + 32, zlib.crc32(data[offset : offset + size]))
    return with_head_checksums(bytes(data))


def with_head_checksums(data: bytes) -> bytes:
    """The file with the checksums of its table and its header recomputed."""
    count = struct.unpack_from("<I", data, 12)[0]
    table = data[HEADER_BYTES : HEADER_BYTES + ENTRY_BYTES * count]
    head = data[:88] + struct.pack("<I", zlib.crc32(table))
    return head + struct.pack("<I", zlib.crc32(head)) + data[HEADER_BYTES:]
