"""What is a staged scene? A straight street with one lane each way, and objects on it whose motion is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..scenes import Scene
from ..scenes.coordinates import last_frames
from ..scenes.generate.curves import Path, Pose, line
from ..scenes.generate.forks import FRAME_S
from ..scenes.generate.lane_map import LaneMap
from ..scenes.generate.placing import draw_sizes
from ..scenes.generate.rng import Rng
from ..scenes.generate.roadnet import on_grid
from ..scenes.generate.trig import direction_rad
from ..scenes.scene import OBJECT_KIND_CODES, Objects
from ..scenes.validate import validate_scene

LANE_WIDTH_M = 3.5
DRIVEN_M, ONCOMING_M = -LANE_WIDTH_M / 2, LANE_WIDTH_M / 2
"""The y of the centres of both lanes: the subject drives east, on the southern one."""

END_M = 4.0
"""From both ends of the street: objects are on the map between these places."""

PEDESTRIAN_M = (0.6, 0.6, 1.8)


class Shift(NamedTuple):
    """A shift sideways to y = `to_m`, over `length_m` from x = `at_m` on, by a cubic: y = 3 u**2 - 2 u**3."""

    at_m: float
    length_m: float
    to_m: float


class Actor(NamedTuple):
    """An object and its motion, of which there is one value a frame, or one for all.

    Attributes:
        kind: of `OBJECT_KINDS`.
        size_m: length, width and height.
        x_m, y_m, vx_mps, vy_mps: its motion.
        heading_rad: None for the direction of the motion.
        goal_m: None for its last position. An actor with a goal is driven: only its first frame counts.
    """

    kind: str
    size_m: Sequence[float]
    x_m: np.ndarray | float
    y_m: np.ndarray | float
    vx_mps: np.ndarray | float = 0.0
    vy_mps: np.ndarray | float = 0.0
    heading_rad: float | None = None
    goal_m: tuple[float, float] | None = None


def frames_of(duration_s: float) -> int:
    """The number of frames of a log."""
    return round(duration_s / FRAME_S) + 1


def speeds(start_mps: float, parts: Sequence[tuple[float, float]], frames: int, most_mps: float = np.inf
           ) -> np.ndarray:
    """(frames,) speeds from 0 to `most_mps`: each part has its duration in s and its acceleration in m/s2."""
    gained = np.concatenate([[0.0], *(np.full(round(duration_s / FRAME_S), acceleration_mps2 * FRAME_S)
                                      for duration_s, acceleration_mps2 in parts)])
    gained = np.concatenate([gained, np.zeros(frames)])[:frames]
    found, speed_mps = [], start_mps
    for gain in gained.tolist():
        speed_mps = min(max(speed_mps + gain, 0.0), most_mps)
        found.append(speed_mps)
    return np.array(found)


def driven(start_m: float, speed_mps: np.ndarray) -> np.ndarray:
    """Where something is in every frame that starts here and has these speeds."""
    return start_m + np.concatenate([[0.0], np.cumsum(speed_mps[1:] * FRAME_S)])


def car(rng: Rng, x_m: np.ndarray, speed_mps: np.ndarray, y_m: float, shifts: Sequence[Shift] = ()) -> Actor:
    """A car of random size that drives east; shifts are in the order in which it comes to them."""
    y, slope = np.full(len(x_m), float(y_m)), np.zeros(len(x_m))
    for shift in shifts:
        share = np.minimum(np.maximum((x_m - shift.at_m) / shift.length_m, 0.0), 1.0)
        before_m = y_m
        y = np.where(share > 0.0, before_m + (shift.to_m - before_m) * share * share * (3.0 - 2.0 * share), y)
        slope = np.where(share > 0.0, (shift.to_m - before_m) * 6.0 * share * (1.0 - share) / shift.length_m, slope)
        y_m = shift.to_m
    return Actor("vehicle", size(rng), x_m, y, speed_mps, slope * speed_mps)


def oncoming(rng: Rng, x_m: float, speed_mps: float, frames: int) -> Actor:
    """A car that drives west from here, at a constant speed."""
    return Actor("vehicle", size(rng), x_m - speed_mps * FRAME_S * np.arange(frames), ONCOMING_M, -speed_mps)


def parked(rng: Rng, x_m: float, y_m: float) -> Actor:
    """A car at rest, its front to the east."""
    return Actor("vehicle", size(rng), x_m, y_m, heading_rad=0.0)


def size(rng: Rng) -> tuple[float, float, float]:
    """Length, width and height of a car."""
    length_m, width_m, height_m = draw_sizes(rng, 1)
    return float(length_m[0]), float(width_m[0]), float(height_m[0])


def staged(name: str, frames: int, length_m: float, limit_mps: float, actors: Sequence[Actor], kerb_m: float = 1.0
           ) -> Scene:
    """The scene of actors on a street.

    Args:
        frames: of the log.
        length_m, limit_mps: of the street.
        kerb_m: from the lanes to the road edges; where cars park, it is wider than one.
    """
    roads, middle = LaneMap(), Path(Pose(0.0, 0.0, 0.0), (line(length_m),))
    for path in (middle, middle.reversed()):
        roads.along(path, 1, LANE_WIDTH_M, limit_mps, curb_gap_m=kerb_m)
    roads.line(middle)
    parts = roads.parts(_objects(actors, frames, length_m))
    return validate_scene(Scene(name=name, source=name, generated=True, dt_s=FRAME_S, origin_m=np.zeros(2),
                                sdc=0, **parts._asdict()))


def _objects(actors, frames, length_m):
    """The objects of actors, whose logs end where the street does; those that are driven are in the first frame alone.
    """
    # The motion in every frame.
    x_m, y_m, vx_mps, vy_mps = (
        np.stack([np.broadcast_to(np.asarray(getattr(actor, name), np.float64), frames) for actor in actors], axis=1)
        for name in ("x_m", "y_m", "vx_mps", "vy_mps"))
    # Headings are those of the motion, except of actors that have one.
    heading_rad = direction_rad(vy_mps, vx_mps)
    heading_rad = np.where(heading_rad >= np.pi, -np.pi, heading_rad)
    for index, actor in enumerate(actors):
        if actor.heading_rad is not None:
            heading_rad[:, index] = actor.heading_rad
    # On the map between the ends of the street; driven actors in the first frame.
    valid = (x_m >= END_M) & (x_m <= length_m - END_M)
    for index, actor in enumerate(actors):
        if actor.goal_m is not None:
            valid[1:, index] = False
    # The goal of an actor that has none is its position in its last valid frame.
    last = last_frames(valid)
    at_last_m = np.stack([one[last, np.arange(len(actors))] for one in (x_m, y_m)], axis=1)
    goal_m = [at_last_m[index] if actor.goal_m is None else actor.goal_m for index, actor in enumerate(actors)]

    def track(values):
        return np.where(valid, values, 0.0).astype(np.float32)

    # Poses are 0 where an object is absent, and lie on the grid of scene files.
    sizes_m = np.array([actor.size_m for actor in actors], np.float32)
    return Objects(
        id=np.arange(len(actors), dtype=np.int64),
        kind=np.array([OBJECT_KIND_CODES[actor.kind] for actor in actors], np.uint8), length_m=sizes_m[:, 0].copy(),
        width_m=sizes_m[:, 1].copy(), height_m=sizes_m[:, 2].copy(),
        goal_m=on_grid(np.array(goal_m)).astype(np.float32), marked_expert=np.arange(len(actors)) > 0,
        x_m=track(on_grid(x_m)), y_m=track(on_grid(y_m)), heading_rad=track(heading_rad), vx_mps=track(vx_mps),
        vy_mps=track(vy_mps), valid=valid)
