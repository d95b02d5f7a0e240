"""How is the JSON of GPUDrive, and of Nocturne before it, read?

`{name, scenario_id, objects[], roads[], tl_states, metadata{}}`, see the other files of this folder. Old files have no
metadata and no scenario_id. No file has a lane graph: it is built from the ends of lanes. A map has roads alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

import numpy as np

from ....errors import SceneError, value_text
from ...coordinates import origin_of, origin_of_map
from ...json_text import OtherJsonError, described, expected, looks_like_json, member, read_json
from ...lane_links import link_lanes
from ...levels import report_levels
from ...metadata import check_text
from ...scene import Report, Scene
from ...stop_signs import with_stop_signs
from ..source import WAYMO_DT_S, Source
from .headings import headings_rad, is_old_form
from .lights import read_lights
from .objects import OBJECT_FIELDS, as_objects, read_tracks, report_sentinels
from .references import METADATA_FIELDS, read_references
from .roads import ROAD_FIELDS, as_roads, read_polylines

FILE_FIELDS = ("name", "scenario_id", "objects", "roads", "tl_states", "metadata")

NAMED_FIELDS = 5
"""Unknown fields that the report names."""

has_signature = looks_like_json


def open(source: Source) -> Iterator[Scene]:
    """The one scene of a file."""
    yield read_gpudrive(source.data, source.name)


def read_gpudrive(data: bytes, source: str) -> Scene:
    """The scene in `data`, relative to the rounded mean of the valid positions; of a map, of the points of its roads.

    Raises:
        OtherJsonError: the text has neither objects nor roads, by their names.
        SceneError: names the place, as in `objects[3].position[17].x`, and the reason.
    """
    # Parse the text and check its outermost fields.
    document = expected(read_json(data), dict, "")
    if "objects" not in document and "roads" not in document:
        raise OtherJsonError("the document has neither 'objects' nor 'roads'")
    document = {"objects": [], **document}  # a map may lack them
    objects_in, roads_in = member(document, "objects", list, ""), member(document, "roads", list, "")
    if not objects_in and not roads_in:
        raise SceneError("objects and roads have 0 entries; one of them must have at least 1")
    scenario_id = _scenario_id(document)
    report = Report(notes=["the subtypes of map_element_id are not kept"])
    if not objects_in:
        report.notes.append("the file has no objects: it is a map alone")
    report.impute(f"dt_s {WAYMO_DT_S:g}, absent from the file")

    # Read the tracks; keep the objects that are valid at some frame.
    is_old = is_old_form(document)
    tracks = read_tracks(objects_in, is_old, report)
    heading_rad = headings_rad(tracks, is_old, report)
    kept = np.flatnonzero(tracks.valid.any(axis=1))
    report.drop("objects valid at no frame", len(tracks.valid) - len(kept))
    report_sentinels(tracks, report)
    polylines = read_polylines(roads_in, report)
    origin_m = (origin_of(tracks.x_m[kept], tracks.y_m[kept], tracks.valid[kept]) if len(kept)
                else origin_of_map(polylines.x_m, polylines.y_m))
    objects = as_objects(tracks, kept, heading_rad, origin_m, report)

    # Place the map and link its lanes.
    roads = as_roads(polylines, origin_m)
    report_levels(roads, report)
    lanes = link_lanes(roads)
    report.impute("lane successors, from lanes that end where another starts", len(lanes.successor))
    references = read_references(document, tracks, kept, report)
    lights = read_lights(document, roads, objects.frame_count, origin_m, report)
    traffic_controls = with_stop_signs(lights, roads, lanes, report)
    _report_unread(document, report)
    return Scene(
        name=PurePath(source).stem, source=source, generated=False, dt_s=WAYMO_DT_S, origin_m=origin_m, objects=objects,
        roads=roads, lanes=lanes, traffic_controls=traffic_controls, scenario_id=scenario_id, report=report,
        **references)


def _scenario_id(document):
    """The text, or the whole number as text; "" where it is missing or null."""
    found = document.get("scenario_id")
    if type(found) not in (str, int, type(None)):
        raise SceneError(f"scenario_id is {described(found)}; it must be a string or a whole number")
    text = "" if found is None else str(found)
    check_text("scenario_id", text)
    return text


def _report_unread(document, report):
    for where, owners, known in (
            ("the file", [document], FILE_FIELDS), ("objects", document["objects"], OBJECT_FIELDS),
            ("roads", document["roads"], ROAD_FIELDS), ("metadata", [document.get("metadata", {})], METADATA_FIELDS)):
        unread = [key for owner in owners for key in owner if key not in known]
        if unread:
            names = sorted(set(unread))
            more = f" and {len(names) - NAMED_FIELDS} more" if len(names) > NAMED_FIELDS else ""
            named = ", ".join(map(value_text, names[:NAMED_FIELDS]))
            report.drop(f"fields of {where} that are not read, named {named}{more}", len(unread))
