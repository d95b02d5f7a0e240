"""Which roads does a list of `Road` make? Lanes with links, markings, and road edges, also of roads above each other.

Road edges follow from all lanes that are joined, or overlap at one height, together; those of a bridge do not follow
from the road below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import SceneError
from .generate.curves import Curve, Path
from .generate.lane_map import JOINT_M, JOINT_RAD, LaneMap
from .generate.outline import PIECE_M, covered, strips_of
from .generate.roadnet import on_grid
from .generate.trig import wrapped_rad
from .levels import LEVEL_HEIGHT_M
from .road import Road
from .scene import Roads

NEAR_M = 1.0
"""Ends of roads that are nearer than this without a lane that leads on are an error: a car could not drive on."""

CLEARANCE_M = 4.5
"""Least difference in height of roads above each other: above the default of `vertical_clearance_m`, from which on
things are on different levels."""

ACROSS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""Where across a road it is tested for others, as shares of its half width."""


class Place(NamedTuple):
    """Where along a road a lane or marking runs: from `start_m`, forwards or backwards."""

    road: int
    start_m: float
    direction: float


class Network:
    """Roads as lanes of a map.

    Attributes:
        roads: as passed.
        lanes: the map of their lanes and markings.
        lane_places, line_places: where each lane and each marking runs, in the order of the map.
    """

    def __init__(self, roads: Sequence[Road], chosen: Iterable[int] | None = None) -> None:
        """The map of the roads whose indices are `chosen`, by default of all."""
        self.roads, self.lanes = roads, LaneMap()
        self.lane_places: list[Place] = []
        self.line_places: list[Place] = []
        for index in range(len(roads)) if chosen is None else chosen:
            self._add(index)
        self._link()

    def _add(self, index):
        """Adds the lanes and markings of a road."""
        road = self.roads[index]
        parts = [(road.path, 0.0)]
        if road.is_ring:  # in two parts, since no lane leads into itself
            first = Path(road.path.start, road.path.pieces[:len(road.path.pieces) // 2])
            parts = [(first, 0.0), (Path(first.end, road.path.pieces[len(first.pieces):]), first.length_m)]
        for path, start_m in parts:
            ahead, back = Place(index, start_m, 1.0), Place(index, start_m + path.length_m, -1.0)
            sides = [(Curve(path, road.lanes * road.lane_width_m / 2), ahead)]
            if not road.one_way:
                sides = [(Curve(path), ahead), (Curve(path.reversed()), back)]
                self.lanes.line(path)
                self.line_places.append(ahead)
            for curve, place in sides:
                added = self.lanes.along(curve, road.lanes, road.lane_width_m, road.speed_limit_mps)
                self.lane_places += [place] * len(added)
                self.line_places += [place] * (len(added) - 1)

    def _link(self):
        """Links every lane to those that start where it ends, at its height."""
        ends = np.array([(*lane.curve.end, self._heights(place, [lane.curve.length_m])[0])
                         for lane, place in zip(self.lanes.lanes, self.lane_places, strict=True)])
        starts = np.array([(*lane.curve.start, self._heights(place, [0.0])[0])
                           for lane, place in zip(self.lanes.lanes, self.lane_places, strict=True)])
        gap = np.abs(ends[:, None] - starts[None])
        meet = ((gap[..., [0, 1, 3]] <= JOINT_M).all(axis=2)
                & (np.abs(wrapped_rad(ends[:, None, 2] - starts[None, :, 2])) <= JOINT_RAD))
        for before, after in np.argwhere(meet).tolist():
            self.lanes.link(before, after)

    def _heights(self, place, stations_m):
        """Heights at stations of a lane or marking."""
        return self.roads[place.road].heights_m(place.start_m + place.direction * np.asarray(stations_m))

    @property
    def has_heights(self) -> bool:
        """Whether a point of a road has a height other than 0."""
        return any(point[2:] not in ((), (0.0,)) for road in self.roads for point in road.centre_m)

    def linked_roads(self) -> set[tuple[int, int]]:
        """Pairs of roads of which a lane of the first leads into one of the second."""
        return {(self.lane_places[before].road, self.lane_places[after].road) for before, after in self.lanes.links}

    def lane_heights_m(self) -> np.ndarray:
        """(n,) heights of the samples of all lanes."""
        return np.concatenate([self._heights(place, lane.curve.stations())
                               for lane, place in zip(self.lanes.lanes, self.lane_places, strict=True)])

    def check_ends(self) -> None:
        """Refuses two roads of which one nearly begins where the other ends.

        Raises:
            SceneError: names both, the distance and the angle.
        """
        # Where lanes leave a road, and where they enter it.
        exits, entries = [], []
        for i, road in enumerate(self.roads):
            if road.is_ring:
                continue
            low, high = road.heights_m(np.array([0.0, road.length_m])).tolist()
            exits.append((i, "end", road.path.end, high))
            entries.append((i, "start", road.path.start, low))
            if not road.one_way:
                exits.append((i, "start", road.path.start.reversed(), low))
                entries.append((i, "end", road.path.end.reversed(), high))
        # Each exit near an entry of another road, of which no lane leads there.
        linked = self.linked_roads()
        for before, left, end, end_z_m in exits:
            for after, right, start, start_z_m in entries:
                gap_m = math.sqrt((start.x_m - end.x_m) ** 2 + (start.y_m - end.y_m) ** 2)
                rise_m = abs(start_z_m - end_z_m)
                is_fault = gap_m < NEAR_M and rise_m < CLEARANCE_M and before != after and (before, after) not in linked
                if is_fault:
                    turn_rad = abs(float(wrapped_rad(start.heading_rad - end.heading_rad)))
                    raise SceneError(
                        f"the {left} of road {before} is {gap_m:.3g} m from the {right} of road {after}, their "
                        f"directions differ by {turn_rad:.3g} rad and their heights by {rise_m:.3g} m, so that no lane "
                        f"leads on; they must meet within {JOINT_M:g} m and {JOINT_RAD:g} rad with lanes that continue "
                        f"each other, or be at least {NEAR_M:g} m apart")

    def as_roads(self) -> Roads:
        """Lanes, markings and road edges, with heights.

        Raises:
            SceneError: roads lie above each other with too little clearance, or are joined by others.
        """
        if not self.has_heights:
            return self.lanes.roads()
        edges, edge_heights_m = [], []
        for group in self._groups():
            network = Network(self.roads, group)
            xy_m, z_m = network.lanes.samples.xy_m, network.lane_heights_m()
            for edge in network.lanes.edges():
                edges.append(edge)
                edge_heights_m.append(z_m[_nearest(edge, xy_m)])
        lines = [self._heights(place, curve.stations())
                 for curve, place in zip(self.lanes.lines, self.line_places, strict=True)]
        z_m = np.concatenate([self.lane_heights_m(), *lines, *edge_heights_m])
        return replace(self.lanes.roads(edges), z_m=on_grid(z_m).astype(np.float32))

    def _groups(self):
        """Lists of roads whose edges follow from each other."""
        together, above = self._overlaps()
        first = list(range(len(self.roads)))  # the lowest number of each group that is known so far
        for one, other in sorted(together | self.linked_roads()):
            low, high = sorted((first[one], first[other]))
            first = [low if number == high else number for number in first]
        for (one, other), (x_m, y_m, rise_m) in above.items():
            if first[one] == first[other]:
                raise SceneError(
                    f"roads {one} and {other} lie above each other by {rise_m:.3g} m at ({x_m:g}, {y_m:g}) m and are "
                    "joined, directly or by other roads; roads above each other must not be joined")
        return [[i for i, number in enumerate(first) if number == group] for group in sorted(set(first))]

    def _overlaps(self):
        """Pairs of roads that overlap at one height, and pairs above each other with a place and the rise there."""
        # Points of all roads, and the areas of all roads, with the heights of their samples.
        stations = [np.linspace(0.0, road.length_m, 2 + int(road.length_m / PIECE_M)) for road in self.roads]
        found = [road.path.at(at) for road, at in zip(self.roads, stations, strict=True)]
        heights = [road.heights_m(at) for road, at in zip(self.roads, stations, strict=True)]
        start, samples = np.cumsum([0, *map(len, stations)]), np.concatenate(found, axis=1)
        half_m, ends = np.array([road.half_width_m for road in self.roads]), np.zeros(len(self.roads), bool)
        strips = strips_of(start, np.ascontiguousarray(samples[:2].T), samples[2], half_m, ends, ends)
        points = np.concatenate([Curve(road.path, share * road.half_width_m).at(at)[:2].T for road, at in
                                 zip(self.roads, stations, strict=True) for share in ACROSS])
        owner = np.repeat(np.arange(len(self.roads)), [len(ACROSS) * len(at) for at in stations])
        z_m = np.concatenate([np.tile(own, len(ACROSS)) for own in heights])
        # Of each point on another road, the difference of the heights there.
        together, above = set(), {}
        at, by = covered(strips, points, owner, 0.0)
        for one, other in sorted(set(zip(owner[at].tolist(), by.tolist(), strict=True))):
            own = at[(owner[at] == one) & (by == other)]
            rise_m = np.abs(z_m[own] - heights[other][_nearest(points[own], found[other][:2].T)])
            for index, rise in zip(own.tolist(), rise_m.tolist(), strict=True):
                if LEVEL_HEIGHT_M < rise < CLEARANCE_M:
                    raise SceneError(
                        f"roads {one} and {other} differ by {rise:.3g} m in height at ({points[index, 0]:g}, "
                        f"{points[index, 1]:g}) m; it must be at most {LEVEL_HEIGHT_M:g} m, or at least "
                        f"{CLEARANCE_M:g} m")
                pair = (min(one, other), max(one, other))
                if rise <= LEVEL_HEIGHT_M:
                    together.add(pair)
                else:
                    above.setdefault(pair, (*points[index].tolist(), rise))
        return together, above


def _nearest(points, samples):
    """(n,) the index of the sample nearest to each point."""
    found = np.empty(len(points), np.int64)
    for i, (x_m, y_m) in enumerate(points):
        found[i] = np.argmin((samples[:, 0] - x_m) ** 2 + (samples[:, 1] - y_m) ** 2)
    return found
