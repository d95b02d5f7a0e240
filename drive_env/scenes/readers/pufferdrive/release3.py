"""How are the layouts of PufferDrive 3 read? Agents, roads, traffic controls, objects, a lane graph and metadata.

The head is `i32 num_agents, num_roads, num_traffic, num_objects`. A list is `i32 n, i32[n]`.

* agent: `i32 id, type, t`, `f32[t] x, y, z, heading, vx, vy, length, width, height`, `i32[t] valid`, the list of the
  lanes of its route, `i32 route_gt_len` (a), `f32 goal x, y, z`, `i32 control_state`.
* road: `i32 id, type, n`, `f32[n] x, y, z`, `f32[n] heading` (a), and for a lane the lists of its entries and exits,
  `f32 speed_limit`, `f32 length` (b), `f32[n] cumulative_length` (b).
* traffic control: `i32 id, type`, `f32[6] stop line`, `f32 heading`, the lists of its states and of its lanes.
* object: `i32 id, type, t`, then as an agent, up to `valid`.
* lane graph: `i32 n, i32[n] ids`, `f32[n] lengths` (c), `f32[n * n] distances`.
* metadata: `char[128] scenario_id`, `i32 map_id` (d), `char[32] dataset`, `i32 t`, `f32 dt`, the lists of objects of
  interest and of tracks to predict.
* tails, each optional: `TLPHASE1` and `i32 junction, phase` of each traffic control; `LANEWID1` and `f32[n]` of each
  lane.

Release 3.0 has (c) and (d), 3.1 has (a), in some files with (c), and 3.3 has (a) and (b). Ids equal the index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....errors import outside_text
from ...limits import CONTROL_LIMIT, DT_RANGE_S, FRAME_LIMIT, OBJECT_LIMIT, SPEED_LIMIT_MPS
from .contents import ROAD_LIMIT, Contents, Control, Cursor, Road

AGENT_TYPES = {0: "other", 1: "vehicle", 2: "pedestrian", 3: "cyclist"}
MISCELLANEOUS = {31: "crosswalk", 32: "speed_bump"}
LAST_LANE, LAST_LINE, LAST_EDGE, LAST_TYPE = 9, 19, 29, 39
"""Types of roads: lanes up to the first number, then lines, edges, and others, of which two are known."""

CONTROL_TYPES = {1: "light", 2: "stop", 3: "yield"}
LAST_LIGHT_STATE = 4
LAST_CONTROL_STATE = 2
"""Of an agent: 0 may be controlled, 1 moves as logged, 2 stands. Before release 3.3 it is a mark for log replay, 0 or
1."""

OBJECT_FRAME_BYTES = 40
SCENARIO_ID_BYTES, DATASET_BYTES = 128, 32
PHASES_TAG, WIDTHS_TAG = b"TLPHASE1", b"LANEWID1"
LANE_WIDTH_LIMIT_M = 50.0


class ReleaseLayout(NamedTuple):
    """One of the layouts of release 3.

    Attributes:
        name: in errors and reports.
        has_headings: of roads, and the length of the logged part of a route.
        has_lengths: of lanes.
        has_graph_lengths: of the lanes of the lane graph.
        has_map_id: in the metadata.
    """

    name: str
    has_headings: bool = True
    has_lengths: bool = False
    has_graph_lengths: bool = False
    has_map_id: bool = False


def read_release3(data: bytes, layout: ReleaseLayout) -> Contents:
    """The contents of a file, which must be of the layout to its last byte.

    Raises:
        LayoutError: names the entity, its byte and the reason.
    """
    # The head, then the sections in their order.
    cursor = Cursor(data)
    counts = [cursor.whole(f"byte {cursor.at}", name, 0, limit) for name, limit in (
        ("num_agents", OBJECT_LIMIT), ("num_roads", ROAD_LIMIT), ("num_traffic", CONTROL_LIMIT),
        ("num_objects", OBJECT_LIMIT))]
    if not counts[0] and not counts[1]:
        raise cursor.misfit("byte 0: num_agents and num_roads are 0; one of them must be at least 1")
    agents, route_lanes = _read_agents(cursor, counts[0], layout)
    roads = _each(cursor, counts[1], lambda index: _read_road(cursor, index, layout))
    controls = _each(cursor, counts[2], lambda index: _read_control(cursor, index))
    _each(cursor, counts[3], lambda index: _skip_object(cursor, index))
    _skip_lane_graph(cursor, counts[1], layout)
    metadata = _read_metadata(cursor, layout)
    phases = _skip_phases(cursor, counts[2])
    widths_m = _read_widths(cursor, roads)
    if cursor.at != len(data):
        raise cursor.misfit(f"byte {cursor.at}: {len(data) - cursor.at} bytes are left after the metadata; none may "
                            "be, except the sections TLPHASE1 and LANEWID1")
    has_ego = agents["kind"][:1] == ["vehicle"]
    return Contents(
        data=data, **agents, **metadata, controls=controls, has_road_ids=True, sdc=0 if has_ego else None,
        imputed={"the recording vehicle: agent 0, by the convention of the format": int(has_ego)},
        roads=[road._replace(width=width_m) for road, width_m in zip(roads, widths_m, strict=True)],
        dropped={"lanes of the routes of agents": route_lanes, "objects such as cones and barriers": counts[3],
                 "phases of traffic lights, which have no durations": phases})


def _each(cursor, count, read):
    """What `read` returns for each entity of a section."""
    found = []
    for index in range(count):
        found.append(read(index))
        cursor.reached += 1
    return found


# ---- agents ----


def _read_agents(cursor, count, layout):
    """The fields of `Contents` about objects, and the number of lanes in all routes."""
    ats, types, floats, valid, goals, states, route_lanes, frames = [], [], [], [], [], [], 0, 1
    for index in range(count):
        at = cursor.at
        place = f"object {index} at byte {at}"
        cursor.whole(place, "id", index, index)
        types.append(cursor.whole(place, "type", 0, max(AGENT_TYPES)))
        found = cursor.whole(place, "its number of frames", 1, FRAME_LIMIT)
        if index and found != frames:
            raise cursor.misfit(f"{place}: it has {found} frames; object 0 has {frames}")
        frames = found
        floats.append(cursor.floats(9 * frames, place, "its track").reshape(9, frames))
        valid.append(_read_flags(cursor, frames, place))
        route_lanes += len(cursor.listed(place, "lanes of its route"))
        if layout.has_headings:
            cursor.ints(1, place, "route_gt_len")
        goals.append(cursor.floats(3, place, "its goal"))
        states.append(cursor.whole(place, "control_state", 0, LAST_CONTROL_STATE))
        ats.append(at)
        cursor.reached += 1
    tracks = np.array(floats, np.float32).reshape(count, 9, frames)
    is_valid = np.array(valid, bool).reshape(count, frames)
    fields = {
        "object_at": np.array(ats, np.int64), "kind": [AGENT_TYPES[code] for code in types], "id": None,
        "tracks": {name: tracks[:, row] for row, name in enumerate(("x", "y", "z", "heading", "vx", "vy"))},
        "valid": is_valid, "goal": np.array(goals, np.float32).reshape(count, 3),
        "sizes": {name: _first_size(tracks[:, row], is_valid)
                  for row, name in ((7, "width"), (6, "length"), (8, "height"))},
        "marked_expert": np.array(states, np.int32) > 0}
    return fields, route_lanes


def _read_flags(cursor, count, place):
    flags = cursor.ints(count, place, "valid")
    wrong = (flags != 0) & (flags != 1)
    if wrong.any():
        frame = int(np.argmax(wrong))
        raise cursor.misfit(f"{place}: valid at frame {frame} is {flags[frame]}; it must be 0 or 1")
    return flags == 1


def _first_size(sizes, valid):
    """(n,) the size at the first valid frame that has one; 0 where no frame has one."""
    present = valid & ~(sizes <= 0)
    first = present.argmax(axis=1)
    return np.where(present.any(axis=1), sizes[np.arange(len(sizes)), first], np.float32(0.0))


# ---- map ----


def _read_road(cursor, index, layout):
    at = cursor.at
    place = f"road {index} at byte {at}"
    cursor.whole(place, "id", index, index)
    code = cursor.whole(place, "type", 0, LAST_TYPE)
    count = cursor.length(place, "its number of points", 12)
    points_at = cursor.skip(12 * count, place, "its points")
    if layout.has_headings:
        cursor.floats(count, place, "its headings")
    if code > LAST_LANE:
        return Road(at, "line" if code <= LAST_LINE else "edge" if code <= LAST_EDGE else MISCELLANEOUS.get(code, ""),
                    index, points_at, count)
    cursor.listed(place, "entries")
    exits = cursor.listed(place, "exits")
    limit_mps = float(cursor.floats(1, place, "speed_limit")[0])
    if not -SPEED_LIMIT_MPS <= limit_mps <= SPEED_LIMIT_MPS:
        raise cursor.misfit(f"{place}: speed_limit is {outside_text(limit_mps, -SPEED_LIMIT_MPS, SPEED_LIMIT_MPS)}; it "
                            f"must be at most {SPEED_LIMIT_MPS:g}, or negative where it is unknown")
    if layout.has_lengths:
        cursor.floats(1 + count, place, "its lengths")
    return Road(at, "lane", index, points_at, count, exits, limit_mps)


def _read_control(cursor, index):
    at = cursor.at
    place = f"traffic control {index} at byte {at}"
    cursor.whole(place, "id", index, index)
    kind = CONTROL_TYPES[cursor.whole(place, "type", 1, max(CONTROL_TYPES))]
    line, heading = cursor.floats(6, place, "its stop line"), float(cursor.floats(1, place, "its heading")[0])
    states = cursor.listed(place, "states")
    wrong = (states < 0) | (states > LAST_LIGHT_STATE)
    if wrong.any():
        frame = int(np.argmax(wrong))
        raise cursor.misfit(f"{place}: its state at frame {frame} is {states[frame]}; it must be 0 to "
                            f"{LAST_LIGHT_STATE}")
    return Control(at, kind, line, heading, states, cursor.listed(place, "lanes"))


def _skip_object(cursor, index):
    place = f"object of the map {index} at byte {cursor.at}"
    cursor.ints(2, place, "its id and type")
    frames = cursor.whole(place, "its number of frames", 0, FRAME_LIMIT)
    cursor.skip(OBJECT_FRAME_BYTES * frames, place, "its track")


def _skip_lane_graph(cursor, road_count, layout):
    place = f"byte {cursor.at}"
    count = cursor.whole(place, "the number of lanes in the lane graph", 0, road_count)
    ids = cursor.ints(count, place, "the lanes of the lane graph")
    outside = (ids < 0) | (ids >= road_count)
    if outside.any():
        at = int(np.argmax(outside))
        raise cursor.misfit(f"{place}: lane {at} of the lane graph is {ids[at]}; it must be 0 to "
                            f"{road_count - 1}")
    if layout.has_graph_lengths:
        cursor.floats(count, place, "the lengths of the lane graph")
    cursor.skip(4 * count * count, place, "the distances of the lane graph")
    cursor.reached += 1


# ---- metadata and tails ----


def _read_metadata(cursor, layout):
    scenario_id = cursor.text(SCENARIO_ID_BYTES, f"byte {cursor.at}", "scenario_id")
    if layout.has_map_id:
        cursor.ints(1, f"byte {cursor.at}", "map_id")
    dataset = cursor.text(DATASET_BYTES, f"byte {cursor.at}", "dataset")
    place = f"byte {cursor.at}"
    cursor.whole(place, "the length of the log", -1, FRAME_LIMIT)
    dt_s = float(str(cursor.floats(1, place, "dt")[0]))  # the number that was meant, 0.1, and not its nearest float32
    if dt_s != 0.0 and not DT_RANGE_S[0] <= dt_s <= DT_RANGE_S[1]:
        raise cursor.misfit(f"byte {cursor.at - 4}: dt is {dt_s:g}; it must be {DT_RANGE_S[0]:g} to {DT_RANGE_S[1]:g}, "
                            "or 0 where it is unknown")
    of_interest = cursor.listed(f"byte {cursor.at}", "objects of interest")
    predicted = cursor.listed(f"byte {cursor.at}", "tracks to predict")
    cursor.reached += 1
    return {"scenario_id": scenario_id, "dataset": dataset, "dt_s": dt_s or None,
            "of_interest": tuple(of_interest.tolist()), "predicted": tuple(predicted.tolist())}


def _has_tag(cursor, tag):
    if cursor.data[cursor.at : cursor.at + len(tag)] != tag:
        return False
    cursor.at += len(tag)
    return True


def _skip_phases(cursor, count):
    """The number of traffic controls that have a phase."""
    if not _has_tag(cursor, PHASES_TAG):
        return 0
    place = f"byte {cursor.at}"
    return int((cursor.ints(2 * count, place, "section TLPHASE1").reshape(count, 2)[:, 1] >= 0).sum())


def _read_widths(cursor, roads):
    """The median width of each lane, m; 0 for other roads, and in a file that has none."""
    if not _has_tag(cursor, WIDTHS_TAG):
        return [0.0] * len(roads)
    widths_m = []
    for index, road in enumerate(roads):
        place = f"byte {cursor.at}"
        found_m = cursor.floats(road.point_count if road.kind == "lane" else 0, place, "section LANEWID1")
        wrong = ~((found_m > 0) & (found_m <= LANE_WIDTH_LIMIT_M))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise cursor.misfit(f"{place}: the width of road {index} at point {at} is "
                                f"{outside_text(float(found_m[at]), 0.0, LANE_WIDTH_LIMIT_M)}; it must be above 0 and "
                                f"at most {LANE_WIDTH_LIMIT_M:g}")
        widths_m.append(float(np.median(found_m)) if len(found_m) else 0.0)
    return widths_m
