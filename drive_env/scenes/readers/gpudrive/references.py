"""Which objects does the metadata of a GPUDrive JSON name? Indices among the kept objects.

`metadata{sdc_track_index, objects_of_interest[], tracks_to_predict[{track_index, difficulty}]}`. Old files have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import SceneError
from ...json_text import expected, member, whole_number
from ...scene import Report
from .objects import ID_RANGE, Tracks

METADATA_FIELDS = ("sdc_track_index", "tracks_to_predict", "objects_of_interest")


def read_references(document: dict, tracks: Tracks, kept: np.ndarray, report: Report) -> dict[str, Any]:
    """The fields of a `Scene` that hold object indices.

    Args:
        kept: (k,) indices in the file of the objects that the scene has.

    Raises:
        SceneError: names the place, as in `metadata.tracks_to_predict[0].track_index`, and the reason.
    """
    if "metadata" not in document:
        report.notes.append("the file has no metadata: the recording object and the tracks to predict are unknown")
        return {}
    metadata = member(document, "metadata", dict, "")
    index_of = {int(old): new for new, old in enumerate(kept)}
    sdc = -1
    if "sdc_track_index" in metadata:
        found = _inside([whole_number(metadata["sdc_track_index"], *ID_RANGE, "metadata.sdc_track_index")],
                        "sdc_track_index", tracks, report)
        sdc = index_of.get(found[0], -1) if found else -1
        report.drop("sdc_track_index, of an object valid at no frame", found != [] and sdc < 0)
    predicted = _track_indices(metadata, tracks, report)
    of_interest = _interesting_indices(metadata, tracks, report)
    report.drop("tracks_to_predict of objects valid at no frame", sum(index not in index_of for index in predicted))
    report.drop("objects_of_interest valid at no frame", sum(index not in index_of for index in of_interest))
    return {"sdc": sdc, "tracks_to_predict": tuple(index_of[index] for index in predicted if index in index_of),
            "objects_of_interest": tuple(index_of[index] for index in of_interest if index in index_of)}


def _inside(indices, name, tracks, report):
    """The indices that are those of objects of the file."""
    inside = [index for index in indices if 0 <= index < len(tracks.valid)]
    report.drop(f"{name} outside the objects of the file", len(indices) - len(inside))
    return inside


def _track_indices(metadata, tracks, report):
    if "tracks_to_predict" not in metadata:
        return []
    found, graded = [], 0
    for place, entry in _entries(metadata, "tracks_to_predict"):
        expected(entry, dict, place)
        if "track_index" not in entry:
            raise SceneError(f"{place} has no 'track_index'")
        found.append(whole_number(entry["track_index"], *ID_RANGE, f"{place}.track_index"))
        if "difficulty" in entry:
            graded += whole_number(entry["difficulty"], *ID_RANGE, f"{place}.difficulty") != 0
    report.drop("difficulties of tracks_to_predict", graded)
    return _once(_inside(found, "tracks_to_predict", tracks, report), "tracks_to_predict", report)


def _interesting_indices(metadata, tracks, report):
    if "objects_of_interest" not in metadata:
        return []
    ids = [whole_number(entry, *ID_RANGE, place) for place, entry in _entries(metadata, "objects_of_interest")]
    index_of_id = {found: index for index, found in enumerate(tracks.id)} if tracks.has_ids else {}
    report.drop("objects_of_interest that are the id of no object", sum(found not in index_of_id for found in ids))
    return _once([index_of_id[found] for found in ids if found in index_of_id], "objects_of_interest", report)


def _entries(metadata, name):
    place = f"metadata.{name}"
    return [(f"{place}[{index}]", entry) for index, entry in enumerate(member(metadata, name, list, "metadata"))]


def _once(indices, name, report):
    different = list(dict.fromkeys(indices))
    report.drop(f"{name} that are repeated", len(indices) - len(different))
    return different
