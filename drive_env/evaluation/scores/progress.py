"""How far did the ego get along its reference path: the path of the expert, or else its route?"""

from __future__ import annotations

import numpy as np

from .driven_scene import DrivenScene
from .lane_places import Segments, by_line, segments_of_lines

REACH_M = 10.0
"""An ego that is farther from the path, as on another road, has no place along it. Two lanes to each side are near."""

SLACK_M, SLACK_SHARE = 5.0, 2.0
"""From one step to the next, a place along the path changes by at most `SLACK_M` plus `SLACK_SHARE` times the distance
driven: where a path crosses itself, the ego stays on the part that it drives along."""

STEP_M = 0.5
"""Least distance of two points of the expert's path: positions of a standing expert have noise."""


def reference_path_of(scene: DrivenScene) -> np.ndarray | None:
    """(p, 2) the reference path: that of the expert, else the route, else None. One point if the expert stands."""
    if scene.expert_m is None:
        return scene.route_m if scene.route_m is not None and len(scene.route_m) else None
    points_m = np.asarray(scene.expert_m, np.float64)
    points_m = points_m[~np.isnan(points_m).any(axis=1)]
    if not len(points_m):
        return None
    kept = [0]
    for index in range(1, len(points_m)):
        if np.hypot(*(points_m[index] - points_m[kept[-1]])) >= STEP_M:
            kept.append(index)
    if kept[-1] != len(points_m) - 1 and len(kept) > 1:
        kept[-1] = len(points_m) - 1  # the path ends where the expert ended
    return points_m[kept]


def length_m(reference_path_m: np.ndarray) -> float:
    """The length of a path (p, 2)."""
    return float(np.hypot(*np.diff(np.asarray(reference_path_m, np.float64), axis=0).T).sum())


def flat_line(points_m: np.ndarray) -> np.ndarray:
    """(p, 3) points with the height 0, of (p, 2)."""
    return np.pad(np.asarray(points_m, np.float64), ((0, 0), (0, 1)))


def places_along(reference_path_m: np.ndarray, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
    """(t,) metres along a path (p, 2) to its point nearest to the ego; NaN where that is beyond `REACH_M`."""
    segments = segments_of_lines([flat_line(reference_path_m)])
    found = np.full(len(x_m), np.nan)
    if not len(segments.line):
        return np.where(np.hypot(x_m - reference_path_m[0, 0], y_m - reference_path_m[0, 1]) <= REACH_M, 0.0, np.nan)
    begin_m = np.cumsum(segments.length_m) - segments.length_m
    driven_m = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x_m), np.diff(y_m)))])
    last: int | None = None
    for step in range(len(x_m)):
        # In the first step, a place near the start of the path is preferred to a later part that passes the ego.
        here_m, from_m = (0.0, 0.0) if last is None else (found[last], driven_m[last])
        window_m = SLACK_M + SLACK_SHARE * (driven_m[step] - from_m)
        place = _place(segments, begin_m, float(x_m[step]), float(y_m[step]), here_m, window_m)
        if place is None and last is None:
            place = _place(segments, begin_m, float(x_m[step]), float(y_m[step]), 0.0, np.inf)
        if place is not None:
            found[step], last = place, step
    return found


def _place(segments: Segments, begin_m: np.ndarray, x_m: float, y_m: float, here_m: float,
           window_m: float) -> float | None:
    """Metres along a path to its nearest point at most `window_m` from `here_m`; None if it is not within `REACH_M`."""
    near = slice(int(np.searchsorted(begin_m + segments.length_m, here_m - window_m)),
                 int(np.searchsorted(begin_m, here_m + window_m, side="right")))
    by = by_line(np.array([x_m]), np.array([y_m]), np.zeros(1), segments.of(near))
    along_m = begin_m[near] + by.along_m[0]
    distance_m = np.where(np.abs(along_m - here_m) <= window_m, by.distance_m[0], np.inf)
    nearest = int(np.argmin(distance_m))
    return float(along_m[nearest]) if distance_m[nearest] <= REACH_M else None
