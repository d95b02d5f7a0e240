"""Are the headings of a GPUDrive JSON radians or degrees? Only old files have degrees, which are not normalised."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np

from ....errors import SceneError, outside_text
from ...coordinates import first_index, note_unwrapped
from ...scene import Report
from .objects import Tracks

MOVING_MPS = 2.0
"""A vehicle at this speed faces the direction of its velocity."""


def is_old_form(document: dict) -> bool:
    """Whether a file lacks what every file with headings in radians has: metadata, ids and heights.

    Args:
        document: with objects and roads, which are not checked yet.
    """
    entries = [entry for entry in chain(document["objects"], document["roads"]) if type(entry) is dict]
    if "metadata" in document or any("id" in entry for entry in entries):
        return False
    points = chain.from_iterable(_points(entry) for entry in entries)
    return not any(type(point) is dict and "z" in point for point in points)


def _points(entry):
    """The positions of an object, or the points of a road, as far as there are any."""
    found = entry.get("position", entry.get("geometry"))
    return found if type(found) is list else [found]


def headings_rad(tracks: Tracks, is_old: bool, report: Report) -> np.ndarray:
    """(n, t) radians. If a valid heading of an old file is beyond a full turn in radians, the file has degrees.

    Raises:
        SceneError: one is, but in radians the headings of the old file agree with the velocities: it is damaged.
    """
    beyond = tracks.valid & (np.abs(tracks.heading) > 2 * math.pi)
    if not beyond.any():
        if is_old and tracks.valid.any():
            report.notes.append("headings are read as radians: none is beyond a full turn")
        return tracks.heading
    radians = np.radians(np.where(tracks.valid, tracks.heading, 0.0))
    along, along_as_degrees = _along_motion(tracks, tracks.heading), _along_motion(tracks, radians)
    if not is_old:
        doubt = ("; the velocities of the vehicles agree better with headings in degrees" if along_as_degrees > along
                 else "")
        note_unwrapped(tracks.heading, tracks.valid, report, doubt)
        return tracks.heading
    if along > along_as_degrees:
        index, frame = first_index(beyond)
        found = outside_text(tracks.heading[index, frame], -2 * math.pi, 2 * math.pi)
        raise SceneError(f"objects[{index}].heading[{frame}] is {found}, beyond a full turn in radians; "
                         "the velocities of the vehicles agree with headings in radians, not in degrees")
    report.notes.append(f"headings are degrees: {int(beyond.sum())} of {int(tracks.valid.sum())} are beyond a full "
                        "turn in radians")
    return radians


def _along_motion(tracks, heading_rad):
    """Mean cosine between heading and velocity of moving vehicles; 0 if none moves."""
    is_vehicle = np.array([kind == "vehicle" for kind in tracks.kind])
    moving = np.zeros(tracks.valid.shape, bool)
    moving[tracks.valid] = np.hypot(tracks.vx_mps[tracks.valid], tracks.vy_mps[tracks.valid]) > MOVING_MPS
    moving &= is_vehicle[:, None]
    if not moving.any():
        return 0.0
    return np.cos(heading_rad[moving] - np.arctan2(tracks.vy_mps[moving], tracks.vx_mps[moving])).mean()
