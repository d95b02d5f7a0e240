"""What is a roundabout on a lane map? A ring driven to the left, and arcs that lead onto it and off it.

Both arcs touch a lane of the ring and one of their street: the outer lane that of the only lane of the street, or its
right one; further lanes run beside these. An entry ends the street's lane at the yield line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import SceneError
from .curves import Curve, Path, Piece, Pose, arc, turn
from .lane_map import LaneMap
from .trig import direction_rad, sine_cosine

LINE_GAP_M = 0.5
"""From the yield line to the ring's outer lane, at the end that is nearer to it."""

ISLAND_GAP_M, SMALLEST_ISLAND_M = 0.5, 0.6
"""From lanes to the splitter island between entry and exit, and its least width beside the ring."""

ISLAND_POINTS = 5
"""On each side of an island, which is some metres long."""


class Touch(NamedTuple):
    """An arc between the lane of a street and the ring."""

    radius_m: float
    past_rad: float
    """Where it touches the ring: the angle to the axis of the arm."""
    reach_m: float
    """From the centre to where it touches the street's lane, along the axis."""

    @property
    def angle_rad(self) -> float:
        """Angle by which it turns."""
        return math.pi / 2 - self.past_rad

    def beside_m(self, ahead_m: np.ndarray) -> np.ndarray:
        """Distance of the arc from the street's lane, `ahead_m` along that lane from where the two touch."""
        return self.radius_m - np.sqrt(self.radius_m * self.radius_m - ahead_m * ahead_m)

    def away_m(self, beside_m: float) -> float:
        """How far along the lane, from where the two touch, the arc is `beside_m` from it."""
        return math.sqrt(beside_m * (2 * self.radius_m - beside_m))


class Ring(NamedTuple):
    """A node; see nodes.py.

    Attributes:
        radius_m: of the centre of the outer lane.
        entry_radius_m, exit_radius_m: of the arcs, of the right lane.
        lanes: side by side. Entries lead onto the outer ones, and exits off them.
        speed_limit_mps: of ring and arcs.
        street_lanes: each way, at most `lanes`; each leads onto a lane of its own and has an exit off it.
    """

    centre: Pose
    headings_rad: Mapping[int, float]
    lane_width_m: float
    radius_m: float
    entry_radius_m: float
    exit_radius_m: float
    lanes: int
    speed_limit_mps: float
    street_lanes: int = 1

    @property
    def entry(self) -> Touch:
        """The arc onto the ring."""
        return self._touch(self.entry_radius_m)

    @property
    def exit(self) -> Touch:
        """The arc off the ring."""
        return self._touch(self.exit_radius_m)

    @property
    def entry_reach_m(self) -> float:
        """See `Node`."""
        return self.entry.reach_m

    @property
    def exit_reach_m(self) -> float:
        """See `Node`."""
        return self.exit.reach_m

    @property
    def entry_pieces(self) -> tuple[Piece, ...]:
        """The arc up to the yield line, of a street with one lane each way."""
        return self.entry_pieces_of_lanes[-1]

    @property
    def entry_pieces_of_lanes(self) -> list[tuple[Piece, ...]]:
        """The arcs up to the yield line, from left to right.

        Raises:
            SceneError: the yield line would be before the arcs.
        """
        angle_rad = self.entry.angle_rad - self._yield_rad
        if angle_rad < 0.0:
            raise SceneError(f"the yield line is {-angle_rad * self.entry_radius_m:.3g} m before the bend onto the "
                             "ring; at most 0 m are possible: radius_m must be larger, or lane_width_m smaller")
        return [(turn(self.entry_radius_m + wider_m, -angle_rad),) for wider_m in self._wider_m]

    def connect(self, roads: LaneMap, entries: Mapping[int, int], exits: Mapping[int, int]) -> None:
        """Adds ring, arcs, yield lines and splitter islands, for streets with one lane each way.

        Raises:
            SceneError: two arms are too near to each other.
        """
        self.connect_lanes(roads, *({arm: [lane] for arm, lane in lanes.items()} for lanes in (entries, exits)))

    def connect_lanes(self, roads: LaneMap, entries: Mapping[int, Sequence[int]], exits: Mapping[int, Sequence[int]]
                      ) -> None:
        """The same for the lanes of all streets, from left to right.

        Raises:
            SceneError: two arms are too near to each other.
        """
        # The ring from exit to entry at each arm, and from there to the next exit, both in the order of the arms.
        arms = sorted(self.headings_rad, key=lambda arm: self.headings_rad[arm])
        entry, leaves = self.entry, self.exit
        before, after = [], []
        for arm, next_arm in zip(arms, [*arms[1:], arms[0]], strict=True):
            step_rad = self.headings_rad[next_arm] - self.headings_rad[arm]
            between_rad = (step_rad if step_rad > 0 else step_rad + 2 * math.pi) - entry.past_rad - leaves.past_rad
            # At least as much of the ring as a lane is wide, so that entry and exit do not overlap.
            between_m = between_rad * (self.radius_m - (self.lanes - 1) * self.lane_width_m)
            if between_m < self.lane_width_m:
                raise SceneError(f"{between_m:.3g} m of the ring's inner lane are between an entry and the next exit; "
                                 f"at least {self.lane_width_m:g} m, the width of a lane, are needed: radius_m must be "
                                 "larger, or entry_radius_m, exit_radius_m or arms smaller")
            before.append(self._ring(roads, arm, -leaves.past_rad, leaves.past_rad + entry.past_rad))
            after.append(self._ring(roads, arm, entry.past_rad, between_rad))
        for i, arm in enumerate(arms):
            for lane, ring_lane in enumerate(before[i]):
                roads.link(ring_lane, after[i][lane])
                roads.link(after[i - 1][lane], ring_lane)
            # The rest of the entries, from the yield line on, and the exits.
            onto = self._arcs(roads, entries[arm], entry.radius_m, self._yield_rad)
            for lane, ring_lane in zip(onto, after[i][-self.street_lanes:], strict=True):
                roads.link(lane, ring_lane)
            off = self._arcs(roads, after[i - 1][-self.street_lanes:], leaves.radius_m, leaves.angle_rad)
            for lane, street_lane in zip(off, exits[arm], strict=True):
                roads.link(lane, street_lane)
            roads.control("yield", tuple(entries[arm]))
            self._add_island(roads, arm)

    @property
    def _wider_m(self):
        """By how much the arcs are wider than that of the right lane, from left to right."""
        return [i * self.lane_width_m for i in range(self.street_lanes)][::-1]

    def _arcs(self, roads, lanes, radius_m, angle_rad):
        """The lanes that go on from those given, in turns to the right side by side."""
        added = [roads.lane(Path(roads.lanes[lane].curve.end, (turn(radius_m + wider_m, -angle_rad),)),
                            self.lane_width_m, self.speed_limit_mps, after=[lane])
                 for lane, wider_m in zip(lanes, self._wider_m, strict=True)]
        roads.set_beside(added)
        return added

    def _touch(self, radius_m):
        """An arc from outside, whose centre is `radius_m` beside the right lane of the street."""
        reach_m, beside_m = self.radius_m + radius_m, (self.street_lanes - 0.5) * self.lane_width_m + radius_m
        along_m = math.sqrt(reach_m * reach_m - beside_m * beside_m)
        return Touch(radius_m, float(direction_rad(beside_m, along_m)), along_m)

    @property
    def _yield_rad(self):
        """The angle of the entry beyond the yield line, whose left end is `LINE_GAP_M` from the ring's outer lane."""
        centre_m = self.radius_m + self.entry_radius_m
        end_m = self.entry_radius_m + (self.street_lanes - 0.5) * self.lane_width_m
        away_m = self.radius_m + self.lane_width_m / 2 + LINE_GAP_M
        cosine = (centre_m * centre_m + end_m * end_m - away_m * away_m) / (2 * centre_m * end_m)
        return float(direction_rad(math.sqrt(1.0 - cosine * cosine), cosine))

    def _ring(self, roads, arm, from_rad, angle_rad):
        """A part of the ring from an angle past an arm on; returns its lanes, the innermost first."""
        at_rad = self.headings_rad[arm] + from_rad
        sine, cosine = sine_cosine(at_rad)
        start = Pose(float(self.centre.x_m + self.radius_m * cosine), float(self.centre.y_m + self.radius_m * sine),
                     at_rad + math.pi / 2)
        path = Path(start, (arc(self.radius_m * angle_rad, 1.0 / self.radius_m),))
        return roads.along(Curve(path, (self.lanes - 0.5) * self.lane_width_m), self.lanes, self.lane_width_m,
                           self.speed_limit_mps)

    def _add_island(self, roads, arm):
        """The splitter island: a triangle with rounded sides, between entry, exit and ring; none if that is tiny."""
        frame = self.centre._replace(heading_rad=self.headings_rad[arm])
        base_m = self.radius_m + self.lane_width_m / 2 + ISLAND_GAP_M
        # Of the left lanes. Beyond its tip, an arc is closer to the street's lane than `ISLAND_GAP_M`.
        touches = [touch._replace(radius_m=touch.radius_m + self._wider_m[0]) for touch in (self.entry, self.exit)]
        tips_m = [touch.reach_m - touch.away_m(ISLAND_GAP_M) for touch in touches]
        if min(tips_m) <= base_m:
            return
        ahead_m = base_m + (min(tips_m) - base_m) * np.arange(ISLAND_POINTS) / (ISLAND_POINTS - 1)
        left_m, right_m = (touch.beside_m(touch.reach_m - ahead_m) - ISLAND_GAP_M for touch in touches)
        if left_m[0] + right_m[0] < SMALLEST_ISLAND_M:
            return
        left = [frame.moved(*place) for place in zip(ahead_m.tolist(), left_m.tolist(), strict=True)]
        right = [frame.moved(*place) for place in zip(ahead_m.tolist(), (-right_m).tolist(), strict=True)]
        tip = [left[-1]] if left_m[-1] + right_m[-1] < 1e-3 else [right[-1], left[-1]]
        if len(tip) == 1:
            del right[-1]
        # Its sides bend inwards: what lies between its corners is the island and parts of lanes. Paved, so that the
        # outline of the lanes has no hole within a large island.
        roads.pave([(pose.x_m, pose.y_m) for pose in (right[0], *tip, left[0])])
        roads.wall([(pose.x_m, pose.y_m) for pose in (*left, *right[::-1], left[0])])
