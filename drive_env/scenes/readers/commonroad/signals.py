"""What do the traffic lights and signs of a CommonRoad scenario control? The lanelets that refer to them."""

from __future__ import annotations

from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from ....errors import SceneError, value_text
from ...coordinates import bounded_float32
from ...limits import CONTROL_LIMIT, CONTROL_STATE_LIMIT, SPEED_LIMIT_MPS
from ...runs import starts_of
from ...scene import CONTROL_KIND_CODES, LIGHT_STATE_CODES, Report, TrafficControls, no_traffic_controls
from .elements import child, children, id_of, number_of, text_of, whole_of
from .lanelets import Lanelet

COLOURS = {"red": "red", "redYellow": "red", "yellow": "yellow", "green": "green", "inactive": "off"}

GERMAN_SIGNS = {"206": "stop", "205": "yield", "274": "limit"}
SIGNS = {"USA": {"R1-1": "stop", "R1": "stop", "R1-2": "yield", "R2-1": "limit"},
         "ESP": {"R2": "stop", "R1": "yield", "R301": "limit"}}
"""What signs mean, by country and number, beside the German numbers, which the tools of CommonRoad use for countries
without numbers of their own there."""

STEP_LIMIT = 10_000_000


class Light(NamedTuple):
    """The program of a light: states and durations of its phases, and the time since it began, at frame 0, s."""

    states: list[int]
    durations_s: list[float]
    offset_s: float


NO_PROGRAM = Light([], [], 0.0)
"""Of signs, and of lights that are off."""


def read_lights(root: Element, dt_s: float) -> dict[int, Light]:
    """The traffic lights of a scenario by id.

    Raises:
        SceneError: names the light and the reason.
    """
    return {light_id: _read_light(element, f"traffic light {light_id}", dt_s)
            for light_id, element in _by_id(root, "trafficLight", "traffic light")}


def _by_id(root, tag, name):
    return [(id_of(element, f"{name} {number}"), element) for number, element in enumerate(root.iterfind(tag), 1)]


def _read_light(element, name, dt_s):
    active = element.find("active")
    cycle = element.find("cycle")
    if cycle is None or (active is not None and text_of(active) == "false"):
        return NO_PROGRAM
    states, steps = [], []
    for place, phase in children(cycle, "cycleElement", name):
        colour = text_of(child(phase, "color", place))
        if colour not in COLOURS:
            raise SceneError(f"{place}: color is {value_text(colour)}; it must be one of {', '.join(COLOURS)}")
        states.append(LIGHT_STATE_CODES[COLOURS[colour]])
        steps.append(whole_of(text_of(child(phase, "duration", place)), f"{place}: duration", 1, STEP_LIMIT))
    offset = cycle.find("timeOffset")
    shift = 0 if offset is None else whole_of(text_of(offset), f"{name}: timeOffset", -STEP_LIMIT, STEP_LIMIT)
    # At step k the light is where it is after (k - timeOffset) steps of its cycle.
    return Light(states, [count * dt_s for count in steps], (-shift) % sum(steps) * dt_s if steps else 0.0)


def read_signs(root: Element, country: str) -> dict[int, list[tuple[str, float]]]:
    """The known signs of a scenario by id: what each means, and its number, a speed limit in m/s.

    Raises:
        SceneError: names the sign and the reason.
    """
    meanings = GERMAN_SIGNS | SIGNS.get(country, {})
    signs: dict[int, list[tuple[str, float]]] = {}
    for sign_id, element in _by_id(root, "trafficSign", "traffic sign"):
        found = signs.setdefault(sign_id, [])
        for place, part in children(element, "trafficSignElement", f"traffic sign {sign_id}"):
            meaning = meanings.get(text_of(child(part, "trafficSignID", place)).upper())
            value = part.find("additionalValue")
            if meaning == "limit" and value is not None:
                found.append((meaning, number_of(value, f"{place}: additionalValue", 0.0, SPEED_LIMIT_MPS)))
            elif meaning in ("stop", "yield"):
                found.append((meaning, 0.0))
    return signs


def speed_limits_mps(lanelets: list[Lanelet], signs: dict[int, list[tuple[str, float]]]) -> dict[int, float]:
    """The lowest speed limit of each lanelet that has one, by its id."""
    limits = {}
    for lanelet in lanelets:
        found = [value for sign in lanelet.signs for meaning, value in signs.get(sign, ()) if meaning == "limit"]
        if found:
            limits[lanelet.id] = min(found)
    return limits


def as_controls(lanelets: list[Lanelet], lane_of: dict[int, int], lights: dict[int, Light],
                signs: dict[int, list[tuple[str, float]]], frame_count: int, origin_m: np.ndarray,
                report: Report) -> TrafficControls:
    """One control for each light, stop sign and yield sign of each lanelet.

    Args:
        lane_of: the road of a lanelet, by its id.

    Raises:
        SceneError: a stop line lies too far from the origin, or there are too many controls.
    """
    kinds, lines_m, roads, programs, names = [], [], [], [], []
    for lanelet in lanelets:
        of_lanelet = [("light", lights[light]) for light in lanelet.lights if light in lights]
        of_lanelet += [(meaning, NO_PROGRAM) for meaning in dict.fromkeys(
            meaning for sign in lanelet.signs for meaning, _ in signs.get(sign, ()) if meaning != "limit")]
        report.drop("references to traffic lights and signs that are not in the file",
                    sum(light not in lights for light in lanelet.lights)
                    + sum(sign not in signs for sign in lanelet.signs))
        for meaning, program in of_lanelet if lanelet.id in lane_of else ():
            kinds.append(CONTROL_KIND_CODES[meaning])
            lines_m.append(lanelet.stop_line_m.ravel())
            roads.append(lane_of[lanelet.id])
            programs.append(program)
            names.append(lanelet.id)
    count = len(kinds)
    if count > CONTROL_LIMIT or count * frame_count > CONTROL_STATE_LIMIT:
        raise SceneError(f"lanelets: {count} traffic controls over {frame_count} frames; at most {CONTROL_LIMIT} and "
                         f"{CONTROL_STATE_LIMIT} states are allowed")
    used = {sign for lanelet in lanelets for sign in lanelet.signs}
    report.drop("traffic signs without an effect", sum(not found or sign not in used for sign, found in signs.items()))
    if not count:
        return no_traffic_controls(frame_count)
    line_m = bounded_float32(np.array(lines_m) - np.tile(origin_m, 2),
                             lambda at: f"lanelet {names[at[0]]}: its stop line")
    return TrafficControls(
        kind=np.array(kinds, np.uint8), line_m=line_m, start=np.arange(count + 1, dtype=np.int32),
        lane=np.array(roads, np.int32), state=np.zeros((frame_count, count), np.uint8),
        phase_start=starts_of([len(program.states) for program in programs]),
        phase_state=np.array([state for program in programs for state in program.states], np.uint8),
        phase_s=np.array([time_s for program in programs for time_s in program.durations_s], np.float32),
        offset_s=np.array([program.offset_s for program in programs], np.float32),
        junction=np.full(count, -1, np.int32))
