"""How are the roads of a GPUDrive JSON read? Each is a polyline with a kind.

`geometry[{x, y, z}]` and `type map_element_id id`. Old files have no ids and no map_element_id.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from ....errors import SceneError
from ...coordinates import bounded_float32
from ...json_text import column, described, expected, member, one_of, whole_number, within
from ...scene import ROAD_KIND_CODES, Report, Roads
from .objects import ID_RANGE

ROAD_TYPES = {"lane": "lane", "road_line": "line", "road_edge": "edge", "stop_sign": "stop_sign",
              "crosswalk": "crosswalk", "speed_bump": "speed_bump", "driveway": "driveway"}
MAP_ELEMENTS = {-1: None, **dict.fromkeys(range(4), "lane"), **dict.fromkeys(range(5, 14), "line"),
                **dict.fromkeys(range(14, 17), "edge"), 17: "stop_sign", 18: "crosswalk", 19: "speed_bump",
                20: "driveway"}
"""Kind of a road by `map_element_id`; None where it is unknown."""

ROAD_FIELDS = ("geometry", "type", "map_element_id", "id")


def read_roads(entries: list, origin_m: np.ndarray, report: Report) -> Roads:
    """The roads of a file, relative to the origin.

    Raises:
        SceneError: names the place, as in `roads[3].geometry[17].x`, and the reason.
    """
    # Kind, points and id of every road; roads without points are dropped.
    kinds, polylines = [], []
    for index, entry in enumerate(entries):
        road = f"roads[{index}]"
        kinds.append(_road_kind(expected(entry, dict, road), road, report))
        geometry = entry.get("geometry")
        # Some tools write the single point of a stop sign without a list.
        polylines.append([geometry] if type(geometry) is dict else member(entry, "geometry", list, road))
    ids = [whole_number(entry["id"], *ID_RANGE, f"roads[{index}].id") if "id" in entry else index
           for index, entry in enumerate(entries)]
    report.impute("road ids: the index in the file", sum("id" not in entry for entry in entries))
    kept = [index for index, points in enumerate(polylines) if points]
    report.drop("roads without points", len(entries) - len(kept))
    # Concatenate the points of the kept roads.
    start = np.zeros(len(kept) + 1, np.int32)
    start[1:] = np.cumsum([len(polylines[index]) for index in kept])
    points = list(chain.from_iterable(polylines))

    def place(at):
        index = int(np.searchsorted(start, at, side="right")) - 1
        return f"roads[{kept[index]}].geometry[{at - start[index]}]"

    return Roads(
        id=np.array([ids[index] for index in kept], np.int64),
        kind=np.array([ROAD_KIND_CODES[kinds[index]] for index in kept], np.uint8), start=start,
        x_m=bounded_float32(column(points, "x", place) - origin_m[0], lambda at: within(place(at[0]), "x")),
        y_m=bounded_float32(column(points, "y", place) - origin_m[1], lambda at: within(place(at[0]), "y")),
        z_m=bounded_float32(column(points, "z", place, default=0.0), lambda at: within(place(at[0]), "z")),
        width_m=np.zeros(len(kept), np.float32), speed_limit_mps=np.zeros(len(kept), np.float32))


def _road_kind(entry, place, report):
    """The kind by `type`, else by map_element_id. If the two disagree, `type` counts and the report has an entry."""
    element = None
    if "map_element_id" in entry:
        found = entry["map_element_id"]
        if type(found) is not int or found not in MAP_ELEMENTS:
            raise SceneError(f"{place}.map_element_id is {described(found)}; it must be -1 to 3 or 5 to 20")
        element = MAP_ELEMENTS[found]
    if "type" not in entry and element is not None:
        report.impute("types of roads, from map_element_id")
        return element
    if "type" not in entry:
        raise SceneError(f"{place} has no 'type'")
    kind = ROAD_TYPES[one_of(entry["type"], ROAD_TYPES, f"{place}.type")]
    if element not in (None, kind):
        report.drop(f"map_element_id of {element.replace('_', ' ')} on a {kind.replace('_', ' ')}")
    return kind
