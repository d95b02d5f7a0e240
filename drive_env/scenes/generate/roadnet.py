"""How do junctions and streets become lanes, lines and curbs?

Streets run east-west or north-south between junctions, with right-hand traffic. A junction is a square box; its turns
are quarter circles. All lines follow from one `CrossSection`, so that no curb can be in a lane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..lane_links import graph_of
from ..scene import ROAD_KIND_CODES, LaneGraph, Roads

EAST, NORTH, WEST, SOUTH = range(4)
AHEAD = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
"""Unit vector of each direction; the left of direction d is AHEAD[(d + 1) % 4]."""

HEADING_RAD = (0.0, math.pi / 2, -math.pi, -math.pi / 2)

SPEED_LIMIT_MPS = 13.9
CURB_GAP_M = 1.0
"""From the outer lane's boundary to the curb. In bends the corners of a car leave its lane."""

RIGHT_TURN_M = 8.0
"""Radius of the lane centre in the sharpest turn. A car of 5.2 m turns at 4.8 m with 0.6 rad of steering."""

END_CAP_M = 4.0
"""From the end of a lane without successors to the curb across it: a car centred on the end has room."""

GRID_PER_M = 1024
"""Coordinates are rounded to this grid: exact in float32, without the last digits, in which platforms differ."""

ARC = (
    (0.0, 0.0), (0.1305261922, 0.0085551386), (0.3826834324, 0.0761204675), (0.6087614290, 0.2066466597),
    (0.7933533403, 0.3912385710), (0.9238795325, 0.6173165676), (0.9914448614, 0.8694738078), (1.0, 1.0))
"""A quarter circle as (sin a, 1 - cos a), a in steps of 15 degrees, 7.5 at both ends so that the first chord is within
0.07 rad of the tangent. Constants, because sin and cos differ between platforms."""


def on_grid(values_m: np.ndarray) -> np.ndarray:
    """The values, rounded to the grid. Adding 0 turns -0.0 into 0.0: equal numbers, different bytes."""
    return np.round(values_m * GRID_PER_M) / GRID_PER_M + 0.0


def roads_of(polylines: Sequence[tuple[str, Sequence[tuple[float, float]] | np.ndarray]],
             lane_width_m: float | np.ndarray, speed_limit_mps: float | np.ndarray = SPEED_LIMIT_MPS) -> Roads:
    """Roads along lines, each with the name of its kind; width and limit are those of all lanes, or of each line."""
    kinds = np.array([ROAD_KIND_CODES[kind] for kind, _ in polylines], np.uint8)
    start = np.cumsum([0, *(len(points) for _, points in polylines)]).astype(np.int32)
    points = on_grid(np.concatenate([np.asarray(points) for _, points in polylines])).astype(np.float32)
    is_lane = kinds == ROAD_KIND_CODES["lane"]
    return Roads(
        id=np.arange(len(kinds), dtype=np.int64), kind=kinds, start=start,
        x_m=np.ascontiguousarray(points[:, 0]), y_m=np.ascontiguousarray(points[:, 1]),
        width_m=np.where(is_lane, np.asarray(lane_width_m, np.float32), np.float32(0)),
        speed_limit_mps=np.where(is_lane, np.asarray(speed_limit_mps, np.float32), np.float32(0)))


class CrossSection(NamedTuple):
    """The lanes of every street."""

    lane_width_m: float
    lanes: int
    """In each direction."""

    @property
    def half_road_m(self) -> float:
        """From the centre line to the curb."""
        return self.lanes * self.lane_width_m + CURB_GAP_M

    @property
    def half_box_m(self) -> float:
        """From a junction's centre to where its streets begin."""
        return self.offset_m(self.lanes - 1) + RIGHT_TURN_M

    def offset_m(self, lane: int) -> float:
        """From the centre line to the centre of a lane; lane 0 is the innermost."""
        return (lane + 0.5) * self.lane_width_m


class StreetLane(NamedTuple):
    """A straight lane between two junctions; its index among the lanes is its road index."""

    start: tuple[float, float]
    direction: int
    length_m: float


class Street(NamedTuple):
    """The lanes between two junctions, or from a junction to an open end."""

    length_m: float
    out: list[int]
    """Lanes that leave the street's first junction, innermost first."""
    back: list[int]
    """Lanes that lead to that junction, innermost first."""


class Connector(NamedTuple):
    """A lane through a junction."""

    before: int
    after: int
    length_m: float


class Approach(NamedTuple):
    """Traffic on one arm towards a junction."""

    lanes: list[int]
    line_m: tuple[float, float, float, float]
    """Stop line at the lanes' end, across all of them: x, y of its left end, then of its right one."""


class RoadNet:
    """Lanes, lines and curbs of a set of junctions.

    Args:
        section: of every street.
        centres: of the junctions.
        arms: for each junction, the index of the next junction by direction; None for a street that ends.
        open_length_m: length of the lanes of streets that end.
    """

    def __init__(self, section: CrossSection, centres: list[tuple[float, float]],
                 arms: Sequence[Mapping[int, int | None]], open_length_m: float = 0.0):
        self.section, self.centres, self.arms, self.open_length_m = section, centres, arms, open_length_m
        self.lanes: list[StreetLane] = []
        self.streets: list[Street] = []
        self.connectors: list[Connector] = []
        self._polylines: list[tuple[str, list]] = []
        self._entries: dict[tuple[int, int], list[int]] = {}
        self._exits: dict[tuple[int, int], list[int]] = {}
        streets = [(at, arm) for at, exits in enumerate(arms) for arm, to in exits.items()
                   if to is None or arm in (EAST, NORTH)]
        for at, arm in streets:
            self._add_street_lanes(at, arm)
        for at in range(len(centres)):
            self._add_connectors(at)
        for at, arm in streets:
            self._add_street_lines(at, arm)
        for at in range(len(centres)):
            self._add_line_through(at)
        self._add_curbs()

    def entry_lanes(self) -> set[int]:
        """Lanes that lead into a junction."""
        return {lane for lanes in self._entries.values() for lane in lanes}

    def exit_lanes(self) -> set[int]:
        """Lanes that lead out of a junction."""
        return {lane for lanes in self._exits.values() for lane in lanes}

    def approaches(self, at: int) -> list[Approach]:
        """Of a junction, in the order of its arms."""
        box_m, width_m = self.section.half_box_m, self.section.lanes * self.section.lane_width_m
        return [Approach(self._entries[at, arm], (*self._place(at, arm, box_m, 0.0),
                                                  *self._place(at, arm, box_m, width_m)))
                for arm in sorted(self.arms[at])]

    def roads(self) -> Roads:
        """Street lanes first, then the lanes through junctions, then lines and curbs."""
        return roads_of(self._polylines, self.section.lane_width_m)

    def graph(self) -> LaneGraph:
        """Every lane through a junction continues a street lane and leads into another."""
        through = range(len(self.lanes), len(self.lanes) + len(self.connectors))
        return graph_of([*(link.before for link in self.connectors), *through],
                        [*through, *(link.after for link in self.connectors)], len(self._polylines))

    def _place(self, at, arm, out_m, left_m):
        """The point `out_m` from a junction's centre along an arm, then `left_m` to the left."""
        (x, y), (ux, uy), (lx, ly) = self.centres[at], AHEAD[arm], AHEAD[(arm + 1) % 4]
        return (x + out_m * ux + left_m * lx, y + out_m * uy + left_m * ly)

    def _street_length_m(self, at, arm):
        to = self.arms[at][arm]
        if to is None:
            return self.open_length_m
        (x, y), (far_x, far_y) = self.centres[at], self.centres[to]
        return abs(far_x - x) + abs(far_y - y) - 2 * self.section.half_box_m

    def _add_street_lanes(self, at, arm):
        to, length_m, near_m = self.arms[at][arm], self._street_length_m(at, arm), self.section.half_box_m
        far_m = near_m + length_m
        out, back = [], []
        for lane in range(self.section.lanes):
            left_m = self.section.offset_m(lane)
            start, end = self._place(at, arm, near_m, -left_m), self._place(at, arm, far_m, -left_m)
            out.append(self._add_street_lane(start, end, arm, length_m))
            start, end = self._place(at, arm, far_m, left_m), self._place(at, arm, near_m, left_m)
            back.append(self._add_street_lane(start, end, (arm + 2) % 4, length_m))
        self._exits[at, arm], self._entries[at, arm] = out, back
        if to is not None:
            self._entries[to, (arm + 2) % 4], self._exits[to, (arm + 2) % 4] = out, back
        self.streets.append(Street(length_m, out, back))

    def _add_street_lane(self, start, end, direction, length_m):
        self.lanes.append(StreetLane(start, direction, length_m))
        self._polylines.append(("lane", [start, end]))
        return len(self.lanes) - 1

    def _add_connectors(self, at):
        for arm in self.arms[at]:
            for to_arm in self.arms[at]:
                entries, exits = self._entries[at, arm], self._exits[at, to_arm]
                turn = (to_arm - arm) % 4
                if turn == 1:
                    self._add_connector(entries[-1], exits[-1], RIGHT_TURN_M)
                elif turn == 2:
                    for before, after in zip(entries, exits, strict=True):
                        self._add_connector(before, after, None)
                elif turn == 3:
                    radius_m = self.section.half_box_m + self.section.offset_m(0)
                    self._add_connector(entries[0], exits[0], radius_m)

    def _add_connector(self, before, after, radius_m):
        """`radius_m` is None for a lane straight on."""
        start, end = self._polylines[before][1][-1], self._polylines[after][1][0]
        if radius_m is None:
            points, length_m = [start, end], 2 * self.section.half_box_m
        else:
            points = quarter(start, self.lanes[before].direction, self.lanes[after].direction, radius_m, end)
            length_m = radius_m * math.pi / 2
        self._polylines.append(("lane", points))
        self.connectors.append(Connector(before, after, length_m))

    def _add_street_lines(self, at, arm):
        near_m = self.section.half_box_m
        far_m = near_m + self._street_length_m(at, arm)
        for boundary in range(1 - self.section.lanes, self.section.lanes):
            left_m = boundary * self.section.lane_width_m
            ends = [self._place(at, arm, out_m, left_m) for out_m in (near_m, far_m)]
            self._polylines.append(("line", ends))

    def _add_line_through(self, at):
        """A junction of two arms is a bend or a straight road: its centre line continues."""
        if len(self.arms[at]) != 2:
            return
        arm, to_arm = sorted(self.arms[at])
        box_m = self.section.half_box_m
        start, end = self._place(at, arm, box_m, 0.0), self._place(at, to_arm, box_m, 0.0)
        straight = (to_arm - arm) % 4 == 2
        self._polylines.append(
            ("line", [start, end] if straight else quarter(start, (arm + 2) % 4, to_arm, box_m, end)))

    def _add_curbs(self):
        """Follows the outline of every block from corner to corner until it closes."""
        unvisited = {(at, arm) for at, exits in enumerate(self.arms) for arm in exits}
        for first in sorted(unvisited):
            points, here = [], first
            while here in unvisited:
                unvisited.remove(here)
                corner, here = self._curb_corner(*here)
                points += corner
            if points:
                self._polylines.append(("edge", [*points, points[0]]))

    def _curb_corner(self, at, arm):
        """The curb from an arm's left side to the next arm's right side, and the next corner."""
        box_m, half_m = self.section.half_box_m, self.section.half_road_m
        to_arm = next((arm + turn) % 4 for turn in (1, 2, 3) if (arm + turn) % 4 in self.arms[at])
        start, end = self._place(at, arm, box_m, half_m), self._place(at, to_arm, box_m, -half_m)
        turn = (to_arm - arm) % 4
        if turn == 2:
            points = [start, end]
        else:
            radius_m = box_m - half_m if turn == 1 else box_m + half_m
            points = quarter(start, (arm + 2) % 4, to_arm, radius_m, end)
        to = self.arms[at][to_arm]
        if to is not None:
            return points, (to, (to_arm + 2) % 4)
        cap_m = box_m + self.open_length_m + END_CAP_M
        points += [self._place(at, to_arm, cap_m, -half_m), self._place(at, to_arm, cap_m, half_m)]
        return points, (at, to_arm)


def quarter(start, direction, to_direction, radius_m, end):
    """Points of a quarter circle from `start`, heading `direction`, to `end`, heading `to_direction`."""
    (x, y), (ux, uy), (wx, wy) = start, AHEAD[direction], AHEAD[to_direction]
    points = [(x + radius_m * (s * ux + c * wx), y + radius_m * (s * uy + c * wy)) for s, c in ARC]
    # Exactly the first point of the next lane.
    points[-1] = end
    return points
