"""How are the traffic lights and signs of a PufferDrive `.bin` read? Each has a stop line, lanes and logged states."""

from __future__ import annotations

import numpy as np

from ....errors import SceneError
from ...coordinates import bounded_float32, relative
from ...limits import CONTROL_STATE_LIMIT
from ...runs import starts_of
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
from .contents import Contents

LIGHT_STATES = np.array([LIGHT_STATE_CODES[word] for word in ("off", "red", "yellow", "green", "off")], np.uint8)
"""What a light shows, by the number in the file, of which the first is unknown."""


def as_controls(contents: Contents, roads: Roads, index_of_road: np.ndarray, frame_count: int,
                origin_m: np.ndarray, report: Report) -> TrafficControls:
    """The controls that apply to lanes of the scene, in the order of the file.

    Args:
        index_of_road: (r,) int32, the index of a road of the scene by that in the file, or -1.

    Raises:
        SceneError: names the control, its byte and the reason.
    """
    if len(contents.controls) * frame_count > CONTROL_STATE_LIMIT:
        raise SceneError(f"byte 8: {len(contents.controls)} traffic controls over {frame_count} frames; at most "
                         f"{CONTROL_STATE_LIMIT} states are allowed")
    is_lane = roads.kind == ROAD_KIND_CODES["lane"]
    kinds, lines_m, lanes, states = [], [], [], []
    for index, control in enumerate(contents.controls):
        found = dict.fromkeys(int(index_of_road[lane]) for lane in control.lanes.tolist()
                              if 0 <= lane < len(index_of_road))
        of_control = [lane for lane in found if lane >= 0 and is_lane[lane]]
        line_m = _line_m(control, index, roads, of_control, origin_m, report)
        if not of_control:
            report.drop("traffic controls of no lane of the file")
            continue
        kinds.append(CONTROL_KIND_CODES[control.kind])
        lines_m.append(line_m)
        lanes.append(of_control)
        states.append(_log(control, frame_count, report))
    if not kinds:
        return no_traffic_controls(frame_count)
    return logged_traffic_controls(
        np.array(kinds, np.uint8), np.array(lines_m, np.float32), starts_of([len(of_control) for of_control in lanes]),
        np.concatenate(lanes).astype(np.int32), np.ascontiguousarray(np.array(states, np.uint8).T))


def _line_m(control, index, roads, lanes, origin_m, report):
    """(4,) the stop line, its left end, in the direction of the first of its lanes, first."""
    ends_m = relative(control.line.reshape(2, 3)[:, :2], origin_m)
    bounded_float32(ends_m, lambda _: f"traffic control {index} at byte {control.at}: its stop line")  # checks them
    middle_m = ends_m.mean(axis=0)
    across_m = stop_line_m(roads, lanes[0], *middle_m) if lanes else (*middle_m, *middle_m)
    if (ends_m[0] == ends_m[1]).all():
        report.impute("stop lines of traffic controls, across the lane at their point", bool(lanes))
        return across_m
    # The direction from the left to the right end of a line across the lane.
    right = np.array([across_m[2] - across_m[0], across_m[3] - across_m[1]])
    if not right.any():
        right = np.array([np.sin(control.heading), -np.cos(control.heading)])
    if (ends_m[1] - ends_m[0]) @ right < 0:
        ends_m = ends_m[::-1]
    return tuple(ends_m.ravel().tolist())


def _log(control, frame_count, report):
    """(frames,) what a light shows; a single state is that of all frames, and frames without one are off."""
    log = np.zeros(frame_count, np.uint8)
    if control.kind != "light":
        return log
    states = LIGHT_STATES[control.states]
    if len(states) == 1:
        log[:] = states[0]
        return log
    known = min(frame_count, len(states))
    log[:known] = states[:known]
    report.drop("states of traffic lights outside the frames of the log", len(states) - known)
    report.impute("states of traffic lights off, at frames that the file lacks", frame_count - known)
    return log
