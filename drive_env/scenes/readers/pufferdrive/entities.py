"""How are the layouts before release 3 read? Objects, then roads, as entities of one form.

The head is `i32 num_objects, num_roads`. From November 2025 on, `i32 sdc_track_index, k` and `i32[k] tracks_to_predict`
are before it, in some files after `char[16] scenario_id`. An entity is `i32 type, n`, from November 2025 on
`i32 map_id, type, id, n`; then `f32[n] x, y, z`, for an object also `f32[n] vx, vy, vz, heading` and `i32[n] valid`, in
some files five more `f32[n]`; and ends with `f32 width, length, height`, `f32 goal x, y, z` and `i32 mark_as_expert`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from ...coordinates import first_index
from ...limits import FRAME_LIMIT, OBJECT_LIMIT
from .contents import ROAD_LIMIT, Contents, Cursor, LayoutError, Road

OBJECT_TYPES = {1: "vehicle", 2: "pedestrian", 3: "cyclist"}
ROAD_TYPES = {
    4: "lane", 5: "line", 6: "edge", 7: "stop_sign", 8: "crosswalk", 9: "speed_bump", 10: "driveway",
}

COUNTS_BYTES, TAIL_BYTES, POINT_BYTES = 8, 28, 12
"""Sizes of the numbers of objects and roads, of all that follows the arrays of an entity, and of a point of a road."""

SCENARIO_ID_BYTES = 16


class EntityLayout(NamedTuple):
    """One of the layouts before release 3.

    Attributes:
        name: in errors and reports.
        has_scenario_id, has_tracks: whether the head has the scenario's id, and the recording vehicle and tracks to
            predict.
        has_ids: whether entities have ids.
        further_arrays: of each object, after `valid`.
    """

    name: str
    has_scenario_id: bool = False
    has_tracks: bool = False
    has_ids: bool = False
    further_arrays: int = 0

    @property
    def entity_head(self) -> list[str]:
        """The names of the numbers that an entity begins with."""
        return ["map_id", "type", "id", "n"] if self.has_ids else ["type", "n"]

    @property
    def empty_entity_bytes(self) -> int:
        """The size of an entity without points or frames."""
        return 4 * len(self.entity_head) + TAIL_BYTES


def read_entities(data: bytes, layout: EntityLayout) -> Contents:
    """The contents of a file, which must be of the layout to its last byte.

    Raises:
        LayoutError: names the entity, its byte and the reason.
    """
    cursor = Cursor(data)
    scenario_id = cursor.text(SCENARIO_ID_BYTES, "byte 0", "scenario_id") if layout.has_scenario_id else ""
    sdc, predicted = _read_tracks_to_predict(cursor) if layout.has_tracks else (None, None)
    object_count, road_count = _read_counts(cursor, layout)
    objects_at = cursor.at
    table, at = _read_object_table(data, objects_at, object_count, layout)
    roads = _read_roads(data, at, road_count, layout, object_count)
    tracks = {name: table[name] for name in ("x", "y", "z", "heading", "vx", "vy")}
    return Contents(
        data=data, object_at=objects_at + table.dtype.itemsize * np.arange(object_count),
        kind=[OBJECT_TYPES[code] for code in table["type"].tolist()],
        id=table["id"].astype(np.int64) if layout.has_ids else None, tracks=tracks, valid=table["valid"] == 1,
        sizes={name: table[name] for name in ("width", "length", "height")}, goal=table["goal"],
        marked_expert=table["expert"] == 1, roads=roads, has_road_ids=layout.has_ids, scenario_id=scenario_id, sdc=sdc,
        predicted=predicted,
        dropped={"further arrays of objects, whose meaning is not known": layout.further_arrays * object_count})


def _read_tracks_to_predict(cursor):
    place = f"byte {cursor.at}"
    sdc = cursor.whole(place, "sdc_track_index", -1, OBJECT_LIMIT)
    count = cursor.whole(f"byte {cursor.at}", "the number of tracks_to_predict", 0, OBJECT_LIMIT)
    first = cursor.at
    predicted = cursor.ints(count, f"byte {first}", "tracks_to_predict")
    outside = (predicted < -1) | (predicted > OBJECT_LIMIT)
    if outside.any():
        at = int(np.argmax(outside))
        raise cursor.misfit(f"byte {first + 4 * at}: tracks_to_predict[{at}] is {predicted[at]}; it must be -1 to "
                            f"{OBJECT_LIMIT}")
    return sdc, tuple(predicted.tolist())


def _read_counts(cursor, layout):
    data, at = cursor.data, cursor.at
    if len(data) - at < COUNTS_BYTES:
        raise cursor.misfit(f"it has {len(data)} bytes; the two counts at byte {at} take {COUNTS_BYTES}")
    object_count = cursor.whole(f"byte {at}", "num_objects", 0, OBJECT_LIMIT)
    road_count = cursor.whole(f"byte {at + 4}", "num_roads", 0, ROAD_LIMIT)
    if not object_count and not road_count:
        raise cursor.misfit(f"byte {at}: num_objects and num_roads are 0; one of them must be at least 1")
    least = cursor.at + layout.empty_entity_bytes * (object_count + road_count)
    if least > len(data):
        raise LayoutError(f"byte {at}: {object_count} objects and {road_count} roads take at least {least} "
                          f"bytes; the file has {len(data)}", 0)
    return object_count, road_count


def _read_object_table(data, at, count, layout):
    """All objects as one structured array, and the byte after them. All have as many frames as the first, else 1."""
    frames = struct.unpack_from("<i", data, at + 4 * layout.entity_head.index("n"))[0] if count else 1
    if not 1 <= frames <= FRAME_LIMIT:
        raise LayoutError(f"object 0 at byte {at}: its number of frames is {frames}; it must be 1 to {FRAME_LIMIT}", 0)
    floats = [(name, "<f4", (frames,)) for name in ("x", "y", "z", "vx", "vy", "vz", "heading")]
    further = [(f"further_{number}", "<f4", (frames,)) for number in range(layout.further_arrays)]
    entity = np.dtype([*((name, "<i4") for name in layout.entity_head), *floats, ("valid", "<i4", (frames,)), *further,
                       ("width", "<f4"), ("length", "<f4"), ("height", "<f4"), ("goal", "<f4", (3,)),
                       ("expert", "<i4")])
    fitting = min(count, (len(data) - at) // entity.itemsize)
    table = np.frombuffer(data, entity, fitting, at)

    def byte_of(index):
        return at + index * entity.itemsize

    def place_of(index):
        return f"object {index} at byte {byte_of(index)}"

    # Check lengths first: a wrong one shifts everything behind it.
    other = table["n"] != frames
    if other.any():
        first = int(np.argmax(other))
        raise LayoutError(f"{place_of(first)}: it has {table['n'][first]} frames; object 0 has {frames}",
                          first)
    if fitting < count:
        raise LayoutError(f"{place_of(fitting)}: it takes {entity.itemsize} bytes; the file has "
                          f"{len(data) - byte_of(fitting)} left", fitting, ends=True)
    for name, label, low, high in (("type", "type", min(OBJECT_TYPES), max(OBJECT_TYPES)), ("valid", "valid", 0, 1),
                                   ("expert", "mark_as_expert", 0, 1)):
        wrong = (table[name] < low) | (table[name] > high)
        if wrong.any():
            where = first_index(wrong)
            # The lengths of all objects fit.
            raise LayoutError(f"{place_of(where[0])}: {label} is {table[name][where]}; it must be {low} to {high}",
                              count if count > 1 else 0)
    return table, byte_of(count)


def _read_roads(data, at, count, layout, object_count):
    roads, head = [], struct.Struct(f"<{len(layout.entity_head)}i")
    for index in range(count):
        place = f"road {index} at byte {at}"
        reached = object_count + index
        spare = len(data) - at - layout.empty_entity_bytes
        if spare < 0:
            raise LayoutError(f"{place}: an entity takes at least {layout.empty_entity_bytes} bytes; "
                              f"the file has {len(data) - at} left", reached, ends=True)
        numbers = dict(zip(layout.entity_head, head.unpack_from(data, at), strict=True))
        kind, points = numbers["type"], numbers["n"]
        if kind not in ROAD_TYPES:
            raise LayoutError(f"{place}: type is {kind}; it must be {min(ROAD_TYPES)} to {max(ROAD_TYPES)}",
                              reached)
        if not 0 <= points <= spare // POINT_BYTES:
            raise LayoutError(f"{place}: it has {points} points; the file has bytes for 0 to {spare // POINT_BYTES}",
                              reached, ends=points > 0)
        roads.append(Road(at, ROAD_TYPES[kind], numbers.get("id", index), at + head.size, points))
        at += layout.empty_entity_bytes + POINT_BYTES * points
    if at != len(data):
        raise LayoutError(f"byte {at}: {len(data) - at} bytes are left after the last road; none may be",
                          object_count + count)
    return roads
