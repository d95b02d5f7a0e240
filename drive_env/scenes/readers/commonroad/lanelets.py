"""Which roads do the lanelets of a CommonRoad scenario become? Lanes, lines between them, edges around them.

A lanelet has a left and a right bound, which run in the direction of its traffic. Its lane is the line midway.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from ....errors import SceneError
from ...coordinates import bounded_float32
from ...lane_links import graph_of
from ...runs import part_of, starts_of
from ...scene import ROAD_KIND_CODES, LaneGraph, Report, Roads
from .elements import child, id_of, points_of, text_of

NO_LANES = ("sidewalk", "border")
"""Types of lanelets on which no vehicle drives."""

PAINTED = ("dashed", "solid", "solid_solid", "dashed_dashed", "solid_dashed", "dashed_solid", "broad_dashed",
           "broad_solid")
"""Markings that are a line."""

LANELET_LIMIT = 100_000

OUTSIDE_M = 0.1
"""A bound is an edge where the place so far beyond it is in no other lanelet: bounds of neighbours that the file does
not name coincide to a few centimetres, and lanelets that cross overlap."""

PIECE_M = 1.0
"""Bounds are cut into pieces of at most this length, each of which is an edge or not."""

WORK_LIMIT = 400_000_000
"""Tests of a piece against a side of a lanelet; a network of a town needs a hundredth of it."""

WIDTH_LIMIT_M = 100.0
"""Of a lane, far above any."""

PIECES_PER_STEP = 1000
"""Of the way between two points of a bound."""

PIECE_LIMIT = 1 << 20
"""Of all bounds, 1,048 km of them: a small file can have far-apart points whose pieces memory cannot hold."""

POINTS_AT_ONCE = 256
"""Points that are tested together, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class Lanelet:
    """A lanelet as in the file.

    Attributes:
        id: its id.
        left_m, right_m: (p, 2) its bounds, with as many points.
        markings: of the left and the right bound.
        types: its types.
        after, before: ids of successors and predecessors.
        beside: ids of the neighbours on the left and on the right; None where it has none.
        lights, signs: ids of the lights and signs that apply to it.
        stop_line_m: (2, 2) left and right end of its stop line; at its end where the file has none.
    """

    id: int
    left_m: np.ndarray
    right_m: np.ndarray
    markings: tuple[str, str]
    types: frozenset[str]
    after: tuple[int, ...]
    before: tuple[int, ...]
    beside: tuple[int | None, int | None]
    lights: tuple[int, ...]
    signs: tuple[int, ...]
    stop_line_m: np.ndarray

    @property
    def is_lane(self) -> bool:
        """Whether vehicles drive on it."""
        return "crosswalk" not in self.types and self.types.isdisjoint(NO_LANES)

    @property
    def middle_m(self) -> np.ndarray:
        """(p, 2) the line midway between its bounds."""
        return (self.left_m + self.right_m) / 2

    @property
    def outline_m(self) -> np.ndarray:
        """(2 p, 2) its corners."""
        return np.concatenate([self.left_m, self.right_m[::-1]])


def read_lanelets(root: Element, report: Report) -> list[Lanelet]:
    """The lanelets of a scenario.

    Raises:
        SceneError: names the lanelet and the reason.
    """
    found: list[Lanelet] = []
    first: dict[int, int] = {}
    for number, element in enumerate(root.iterfind("lanelet"), 1):
        lanelet = _read_lanelet(element, id_of(element, f"lanelet {number}"), report)
        if lanelet.id in first:
            raise SceneError(f"lanelet {number} has the id {lanelet.id}, as lanelet {first[lanelet.id]} has; each must "
                             "be unique")
        first[lanelet.id] = number
        found.append(lanelet)
    if len(found) > LANELET_LIMIT:
        raise SceneError(f"lanelets: there are {len(found)}; there must be at most {LANELET_LIMIT}")
    report.drop("lanelets on which no vehicle drives", sum(not lanelet.types.isdisjoint(NO_LANES)
                                                           for lanelet in found))
    return found


def _read_lanelet(element, lanelet_id, report):
    place = f"lanelet {lanelet_id}"
    bounds, markings = [], []
    for side in ("leftBound", "rightBound"):
        bound = child(element, side, place)
        points_m = np.array(points_of(bound, f"{place}: {side}"), np.float64).reshape(-1, 2)
        if len(points_m) < 2:
            raise SceneError(f"{place}: {side} has {len(points_m)} points; it must have at least 2")
        report.drop("heights of points of lanelets", sum(1 for _ in bound.iterfind("point/z")))
        bounds.append(points_m)
        marking = bound.find("lineMarking")
        markings.append("" if marking is None else text_of(marking))
    left_m, right_m = _with_as_many_points(*bounds)

    def references(tag):
        return tuple(id_of(found, f"{place}: {tag}", "ref") for found in element.iterfind(tag))

    stop_line = element.find("stopLine")
    line_m = np.array([left_m[-1], right_m[-1]])
    lights, signs = references("trafficLightRef"), references("trafficSignRef")
    if stop_line is not None:
        line_points_m = points_of(stop_line, f"{place}: stopLine")
        if len(line_points_m) == 2:
            line_m = _left_first(np.array(line_points_m), left_m, right_m)
        lights += references("stopLine/trafficLightRef")
        signs += references("stopLine/trafficSignRef")
    return Lanelet(
        lanelet_id, left_m, right_m, (markings[0], markings[1]),
        frozenset(text_of(found) for found in element.iterfind("laneletType")),
        references("successor"), references("predecessor"),
        (next(iter(references("adjacentLeft")), None), next(iter(references("adjacentRight")), None)),
        tuple(dict.fromkeys(lights)), tuple(dict.fromkeys(signs)), line_m)


def _with_as_many_points(left_m, right_m):
    """Both bounds; the one with fewer points gets some at the shares of its length at which the other has them."""
    if len(left_m) == len(right_m):
        return left_m, right_m
    if len(left_m) < len(right_m):
        return _at_shares(left_m, _shares(right_m)), right_m
    return left_m, _at_shares(right_m, _shares(left_m))


def _shares(points_m):
    along_m = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points_m, axis=0).T))])
    return along_m / along_m[-1] if along_m[-1] > 0 else np.linspace(0.0, 1.0, len(points_m))


def _at_shares(points_m, shares):
    own = _shares(points_m)
    return np.stack([np.interp(shares, own, points_m[:, axis]) for axis in range(2)], axis=1)


def _left_first(ends_m, left_m, right_m):
    """The ends of a stop line, the one nearer to the left bound first."""
    def away_m(end_m, bound_m):
        return np.hypot(*(bound_m - end_m).T).min()

    lean_m = [away_m(end_m, left_m) - away_m(end_m, right_m) for end_m in ends_m]
    return ends_m if lean_m[0] <= lean_m[1] else ends_m[::-1]


# ---- lanelets to roads ----


@dataclass(frozen=True, eq=False)
class Network:
    """The roads of a scenario, in the order lanes, crosswalks, lines, edges.

    Attributes:
        roads: relative to the origin.
        lanes: their graph.
        lane_of: the index of the road of a lanelet, by its id.
    """

    roads: Roads
    lanes: LaneGraph
    lane_of: dict[int, int]


def as_network(lanelets: list[Lanelet], limits_mps: dict[int, float], origin_m: np.ndarray, report: Report) -> Network:
    """The roads that the lanelets become.

    Args:
        limits_mps: speed limits by the id of the lanelet.

    Raises:
        SceneError: a point lies too far from the origin, or too many lanelets overlap.
    """
    of_id = {lanelet.id: lanelet for lanelet in lanelets}
    lanes = [lanelet for lanelet in lanelets if lanelet.is_lane]
    lane_of = {lanelet.id: road for road, lanelet in enumerate(lanes)}
    parts = [("lane", lanelet.id, lanelet.middle_m) for lanelet in lanes]
    parts += [("crosswalk", lanelet.id, lanelet.outline_m) for lanelet in lanelets if "crosswalk" in lanelet.types]
    parts += [("line", lanelet.id, bound_m) for lanelet, bound_m in _lines(lanes, lane_of)]
    parts += [("edge", lanelet.id, edge_m) for lanelet, edge_m in _edges(lanes)]
    report.impute("road edges, along bounds beyond which no lanelet is", sum(part[0] == "edge" for part in parts))
    report.impute("lanes, midway between the bounds of lanelets", len(lanes))
    start = starts_of([len(points_m) for _, _, points_m in parts])
    points_m = np.concatenate([np.zeros((0, 2)), *(part[2] for part in parts)])

    def place(axis):
        def of_point(at):
            part = parts[part_of(start, at[0])]
            return f"lanelet {part[1]}: {axis} of a point of its {part[0]}"
        return of_point

    count = len(parts)
    width_m = np.zeros(count, np.float32)
    width_m[: len(lanes)] = [np.median(np.hypot(*(lanelet.left_m - lanelet.right_m).T)) for lanelet in lanes]
    limit_mps = np.zeros(count, np.float32)
    limit_mps[: len(lanes)] = [limits_mps.get(lanelet.id, 0.0) for lanelet in lanes]
    roads = Roads(
        id=np.array([lanelet_id for _, lanelet_id, _ in parts], np.int64),
        kind=np.array([ROAD_KIND_CODES[kind] for kind, _, _ in parts], np.uint8), start=start,
        x_m=bounded_float32(points_m[:, 0] - origin_m[0], place("x")),
        y_m=bounded_float32(points_m[:, 1] - origin_m[1], place("y")), width_m=np.minimum(width_m, WIDTH_LIMIT_M),
        speed_limit_mps=limit_mps)
    return Network(roads, _graph(lanelets, lane_of, of_id, count, report), lane_of)


def _graph(lanelets, lane_of, of_id, road_count, report):
    pairs, unknown = {}, 0
    for lanelet in lanelets:
        for before, after in (*((lanelet.id, other) for other in lanelet.after),
                              *((other, lanelet.id) for other in lanelet.before)):
            unknown += before not in of_id or after not in of_id
            if before in lane_of and after in lane_of and before != after:
                pairs[lane_of[before], lane_of[after]] = True
    report.drop("successors and predecessors that are no lanelet of the file", unknown)
    return graph_of([before for before, _ in pairs], [after for _, after in pairs], road_count)


def _lines(lanes, lane_of):
    """The painted bounds between two lanes, each once."""
    for lanelet in lanes:
        for side, bound_m in enumerate((lanelet.left_m, lanelet.right_m)):
            neighbour = lanelet.beside[side]
            if lanelet.markings[side] in PAINTED and neighbour in lane_of:
                other = lanes[lane_of[neighbour]]
                # The neighbour has the same bound: on its other side in the same direction, else on the same one.
                has_it = lanelet.id in other.beside
                if not has_it or lane_of[lanelet.id] < lane_of[neighbour]:
                    yield lanelet, bound_m


def _edges(lanes):
    """The parts of bounds beyond which no other lane is."""
    ids, pieces, left = {lanelet.id for lanelet in lanes}, [], PIECE_LIMIT
    for index, lanelet in enumerate(lanes):
        sides = ((1.0, lanelet.left_m), (-1.0, lanelet.right_m))
        for (side, bound_m), neighbour in zip(sides, lanelet.beside, strict=True):
            if neighbour not in ids:
                pieces.append((index, side, _cut(bound_m, left)))
                left -= len(pieces[-1][2]) - 1
    if not pieces:
        return
    # The places beyond the middles of all pieces of all bounds.
    outside_m, owner = [], []
    for index, side, points_m in pieces:
        step_m = np.diff(points_m, axis=0)
        normal = np.stack([-step_m[:, 1], step_m[:, 0]], axis=1) / np.hypot(*step_m.T)[:, None]
        outside_m.append((points_m[1:] + points_m[:-1]) / 2 + side * OUTSIDE_M * normal)
        owner.append(np.full(len(step_m), index))
    covered = _covered(np.concatenate(outside_m), np.concatenate(owner), lanes)
    # Each run of pieces that are not covered is an edge.
    first = 0
    for index, _, points_m in pieces:
        free = ~covered[first : first + len(points_m) - 1]
        first += len(points_m) - 1
        bounds = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int8)))
        for begin, end in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
            yield lanes[index], points_m[begin : end + 1]


def _cut(points_m, limit):
    """The line through points that differ, with points between those that are farther apart than a piece.

    Raises:
        SceneError: it has more pieces than `limit`.
    """
    kept = points_m[np.concatenate([[True], (np.diff(points_m, axis=0) != 0).any(axis=1)])]
    if len(kept) < 2:
        return kept
    length_m = np.hypot(*np.diff(kept, axis=0).T)
    count = np.minimum(np.ceil(length_m / PIECE_M), PIECES_PER_STEP).astype(int).clip(1)
    if count.sum() > limit:
        raise SceneError(f"lanelets: their bounds have more than {PIECE_LIMIT} pieces of up to {PIECE_M:g} m")
    step = np.repeat(np.arange(len(count)), count)
    share = (np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)) / count[step]
    return np.concatenate([kept[step] + share[:, None] * (kept[step + 1] - kept[step]), kept[-1:]])


def _covered(points_m, owner, lanes):
    """(n,) whether each point is in a lane other than its owner."""
    covered = np.zeros(len(points_m), bool)
    order = np.argsort(points_m[:, 0], kind="stable")
    sorted_x_m = points_m[order, 0]
    work = 0
    for index, lanelet in enumerate(lanes):
        outline_m = lanelet.outline_m
        low, high = outline_m.min(axis=0), outline_m.max(axis=0)
        near = order[np.searchsorted(sorted_x_m, low[0]) : np.searchsorted(sorted_x_m, high[0], side="right")]
        near = near[(points_m[near, 1] >= low[1]) & (points_m[near, 1] <= high[1]) & (owner[near] != index)
                    & ~covered[near]]
        work += len(near) * len(outline_m)
        if work > WORK_LIMIT:
            raise SceneError(f"lanelets: they overlap so often that road edges take more than {WORK_LIMIT} tests")
        for first in range(0, len(near), POINTS_AT_ONCE):
            some = near[first : first + POINTS_AT_ONCE]
            covered[some] |= _inside(points_m[some], outline_m)
    return covered


def _inside(points_m, outline_m):
    """(n,) whether each point is in the polygon, by the sides that a ray in the direction of +x crosses."""
    ax, ay = outline_m.T
    bx, by = np.roll(outline_m, -1, axis=0).T
    x, y = points_m[:, :1], points_m[:, 1:]
    spans = (ay > y) != (by > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing_x = ax + (y - ay) / (by - ay) * (bx - ax)
    return (spans & (x < crossing_x)).sum(axis=1) % 2 == 1
