"""What is a parking lot? Bays on both sides of a one-way aisle, in which cars park, and from which others leave."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...errors import SceneError
from ..scene import Objects
from .curves import Path, Pose, line, turn
from .lane_map import LaneMap
from .parameters import Parameter
from .parts import Parts
from .placing import HEIGHT_RANGE_M, INSET_M, PITCH_M, Places, cars_of, in_eighths, poses_at
from .rng import Rng
from .roadnet import on_grid
from .trig import sine_cosine, wrapped_rad

DEFAULT_AGENTS = 4
"""Three of them park, on average."""

DIFFICULTY = "The goal is a pose in a bay between parked cars; others wait on the aisle."

PARAMETERS = {
    "rows": Parameter(2, "rows", "rows of bays: 1 on the right of the aisle, 2 on both sides", 1, 2),
    "bays": Parameter(8, "bays", "bays of a row", 4, 20),
    "angled": Parameter(False, "", "whether bays are at 60 degrees to the aisle instead of 90, for cars with their "
                                   "noses in", False, True),
    "nose": Parameter("any", "", "where the noses of cars in bays are: 'in' towards the wall, 'out' towards the aisle, "
                                 "'any' drawn for each bay, in angled bays towards the wall",
                      choices=("any", "in", "out")),
    "occupied": Parameter(0.5, "1", "probability that a bay without an agent has a parked car", 0.0, 1.0),
    "leaving": Parameter(0.25, "1", "probability that an agent leaves from a bay instead of parking in one; "
                                   "those for which the road has no room leave, too", 0.0, 1.0),
    "bay_width_m": Parameter(2.5, "m", "width of a bay", 2.4, 2.7),
    "bay_m": Parameter(5.0, "m", "length of a bay", 4.8, 5.5),
    "aisle_m": Parameter(6.0, "m", "width of the aisle, and of the roads that lead to it and from it", 5.5, 7.3),
    "road_m": Parameter(40.0, "m", "length of each of these roads", 20.0, 80.0),
    "speed_limit_mps": Parameter(3.0, "m/s", "speed limit of every lane", 2.0, 4.0),
}

TRIAL_STEPS = 1000
"""Cars take turns: 100 s, as in HighwayEnv."""

CONFIG = {"goal_radius_m": 0.5, "goal_heading_tolerance_rad": 0.15, "goal_max_speed_mps": 0.3,
          "observation": {"goals": 1}, "dynamics": {"min_speed_mps": -3.0}}
"""A car is parked if it stands in its bay, in the right direction; it can reverse."""

POLICY = "parking"
"""The rule-based policy that parks and reverses."""

LENGTH_RANGE_M, WIDTH_RANGE_M = (3.8, 4.5), (1.7, 1.9)
"""Sizes of the cars, which fit into the smallest bay."""

LANE_M, BAY_LANE_M = 3.5, 2.0
"""Widths of the lane of the aisle, and of those into bays and out of them."""

TURN_PITCHES = 1.76
"""Radius of the lanes into bays and out of them, in bay pitches: at least 4.2 m. Where one of these lanes begins,
no other one ends, so that the lanes of the aisle between these places are not too short."""

ANGLE_RAD = math.pi / 3
"""Angle between an angled bay and the aisle."""

LANE_END_M = 2.0
"""From the middle of a bay to the end of its lane."""

WALL_GAP_M = 0.5
"""From a bay to the wall behind it, and to the end of its row."""

ROOM_M = 11.0
"""From the first bay's middle back to the road on which cars arrive, and on from the last one to that on which they
leave: the aisle there is for manoeuvres."""

CLEAR_M = 6.0
"""Least distance from the aisle of cars that start on the road before it, and of goals on the road beyond it."""

SPEED_SHARE = (0.4, 1.0)

OFF_MIDDLE_M, OFF_HEADING_RAD = (0.3, 0.08), 0.02
"""How far parked cars are from the middle of their bays at most, ahead and to the side, and from its direction; ahead
also no farther than they fit."""

TILT_M = 0.02
"""Most by which a corner of a car is farther ahead because the car is off the direction of its bay."""


class Bay(NamedTuple):
    """A bay, and the lanes that end or begin in it.

    Attributes:
        pose: its middle, in the direction towards the wall.
        into: the lane into it, which ends `LANE_END_M` beyond its middle, towards the wall.
        out: that out of it, of a car with its nose out, which begins there; -1 in an angled bay.
    """

    pose: Pose
    into: int
    out: int = -1


def build(rng: Rng, agents: int, rows: int, bays: int, angled: bool, nose: str, occupied: float, leaving: float,
          bay_width_m: float, bay_m: float, aisle_m: float, road_m: float, speed_limit_mps: float) -> Parts:
    """The aisle leads east. The first objects are the agents: those that arrive, from the front on, then the others."""
    if angled and nose == "out":
        raise SceneError("nose is 'out'; with angled, it must be 'any' or 'in'")
    roads, arrival, departure, found = _lot(rows, bays, angled, bay_width_m, bay_m, aisle_m, road_m, speed_limit_mps)

    # Who arrives, in which bays; which other bays are occupied, and where noses are.
    places = 1 + math.floor((road_m - CLEAR_M - INSET_M) / PITCH_M)
    arriving = int((rng.uniform(0.0, 1.0, agents) >= leaving).sum())
    if arriving > places and leaving > 0.0:
        arriving = places  # the road is full
    if agents > len(found) or arriving > places:
        raise SceneError(f"agents is {agents}; at most {len(found) if leaving else min(places, len(found))} fit on "
                         "these roads")
    order = rng.shuffled(list(found))
    is_out = [nose == "out" or (nose == "any" and not angled and draw < 0.5)
              for draw in rng.uniform(0.0, 1.0, len(found)).tolist()]
    is_parked = (rng.uniform(0.0, 1.0, len(found)) < occupied) & (np.arange(len(found)) >= agents)

    # Agents: starts and goals. Those that leave stop on the road, at different places as far as there are any.
    queue_m = road_m - CLEAR_M - PITCH_M * np.arange(arriving)
    stops_m = rng.shuffled([CLEAR_M + PITCH_M * i for i in range(places)])
    stops_m = [stops_m[i % places] for i in range(agents - arriving)]
    in_bays = _places(roads, order[:agents], is_out)
    starts = Places(np.concatenate([np.full(arriving, arrival), in_bays.lane[arriving:]]),
                    np.concatenate([queue_m, in_bays.along_m[arriving:]]))
    goals = Places(np.concatenate([in_bays.lane[:arriving], np.full(agents - arriving, departure)]),
                   np.concatenate([in_bays.along_m[:arriving], stops_m]))
    start_m, start_rad = poses_at(roads, starts)
    goal_m, goal_rad = poses_at(roads, goals)
    speed_mps = np.where(np.arange(agents) < arriving, speed_limit_mps * rng.uniform(*SPEED_SHARE, 1)[0], 0.0)

    # Parked cars.
    parked = np.flatnonzero(is_parked)
    sizes_m = tuple(rng.uniform(*range_m, agents + len(parked)).astype(np.float32)
                    for range_m in (LENGTH_RANGE_M, WIDTH_RANGE_M, HEIGHT_RANGE_M))
    parked_m, parked_rad = _parked(rng, [order[i] for i in parked], [is_out[i] for i in parked],
                                   bay_m - sizes_m[0][agents:])
    return roads.parts(_objects(sizes_m, np.concatenate([start_m, parked_m]), np.concatenate([start_rad, parked_rad]),
                                speed_mps, np.concatenate([goal_m, parked_m]), goal_rad))


@lru_cache(maxsize=8)
def _lot(rows, bays, angled, bay_width_m, bay_m, aisle_m, road_m, limit_mps):
    """The map, which no seed changes, the lane on which cars arrive, that on which they leave, and the bays."""
    roads = LaneMap()
    angle_rad = ANGLE_RAD if angled else math.pi / 2
    sine, cosine = sine_cosine(angle_rad)
    pitch_m, depth_m = bay_width_m / sine, (bay_m * sine + bay_width_m * cosine if angled else bay_m)
    radius_m, middle_m = TURN_PITCHES * pitch_m, (aisle_m + depth_m) / 2

    # Along the aisle, from the middle of the first bay on: where lanes into bays begin, and those out of bays end.
    straight_m = (middle_m - radius_m * (1.0 - cosine)) / sine  # from the turn to the middle of the bay
    enters_m = [i * pitch_m - radius_m * sine - straight_m * cosine for i in range(bays)]
    leaves_m = [] if angled else [i * pitch_m + radius_m for i in range(bays)]
    first_m, last_m = -ROOM_M, (bays - 1) * pitch_m + ROOM_M
    ends_m = [first_m - road_m, first_m, *sorted(enters_m + leaves_m), last_m, last_m + road_m]
    lanes: list[int] = []
    for from_m, to_m in pairwise(ends_m):
        path = Path(Pose(from_m, 0.0, 0.0), (line(to_m - from_m),))
        lanes.append(roads.lane(path, LANE_M, limit_mps, curb_gap_m=(aisle_m - LANE_M) / 2, after=lanes[-1:]))
    lane_at = dict(zip(ends_m, lanes, strict=False))  # that which begins there

    # Rows, the right one first: lanes of the bays, then what is painted and paved.
    found = []
    for side in (-1.0, 1.0)[:rows]:
        for i in range(bays):
            pose, before = Pose(i * pitch_m, side * middle_m, side * angle_rad), lane_at[enters_m[i]] - 1
            path = Path(roads.lanes[before].curve.end,
                        (turn(radius_m, side * angle_rad), line(straight_m + LANE_END_M)))
            into, out = roads.lane(path, BAY_LANE_M, limit_mps, is_paved=True, after=[before]), -1
            if not angled:
                path = Path(pose.moved(LANE_END_M).reversed(),
                            (line(straight_m + LANE_END_M), turn(radius_m, side * math.pi / 2)))
                out = roads.lane(path, BAY_LANE_M, limit_mps, is_paved=True)
                roads.link(out, lane_at[leaves_m[i]])
            found.append(Bay(pose, into, out))
        _pave_row(roads, side, bays, pitch_m, aisle_m / 2, depth_m, angle_rad)
    return roads, lanes[0], lanes[-1], tuple(found)


def _pave_row(roads, side, bays, pitch_m, near_m, depth_m, angle_rad):
    """Adds the lines between bays, and the pavement up to the wall behind them."""
    sine, cosine = sine_cosine(angle_rad)
    lean_m = depth_m * cosine / sine  # along the aisle, from one end of a line to the other
    for i in range(bays + 1):
        start = Pose((i - 0.5) * pitch_m - lean_m / 2, side * near_m, side * angle_rad)
        roads.line(Path(start, (line(depth_m / sine),)))
    half_m, wall_m = (pitch_m + lean_m) / 2 + WALL_GAP_M, side * (near_m + depth_m + WALL_GAP_M)
    end_m = (bays - 1) * pitch_m + half_m
    corners = [(-half_m, 0.0), (-half_m, wall_m), (end_m, wall_m), (end_m, 0.0)]
    roads.pave(corners if side < 0 else corners[::-1])


def _places(roads: LaneMap, bays: Sequence[Bay], is_out: Sequence[bool]) -> Places:
    """The middles of bays, on the lanes of cars with their noses in or out."""
    out = np.array(is_out[:len(bays)])
    lanes = np.where(out, [bay.out for bay in bays], [bay.into for bay in bays])
    return Places(lanes, np.where(out, LANE_END_M, roads.samples.length_m[lanes] - LANE_END_M))


def _parked(rng, bays, is_out, spare_m):
    """(n, 2) positions and (n,) headings of cars in these bays, which are shorter than the bays by `spare_m`."""
    count = len(bays)
    ahead_m = np.clip(spare_m / 2 - TILT_M, 0.0, OFF_MIDDLE_M[0]) * rng.uniform(-1.0, 1.0, count)
    left_m, turn_rad = (limit * rng.uniform(-1.0, 1.0, count) for limit in (OFF_MIDDLE_M[1], OFF_HEADING_RAD))
    poses = [bay.pose.reversed() if out else bay.pose for bay, out in zip(bays, is_out, strict=True)]
    found = np.array([pose.moved(*move) for pose, *move in zip(poses, ahead_m.tolist(), left_m.tolist(),
                                                              turn_rad.tolist(), strict=True)]).reshape(-1, 3)
    return on_grid(found[:, :2]), found[:, 2]


def _objects(sizes_m, xy_m, heading_rad, speed_mps, goal_m, goal_rad) -> Objects:
    """The agents, and parked cars, which stand at their goals and are marked to replay their logs, of one frame."""
    agents, count = len(speed_mps), len(xy_m)
    heading = wrapped_rad(heading_rad).astype(np.float32)
    heading[heading >= math.pi] = -math.pi  # the nearest float32 to an angle just below pi is above it
    goal_heading = wrapped_rad(np.concatenate([goal_rad, heading_rad[agents:]])).astype(np.float32)
    goal_heading[goal_heading >= math.pi] = -math.pi
    sine, cosine = sine_cosine(heading_rad)
    speed = np.concatenate([in_eighths(speed_mps), np.zeros(count - agents)])
    cars = cars_of(sizes_m, xy_m, heading, np.stack([speed * cosine, speed * sine], axis=1), goal_m)
    return dataclasses.replace(cars, goal_heading_rad=goal_heading, marked_expert=np.arange(count) >= agents)
