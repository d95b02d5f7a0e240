"""Along which lanes does a vehicle get to a goal that only lane changes lead to? There is one path along each lane.

The search assumes that a vehicle changes to the next path as early as possible; the window of a path is where it may.
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..binding import lib
from ..scenes.scene import ROAD_KIND_CODES, Scene

LANE_REACH_M = float(lib.DRV_ROUTE_REACH_M)
"""A point farther than this from every lane has no lane, as in the core's routes."""

CANDIDATE_MARGIN_M = 2.0
"""Lanes up to this much farther from a goal than the nearest lane also lead to it, since lanes overlap where they
meet."""

SAME_WAY_COS = 0.5
"""60 degrees, between a vehicle and the lane that it starts on."""

BESIDE_RANGE_M, BESIDE_COS = (lib.DRV_NEAREST_LANE_CM / 100, lib.DRV_FARTHEST_LANE_CM / 100), 0.98
"""Range of the distance between the centres of two lanes side by side, the same as for lane changes of rule-based
vehicles, and the least cosine of the angle between them."""

LONGITUDINAL_M = lib.DRV_BESIDE_CM / 100
"""How far along a lane the nearest point of the one beside it may be, the same as for rule-based vehicles."""

PITCH_M = 4.0
"""Distance of the places at which lanes are compared."""

SHORTEST_M = 20.0
"""Lanes that are side by side for less than this offer no lane change."""

CHANGE_COST_M = 30.0
"""Length of a detour that a vehicle prefers to one more lane change."""

SIDEWAYS_M = 15.0
"""Length of a change at walking pace: the window for a change ends this far before the lanes part or end."""

LEAD_IN_M = 130.0
"""A path that a vehicle changes to begins this far before the place of the change, so that vehicles behind it on that
lane are on the path. The core ignores vehicles farther away: `change_reach_m` in c/src/step/path_choice.c."""


class ReferencePath(NamedTuple):
    """A part of the path to a goal, without a lane change.

    Attributes:
        points_m: (n, 2) float64, along lane centres.
        roads: (n,) the road of each.
        window_m: first and last place of the vehicle's front, m along the path, at which it may begin to change to the
            next one; (0, 0) for the last path.
    """

    points_m: np.ndarray
    roads: np.ndarray
    window_m: tuple[float, float]


class LaneNet:
    """The lanes of a scene, with those beside each."""

    def __init__(self, scene: Scene) -> None:
        self.graph = scene.lanes
        roads = scene.roads
        xy_m = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
        self.lines = {int(road): xy_m[roads.start[road] : roads.start[road + 1]]
                      for road in np.flatnonzero(roads.kind == ROAD_KIND_CODES["lane"])
                      if roads.start[road + 1] - roads.start[road] > 1}
        self._beside: dict[int, list[tuple[int, np.ndarray, np.ndarray]]] = {}
        self._before_lane: dict[int, list[int]] | None = None

    def paths(self, start_m: np.ndarray, ahead: np.ndarray, goal_m: np.ndarray) -> list[ReferencePath] | None:
        """The paths from a start, whose direction is a unit vector, to a goal; None if no lanes lead there."""
        starts = self._near(start_m, ahead)
        goals = {lane: along_m for _, lane, along_m in self._near(goal_m, None)}
        if not starts or not goals:
            return None
        _, lane, along_m = starts[0]
        moves = self._search(lane, along_m, goals)
        return None if moves is None else self._paths_of(moves, goals)

    # ---- geometry ----

    def _near(self, point_m, ahead):
        """(distance, lane, metres along it) of the lanes near a point, nearest first."""
        found = []
        for lane, line in self.lines.items():
            along_m, distance_m = _nearest(line, point_m, ahead)
            if distance_m <= LANE_REACH_M:
                found.append((distance_m, lane, along_m))
        found.sort()
        return [place for place in found if place[0] <= found[0][0] + CANDIDATE_MARGIN_M]

    def beside(self, lane: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Of each lane beside a lane: its road, and (n,) places along both at which they are side by side."""
        if lane not in self._beside:
            self._beside[lane] = []
            stations_m, points_m, ahead = _stations(self.lines[lane])
            low_m, high_m = points_m.min(axis=0) - BESIDE_RANGE_M[1], points_m.max(axis=0) + BESIDE_RANGE_M[1]
            for other, line in self.lines.items():
                if other == lane or (line.max(axis=0) < low_m).any() or (line.min(axis=0) > high_m).any():
                    continue
                along_m, is_beside = _side_by_side(points_m, ahead, line)
                if np.count_nonzero(is_beside) * PITCH_M >= SHORTEST_M:
                    self._beside[lane].append((other, stations_m[is_beside], along_m[is_beside]))
        return self._beside[lane]

    # ---- search ----

    def _search(self, lane, along_m, goals):
        """The (lane, from where, whether by a lane change) of the shortest path (Dijkstra 1959); None without one."""
        queue = [(0.0, 0, lane, along_m)]
        moves = [(-1, lane, along_m, False)]  # the move before each
        settled: dict[int, float] = {}
        while queue:
            cost_m, move, lane, from_m = heapq.heappop(queue)
            if lane in goals and goals[lane] >= from_m:
                return self._moves_to(moves, move)
            if settled.get(lane, np.inf) <= from_m:
                continue
            settled[lane] = from_m
            length_m = _arcs(self.lines[lane])[-1]
            nexts = [(cost_m + length_m - from_m, int(after), 0.0, False) for after in self.graph.after(lane)]
            for other, own_m, other_m in self.beside(lane):
                later = np.flatnonzero(own_m >= from_m)
                if len(later) * PITCH_M >= SHORTEST_M:
                    first = later[0]
                    nexts.append((cost_m + own_m[first] - from_m + CHANGE_COST_M, other, float(other_m[first]), True))
            for next_cost_m, to, to_m, changes in nexts:
                if to in self.lines:
                    moves.append((move, to, to_m, changes))
                    heapq.heappush(queue, (next_cost_m, len(moves) - 1, to, to_m))
        return None

    @staticmethod
    def _moves_to(moves, last):
        found = []
        while last >= 0:
            before, lane, from_m, changes = moves[last]
            found.append((lane, from_m, changes))
            last = before
        return found[::-1]

    def _paths_of(self, moves, goals):
        """The paths of a sequence of moves; built from the goal back, since each is compared with the one after it."""
        groups: list[list[Any]] = []
        for lane, from_m, changes in moves:
            if changes or not groups:
                groups.append([])
            groups[-1].append((lane, from_m))
        points_m, roads = self._line_of(groups[-1], goals[groups[-1][-1][0]])
        paths = [ReferencePath(points_m, roads, (0.0, 0.0))]
        for group, after in reversed(list(pairwise(groups))):
            found = self._with_latest_change(group, after, paths)
            if found is None:
                return None
            paths = found
        return [paths[-1], *map(self._with_lead_in, paths[-2::-1])]

    def _with_latest_change(self, group, after, paths):
        """Returns `paths` with the path along `group` appended, which changes to the last of them; None if there is no
        window.

        A vehicle that changes only beyond a fork of the lanes `after` can get onto the other branch, and then misses
        their path. Where that branch goes on beside the path, and so leaves more room for the change, it becomes a path
        of its own.
        """
        ways = [paths]
        for index, (lane, _) in enumerate(after[:-1]):
            for other in map(int, self.graph.after(lane)):
                if other in self.lines and other != after[index + 1][0]:
                    stays = self._before([*after[: index + 1], (other, 0.0)], paths, 0.0)
                    ways += [[*paths, stays]] if stays is not None else []
        found = [[*way, path] for way in ways if (path := self._before(group, way)) is not None]
        return max(found, key=lambda way: way[-1].window_m[1], default=None)

    def _before(self, group, paths, nearest_m=BESIDE_RANGE_M[0]):
        """The path along a group, from which a vehicle changes to the last of `paths`; None without a window."""
        points_m, roads = self._line_of(self._extended(group, paths[-1]), None)
        window_m = self._window_m(points_m, paths[-1], nearest_m)
        return None if window_m is None else ReferencePath(points_m, roads, window_m)

    def _extended(self, group, after):
        """The lanes of a path, followed by those that go on beside the next path."""
        group = list(group)
        while len(group) < len(self.lines):
            for lane in map(int, self.graph.after(group[-1][0])):
                if lane in self.lines and _side_by_side(*_stations(self.lines[lane])[1:], after.points_m)[1][:2].all():
                    group.append((lane, 0.0))
                    break
            else:
                break
        return group

    def _line_of(self, group, to_m):
        """Points and roads along lanes, from the place on the first one on, to a place on the last one."""
        points, roads = [], []
        for number, (lane, from_m) in enumerate(group):
            line = self.lines[lane]
            part_m = _cut(line, from_m, to_m if to_m is not None and number == len(group) - 1 else _arcs(line)[-1])
            points.append(part_m)
            roads.append(np.full(len(part_m), lane))
        return _distinct(np.concatenate(points), np.concatenate(roads))

    def _window_m(self, points_m, after, nearest_m):
        """The window for the change from one path to the next, None without one."""
        stations_m, places_m, ahead = _stations(points_m)
        along_m, is_beside = _side_by_side(places_m, ahead, after.points_m, nearest_m)
        if after.window_m[1] > 0.0:  # another change follows
            is_beside &= along_m <= after.window_m[1]
        fitting = np.flatnonzero(is_beside)
        if len(fitting) == 0:
            return None
        breaks = np.flatnonzero(np.diff(fitting) > 1)
        last = fitting[breaks[0]] if len(breaks) else fitting[-1]
        first_m = float(stations_m[fitting[0]])
        return first_m, max(float(stations_m[last]) - SIDEWAYS_M, first_m)

    def _with_lead_in(self, path):
        """The path, extended backwards by up to `LEAD_IN_M` along lanes that lead to it and are not part of it."""
        lane, start_m = int(path.roads[0]), path.points_m[0]
        parts, roads, missing_m, driven = [path.points_m], [path.roads], LEAD_IN_M, set(path.roads.tolist())
        at_m = _nearest(self.lines[lane], start_m, None)[0]
        while at_m > 0.0:
            part_m = _cut(self.lines[lane], max(at_m - missing_m, 0.0), at_m)
            parts.append(part_m)
            roads.append(np.full(len(part_m), lane))
            missing_m, at_m = missing_m - at_m, 0.0
            before = [road for road in self._leading_to(lane) if road not in driven]
            if missing_m > 0.0 and before:
                lane = before[0]
                driven.add(lane)
                at_m = float(_arcs(self.lines[lane])[-1])
        points_m, of = _distinct(np.concatenate(parts[::-1]), np.concatenate(roads[::-1]))
        added_m = _arcs(points_m)[-1] - _arcs(path.points_m)[-1]
        from_m, to_m = path.window_m
        return ReferencePath(points_m, of, (from_m + added_m, to_m + added_m))

    def _leading_to(self, lane):
        """The predecessors of a lane."""
        if self._before_lane is None:
            self._before_lane = {}
            for road in self.lines:
                for after in map(int, self.graph.after(road)):
                    self._before_lane.setdefault(after, []).append(road)
        return self._before_lane.get(lane, [])


def _distinct(points_m, roads):
    """Points and their roads, without points that repeat the one before."""
    kept = np.ones(len(points_m), bool)
    kept[1:] = np.abs(np.diff(points_m, axis=0)).max(axis=1) > 1e-3
    return points_m[kept], roads[kept]


def _arcs(line):
    step = np.diff(line, axis=0)
    return np.concatenate([[0.0], np.cumsum(np.sqrt(step[:, 0] * step[:, 0] + step[:, 1] * step[:, 1]))])


def _nearest(line, point_m, ahead):
    """Place along a line of the point nearest to `point_m`, and its distance; if `ahead` is given, only segments in
    that direction count."""
    step, length_m, share, distance_m = _projection(point_m[None], line)
    if ahead is not None:
        aligned = (step @ ahead) / np.maximum(length_m, 1e-9) >= SAME_WAY_COS
        distance_m = np.where(aligned, distance_m, np.inf)
    best = int(np.argmin(distance_m[0]))
    return float(_arcs(line)[best] + share[0, best] * length_m[best]), float(distance_m[0, best])


def _projection(points_m, line):
    """Segments (s, 2) and their lengths; of each point on each segment, (p, s): the share along it, and distance."""
    step = np.diff(line, axis=0)
    length2 = np.maximum(step[:, 0] * step[:, 0] + step[:, 1] * step[:, 1], 1e-12)
    offset = points_m[:, None] - line[None, :-1]
    share = np.clip((offset[..., 0] * step[:, 0] + offset[..., 1] * step[:, 1]) / length2, 0.0, 1.0)
    rest = offset - share[..., None] * step
    return step, np.sqrt(length2), share, np.sqrt(rest[..., 0] * rest[..., 0] + rest[..., 1] * rest[..., 1])


def _stations(line):
    """Places along a line, (n,) m, with their points and directions."""
    arc_m = _arcs(line)
    stations_m = np.arange(0.0, arc_m[-1], PITCH_M)
    points_m = np.stack([np.interp(stations_m, arc_m, line[:, axis]) for axis in (0, 1)], axis=1)
    segment = np.clip(np.searchsorted(arc_m, stations_m, side="right") - 1, 0, len(line) - 2)
    step = np.diff(line, axis=0)[segment]
    return stations_m, points_m, step / np.maximum(np.sqrt(step[:, :1] ** 2 + step[:, 1:] ** 2), 1e-9)


def _side_by_side(points_m, ahead, line, nearest_m=BESIDE_RANGE_M[0]):
    """Of each point with its direction: the place along another line, and whether that is a lane beside it there.

    The other line is at least `nearest_m` away; with 0, places before a fork, where both are still one, count too.
    """
    step, length_m, share, distance_m = _projection(points_m, line)
    best = distance_m.argmin(axis=1)
    row = np.arange(len(points_m))
    near_m, along = distance_m[row, best], share[row, best]
    direction = step[best] / length_m[best][:, None]
    aligned = ahead[:, 0] * direction[:, 0] + ahead[:, 1] * direction[:, 1] >= BESIDE_COS
    foot = line[best] + along[:, None] * step[best]
    across = points_m - foot
    longitudinal_m = np.abs(across[:, 0] * ahead[:, 0] + across[:, 1] * ahead[:, 1])
    is_beside = aligned & (near_m >= nearest_m) & (near_m <= BESIDE_RANGE_M[1]) & (longitudinal_m <= LONGITUDINAL_M)
    return _arcs(line)[best] + along * length_m[best], is_beside


def _cut(line, from_m, to_m):
    """The part of a line between two places along it."""
    arc_m = _arcs(line)
    inner = (arc_m > from_m + 1e-6) & (arc_m < to_m - 1e-6)
    ends = np.stack([np.interp([from_m, to_m], arc_m, line[:, axis]) for axis in (0, 1)], axis=1)
    return np.concatenate([ends[:1], line[inner], ends[1:]])
