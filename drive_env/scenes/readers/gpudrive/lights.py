"""How are the traffic lights of a GPUDrive JSON read? Each is the log of one lane, with a stop point.

`tl_states{lane id: {state[], x[], y[], time_index[]}}`: entry i of the four lists is of frame time_index[i]. The file
has points; their stop lines are imputed, across the lane.
"""

from __future__ import annotations

import numpy as np

from ....errors import SceneError
from ...coordinates import bounded_float32
from ...json_text import expected, member, numbers, one_of, whole_number, within
from ...limits import CONTROL_STATE_LIMIT
from ...scene import (
    CONTROL_KIND_CODES,
    LIGHT_STATE_CODES,
    ROAD_KIND_CODES,
    Report,
    Roads,
    TrafficControls,
    logged_traffic_controls,
    no_traffic_controls,
)
from ...stop_line import stop_line_m
from .objects import ID_RANGE

LIGHT_STATES = {
    "unknown": "off", "stop": "red", "caution": "yellow", "go": "green", "arrow_stop": "red",
    "arrow_caution": "yellow", "arrow_go": "green", "flashing_stop": "off", "flashing_caution": "off"}
"""What a light shows, by the word of the file. An arrow is the light of its lane; a flashing light does not hold
traffic until it changes, so it is off."""


def read_lights(document: dict, roads: Roads, frame_count: int, origin_m: np.ndarray,
                report: Report) -> TrafficControls:
    """The lights of the lanes that the file has, in the order of the file.

    Raises:
        SceneError: names the place, as in `tl_states["4"].x[17]`, and the reason.
    """
    # Check the size first: states of all lights and frames are made.
    entries = document.get("tl_states", {})
    if entries == []:  # some tools write an empty list
        entries = {}
    expected(entries, dict, "tl_states")
    if len(entries) * frame_count > CONTROL_STATE_LIMIT:
        raise SceneError(f"tl_states has {len(entries)} lights over {frame_count} frames; "
                         f"at most {CONTROL_STATE_LIMIT} states are allowed")

    # Read the lights of the lanes that the file has.
    is_lane = roads.kind == ROAD_KIND_CODES["lane"]
    lane_of_id = {str(road_id): road for road, road_id in enumerate(roads.id.tolist()) if is_lane[road]}
    lanes, lines_m, logs = [], [], []
    for key, entry in entries.items():
        place = within("tl_states", key)
        log, point_m = _read_log(expected(entry, dict, place), place, frame_count, origin_m, report)
        if key not in lane_of_id or point_m is None:
            report.drop("traffic lights of no lane of the file, or without states")
            continue
        lanes.append(lane_of_id[key])
        lines_m.append(stop_line_m(roads, lanes[-1], *point_m))
        logs.append(log)
    if not lanes:
        return no_traffic_controls(frame_count)

    # As arrays: states by frame, without phases.
    report.impute("stop lines of traffic lights, across the lane at the stop point", len(lanes))
    return logged_traffic_controls(
        np.full(len(lanes), CONTROL_KIND_CODES["light"], np.uint8), np.array(lines_m, np.float32),
        np.arange(len(lanes) + 1, dtype=np.int32), np.array(lanes, np.int32),
        np.ascontiguousarray(np.array(logs, np.uint8).T))


def _read_log(entry, place, frame_count, origin_m, report):
    """(frames,) states of a light, and its first stop point, relative to the origin; None where it has no states."""
    lists = {name: member(entry, name, list, place) for name in ("state", "x", "y", "time_index")}
    for name, values in lists.items():
        if len(values) != len(lists["state"]):
            raise SceneError(f"{place}.{name} has {len(values)} entries; it must have {len(lists['state'])}, as state")
    log = np.zeros(frame_count, np.uint8)
    for at, (word, frame) in enumerate(zip(lists["state"], lists["time_index"], strict=True)):
        frame = whole_number(frame, *ID_RANGE, f"{place}.time_index[{at}]")
        state = LIGHT_STATE_CODES[LIGHT_STATES[one_of(word, LIGHT_STATES, f"{place}.state[{at}]")]]
        if 0 <= frame < frame_count:
            log[frame] = state
        else:
            report.drop("states of traffic lights outside the frames of the log")
    points_m = [bounded_float32(numbers(lists[name], lambda at, name=name: f"{place}.{name}[{at}]") - origin_m[axis],
                                lambda at, name=name: f"{place}.{name}[{at[0]}]")
                for axis, name in enumerate(("x", "y"))]
    return log, (float(points_m[0][0]), float(points_m[1][0])) if len(lists["state"]) else None
