"""What is a roundabout on a lane map? A ring driven to the left, and arcs that lead onto it and off it.

Both arcs touch the ring's outer lane and the lane of their street. An entry ends the street's lane at the yield line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
        entry_radius_m, exit_radius_m: of the arcs.
        lanes: side by side. Entries lead onto the outer one, and exits off it.
        speed_limit_mps: of ring and arcs.
    """

    centre: Pose
    headings_rad: Mapping[int, float]
    lane_width_m: float
    radius_m: float
    entry_radius_m: float
    exit_radius_m: float
    lanes: int
    speed_limit_mps: float

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
        """The arc up to the yield line."""
        return (turn(self.entry_radius_m, -(self.entry.angle_rad - self._yield_rad)),)

    def connect(self, roads: LaneMap, entries: Mapping[int, int], exits: Mapping[int, int]) -> None:
        """Adds ring, arcs, yield lines and splitter islands.

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
            # The rest of the entry, from the yield line on, and the exit.
            start = roads.lanes[entries[arm]].curve.end
            onto = roads.lane(Path(start, (turn(entry.radius_m, -self._yield_rad),)), self.lane_width_m,
                              self.speed_limit_mps, after=[entries[arm]])
            roads.link(onto, after[i][-1])
            start = roads.lanes[after[i - 1][-1]].curve.end
            off = roads.lane(Path(start, (turn(leaves.radius_m, -leaves.angle_rad),)), self.lane_width_m,
                             self.speed_limit_mps, after=[after[i - 1][-1]])
            roads.link(off, exits[arm])
            roads.control("yield", (entries[arm],))
            self._add_island(roads, arm)

    def _touch(self, radius_m):
        """An arc from outside, whose centre is `radius_m` beside the lane of the street."""
        reach_m, beside_m = self.radius_m + radius_m, self.lane_width_m / 2 + radius_m
        along_m = math.sqrt(reach_m * reach_m - beside_m * beside_m)
        return Touch(radius_m, float(direction_rad(beside_m, along_m)), along_m)

    @property
    def _yield_rad(self):
        """The angle of the entry beyond the yield line, whose left end is `LINE_GAP_M` from the ring's outer lane."""
        centre_m, end_m = self.radius_m + self.entry_radius_m, self.entry_radius_m + self.lane_width_m / 2
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
        # Beyond its tip, an arc is closer to the street's lane than `ISLAND_GAP_M`.
        tips_m = [touch.reach_m - touch.away_m(ISLAND_GAP_M) for touch in (self.entry, self.exit)]
        if min(tips_m) <= base_m:
            return
        ahead_m = base_m + (min(tips_m) - base_m) * np.arange(ISLAND_POINTS) / (ISLAND_POINTS - 1)
        left_m, right_m = (touch.beside_m(touch.reach_m - ahead_m) - ISLAND_GAP_M for touch in (self.entry, self.exit))
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
