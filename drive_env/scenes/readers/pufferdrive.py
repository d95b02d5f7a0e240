"""How is a PufferDrive `.bin` read? The early layout has no signature and no version: only its sizes identify it.

`i32 num_objects, num_roads`, then objects, then roads. An entity is `i32 type, n`, `f32[n] x, y, z`, for an
object also `f32[n] vx, vy, vz, heading` and `i32[n] valid`, and ends with `f32 width, length, height`,
`f32 goal x, y, z` and `i32 mark_as_expert`. Little-endian, without padding. A map has no objects.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import PurePath

import numpy as np

from ...errors import SceneError, bound_text, outside_text
from ..coordinates import (
    UNWRAPPED_LIMIT_RAD,
    bounded_float32,
    first_index,
    note_unwrapped,
    origin_of,
    origin_of_map,
    time_major,
    wrapped,
)
from ..lane_links import link_lanes
from ..levels import report_levels
from ..limits import COORDINATE_LIMIT_M, FRAME_LIMIT, OBJECT_LIMIT, SIZE_RANGE_M, SPEED_LIMIT_MPS
from ..scene import OBJECT_KIND_CODES, ROAD_KIND_CODES, Objects, Report, Roads, Scene, no_traffic_controls
from ..sizes import imputed_sizes, is_absent, note_wide_vehicles
from ..stop_signs import with_stop_signs
from .source import WAYMO_DT_S, Source

OBJECT_TYPES = {1: "vehicle", 2: "pedestrian", 3: "cyclist"}
ROAD_TYPES = {
    4: "lane", 5: "line", 6: "edge", 7: "stop_sign", 8: "crosswalk", 9: "speed_bump", 10: "driveway",
}

ROAD_LIMIT = 100_000
"""Some hundred times those of a real map; reading a road takes ten times its bytes of memory."""

COUNTS_BYTES = 8
"""The numbers of objects and roads; the first entity follows."""
HEAD_BYTES, TAIL_BYTES, POINT_BYTES = 8, 28, 12
"""Sizes of the type and number of points of an entity, of all that follows its arrays, and of one point of a road."""
EMPTY_ENTITY_BYTES = HEAD_BYTES + TAIL_BYTES


def open(source: Source) -> Iterator[Scene]:
    """The one scene of a file."""
    yield read_early(source.data, source.name)


def read_early(data: bytes, source: str) -> Scene:
    """The scene in `data`, which must be of the early layout to its last byte.

    Coordinates are relative to the rounded mean of the valid positions, of a map to that of the points of its roads,
    subtracted in float64.

    Raises:
        SceneError: names the entity, its byte and the reason.
    """
    # Read all entities, and check sizes before values.
    object_count, road_count = _read_head(data)
    table, roads_at = _read_object_table(data, object_count)
    road_parts = _read_road_parts(data, roads_at, road_count)
    report = Report()
    report.impute(f"dt_s {WAYMO_DT_S:g}, absent from the file")
    report.impute("object ids: the index in the file", object_count)

    # Keep the objects that are valid at some frame.
    ever_valid = (table["valid"] == 1).any(axis=1)
    report.drop("objects valid at no frame", object_count - ever_valid.sum())
    kept = np.flatnonzero(ever_valid)
    _check_kept_objects(table, kept)
    origin_m = (origin_of(table["x"][kept], table["y"][kept], table["valid"][kept] == 1) if len(kept)
                else origin_of_map(*(_offset(_joined(road_parts, axis), 0.0) for axis in range(2))))
    objects = _objects(table, kept, origin_m, report)
    roads = _roads(road_parts, origin_m, report)
    report_levels(roads, report)
    lanes = link_lanes(roads)
    report.impute("lane successors, from lanes that end where another starts", len(lanes.successor))
    controls = with_stop_signs(no_traffic_controls(objects.frame_count), roads, lanes, report)
    return Scene(
        name=PurePath(source).stem, source=source, generated=False, dt_s=WAYMO_DT_S, origin_m=origin_m,
        objects=objects, roads=roads, lanes=lanes, traffic_controls=controls, report=report)


def _read_head(data):
    if len(data) < COUNTS_BYTES:
        raise SceneError(f"it has {len(data)} bytes; the two counts at byte 0 take {COUNTS_BYTES}")
    object_count, road_count = struct.unpack_from("<ii", data, 0)
    _check("byte 0: num_objects", object_count, 0, OBJECT_LIMIT)
    _check("byte 4: num_roads", road_count, 0, ROAD_LIMIT)
    if not object_count and not road_count:
        raise SceneError("byte 0: num_objects and num_roads are 0; one of them must be at least 1")
    least = COUNTS_BYTES + EMPTY_ENTITY_BYTES * (object_count + road_count)
    if least > len(data):
        raise SceneError(f"byte 0: {object_count} objects and {road_count} roads take at least {least} "
                         f"bytes; the file has {len(data)}")
    return object_count, road_count


def _read_object_table(data, count):
    """All objects as one structured array, and the byte after them. All have as many frames as the first, else 1."""
    frames = struct.unpack_from("<ii", data, COUNTS_BYTES)[1] if count else 1
    _check(f"object 0 at byte {COUNTS_BYTES}: its number of frames", frames, 1, FRAME_LIMIT)
    floats = [(name, "<f4", (frames,)) for name in ("x", "y", "z", "vx", "vy", "vz", "heading")]
    entity = np.dtype([("type", "<i4"), ("n", "<i4"), *floats, ("valid", "<i4", (frames,)),
                       ("width", "<f4"), ("length", "<f4"), ("height", "<f4"), ("goal", "<f4", (3,)),
                       ("expert", "<i4")])
    fitting = min(count, (len(data) - COUNTS_BYTES) // entity.itemsize)
    table = np.frombuffer(data, entity, fitting, COUNTS_BYTES)
    # Check lengths first: a wrong one shifts everything behind it.
    other = table["n"] != frames
    if other.any():
        first = int(np.argmax(other))
        raise SceneError(f"{_object_place(table, first)}: it has {table['n'][first]} frames; "
                         f"object 0 has {frames}")
    if fitting < count:
        raise SceneError(f"{_object_place(table, fitting)}: it takes {entity.itemsize} bytes; "
                         f"the file has {len(data) - COUNTS_BYTES - fitting * entity.itemsize} left")
    _check_column(table, table["type"], "type", min(OBJECT_TYPES), max(OBJECT_TYPES))
    _check_column(table, table["valid"], "valid", 0, 1)
    _check_column(table, table["expert"], "mark_as_expert", 0, 1)
    return table, COUNTS_BYTES + count * entity.itemsize


def _read_road_parts(data, at, count):
    """Byte, type and points of every road, as in the file: x, y and z are the rows of one array."""
    parts = []
    for index in range(count):
        place = f"road {index} at byte {at}"
        if len(data) - at < EMPTY_ENTITY_BYTES:
            raise SceneError(f"{place}: an entity takes at least {EMPTY_ENTITY_BYTES} bytes; "
                             f"the file has {len(data) - at} left")
        kind, points = struct.unpack_from("<ii", data, at)
        _check(f"{place}: type", kind, min(ROAD_TYPES), max(ROAD_TYPES))
        if not 0 <= points <= (len(data) - at - EMPTY_ENTITY_BYTES) // POINT_BYTES:
            raise SceneError(f"{place}: it has {points} points; the file has bytes for 0 to "
                             f"{(len(data) - at - EMPTY_ENTITY_BYTES) // POINT_BYTES}")
        parts.append((at, kind, np.frombuffer(data, "<f4", 3 * points, at + HEAD_BYTES).reshape(3, points)))
        at += EMPTY_ENTITY_BYTES + POINT_BYTES * points
    if at != len(data):
        raise SceneError(f"byte {at}: {len(data) - at} bytes are left after the last road; none may be")
    return parts


def _check_kept_objects(table, kept):
    objects = table[kept]
    valid = objects["valid"] == 1
    for name, limit in (("x", math.inf), ("y", math.inf), ("z", COORDINATE_LIMIT_M),
                        ("vx", SPEED_LIMIT_MPS), ("vy", SPEED_LIMIT_MPS),
                        ("heading", UNWRAPPED_LIMIT_RAD)):
        wrong = valid & ~(np.isfinite(objects[name]) & (np.abs(objects[name]) <= limit))
        if wrong.any():
            index, frame = first_index(wrong)
            allowed = "finite" if limit == math.inf else f"from {bound_text(-limit)} to {bound_text(limit)}"
            raise SceneError(f"{_object_place(table, kept[index])}: {name} at frame {frame} is "
                             f"{outside_text(objects[name][index, frame], -limit, limit)}; where valid it must be "
                             f"{allowed}")
    speed_mps = np.zeros(valid.shape)
    speed_mps[valid] = np.hypot(objects["vx"][valid], objects["vy"][valid])
    if (speed_mps > SPEED_LIMIT_MPS).any():
        index, frame = first_index(speed_mps > SPEED_LIMIT_MPS)
        raise SceneError(f"{_object_place(table, kept[index])}: vx and vy at frame {frame} are a speed of "
                         f"{outside_text(speed_mps[index, frame], 0.0, SPEED_LIMIT_MPS)}; where valid it must be at "
                         f"most {SPEED_LIMIT_MPS:g}")
    for name in ("width", "length", "height"):
        sizes_m = np.where(is_absent(objects[name]), np.float32(1.0), objects[name])  # an absent size is imputed
        _check_column(table, sizes_m, name, *SIZE_RANGE_M, kept)


def _objects(table, kept, origin_m, report):
    found = table[kept]
    valid = found["valid"] == 1

    def track(name, offset=0.0):
        values = np.zeros(valid.shape)
        values[valid] = found[name][valid].astype(np.float64) - offset
        return values

    def position_place(at):
        return f"{_object_place(table, kept[at[0]])}: its position at frame {at[1]}"

    def goal_place(at):
        return f"{_object_place(table, kept[at[0]])}: its goal"

    # Positions first: a faulty one has moved the origin away from everything else.
    x_m = bounded_float32(track("x", origin_m[0]), position_place)
    y_m = bounded_float32(track("y", origin_m[1]), position_place)
    kinds = [OBJECT_TYPES[code] for code in found["type"].tolist()]
    length_m, width_m, height_m = (imputed_sizes(name, found[name], kinds, report)
                                   for name in ("length", "width", "height"))
    note_wide_vehicles(length_m, width_m, kinds, report, lambda at: f"object {kept[at]}")
    note_unwrapped(track("heading"), valid, report)
    return Objects(
        id=kept.astype(np.int64), kind=np.array([OBJECT_KIND_CODES[kind] for kind in kinds], np.uint8),
        length_m=length_m, width_m=width_m, height_m=height_m,
        goal_m=bounded_float32(_offset(found["goal"][:, :2], origin_m), goal_place),
        goal_z_m=bounded_float32(_offset(found["goal"][:, 2], 0.0), goal_place), marked_expert=found["expert"] == 1,
        x_m=time_major(x_m), y_m=time_major(y_m), z_m=time_major(track("z")),
        heading_rad=time_major(wrapped(track("heading"))), vx_mps=time_major(track("vx")),
        vy_mps=time_major(track("vy")), valid=np.ascontiguousarray(valid.T))


def _roads(parts, origin_m, report):
    kept = [index for index, (_, _, points_m) in enumerate(parts) if points_m.size]
    report.drop("roads without points", len(parts) - len(kept))
    report.impute("road ids: the index in the file", len(kept))
    start = np.zeros(len(kept) + 1, np.int32)
    start[1:] = np.cumsum([parts[index][2].shape[1] for index in kept])

    def points(axis, offset_m):
        def point_place(at):
            road = int(np.searchsorted(start, at[0], side="right")) - 1
            return f"road {kept[road]} at byte {parts[kept[road]][0]}: point {at[0] - start[road]}"

        return bounded_float32(_offset(_joined(parts, axis), offset_m), point_place)

    return Roads(
        id=np.array(kept, np.int64),
        kind=np.array([ROAD_KIND_CODES[ROAD_TYPES[parts[index][1]]] for index in kept], np.uint8),
        start=start, x_m=points(0, origin_m[0]), y_m=points(1, origin_m[1]), z_m=points(2, 0.0),
        width_m=np.zeros(len(kept), np.float32), speed_limit_mps=np.zeros(len(kept), np.float32))


def _joined(parts, axis):
    """(p,) float32, that coordinate of the points of all roads."""
    return np.concatenate([np.zeros(0, "<f4"), *(points_m[axis] for _, _, points_m in parts)])


def _offset(raw_m, origin_m):
    """Coordinates relative to the origin, float64; NaN where they are not finite."""
    # Convert finite values only: a signalling NaN would raise a floating-point flag.
    values_m = np.full(raw_m.shape, np.nan)
    np.copyto(values_m, raw_m, where=np.isfinite(raw_m))
    values_m -= origin_m
    return values_m


def _object_place(table, index):
    return f"object {index} at byte {COUNTS_BYTES + index * table.dtype.itemsize}"


def _check(what, found, low, high):
    if not low <= found <= high:
        raise SceneError(f"{what} is {found}; it must be {low} to {high}")


def _check_column(table, column, name, low, high, kept=None):
    """Each value of a column must be in [low, high]; `kept` are the rows of the table that it was taken from."""
    fits = (column >= low) & (column <= high)
    if not fits.all():
        at = first_index(~fits)
        index = at[0] if kept is None else int(kept[at[0]])
        raise SceneError(f"{_object_place(table, index)}: {name} is {outside_text(column[at], low, high)}; "
                         f"it must be {low:g} to {high:g}")
