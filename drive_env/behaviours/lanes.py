"""On which lane is a vehicle, and how do lanes lead on? From the polylines and the lane graph of a scene."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..scenes import Scene
from ..scenes.generate.trig import wrapped_rad
from ..scenes.segments import segments_of
from .tracks import chunks

REACH_M = 4.0
"""A vehicle farther from the centres of all lanes is on none."""

SWITCH_M = 0.3
"""By so much another lane has to be nearer: where lanes join or fork, several have the same centre."""

LANE_WAY_RAD = np.pi / 3
"""A vehicle is on a lane whose direction differs by less from its heading."""

RING_LENGTH_M = (50.0, 250.0)
"""Length of the circle of lanes of a roundabout: radii of 8 to 40 m. Around a block it is longer."""

RING_SHARE = 0.3
"""By how much the distance of such a lane from the middle may differ from the radius."""


class Places(NamedTuple):
    """Where points are by their lanes, (n,) each.

    Attributes:
        lane: road index, -1 for none.
        left_m: from the centre of the lane to the left.
        along_m: from the start of the lane.
        heading_rad: of the lane there.
    """

    lane: np.ndarray
    left_m: np.ndarray
    along_m: np.ndarray
    heading_rad: np.ndarray


class Lanes:
    """The lanes of a scene.

    Attributes:
        successors, predecessors: by road index; empty for roads that are no lanes.
        length_m: (roads,) of the polylines.
    """

    def __init__(self, scene: Scene) -> None:
        roads, graph = scene.roads, scene.lanes
        self._xy_m = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
        self._start = roads.start
        self.successors = [graph.after(road).tolist() for road in range(roads.count)]
        self.predecessors: list[list[int]] = [[] for _ in range(roads.count)]
        for road, after in enumerate(self.successors):
            for one in after:
                self.predecessors[one].append(road)

        # The segments of all lanes, without those of no length.
        lane, first = segments_of(roads, "lane")
        step_m = self._xy_m[first + 1] - self._xy_m[first]
        length_m = np.linalg.norm(step_m, axis=1)
        lane, first, step_m, length_m = (values[length_m > 0.0] for values in (lane, first, step_m, length_m))
        self._lane, self._from_m, self._segment_m = lane, self._xy_m[first], length_m
        self._ahead = step_m / length_m[:, None]
        self._heading_rad = np.arctan2(step_m[:, 1], step_m[:, 0])
        total_m = np.cumsum(length_m) - length_m
        self._begin = np.searchsorted(self._lane, np.arange(roads.count + 1))
        offsets_m = np.append(total_m, length_m.sum())
        self._along_m = total_m - offsets_m[self._begin[self._lane]]
        self.length_m = np.diff(offsets_m[self._begin])

    def places(self, xy_m: np.ndarray, heading_rad: np.ndarray | None, reach_m: float = REACH_M) -> Places:
        """The nearest lane of each point among those that lead the way of a heading; None: either way."""
        if not len(self._lane):
            return _nowhere(len(xy_m))
        near, along_m, left_m, apart_m = self._candidates(xy_m, heading_rad, reach_m)
        return self._at(near, along_m, left_m, apart_m, np.argmin(apart_m, axis=1), reach_m)

    def places_along(self, xy_m: np.ndarray, heading_rad: np.ndarray) -> Places:
        """The lane of a vehicle in successive frames: it stays on its lane, and goes on to those that follow, until
        another one is nearer by `SWITCH_M`.
        """
        if not len(self._lane):
            return _nowhere(len(xy_m))
        lane, parts = -1, []
        for chunk in chunks(len(xy_m)):
            places, lane = self._places_from(lane, xy_m[chunk], heading_rad[chunk])
            parts.append(places)
        return Places(*map(np.concatenate, zip(*parts, strict=True)))

    def _places_from(self, lane, xy_m, heading_rad):
        """The places in successive frames of a vehicle that was on a lane, -1 for none, and its lane in the last one.
        """
        # The distance of each frame from each lane near them.
        near, along_m, left_m, apart_m = self._candidates(xy_m, heading_rad, REACH_M)
        first = np.flatnonzero(np.append(True, self._lane[near[1:]] != self._lane[near[:-1]]))
        lanes = self._lane[near[first]].tolist()
        column = {lane: index for index, lane in enumerate(lanes)}
        of_lane_m = np.minimum.reduceat(apart_m, first, axis=1)
        # The nearest lane of each frame, or that of the frame before, or one that follows it.
        chosen = []
        for nearest, nearest_m, apart in zip(np.argmin(of_lane_m, axis=1).tolist(), of_lane_m.min(axis=1).tolist(),
                                             of_lane_m, strict=True):
            kept = [one for one in ([lane, *self.successors[lane]] if lane >= 0 else [])
                    if one in column and apart[column[one]] <= nearest_m + SWITCH_M]
            lane = min(kept, key=lambda one: apart[column[one]]) if kept else lanes[nearest]
            chosen.append(column[lane])
            lane = lane if nearest_m <= REACH_M else -1
        is_chosen = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(near))))[None] == np.array(
            chosen)[:, None]
        best = np.argmin(np.where(is_chosen, apart_m, np.inf), axis=1)
        return self._at(near, along_m, left_m, apart_m, best, REACH_M), lane

    def _candidates(self, xy_m, heading_rad, reach_m):
        """The segments near the points, and of each point and segment: metres along it, to its left, and the distance,
        infinite where it leads another way than the heading.
        """
        near = self._near(xy_m, reach_m)
        along_m, left_m, apart_m = self._projected(xy_m, near)
        if heading_rad is not None:
            turn_rad = wrapped_rad(self._heading_rad[near][None] - heading_rad[:, None])
            apart_m = np.where(np.abs(turn_rad) < LANE_WAY_RAD, apart_m, np.inf)
        return near, along_m, left_m, apart_m

    def _at(self, near, along_m, left_m, apart_m, best, reach_m):
        """The places of points on their best segments."""
        at, segment = (np.arange(len(best)), best), near[best]
        return Places(np.where(apart_m[at] <= reach_m, self._lane[segment], -1), left_m[at],
                      self._along_m[segment] + along_m[at], self._heading_rad[segment])

    def beside(self, lane: int, xy_m: np.ndarray) -> tuple[float, float]:
        """How far a point is to the left of the centre of a lane, which goes on straight at its ends, and the heading
        of the lane there.
        """
        own = np.arange(self._begin[lane], self._begin[lane + 1])
        _, left_m, apart_m = self._projected(xy_m[None], own)
        nearest = int(np.argmin(apart_m[0]))
        return float(left_m[0, nearest]), float(self._heading_rad[own[nearest]])

    def leads_to(self, lane: int, other: int) -> bool:
        """Whether the other lane is the same one, or follows within two links."""
        after = self.successors[lane]
        return other == lane or other in after or any(other in self.successors[one] for one in after)

    def around(self, lane: int) -> set[int]:
        """A lane and those within two links before and after it."""
        found = {lane}
        for links in (self.successors, self.predecessors):
            near = links[lane]
            found |= {*near, *(two for one in near for two in links[one])}
        return found

    def chain(self, lane: int, distance_m: float) -> list[int]:
        """The lanes after one, as long as each has one successor, until they are so long together."""
        found: list[int] = []
        while distance_m > 0.0 and len(self.successors[lane]) == 1:
            lane = self.successors[lane][0]
            if lane in found:
                break
            found.append(lane)
            distance_m -= self.length_m[lane]
        return found

    @cached_property
    def rings(self) -> frozenset[int]:
        """The lanes of roundabouts: closed circles of lanes that turn to the left and are round."""
        found: set[int] = set()
        turn_rad = [self._turn_rad(lane) for lane in range(len(self.successors))]
        for lane, after in enumerate(self.successors):
            if after and lane not in found and turn_rad[lane] > 0.0:
                found.update(self._ring_from(lane, turn_rad))
        return frozenset(found)

    def _ring_from(self, start, turn_rad):
        """A round circle of lanes from a lane back to it; empty if there is none."""
        open_paths, seen = [([start], self.length_m[start])], {start}
        while open_paths:
            path, length_m = open_paths.pop(0)
            for after in self.successors[path[-1]]:
                if after == start and length_m >= RING_LENGTH_M[0] and self._is_round(path):
                    return path
                if after not in seen and turn_rad[after] > 0.0 and length_m + self.length_m[after] <= RING_LENGTH_M[1]:
                    open_paths.append(([*path, after], length_m + self.length_m[after]))
                    seen.add(after)
        return []

    def _is_round(self, path):
        """Whether all points are about equally far from their middle."""
        segments = np.concatenate([np.arange(self._begin[lane], self._begin[lane + 1]) for lane in path])
        weight = self._segment_m[segments] / self._segment_m[segments].sum()
        middle_m = weight @ self._from_m[segments]
        radius_m = np.linalg.norm(self._from_m[segments] - middle_m, axis=1)
        return bool((np.abs(radius_m / (weight @ radius_m) - 1.0) <= RING_SHARE).all())

    def _turn_rad(self, lane):
        """By how much a lane turns to the left."""
        heading_rad = self._heading_rad[self._begin[lane]:self._begin[lane + 1]]
        return float(wrapped_rad(np.diff(heading_rad)).sum())

    def _near(self, xy_m, reach_m):
        """The segments whose boxes reach into that of the points; any one if there is none."""
        to_m = self._from_m + self._ahead * self._segment_m[:, None]
        low_m, high_m = xy_m.min(axis=0) - reach_m, xy_m.max(axis=0) + reach_m
        near = np.flatnonzero(((np.maximum(self._from_m, to_m) >= low_m) & (np.minimum(self._from_m, to_m) <= high_m))
                              .all(axis=1))
        return near if len(near) else np.array([0])

    def _projected(self, xy_m, segments):
        """(n, segments) each: metres along segments and to their left, and the distance from them."""
        x_m, y_m = (xy_m[:, None, axis] - self._from_m[None, segments, axis] for axis in (0, 1))
        ahead_x, ahead_y = self._ahead[segments].T
        along_m, left_m = x_m * ahead_x + y_m * ahead_y, y_m * ahead_x - x_m * ahead_y
        clipped_m = np.minimum(np.maximum(along_m, 0.0), self._segment_m[segments])
        return clipped_m, left_m, np.hypot(along_m - clipped_m, left_m)


def _nowhere(count):
    """Places of points on a map without lanes."""
    return Places(np.full(count, -1), *(np.zeros(count) for _ in Places._fields[1:]))
