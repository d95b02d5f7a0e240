"""How does a scene of curved lanes become roads, a lane graph and traffic controls? By a `LaneMap`, lane after lane.

A scene adds lanes along curves and links them; the road edges follow from the lanes::

    street = Path(Pose(0.0, 0.0, 0.0), (line(60.0), turn(20.0, math.pi / 2), line(60.0)))
    roads = LaneMap()
    right, = roads.along(street, 1, 3.5, 13.9)               # traffic keeps right of the path
    left, = roads.along(street.reversed(), 1, 3.5, 13.9)     # oncoming traffic
    roads.line(Curve(street))                                # the centre line
    lane = roads.lane(Curve(street.part(0.0, 60.0), 9.0), 3.5, 13.9)     # any curve beside a path
    roads.link(before, after)                                # where the end of one lane is the start of the other
    roads.control("stop", (right,))                          # a stop line across the end of lanes
    roads.wall([(0.0, 6.0), (20.0, 6.0)])                    # a further road edge
    roads.add(block, Pose(100.0, 0.0, 0.5))                  # another map, moved; returns the number of its first lane
    objects = place(rng, roads, agents, spec)                # placing.py
    return roads.parts(objects)

Numbers of lanes are their road indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...errors import SceneError
from ..lane_links import graph_of
from ..scene import Objects, Roads, TrafficControls
from .curves import Curve, Path, Pose
from .lights import Control, Phases, controls_of
from .outline import Strips, covered, outline, strips_of
from .parts import Parts
from .roadnet import CURB_GAP_M, on_grid, roads_of
from .trig import sine_cosine, wrapped_rad

JOINT_M, JOINT_RAD = 1e-3, 1.7e-3
"""Most by which the end of a lane and the start of the next may differ: 1 mm and 0.1 degrees."""

KEPT_RESULTS = 96
"""Samples, outlines, clear spans and bounds of speeds that are kept, about six a map: many scenes of a generator differ
in their traffic alone."""

Found = TypeVar("Found")

OVERLAP_M = 0.3
"""Two lanes are in conflict if they overlap even when each is narrower by this on both sides."""


class Lane(NamedTuple):
    """A lane of a map."""

    curve: Curve
    width_m: float
    speed_limit_mps: float
    curb_gap_m: float = CURB_GAP_M
    """From its boundary to the road edge, where no other lane is beside it."""
    is_paved: bool = False
    """Whether it lies in a pavement, so that no road edge follows from it."""


class StopLine(NamedTuple):
    """A control at the end of lanes, `back_m` before it; see `TrafficControls`."""

    kind: str
    lanes: tuple[int, ...]
    phases: Phases = ()
    offset_s: float = 0.0
    junction: int = -1
    back_m: float = 0.0


class LaneSamples(NamedTuple):
    """The sampled centres of all lanes: lane i has the samples `start[i]` to `start[i + 1]`.

    Attributes:
        start: (lanes + 1,) int64.
        xy_m: (n, 2), exact; linked lanes share their ends.
        heading_rad, curvature_per_m: (n,), of the curves, not of the chords.
        along_m: (n,) arc length of the polyline on the grid, from the start of its lane.
    """

    start: np.ndarray
    xy_m: np.ndarray
    heading_rad: np.ndarray
    curvature_per_m: np.ndarray
    along_m: np.ndarray

    @property
    def length_m(self) -> np.ndarray:
        """(lanes,) lengths."""
        return self.along_m[self.start[1:] - 1]

    @property
    def points_m(self) -> np.ndarray:
        """(n, 2) on the grid, as in `Roads`."""
        return on_grid(self.xy_m)


class LaneMap:
    """Lanes and what belongs to them.

    Attributes:
        lanes: of all of them.
        links: pairs of lanes of which the first leads into the second.
        neighbours: pairs (left, right) of lanes of one direction side by side.
        lines: curves of markings.
        walls: further road edges, (n, 2) each.
        pavements: convex areas that are road without a lane, (n, 2) counter-clockwise each.
        stop_lines: controls.
    """

    def __init__(self) -> None:
        self.lanes: list[Lane] = []
        self.links: list[tuple[int, int]] = []
        self.neighbours: list[tuple[int, int]] = []
        self.lines: list[Curve] = []
        self.walls: list[np.ndarray] = []
        self.pavements: list[np.ndarray] = []
        self.stop_lines: list[StopLine] = []
        self._samples: LaneSamples | None = None
        self._text: str | None = None  # of lanes and links

    # ---- building ----

    def lane(self, curve: Curve | Path, width_m: float, speed_limit_mps: float, *, curb_gap_m: float = CURB_GAP_M,
             is_paved: bool = False, after: Iterable[int] = ()) -> int:
        """Adds a lane along a curve, or on a path. It must not cross itself.

        Args:
            is_paved: whether no road edge follows from it, since it lies in a pavement, such as a bay.
            after: lanes that lead into it.

        Returns:
            Its number.
        """
        own = Curve(curve) if isinstance(curve, Path) else curve
        self.lanes.append(Lane(own, width_m, speed_limit_mps, curb_gap_m, is_paved))
        self._samples = self._text = None
        for before in after:
            self.link(before, len(self.lanes) - 1)
        return len(self.lanes) - 1

    def along(self, curve: Curve | Path, count: int, width_m: float, speed_limit_mps: float, *,
              curb_gap_m: float = CURB_GAP_M, after: Sequence[int] = ()) -> list[int]:
        """Adds lanes side by side to the right of a curve, with lines between them.

        Args:
            after: a lane that leads into each.

        Returns:
            Their numbers, the leftmost first.
        """
        own = Curve(curve) if isinstance(curve, Path) else curve
        added = [self.lane(own.beside(-(i + 0.5) * width_m), width_m, speed_limit_mps, curb_gap_m=curb_gap_m,
                           after=after[i:i + 1]) for i in range(count)]
        self.neighbours += list(zip(added[:-1], added[1:], strict=True))
        self.lines += [own.beside(-i * width_m) for i in range(1, count)]
        return added

    def link(self, before: int, after: int) -> None:
        """Lets a lane lead into another.

        Raises:
            SceneError: the end of the first is not the start of the second.
        """
        end, start = self.lanes[before].curve.end, self.lanes[after].curve.start
        gap_m = max(abs(end.x_m - start.x_m), abs(end.y_m - start.y_m))
        bend_rad = abs(float(wrapped_rad(end.heading_rad - start.heading_rad)))
        if not (gap_m <= JOINT_M and bend_rad <= JOINT_RAD):
            raise SceneError(f"lane {before} ends {gap_m:g} m and {bend_rad:g} rad from the start of lane {after}; "
                             f"at most {JOINT_M:g} m and {JOINT_RAD:g} rad are allowed")
        self.links.append((before, after))
        self._samples = self._text = None

    def set_beside(self, lanes: Sequence[int]) -> None:
        """Makes lanes of one width neighbours, the leftmost first, with lines between them."""
        for left, right in pairwise(lanes):
            self.neighbours.append((left, right))
            self.lines.append(self.lanes[left].curve.beside(-self.lanes[left].width_m / 2))

    def line(self, curve: Curve | Path) -> None:
        """Adds a marking."""
        self.lines.append(Curve(curve) if isinstance(curve, Path) else curve)

    def wall(self, points_m: Sequence[tuple[float, float]] | np.ndarray) -> None:
        """Adds a road edge that does not follow from the lanes."""
        self.walls.append(np.asarray(points_m, np.float64))

    def pave(self, points_m: Sequence[tuple[float, float]] | np.ndarray) -> None:
        """Adds a convex area, counter-clockwise, that is road without a lane."""
        self.pavements.append(np.asarray(points_m, np.float64))

    def control(self, kind: str, lanes: Sequence[int], *, phases: Phases = (),
                offset_s: float = 0.0, junction: int = -1, back_m: float = 0.0) -> None:
        """Adds a light, stop or yield line across the ends of lanes side by side, `back_m` before them."""
        self.stop_lines.append(StopLine(kind, tuple(lanes), phases, offset_s, junction, back_m))

    def add(self, other: LaneMap, frame: Pose = Pose(0.0, 0.0, 0.0)) -> int:
        """Adds all of another map, which is relative to `frame`; returns the number of its first lane here."""
        first = len(self.lanes)
        self.lanes += [lane._replace(curve=lane.curve.moved(frame)) for lane in other.lanes]
        self.links += [(before + first, after + first) for before, after in other.links]
        self.neighbours += [(left + first, right + first) for left, right in other.neighbours]
        self.lines += [curve.moved(frame) for curve in other.lines]
        self.walls += [_moved(points, frame) for points in other.walls]
        self.pavements += [_moved(points, frame) for points in other.pavements]
        shift = 1 + max((stop.junction for stop in self.stop_lines), default=-1)
        self.stop_lines += [stop._replace(lanes=tuple(lane + first for lane in stop.lanes),
                                          junction=stop.junction + shift if stop.junction >= 0 else -1)
                            for stop in other.stop_lines]
        self._samples = self._text = None
        return first

    def mirrored(self) -> LaneMap:
        """Its mirror image, y to -y: traffic keeps to the other side."""
        found = LaneMap()
        found.lanes = [lane._replace(curve=lane.curve.mirrored()) for lane in self.lanes]
        found.links, found.stop_lines = list(self.links), list(self.stop_lines)
        found.neighbours = [(right, left) for left, right in self.neighbours]
        found.lines = [curve.mirrored() for curve in self.lines]
        found.walls = [points * (1.0, -1.0) for points in self.walls]
        found.pavements = [points[::-1] * (1.0, -1.0) for points in self.pavements]
        return found

    # ---- what a scene holds ----

    @property
    def samples(self) -> LaneSamples:
        """Its sampled lanes."""
        if self._samples is None:
            self._samples = self.once("samples", self._sampled)
        return self._samples

    def once(self, what: str, compute: Callable[[], Found], *further: Any) -> Found:
        """What `compute` returns, or what it has returned for a map with equal lanes and links; not to be changed.

        Args:
            what: names what is computed.
            further: all else that it depends on; texts of these have every digit.
        """
        # Of texts, not of numbers: 0.0 equals -0.0, and then the bytes of a scene would depend on those made before.
        if self._text is None:
            self._text = repr((self.lanes, self.links))
        kept = _kept(what, self._text, repr(further))
        if not kept:
            kept.append(compute())
        return kept[0]

    def roads(self, edges: Sequence[np.ndarray] | None = None) -> Roads:
        """Lanes, markings, then road edges, all on the grid.

        Args:
            edges: in place of those that follow from all lanes together.
        """
        points, start = self.samples.xy_m, self.samples.start
        polylines = [("lane", points[start[i]:start[i + 1]]) for i in range(len(self.lanes))]
        polylines += [("line", points) for points in self.once(
            "lines", lambda: [curve.at(curve.stations())[:2].T for curve in self.lines], self.lines)]
        polylines += [("edge", points) for points in [*(self.edges() if edges is None else edges), *self.walls]]
        others = np.zeros(len(polylines) - len(self.lanes))
        return roads_of(polylines, np.concatenate([[lane.width_m for lane in self.lanes], others]),
                        np.concatenate([[lane.speed_limit_mps for lane in self.lanes], others]))

    def parts(self, objects: Objects, **further: Any) -> Parts:
        """The parts of a scene with these objects; further ones are those of `Parts`."""
        return self.parts_of(self.roads(), objects, **further)

    def parts_of(self, roads: Roads, objects: Objects, **further: Any) -> Parts:
        """The same, with roads whose first ones are its lanes."""
        before, after = np.array(self.links, np.int32).reshape(-1, 2).T
        return Parts(roads, graph_of(before, after, roads.count), objects,
                     traffic_controls=self.traffic_controls(), **further)

    def traffic_controls(self) -> TrafficControls | None:
        """Of its stop lines; None without any."""
        if not self.stop_lines:
            return None
        return controls_of([Control(stop.kind, self._line_m(stop), stop.lanes, stop.phases, stop.offset_s,
                                    stop.junction) for stop in self.stop_lines])

    def edges(self) -> list[np.ndarray]:
        """The road edges that follow from the lanes: closed polylines, with the road on their left."""
        half_m = np.array([lane.width_m / 2 + lane.curb_gap_m for lane in self.lanes])
        return self.once("edges", lambda: outline(
            self._strips(half_m, np.array([not lane.is_paved for lane in self.lanes]), True), self.pavements),
            [points.tolist() for points in self.pavements])

    def strips(self, half_m: np.ndarray) -> Strips:
        """The areas within `half_m` of each lane's centre."""
        return self._strips(half_m, np.ones(len(self.lanes), bool), False)

    def _strips(self, half_m, chosen, with_caps):
        """The areas of chosen lanes; with caps, those at open ends are longer."""
        has_before, has_after = np.zeros(len(self.lanes), bool), np.zeros(len(self.lanes), bool)
        for before, after in self.links:
            has_after[before] = has_before[after] = True
        counts = np.diff(self.samples.start)
        at = np.repeat(chosen, counts)
        return strips_of(np.concatenate([[0], np.cumsum(counts[chosen])]), self.samples.xy_m[at],
                         self.samples.heading_rad[at], half_m[chosen], with_caps & ~has_before[chosen],
                         with_caps & ~has_after[chosen])

    def conflicts(self, merges: bool = True) -> np.ndarray:
        """(lanes, lanes) bool: which two lanes cross or overlap.

        A lane does not conflict with those it leads into, nor with those that begin where it begins.

        Args:
            merges: whether lanes that end where the other one ends are in conflict, too.
        """
        count = len(self.lanes)
        strips = self.strips(np.array([lane.width_m / 2 for lane in self.lanes]))
        points, owner = strips.inner_points(OVERLAP_M)
        at, by = covered(strips, points, owner, OVERLAP_M)
        found = np.zeros((count, count), bool)
        found[owner[at], by] = True
        found |= found.T
        # Lanes that are linked, and those that share a predecessor, or a successor.
        linked = np.zeros((count, count), bool)
        for before, after in self.links:
            linked[before, after] = linked[after, before] = True
        apart = linked.copy()
        for i, j in self._siblings(0) + ([] if merges else self._siblings(1)):
            apart[i, j] = True
        return found & ~apart

    def _siblings(self, side):
        """Pairs of lanes with a common predecessor (side 0) or successor (side 1)."""
        of: dict[int, list[int]] = {}
        for link in self.links:
            of.setdefault(link[side], []).append(link[1 - side])
        return [(i, j) for lanes in of.values() for i in lanes for j in lanes if i != j]

    def _sampled(self):
        """Samples of all lanes, with shared ends."""
        stations = [lane.curve.stations() for lane in self.lanes]
        start = np.cumsum([0, *map(len, stations)])
        found = np.concatenate([lane.curve.at(at) for lane, at in zip(self.lanes, stations, strict=True)], axis=1)
        xy_m = np.ascontiguousarray(found[:2].T)
        # The ends that links join, directly or through others, become one point, that of the lowest number.
        joint = np.arange(2 * len(self.lanes))  # the starts of lanes, then their ends
        for before, after in self.links:
            one, other = sorted((_root(joint, len(self.lanes) + before), _root(joint, after)))
            joint[other] = one
        index = np.concatenate([start[:-1], start[1:] - 1])
        for end in range(len(joint)):
            xy_m[index[end]] = xy_m[index[_root(joint, end)]]
        # Arc lengths on the grid.
        points = on_grid(xy_m)
        step = points[1:] - points[:-1]
        step_m = np.sqrt(step[:, 0] * step[:, 0] + step[:, 1] * step[:, 1])
        along_m = np.zeros(len(points))
        for first, last in zip(start[:-1], start[1:], strict=True):
            along_m[first + 1:last] = np.cumsum(step_m[first:last - 1])
        return LaneSamples(start, xy_m, found[2], found[3], along_m)

    def _line_m(self, stop):
        """The stop line across all lanes of a control, on the grid."""
        frame = self.lanes[stop.lanes[0]].curve.end.moved(-stop.back_m)
        sine, cosine = sine_cosine(frame.heading_rad)
        left_m = []
        for lane in stop.lanes:
            end, half_m = self.lanes[lane].curve.end, self.lanes[lane].width_m / 2
            beside_m = float((end.y_m - frame.y_m) * cosine - (end.x_m - frame.x_m) * sine)
            left_m += [beside_m - half_m, beside_m + half_m]
        left, right = frame.moved(0.0, max(left_m)), frame.moved(0.0, min(left_m))
        return tuple(on_grid(np.array([left.x_m, left.y_m, right.x_m, right.y_m])).tolist())


@lru_cache(maxsize=KEPT_RESULTS)
def _kept(what, text, further):
    """A list that holds what has been computed of these lanes and links; empty at first."""
    return []


def _root(joint, end):
    """The lowest number of those that are joined to an end."""
    while joint[end] != end:
        end = joint[end]
    return end


def _moved(points_m, frame):
    """Points that are relative to `frame`, in the coordinates in which `frame` is given."""
    sine, cosine = sine_cosine(frame.heading_rad)
    return np.stack([frame.x_m + points_m[:, 0] * cosine - points_m[:, 1] * sine,
                     frame.y_m + points_m[:, 0] * sine + points_m[:, 1] * cosine], axis=1)
