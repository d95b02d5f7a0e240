"""How are the roads of a GPUDrive JSON read? Each is a polyline with a kind.

`geometry[{x, y, z}]` and `type map_element_id id`. Old files have no ids and no map_element_id.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from ....errors import SceneError, with_article
from ...coordinates import bounded_float32
from ...json_text import column, described, expected, member, one_of, whole_number, within
from ...runs import part_of, starts_of
from ...scene import ROAD_KIND_CODES, Report, Roads
from .objects import ID_RANGE

ROAD_TYPES = {"lane": "lane", "road_line": "line", "road_edge": "edge", "stop_sign": "stop_sign",
              "crosswalk": "crosswalk", "speed_bump": "speed_bump", "driveway": "driveway"}
MAP_ELEMENTS = {-1: None, **dict.fromkeys(range(4), "lane"), **dict.fromkeys(range(5, 14), "line"),
                **dict.fromkeys(range(14, 17), "edge"), 17: "stop_sign", 18: "crosswalk", 19: "speed_bump",
                20: "driveway"}
"""Kind of a road by `map_element_id`; None where it is unknown."""

ROAD_FIELDS = ("geometry", "type", "map_element_id", "id")


@dataclass(frozen=True, eq=False)
class Polylines:
    """The roads of a file that have points, r of them with p points in all, as in the file.

    Attributes:
        index: (r,) their indices in the file.
        kind: (r,) uint8, see `ROAD_KINDS`.
        id: (r,) int64.
        start: (r + 1,) int32, as in `Roads`.
        x_m, y_m, z_m: (p,) float64.
    """

    index: list[int]
    kind: np.ndarray
    id: np.ndarray
    start: np.ndarray
    x_m: np.ndarray
    y_m: np.ndarray
    z_m: np.ndarray


def point_place(index: list[int], start: np.ndarray, point: int) -> str:
    """The name of a point in the file; the arguments as in `Polylines`."""
    road = part_of(start, point)
    return f"roads[{index[road]}].geometry[{point - start[road]}]"


def read_polylines(entries: list, report: Report) -> Polylines:
    """The roads of a file, each field checked.

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
    start = starts_of([len(polylines[index]) for index in kept])
    points = list(chain.from_iterable(polylines))

    def place(at):
        return point_place(kept, start, at)

    return Polylines(
        index=kept, kind=np.array([ROAD_KIND_CODES[kinds[index]] for index in kept], np.uint8),
        id=np.array([ids[index] for index in kept], np.int64), start=start, x_m=column(points, "x", place),
        y_m=column(points, "y", place), z_m=column(points, "z", place, default=0.0))


def as_roads(polylines: Polylines, origin_m: np.ndarray) -> Roads:
    """The roads relative to the origin.

    Raises:
        SceneError: a point lies too far from the origin.
    """
    def place(at):
        return point_place(polylines.index, polylines.start, at)

    def bounded(values_m, axis, offset_m):
        return bounded_float32(values_m - offset_m, lambda at: within(place(at[0]), axis))

    count = len(polylines.index)
    return Roads(
        id=polylines.id, kind=polylines.kind, start=polylines.start, x_m=bounded(polylines.x_m, "x", origin_m[0]),
        y_m=bounded(polylines.y_m, "y", origin_m[1]), z_m=bounded(polylines.z_m, "z", 0.0),
        width_m=np.zeros(count, np.float32), speed_limit_mps=np.zeros(count, np.float32))


def _road_kind(entry, place, report):
    """The kind by `type`, or by map_element_id where the type is missing or unknown.

    If the two disagree, `type` counts. Of the two, one unknown value is dropped, and the report counts it.
    """
    word, number = entry.get("type"), entry.get("map_element_id")
    kind = ROAD_TYPES.get(word) if type(word) is str else None
    element = MAP_ELEMENTS.get(number) if type(number) is int else None
    has_unknown_number = "map_element_id" in entry and (type(number) is not int or number not in MAP_ELEMENTS)
    if kind is not None:
        if has_unknown_number:
            report.drop("map_element_id of no known kind, beside a type")
        elif element not in (None, kind):
            report.drop(f"map_element_id of {_thing(element)} on {_thing(kind)}")
        return kind
    if element is not None:
        report.drop("types of roads that are not known, beside a map_element_id", "type" in entry)
        report.impute("types of roads, from map_element_id")
        return element
    if "type" in entry:
        one_of(word, ROAD_TYPES, f"{place}.type")
    if has_unknown_number:
        raise SceneError(f"{place}.map_element_id is {described(number)}; without a type it must be 0 to 3 or 5 to 20")
    raise SceneError(f"{place} has no 'type'")


def _thing(kind):
    return with_article(kind.replace("_", " "))
