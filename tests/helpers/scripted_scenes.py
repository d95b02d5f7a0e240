"""How do tests stage one exact event? Scenes made of actors with poses, goals and logs, and of polylines.

Actors become objects in the order given. One without a goal stands on its own goal, so that with
`control="vehicles"` it becomes no agent: it is static, or replays its log in a scene with logs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import samples
from small_scene import roads_of

import drive_env
from drive_env import DriveConfig
from drive_env.scenes import GoalLists, LaneGraph, Objects, Scene
from drive_env.scenes.scene import OBJECT_KIND_CODES, ROAD_KIND_CODES

FAR = 10_000.0
"""A goal this far ahead is out of reach in any test, m."""

ACCELERATION_BINS, STEERING_BINS = 7, 13
ACTION_COUNT = ACCELERATION_BINS * STEERING_BINS
ACCELERATIONS_MPS2 = np.linspace(-4.0, 4.0, ACCELERATION_BINS)
STEERINGS_RAD = np.linspace(-0.6, 0.6, STEERING_BINS)
COAST, STRAIGHT = ACCELERATION_BINS // 2, STEERING_BINS // 2
"""The bins in the middle, of no acceleration and of wheels ahead."""

COAST_ACTION, BRAKE_ACTION = COAST * STEERING_BINS + STRAIGHT, STRAIGHT
THROTTLE_ACTION = (ACCELERATION_BINS - 1) * STEERING_BINS + STRAIGHT
"""Discrete actions, all straight on."""


@dataclass(frozen=True)
class Actor:
    """One object. `log`: a (x_m, y_m, heading_rad, speed_mps) a frame, None where it is not on the map."""

    x_m: float = 0.0
    y_m: float = 0.0
    heading_rad: float = 0.0
    speed_mps: float = 0.0
    goal_m: tuple[float, float] | None = None
    length_m: float = 4.0
    width_m: float = 2.0
    kind: str = "vehicle"
    expert: bool = False
    id: int | None = None
    log: tuple | None = None

    def poses(self, frames):
        if self.log is not None:
            return [*self.log, *[None] * (frames - len(self.log))]
        return [(self.x_m, self.y_m, self.heading_rad, self.speed_mps)] + [None] * (frames - 1)


def driver(x_m=0.0, y_m=0.0, heading_rad=0.0, speed_mps=0.0, **more):
    """An actor whose goal lies far ahead."""
    ahead = (x_m + FAR * math.cos(heading_rad), y_m + FAR * math.sin(heading_rad))
    return Actor(x_m, y_m, heading_rad, speed_mps, **{"goal_m": ahead, **more})


def log_replay(poses, **more):
    """A log-replay vehicle; entries of the log may be None."""
    return Actor(log=tuple(poses), **{"expert": True, "goal_m": (FAR, FAR), **more})


def standing(frames, x_m, y_m, heading_rad=0.0, **more):
    """An actor that stands in every frame of a scene with logs."""
    return log_replay([(x_m, y_m, heading_rad, 0.0)] * frames, **more)


def stage(actors, roads=(), dt_s=0.1, sdc=-1, tracks=(), turn_rad=0.0, shift_m=(0.0, 0.0), name="staged",
          generated=False):
    """A valid `Scene`, turned and shifted as a whole. roads: (kind name, [(x_m, y_m), ...])."""
    # tracks and goals of the actors
    cos, sin = math.cos(turn_rad), math.sin(turn_rad)

    def place(x, y):
        return x * cos - y * sin + shift_m[0], x * sin + y * cos + shift_m[1]

    frames = max([len(actor.log) for actor in actors if actor.log is not None], default=1)
    count = len(actors)
    tracks_of = np.zeros((6, frames, count))
    for i, actor in enumerate(actors):
        for frame, pose in enumerate(actor.poses(frames)):
            if pose is not None:
                x, y, heading, speed = pose
                heading = math.remainder(heading + turn_rad, 2 * math.pi)
                velocity = speed * math.cos(heading), speed * math.sin(heading)
                tracks_of[:, frame, i] = (*place(x, y), heading, *velocity, 1)
    x, y, heading, vx, vy = tracks_of[:5].astype(np.float32)
    goals = [place(*actor.goal_m) if actor.goal_m else place(actor.x_m, actor.y_m) for actor in actors]
    # objects
    objects = Objects(
        id=np.array([100 + i if actor.id is None else actor.id for i, actor in enumerate(actors)], np.int64),
        kind=np.array([OBJECT_KIND_CODES[actor.kind] for actor in actors], np.uint8),
        length_m=np.array([actor.length_m for actor in actors], np.float32),
        width_m=np.array([actor.width_m for actor in actors], np.float32),
        height_m=np.full(count, 1.5, np.float32), goal_m=np.array(goals, np.float32).reshape(count, 2),
        marked_expert=np.array([actor.expert for actor in actors], bool),
        x_m=x, y_m=y, heading_rad=heading, vx_mps=vx, vy_mps=vy, valid=tracks_of[5] > 0)
    # roads
    lines = roads_of([(ROAD_KIND_CODES[kind], [place(*point) for point in line]) for kind, line in roads])
    lanes = LaneGraph(np.zeros(len(roads) + 1, np.int32), np.zeros(0, np.int32))
    return Scene(name=name, source="hand-made", generated=generated, dt_s=dt_s, origin_m=np.zeros(2),
                 objects=objects, roads=lines, lanes=lanes, sdc=sdc, tracks_to_predict=tuple(tracks))


IGNORE_ALL = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}


FEW_SLOTS = DriveConfig(observation={"partners": 8, "roads": 8})


def batch_of(scenes, num_worlds=1, seed=0, threads=1, **choices):
    """A batch after its reset; by default with few slots and with trials longer than any test."""
    scenes = [scenes] if isinstance(scenes, Scene) else scenes
    config = FEW_SLOTS.replace(**{"trial_steps": 10_000, **choices})
    batch = drive_env.Batch(scenes=scenes, num_worlds=num_worlds, config=config, seed=seed, threads=threads)
    batch.reset()
    return batch


def discrete(batch, acceleration_bin=COAST, steering_bin=STRAIGHT):
    """The discrete actions of all agents; each bin may be one number or one an agent."""
    action = np.asarray(acceleration_bin) * STEERING_BINS + steering_bin
    return np.broadcast_to(action, (batch.num_agents,)).astype(np.int64)


def drive(batch, steps, acceleration_bin=COAST, steering_bin=STRAIGHT):
    """Steps with constant controls; returns the arrays of every step, (steps, agents), by name.

    `x_m` has all vehicles of all worlds, agents first.
    """
    state_names = ("collision_onset", "offroad_onset", "goal_onset", "collision_vehicle", "x_m")
    outputs = ("rewards", "outcome", "removed")
    record = {name: [] for name in (*state_names, *outputs)}
    for _ in range(steps):
        batch.step(discrete(batch, acceleration_bin, steering_bin))
        for name in state_names:
            record[name].append(batch._core.state[name].reshape(-1).copy())
        for name in outputs:
            record[name].append(getattr(batch, name).copy())
    return {name: np.array(values) for name, values in record.items()}


def play_randomly(batch, steps, seed=0):
    """Steps with seeded discrete actions; yields after each of them."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        batch.step(rng.integers(0, batch.single_action_space.n, batch.num_agents))
        yield


def onsets(record, name, agent=0):
    """The steps, from 0, in which an array of onsets is true for an agent."""
    return list(np.flatnonzero(record[name][:, agent]))


def sample(name):
    """A real scene; skips the test where its file is not at hand."""
    return drive_env.load_scene(samples.sample(name))


def changed(scene, **objects):
    """The scene with fields of its objects replaced."""
    return replace(scene, objects=replace(scene.objects, **objects))


def listed(scene, goals_m, headings_rad=None, repeating=()):
    """The scene with lists: (x_m, y_m) of each further goal, by object; headings likewise."""
    objects = [item for item, goals in goals_m.items() for _ in goals]
    flat = np.array([goal for goals in goals_m.values() for goal in goals], np.float32).reshape(-1, 2)
    headings = None if headings_rad is None else np.array(
        [heading for item in goals_m for heading in headings_rad[item]], np.float32)
    return replace(scene, goal_lists=GoalLists(np.array(objects, np.int32), flat, goal_heading_rad=headings,
                                               repeating=np.array(repeating, np.int32)))
