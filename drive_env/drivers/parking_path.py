"""Which path takes a car of a parking lot to its goal, in which gears? Along lanes, and into its bay or out of it.

A bay is where a lane ends that turned off another lane, the aisle. The manoeuvres between bay and aisle are those of
`manoeuvres.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..config import DriveConfig
from ..errors import SceneError
from ..roles import Roles
from ..routes import lane_route_roads
from ..scenes.scene import Scene
from ..scenes.segments import segments_of
from .controls import WHEELBASE_SHARE
from .manoeuvres import Boxes, Car, Piece, Poses, car_of, place_in_frame, pull_out

STEP_M = 0.1
"""Largest distance of successive poses of a path."""

BAY_M, BAY_REACH_M, BAY_TURN_COS = 4.5, 1.0, 0.87
"""A place is in a bay if it is within 1 m of the last 4.5 m of the bay's lane, whose direction there differs by more
than 30 degrees from that of the aisle."""

BAY_WIDTH_M = 2.0
"""Width of what may stand in a bay."""

REACH_M = 14.0
"""Obstacles farther from a bay are ignored."""

EDGE, FULL_BAY = -1, -2
"""Stand for the index of the object to which an obstacle belongs: a road edge, or a bay that counts as full."""

MANOEUVRE_MPS, CRUISE_MPS = 1.2, 3.0
"""Highest speed between bay and aisle, and that on lanes without a limit."""


class DrivePath(NamedTuple):
    """Poses of the middle of a car's rear axle, from its start to its goal.

    Attributes:
        x_m, y_m, heading_rad: (n,) of the poses.
        curvature_per_m: (n,) of the path there.
        gear: (n,) 1 forwards, -1 in reverse. Where it changes, two successive poses are the same.
        speed_mps: (n,) highest speed.
    """

    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    curvature_per_m: np.ndarray
    gear: np.ndarray
    speed_mps: np.ndarray


Pose = tuple[float, float, float]
"""x, y and heading."""


class Lot:
    """A scene with its bays, and with all that stands in the way.

    Args:
        roles: the scene, and which of its objects are agents; all others do not move.
        lanes: the core's scene, with its lane graph.
        config: bounds the wheel angle.

    Attributes:
        cars: the sizes of the agents.
    """

    def __init__(self, roles: Roles, lanes: Any, config: DriveConfig) -> None:
        # The sizes of the agents, and the poses of all objects at their starts and goals.
        self._roles, self._lanes = roles, lanes
        objects, frames = roles.scene.objects, roles.frames
        self.cars = [car_of(float(objects.length_m[item]), float(objects.width_m[item]), WHEELBASE_SHARE,
                            config.dynamics.max_steering_rad) for item in roles.objects[: roles.num_agents]]
        self._starts = list(zip(*(values[0].tolist() for values in (frames.x_m, frames.y_m, frames.heading_rad)),
                                strict=True))
        self._goals = list(zip(*objects.goal_m.T.tolist(), objects.goal_heading_rad.tolist(), strict=True))

        # The bays in which agents start and park.
        bays, agents = _bays(roles.scene), roles.objects[: roles.num_agents].tolist()
        self._start_bay = {item: _bay_at(bays, self._starts[item]) for item in agents}
        self._goal_bay = {item: _bay_at(bays, self._goals[item]) for item in agents}
        for item, aisle in self._goal_bay.items():
            x_m, y_m, heading_rad = self._goals[item]
            if aisle is not None and math.isnan(heading_rad):  # the scene leaves it open: the nose in
                self._goals[item] = (x_m, y_m, math.atan2(y_m - aisle[1], x_m - aisle[0]))

        # All that does not move, agents in their bays, at the start and at the goal; road edges; and all bays, full.
        boxes = [(item, self._starts[item]) for item in roles.objects[roles.num_agents :].tolist()]
        boxes += [(item, self._starts[item]) for item, aisle in self._start_bay.items() if aisle is not None]
        boxes += [(item, self._goals[item]) for item, aisle in self._goal_bay.items() if aisle is not None]
        standing = [(*pose, objects.length_m[item] / 2, objects.width_m[item] / 2) for item, pose in boxes]
        full = [(*(0.5 * (near_m + far_m)), math.atan2(*(far_m - near_m)[::-1]), BAY_M / 2, BAY_WIDTH_M / 2)
                for (near_m, far_m), _ in bays]
        edges = _edges(roles.scene)
        self._obstacles = Boxes(*np.array([*edges, *standing, *full], np.float64).reshape(-1, 5).T)
        owners = [item for item, _ in boxes]
        self._owner = np.array([*([EDGE] * len(edges)), *owners, *([FULL_BAY] * len(full))])

    def path(self, agent: int) -> DrivePath | None:
        """The path of an agent; None where no lanes lead to its goal, or there is no room."""
        item, car = int(self._roles.objects[agent]), self.cars[agent]
        begin, end, first, last = self._starts[item], self._goals[item], [], []
        start_bay, goal_bay = self._start_bay[item], self._goal_bay[item]

        # Out of the bay at the start, and into that at the goal.
        if start_bay is not None:
            pieces = self._pull_out(item, car, begin, start_bay, 1, math.inf)
            if pieces is None:
                return None
            first = [_driven(_rear(begin, car), pieces)]
            begin = _middle(_pose(first[0], -1), car)
        if goal_bay is not None:
            behind_m = math.inf if start_bay is not None else -_in_frame(_rear(begin, car), goal_bay)[0]
            pieces = self._pull_out(item, car, end, goal_bay, -1, behind_m)
            if pieces is None:
                return None
            # Found from the bay on, driven towards it.
            outwards = _driven(_rear(end, car), pieces)
            last = [_driven(_pose(outwards, -1), [piece.reversed() for piece in pieces[::-1]])]
            end = _middle(_pose(last[0], 0), car)

        # From the one to the other, or from the start to the goal, along lanes.
        between = self._along_lanes(begin, end, car)
        return None if between is None else DrivePath(*map(np.concatenate, zip(*first, between, *last, strict=True)))

    def standing(self, agent: int) -> DrivePath:
        """The path of an agent that stays at its start: one pose."""
        start = self._starts[int(self._roles.objects[agent])]
        return DrivePath(*(np.array([value]) for value in (*_rear(start, self.cars[agent]), 0.0, 1.0, 0.0)))

    def _pull_out(self, item: int, car: Car, pose: Pose, aisle: Pose, onward: int, limit_m: float
                  ) -> list[Piece] | None:
        """`pull_out` of a car in a bay, in the frame of the aisle."""
        away_m = np.hypot(self._obstacles.x_m - pose[0], self._obstacles.y_m - pose[1])
        matters = (self._owner != item) & (away_m < REACH_M + self._obstacles.ahead_m)
        is_own = (self._owner == FULL_BAY) & (away_m < BAY_REACH_M)
        # Empty bays give room, but a turn that goes on into one can end where the middle is out of reach.
        sets = [self._obstacles.at(chosen).in_frame(aisle)
                for chosen in (matters & (self._owner != FULL_BAY), matters & ~is_own)]
        return pull_out(car, _in_frame(_rear(pose, car), aisle), onward, limit_m, sets)

    def _along_lanes(self, begin: Pose, end: Pose, car: Car) -> DrivePath | None:
        """From one pose to another; the rear axle follows the lanes. None if no lanes lead there."""
        scene = self._roles.scene
        found = lane_route_roads(self._lanes, begin[:2], begin[2], end[:2])
        if found is None:
            return None
        # The route leads the middle of the car: one more point for the rear axle at the start, and less at the end.
        back_m = car.front_m - car.length_m / 2
        points = np.concatenate([[_rear(begin, car)[:2]], found[0].astype(np.float64)])
        step_m = np.hypot(*np.diff(points, axis=0).T)
        at_m = np.concatenate([[0.0], np.cumsum(step_m)])
        samples_m = np.linspace(0.0, max(at_m[-1] - back_m, 0.0), math.ceil(at_m[-1] / STEP_M) + 1)
        x_m, y_m = (np.interp(samples_m, at_m, axis) for axis in points.T)

        # Headings of the segments, and the curvature by their differences.
        segment = np.clip(np.searchsorted(at_m, samples_m, side="right") - 1, 0, len(step_m) - 1)
        heading_rad = np.unwrap(np.arctan2(*np.diff(points, axis=0).T[::-1]))[segment]
        is_short = len(samples_m) < 3
        curvature_per_m = np.zeros(len(samples_m)) if is_short else np.gradient(heading_rad, samples_m)
        limit_mps = scene.roads.speed_limit_mps[found[1][np.minimum(segment, len(found[1]) - 1)]].astype(np.float64)
        return DrivePath(x_m, y_m, heading_rad, curvature_per_m, np.ones(len(samples_m)),
                         np.where(limit_mps > 0.0, limit_mps, CRUISE_MPS))


# ---- poses ----


def _rear(pose: Pose, car: Car) -> Pose:
    """The pose of the rear axle, of that of the middle of the car."""
    back_m = car.front_m - car.length_m / 2
    return pose[0] - back_m * math.cos(pose[2]), pose[1] - back_m * math.sin(pose[2]), pose[2]


def _middle(pose: Pose, car: Car) -> Pose:
    """The other way round."""
    back_m = car.front_m - car.length_m / 2
    return pose[0] + back_m * math.cos(pose[2]), pose[1] + back_m * math.sin(pose[2]), pose[2]


def _pose(path: DrivePath, index: int) -> Pose:
    return float(path.x_m[index]), float(path.y_m[index]), float(path.heading_rad[index])


def _in_frame(pose: Pose, frame: Pose) -> Pose:
    """A pose in the coordinates of a frame; heading from -pi to pi."""
    return *place_in_frame(pose[0], pose[1], frame), math.remainder(pose[2] - frame[2], 2.0 * math.pi)


def _driven(start: Pose, pieces: list[Piece]) -> DrivePath:
    """The poses along pieces."""
    here, parts = Poses(*(np.array([value]) for value in start)), []
    for piece in pieces:
        count = math.ceil(abs(piece.travel_m) / STEP_M) + 1
        poses = here.moved(np.linspace(0.0, piece.travel_m, count), piece.curvature_per_m)
        parts.append((*poses, np.full(count, piece.curvature_per_m), np.full(count, math.copysign(1.0, piece.travel_m)),
                      np.full(count, MANOEUVRE_MPS)))
        here = poses.at([-1])
    return DrivePath(*map(np.concatenate, zip(*parts, strict=True)))


# ---- scenes ----


def _bays(scene: Scene) -> list[tuple[np.ndarray, Pose]]:
    """The ends of the lanes of bays, (2, 2) each, and where they turn off the aisle, in its direction.

    Raises:
        SceneError: several lanes lead into a bay, so that there is no one aisle.
    """
    roads, found = scene.roads, []
    xy_m = np.stack([roads.x_m, roads.y_m], axis=1).astype(np.float64)
    ways = [xy_m[first:last] for first, last in zip(roads.start[:-1], roads.start[1:], strict=True)]
    before = np.repeat(np.arange(roads.count), np.diff(scene.lanes.start))
    ending = [lane for lane in dict.fromkeys(scene.lanes.successor.tolist()) if not len(scene.lanes.after(lane))]
    for lane, aisle in ((lane, aisle) for lane in ending for aisle in before[scene.lanes.successor == lane].tolist()):
        if len(ways[lane]) < 2 or len(ways[aisle]) < 2:
            continue
        steps_m = [ways[road][-1] - ways[road][-2] for road in (lane, aisle)]
        ahead, along = (step_m / np.hypot(*step_m) for step_m in steps_m)
        if ahead @ along < BAY_TURN_COS:
            if (count := np.count_nonzero(scene.lanes.successor == lane)) > 1:
                raise SceneError(f"{count} lanes lead into the bay of lane {lane} in scene {scene.name}; for a "
                                 "ParkingDriver it must be 1")
            end_m, turn_m = ways[lane][-1], ways[aisle][-1]
            found.append((np.stack([end_m - BAY_M * ahead, end_m]),
                          (float(turn_m[0]), float(turn_m[1]), math.atan2(along[1], along[0]))))
    return found


def _bay_at(bays: list[tuple[np.ndarray, Pose]], place: Pose) -> Pose | None:
    """The aisle of the bay at a place; None elsewhere."""
    best, nearest_m = None, BAY_REACH_M
    for (near_m, far_m), aisle in bays:
        share = np.clip((place[:2] - near_m) @ (far_m - near_m) / BAY_M**2, 0.0, 1.0)
        away_m = math.hypot(*(place[:2] - near_m - share * (far_m - near_m)))
        if away_m < nearest_m:
            best, nearest_m = aisle, away_m
    return best


def _edges(scene: Scene) -> list[tuple[float, float, float, float, float]]:
    """The segments of road edges as `Boxes`, one by one."""
    xy_m = np.stack([scene.roads.x_m, scene.roads.y_m], axis=1).astype(np.float64)
    _, first = segments_of(scene.roads, "edge")
    middle_m, step_m = 0.5 * (xy_m[first + 1] + xy_m[first]), xy_m[first + 1] - xy_m[first]
    return [(x_m, y_m, math.atan2(dy_m, dx_m), 0.5 * math.hypot(dx_m, dy_m), 0.0)
            for (x_m, y_m), (dx_m, dy_m) in zip(middle_m.tolist(), step_m.tolist(), strict=True)]
