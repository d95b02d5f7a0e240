"""Are the headings of a GPUDrive JSON radians or degrees? Old files have degrees that are not normalised."""

from __future__ import annotations

import math

import numpy as np

from ....errors import SceneError, outside_text
from ...coordinates import first_index
from ...scene import Report
from .objects import Tracks

MOVING_MPS = 2.0
"""A vehicle at this speed faces the direction of its velocity."""


def headings_rad(tracks: Tracks, report: Report) -> np.ndarray:
    """(n, t) radians. If a valid heading is beyond a full turn in radians, the file has degrees.

    Raises:
        SceneError: one is beyond a full turn, but in radians the headings agree with the velocities: it is damaged.
    """
    beyond = tracks.valid & (np.abs(tracks.heading) > 2 * math.pi)
    if not beyond.any():
        if not tracks.has_ids:
            report.notes.append("headings are read as radians: none is beyond a full turn")
        return tracks.heading
    radians = np.radians(np.where(tracks.valid, tracks.heading, 0.0))
    if _along_motion(tracks, tracks.heading) > _along_motion(tracks, radians):
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
