"""How does a street divide into routes that join again? It runs east; loops leave it to a side and come back.

A loop leaves and joins the street in quarter circles. Road edges separate it from the street: a car that has passed the
tip of the island between them can no longer change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import SceneError
from ..lane_links import graph_of
from ..scene import OBJECT_KIND_CODES, LaneGraph, Objects, Roads, Scripts
from .parameters import Parameter
from .rng import Rng
from .roadnet import AHEAD, ARC, EAST, END_CAP_M, WEST, on_grid, roads_of

LANE_WIDTH_M = 4.0
"""Between the road edges. Two cars do not pass each other."""

TURN_M, FLAT_M = 8.0, 10.0
"""Radius of the lane centre in the quarter circles of a loop, and its length beside the street."""

FORK_M = 4 * TURN_M + FLAT_M
"""Length of the street beside a loop."""

TIP_M = 8.0
"""From the start of a fork to the tip of its island, and from its other tip to the end: there, a circle of radius
TURN_M + LANE_WIDTH_M / 2 about the centre of the quarter circle crosses the edge of the street."""

COMMITMENT_M = TIP_M + 1.0
"""From the start of a fork to the line beyond which a car cannot change its route."""

WARNING_M = 15.0
"""By how much earlier scripts begin in a scene that hides nothing: 6 m before the start of a fork, where a car can
still choose its route."""

KNOWN_SHARE = Parameter(0.0, "1", "share of the scenes that hide nothing, to learn to drive in", 0.0, 1.0)

CAR_M = (4.5, 1.9, 1.6)
"""Length, width and height of a car."""

FRAME_S = 0.1
STEP_M = 1.0
"""Distance that a car of a script drives in a frame."""

TURN_POINTS = (
    (0.1305261922, 0.0085551386), (0.2588190451, 0.0340741737), (0.3826834324, 0.0761204675),
    (0.5000000000, 0.1339745962), (0.6087614290, 0.2066466597), (0.7071067812, 0.2928932188),
    (0.7933533403, 0.3912385710), (0.8660254038, 0.5000000000), (0.9238795325, 0.6173165676),
    (0.9659258263, 0.7411809549), (0.9914448614, 0.8694738078), (1.0000000000, 1.0000000000))
"""Where a car of a script is after each frame in a quarter circle, as (sin a, 1 - cos a), a in steps of 7.5 degrees: in
radii ahead and to the side. Constants, because sin and cos differ between platforms."""


class Fork(NamedTuple):
    """A place where loops leave the street.

    Attributes:
        start_m: x of its start.
        sides: of its loops, 1 for one to the left (y above 0), -1 for one to the right.
        rise_m: by how much a loop leads straight away from the street between its quarter circles.
    """

    start_m: float
    sides: tuple[int, ...]
    rise_m: float = 0.0

    @property
    def end_m(self) -> float:
        """The x of its end."""
        return self.start_m + FORK_M

    @property
    def height_m(self) -> float:
        """From the street to the farthest part of a loop."""
        return 2 * TURN_M + self.rise_m

    def line_m(self, is_known: bool = False) -> tuple[float, float, float, float]:
        """The line, across all routes, beyond which a car cannot change its route; or one `WARNING_M` before it."""
        x_m, reach_m = self.start_m + COMMITMENT_M - WARNING_M * is_known, self.height_m + LANE_WIDTH_M
        return (x_m, reach_m, x_m, -reach_m)

    def route_line_m(self, side: int) -> tuple[float, float, float, float]:
        """A line across one route where a car can no longer change it: the loop to a side, or with 0 the street."""
        half_m = LANE_WIDTH_M / 2
        if side == 0:
            return (self.start_m + COMMITMENT_M, half_m, self.start_m + COMMITMENT_M, -half_m)
        x_m, y_m = self.start_m + TURN_M, side * COMMITMENT_M
        return (x_m - side * LANE_WIDTH_M, y_m, x_m + side * LANE_WIDTH_M, y_m)

    def routes_m(self) -> list[np.ndarray]:
        """Centre lines of the routes, (n, 2) each: that of the street, then that of each loop."""
        street = np.array([(self.start_m, 0.0), (self.end_m, 0.0)])
        return [street] + [_loop(self, TURN_M, TURN_M) * (1, side) for side in self.sides]


def detour_m(rise_m: float) -> float:
    """By how much the centre line of a loop is longer than the street beside it."""
    return 4 * (math.pi / 2 - 1) * TURN_M + 2 * rise_m


def _loop(fork, first_radius_m, second_radius_m):
    """A line along a loop to the left, `first_radius_m` from the centres of its first and last quarter circle and
    `second_radius_m` from those of the others."""
    sine, versine = np.array(ARC).T
    near_m, far_m = TURN_M, TURN_M + fork.rise_m
    leaving = np.stack([first_radius_m * sine, near_m - first_radius_m * (1 - versine)], axis=1)
    arriving = np.stack([2 * TURN_M - second_radius_m * (1 - versine), far_m + second_radius_m * sine], axis=1)
    half = np.concatenate([leaving, arriving])
    other_half = half[::-1] * (-1, 1) + (FORK_M, 0)
    return np.concatenate([half, other_half]) + (fork.start_m, 0)


class ForkedStreet:
    """A street from (`start_m`, 0) to (`end_m`, 0) with forks in this order."""

    def __init__(self, start_m: float, end_m: float, forks: Sequence[Fork]):
        self.start_m, self.end_m, self.forks = start_m, end_m, tuple(forks)

    def roads(self) -> Roads:
        """The lanes of the street before, between and after the forks, those of the routes, and the road edges."""
        lanes = self._street_lanes() + [route for fork in self.forks for route in fork.routes_m()]
        edges = [self._outline()] + [self._island(fork, side) for fork in self.forks for side in fork.sides]
        return roads_of([("lane", line) for line in lanes] + [("edge", line) for line in edges], LANE_WIDTH_M)

    def graph(self, open_routes: Sequence[int] | None = None) -> LaneGraph:
        """Lane i of the street leads to the routes of fork i, and these to lane i + 1.

        Args:
            open_routes: for each fork, the only route that is linked; None: all are.
        """
        first, links = len(self.forks) + 1, []
        for before, fork in enumerate(self.forks):
            routes = range(first, first + 1 + len(fork.sides))
            linked = routes if open_routes is None else [routes[open_routes[before]]]
            links += [(before, route) for route in linked] + [(route, before + 1) for route in linked]
            first = routes.stop
        outline, islands = 1, len([side for fork in self.forks for side in fork.sides])
        before, after = np.array(links, np.int32).reshape(-1, 2).T
        return graph_of(before, after, first + outline + islands)

    def _street_lanes(self):
        ends_m = [self.start_m, *(x_m for fork in self.forks for x_m in (fork.start_m, fork.end_m)), self.end_m]
        return [np.array([(x_m, 0.0), (to_m, 0.0)]) for x_m, to_m in zip(ends_m[::2], ends_m[1::2], strict=True)]

    def _outline(self):
        """The closed road edge around the street and its loops."""
        half_m = LANE_WIDTH_M / 2
        sides = []
        for side in (1, -1):
            loops = [_loop(fork, TURN_M - half_m, TURN_M + half_m) for fork in self.forks if side in fork.sides]
            ends = [[(self.start_m - END_CAP_M, half_m)], [(self.end_m + END_CAP_M, half_m)]]
            sides.append(np.concatenate([ends[0], *loops, ends[1]]) * (1, side))
        return np.concatenate([sides[0], sides[1][::-1], sides[0][:1]])

    def _island(self, fork, side):
        """The closed road edge between the street and a loop."""
        half_m = LANE_WIDTH_M / 2
        inside = _loop(fork, TURN_M + half_m, TURN_M - half_m)
        tips = np.array([(fork.start_m + TIP_M, half_m), (fork.end_m - TIP_M, half_m)])
        return np.concatenate([tips[:1], inside[inside[:, 1] > half_m], tips[1:], tips[:1]]) * (1, side)


def street_with_loops(rng: Rng, count: int, gap_m: float, gap_range_m: tuple[float, float],
                      rise_m: float = 0.0) -> ForkedStreet:
    """A street with `count` forks, each with one loop, on a random side.

    Args:
        gap_m: street before, between and after the forks, on average.
        gap_range_m: from which these lengths are drawn, before they are scaled to that average.
        rise_m: of the loops, see `Fork`.
    """
    gaps_m = spread(rng.uniform(*gap_range_m, count + 1), gap_m * (count + 1))
    sides = [1 - 2 * rng.below(2) for _ in range(count)]
    forks = [Fork(float(gaps_m[:i + 1].sum()) + i * FORK_M, (side,), rise_m) for i, side in enumerate(sides)]
    return ForkedStreet(-CAR_M[0], forks[-1].end_m + float(gaps_m[-1]), forks)


class Script(NamedTuple):
    """An object that is not the car of the agent: where it is in each frame, from the first to the last.

    Attributes:
        kind: a name of `OBJECT_KINDS`.
        size_m: length, width and height.
        poses: (t, 3) x and y in m and heading in rad; NaN where it is not on the map.
        group, option, line_m: as in `Scripts`; group -1 for an object without a script.
    """

    kind: str
    size_m: tuple[float, float, float]
    poses: np.ndarray
    group: int = -1
    option: int = 0
    line_m: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


def objects_of(speed_mps: float, goal_m: tuple[float, float], others: Sequence[Script]) -> tuple[Objects, Scripts]:
    """The car of the agent, at (0, 0) and this speed, and the other objects, with their scripts."""
    # Poses of all objects in all frames; the car of the agent, the first one, has no log.
    frames, count = max(2, *(len(other.poses) for other in others)), 1 + len(others)
    poses = np.full((frames, count, 3), np.nan)
    poses[0, 0] = 0.0
    for i, other in enumerate(others, 1):
        poses[:len(other.poses), i] = other.poses
    valid = ~np.isnan(poses[:, :, 0])
    moves = np.zeros((frames, count, 2))  # 0 in the first frame, in which objects with a script wait
    moves[1:] = (poses[1:, :, :2] - poses[:-1, :, :2]) / FRAME_S
    moves[0, 0] = (speed_mps, 0.0)

    # Objects, each with the last place of its log as its goal.
    sizes_m = np.array([CAR_M, *(other.size_m for other in others)], np.float32)
    track = lambda values: np.where(valid & ~np.isnan(values), values, 0.0).astype(np.float32)
    codes = [OBJECT_KIND_CODES[kind] for kind in ("vehicle", *(other.kind for other in others))]
    last_m = [other.poses[~np.isnan(other.poses[:, 0])][-1, :2] for other in others]
    objects = Objects(
        id=np.arange(count, dtype=np.int64), kind=np.array(codes, np.uint8), length_m=sizes_m[:, 0].copy(),
        width_m=sizes_m[:, 1].copy(), height_m=sizes_m[:, 2].copy(),
        goal_m=on_grid(np.array([goal_m, *last_m])).astype(np.float32),
        marked_expert=np.arange(count) > 0, x_m=track(on_grid(poses[:, :, 0])), y_m=track(on_grid(poses[:, :, 1])),
        heading_rad=track(poses[:, :, 2]), vx_mps=track(on_grid(moves[:, :, 0])), vy_mps=track(on_grid(moves[:, :, 1])),
        valid=valid)

    # Scripts of those objects that have one.
    scripted = [i for i, other in enumerate(others, 1) if other.group >= 0]
    column = lambda name: np.array([getattr(others[i - 1], name) for i in scripted])
    return objects, Scripts(
        object=np.array(scripted, np.int32), group=column("group").astype(np.int32),
        option=column("option").astype(np.int32), line_m=column("line_m").astype(np.float32).reshape(-1, 4))


def known_options(rng: Rng, known_share: float, options: Sequence[int]) -> list[int] | None:
    """In a share of the scenes: one drawn option for each group of scripts, of `options` options each; else None.

    Such a scene hides nothing: every episode has these options, and shows them before the fork.
    """
    is_known, drawn = rng.uniform(0.0, 1.0, 1)[0] < known_share, [rng.below(count) for count in options]
    return drawn if is_known else None


def with_options(scripts: Sequence[Script], known: Sequence[int] | None) -> list[Script]:
    """The scripts of the known options, each renumbered as the only option of its group; with None, all scripts."""
    if known is None:
        return list(scripts)
    return [script._replace(option=0) for script in scripts if script.option == known[script.group]]


def driven(x_m: float, pieces: Sequence[float | str]) -> np.ndarray:
    """(t, 3) poses of a car that starts on the street at `x_m`, heading west.

    Args:
        pieces: what it drives: metres straight ahead, or a quarter circle to the "left" or "right".
    """
    at_m, direction, poses = np.array([x_m, 0.0]), WEST, [(x_m, 0.0, WEST * math.pi / 2)]
    for piece in pieces:
        ahead = np.array(AHEAD[direction])
        if isinstance(piece, str):
            turn = 1 if piece == "left" else -1
            side = np.array(AHEAD[(direction + turn) % 4])
            for step, (sine, versine) in enumerate(TURN_POINTS, 1):
                place = at_m + TURN_M * (sine * ahead + versine * side)
                poses.append((*place, (direction + turn * step / len(TURN_POINTS)) * math.pi / 2))
            at_m, direction = at_m + TURN_M * (ahead + side), (direction + turn) % 4
        else:
            steps = round(piece / STEP_M)
            poses += [(*(at_m + piece * step / steps * ahead), direction * math.pi / 2) for step in range(1, steps + 1)]
            at_m = at_m + piece * ahead
    found = np.array(poses)
    found[:, 2] = (found[:, 2] + math.pi) % (2 * math.pi) - math.pi
    return found


def mirrored(poses: np.ndarray, side: int) -> np.ndarray:
    """The poses on the left side of the street, or for -1 their mirror images on the right."""
    return poses if side > 0 else poses * (1, -1, -1)


def check_agents(agents: int) -> None:
    """Raises a `SceneError` if a scene for one agent is to have another number of agents."""
    if agents != 1:
        raise SceneError(f"agents is {agents}; it must be 1, since this scene has one agent")


def spread(lengths_m: np.ndarray, total_m: float) -> np.ndarray:
    """The lengths, scaled to this sum."""
    return lengths_m * (total_m / lengths_m.sum())
