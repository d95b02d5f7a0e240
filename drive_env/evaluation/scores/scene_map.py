"""How does the map of a scene become one that drives are scored by? What a scene lacks is approximated here."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from ...realism.nearest_segment import nearest_segments
from ...realism.road_edges import make_road_edges
from ...scenes import Scene
from ...scenes.levels import levels_of
from ...scenes.scene import ROAD_KIND_CODES, Roads
from .driven_scene import DrivenMap

_maps: weakref.WeakKeyDictionary[Roads, DrivenMap] = weakref.WeakKeyDictionary()
"""The map of each `Roads`, made once: the trials of a scene share its roads."""


def driven_map(scene: Scene) -> DrivenMap:
    """The lanes and road edges of a scene.

    Lanes have the widths of the scene, since scenes have no polygons of lanes; unknown widths stay 0. A lane leads
    through a junction if it begins where lanes fork or ends where they join. Lanes of junctions without a speed limit
    have the highest one of the lanes before and after. A road edge with more lanes on its right is reversed.
    """
    if scene.roads not in _maps:
        _maps[scene.roads] = _made(scene)
    return _maps[scene.roads]


def has_levels(scene: Scene) -> bool:
    """Whether roads lie above each other, so that heights count."""
    return len(levels_of(scene.roads)) > 0


def _made(scene: Scene) -> DrivenMap:
    roads = scene.roads
    index = np.flatnonzero(roads.kind == ROAD_KIND_CODES["lane"])
    lane_of = {int(road): lane for lane, road in enumerate(index)}
    successors = [[lane_of[int(one)] for one in scene.lanes.after(int(road)) if int(one) in lane_of] for road in index]
    predecessors: list[list[int]] = [[] for _ in index]
    for lane, after in enumerate(successors):
        for one in after:
            predecessors[one].append(lane)
    in_junction = np.array([any(len(successors[one]) > 1 for one in before) or any(
        len(predecessors[one]) > 1 for one in after) for before, after in zip(predecessors, successors, strict=True)],
        bool)
    limits_mps = roads.speed_limit_mps[index].astype(np.float64)
    for lane in np.flatnonzero(in_junction & (limits_mps == 0.0)).tolist():
        limits_mps[lane] = max(roads.speed_limit_mps[index[[*predecessors[lane], *successors[lane]]]], default=0.0)

    # Heights count only where roads lie above each other.
    points_m = np.stack([roads.x_m, roads.y_m, roads.z_m if has_levels(scene) else np.zeros_like(roads.x_m)], axis=1)
    points_m = points_m.astype(np.float64)
    lanes = [points_m[roads.start[road] : roads.start[road + 1]] for road in index]
    edges = [points_m[roads.start[road] : roads.start[road + 1]]
             for road in np.flatnonzero(roads.kind == ROAD_KIND_CODES["edge"])]
    return DrivenMap(lanes=lanes, width_m=roads.width_m[index].astype(np.float64), speed_limit_mps=limits_mps,
                     in_junction=in_junction, successors=successors if len(scene.lanes.successor) else (),
                     road_edges=_with_lanes_left([line for line in edges if len(line) > 1], lanes))


def _with_lanes_left(edges: list[np.ndarray], lanes: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The edges, reversed where more of the lane points nearest to them are on their right than on their left."""
    if not edges or not any(len(line) for line in lanes):
        return edges
    segments = make_road_edges(edges, published=False).segments
    line_of = np.repeat(np.arange(len(edges)), [len(line) - 1 for line in edges])
    points_m = np.ascontiguousarray(np.concatenate(lanes).T.astype(np.float32))
    nearest = nearest_segments(points_m, segments)
    x, y, _ = points_m - segments.start_m[:, nearest]
    along_x, along_y, _ = segments.along_m[:, nearest]
    left = np.bincount(line_of[nearest], weights=np.sign(along_x * y - along_y * x), minlength=len(edges))
    return [line[::-1] if votes < 0 else line for line, votes in zip(edges, left, strict=True)]
