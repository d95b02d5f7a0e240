"""How is the JSON of GPUDrive, and of Nocturne before it, read?

`{name, scenario_id, objects[], roads[], tl_states, metadata{sdc_track_index, objects_of_interest[],
tracks_to_predict[{track_index, difficulty}]}}`; a road is `geometry[{x, y, z}] type map_element_id id`. Old files have
no metadata, scenario_id, road ids or map_element_id. There is no lane graph: it is built from the ends of lanes.
"""

from __future__ import annotations

from itertools import chain
from pathlib import PurePath

import numpy as np

from ..errors import SceneError, shown
from .gpudrive_objects import ID_RANGE, OBJECT_FIELDS, as_objects, headings_rad, read_tracks, report_sentinels
from .json_text import TYPE_WORDS, column, described, expected, member, one_of, read_json, whole_number, within
from .lane_links import link_lanes
from .metadata import check_text
from .origin import near, origin_of
from .scene import ROAD_KIND_CODES, Report, Roads, Scene

ROAD_TYPES = {"lane": "lane", "road_line": "line", "road_edge": "edge", "stop_sign": "stop_sign",
              "crosswalk": "crosswalk", "speed_bump": "speed_bump", "driveway": "driveway"}
MAP_ELEMENTS = {-1: None, **dict.fromkeys(range(4), "lane"), **dict.fromkeys(range(5, 14), "line"),
                **dict.fromkeys(range(14, 17), "edge"), 17: "stop_sign", 18: "crosswalk", 19: "speed_bump",
                20: "driveway"}
"""What `map_element_id` says of the kind of a road; -1 says nothing."""

FILE_FIELDS = ("name", "scenario_id", "objects", "roads", "tl_states", "metadata")
ROAD_FIELDS = ("geometry", "type", "map_element_id", "id")
METADATA_FIELDS = ("sdc_track_index", "tracks_to_predict", "objects_of_interest")

FILE_DT_S = 0.1
"""The file does not say; the Waymo Open Motion logs behind such files run at 10 Hz."""


class OtherJsonError(SceneError):
    """It is JSON, but that of other tools."""


def read_gpudrive(data: bytes, source: str) -> Scene:
    """The scene in `data`, relative to the rounded mean of the valid positions.

    Raises:
        OtherJsonError: the text has neither objects nor roads.
        SceneError: names the place, as in `objects[3].position[17].x`, and the reason.
    """
    document = expected(read_json(data), dict, "")
    if "objects" not in document and "roads" not in document:
        raise OtherJsonError("the whole has neither 'objects' nor 'roads'")
    objects_in, roads_in = member(document, "objects", list, ""), member(document, "roads", list, "")
    texts = {name: member(document, name, str, "") for name in ("name", "scenario_id") if name in document}
    check_text("scenario_id", texts.setdefault("scenario_id", ""))
    report = Report(notes=["z coordinates and the subtypes of map_element_id are not kept"])
    report.make_up(f"dt_s {FILE_DT_S:g}, which the file does not say")

    tracks = read_tracks(objects_in, report)
    heading_rad = headings_rad(tracks, report)
    kept = np.flatnonzero(tracks.valid.any(axis=1))
    report.drop("objects valid at no frame", len(tracks.valid) - len(kept))
    report_sentinels(tracks, report)
    origin_m = origin_of(tracks.x_m[kept], tracks.y_m[kept], tracks.valid[kept])
    objects = as_objects(tracks, kept, heading_rad, origin_m, report)
    roads = _read_roads(roads_in, origin_m, report)
    lanes = link_lanes(roads)
    report.make_up("lane successors, from lanes that end where another starts", len(lanes.successor))
    references = _read_metadata(document, tracks, kept, report)
    _report_lights(document, report)
    _report_unread(document, report)
    return Scene(
        name=PurePath(source).stem, source=source, generated=False, dt_s=FILE_DT_S, origin_m=origin_m, objects=objects,
        roads=roads, lanes=lanes, scenario_id=texts["scenario_id"], report=report, **references)


# ---- roads ----


def _read_roads(entries, origin_m, report):
    kinds, polylines = [], []
    for index, entry in enumerate(entries):
        place = f"roads[{index}]"
        kinds.append(_road_kind(expected(entry, dict, place), place, report))
        geometry = entry.get("geometry")
        # Some tools write the one point of a stop sign as it is.
        polylines.append([geometry] if type(geometry) is dict else member(entry, "geometry", list, place))
    ids = [whole_number(entry["id"], *ID_RANGE, f"roads[{index}].id") if "id" in entry else index
           for index, entry in enumerate(entries)]
    report.make_up("road ids: the place in the file", sum("id" not in entry for entry in entries))
    kept = [index for index, points in enumerate(polylines) if points]
    report.drop("roads without points", len(entries) - len(kept))
    start = np.zeros(len(kept) + 1, np.int32)
    start[1:] = np.cumsum([len(polylines[index]) for index in kept])
    points = list(chain.from_iterable(polylines))

    def place(at):
        row = int(np.searchsorted(start, at, side="right")) - 1
        return f"roads[{kept[row]}].geometry[{at - start[row]}]"

    column(points, "z", place, default=0.0)
    return Roads(
        id=np.array([ids[index] for index in kept], np.int64),
        kind=np.array([ROAD_KIND_CODES[kinds[index]] for index in kept], np.uint8), start=start,
        x_m=near(column(points, "x", place) - origin_m[0], lambda at: within(place(at[0]), "x")),
        y_m=near(column(points, "y", place) - origin_m[1], lambda at: within(place(at[0]), "y")),
        width_m=np.zeros(len(kept), np.float32), speed_limit_mps=np.zeros(len(kept), np.float32))


def _road_kind(entry, place, report):
    """`type` says it, else map_element_id; where the two disagree, `type` wins and the report says so."""
    element = None
    if "map_element_id" in entry:
        found = entry["map_element_id"]
        if type(found) is not int or found not in MAP_ELEMENTS:
            raise SceneError(f"{place}.map_element_id is {described(found)}; it must be -1 to 3 or 5 to 20")
        element = MAP_ELEMENTS[found]
    if "type" not in entry and element is not None:
        report.make_up("types of roads, from map_element_id")
        return element
    if "type" not in entry:
        raise SceneError(f"{place} has no 'type'")
    kind = ROAD_TYPES[one_of(entry["type"], ROAD_TYPES, f"{place}.type")]
    if element not in (None, kind):
        report.drop(f"map_element_id that says {element.replace('_', ' ')} of a {kind.replace('_', ' ')}")
    return kind


# ---- metadata ----


def _read_metadata(document, tracks, kept, report):
    """The fields of a Scene that name objects, by their index among the kept ones."""
    if "metadata" not in document:
        report.notes.append("the file has no metadata: which object recorded it, and which to predict, is unknown")
        return {}
    metadata = member(document, "metadata", dict, "")
    last = len(tracks.valid) - 1
    index_of = {int(old): new for new, old in enumerate(kept)}
    sdc = -1
    if "sdc_track_index" in metadata:
        found = whole_number(metadata["sdc_track_index"], 0, last, "metadata.sdc_track_index")
        sdc = index_of.get(found, -1)
        report.drop("sdc_track_index, of an object valid at no frame", sdc < 0)
    predicted = _track_indices(metadata, last, report)
    of_interest = _interesting_indices(metadata, tracks, report)
    report.drop("tracks_to_predict of objects valid at no frame", sum(index not in index_of for index in predicted))
    report.drop("objects_of_interest valid at no frame", sum(index not in index_of for index in of_interest))
    return {"sdc": sdc, "tracks_to_predict": tuple(index_of[index] for index in predicted if index in index_of),
            "objects_of_interest": tuple(index_of[index] for index in of_interest if index in index_of)}


def _track_indices(metadata, last, report):
    if "tracks_to_predict" not in metadata:
        return []
    found, graded = [], 0
    for place, entry in _entries(metadata, "tracks_to_predict"):
        expected(entry, dict, place)
        if "track_index" not in entry:
            raise SceneError(f"{place} has no 'track_index'")
        found.append(whole_number(entry["track_index"], 0, last, f"{place}.track_index"))
        if "difficulty" in entry:
            graded += whole_number(entry["difficulty"], 0, 2, f"{place}.difficulty") > 0
    report.drop("difficulties of tracks_to_predict", graded)
    return _once(found, "tracks_to_predict", report)


def _interesting_indices(metadata, tracks, report):
    if "objects_of_interest" not in metadata:
        return []
    ids = [whole_number(entry, *ID_RANGE, place) for place, entry in _entries(metadata, "objects_of_interest")]
    index_of_id = {found: index for index, found in enumerate(tracks.id)} if tracks.has_ids else {}
    report.drop("objects_of_interest that no object has as its id", sum(found not in index_of_id for found in ids))
    return _once([index_of_id[found] for found in ids if found in index_of_id], "objects_of_interest", report)


def _entries(metadata, name):
    place = f"metadata.{name}"
    return [(f"{place}[{index}]", entry) for index, entry in enumerate(member(metadata, name, list, "metadata"))]


def _once(indices, name, report):
    different = list(dict.fromkeys(indices))
    report.drop(f"{name} that are named again", len(indices) - len(different))
    return different


# ---- what is not read ----


def _report_lights(document, report):
    lights = document.get("tl_states", {})
    if type(lights) not in (dict, list):
        raise SceneError(f"tl_states is {described(lights)}; it must be {TYPE_WORDS[dict]}")
    report.drop("lanes with traffic lights, for which a scene has no room yet", len(lights))


def _report_unread(document, report):
    for where, owners, known in (
            ("the file", [document], FILE_FIELDS), ("objects", document["objects"], OBJECT_FIELDS),
            ("roads", document["roads"], ROAD_FIELDS), ("metadata", [document.get("metadata", {})], METADATA_FIELDS)):
        unread = [key for owner in owners for key in owner if key not in known]
        if unread:
            names = sorted(set(unread))
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            report.drop(f"fields of {where} that are not read, named {', '.join(map(shown, names[:5]))}{more}",
                        len(unread))
