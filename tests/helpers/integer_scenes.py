"""In which step does every event of a scene happen? Small scenes on parallel lanes, in exact integer arithmetic.

Cars are on straight parallel lanes and only accelerate or brake. All positions are whole numbers of *notches*, all
speeds whole numbers of notches a step, and one acceleration bin changes a speed by one. So the tests move the cars
in integers, exactly, while every threshold (a bumper against a wall, a car against a car, the rim of a goal) lies
between two notches, millimetres from any position of a car: no rounding in the core can change a fact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from small_scene import roads_of

from drive_env.scenes import scene as scene_module

DT_S = 0.1
ACCELERATION_STEP_MPS2 = 4.0 / 3.0
"""Between two of the seven acceleration bins."""
NOTCH_M = DT_S * DT_S * ACCELERATION_STEP_MPS2
NOTCH_MPS = DT_S * ACCELERATION_STEP_MPS2
FASTEST = 300
"""40 m/s, the default max_speed_mps."""
GOAL_RADIUS = 150
"""2 m, the default goal_radius_m."""
GOAL_SPACING = 300
"""4 m, from a goal to the next one."""
LANE_END = 2250
"""30 m, where all lanes end."""
FAR_GOAL = 150_000
"""2 km: no trial of these tests is long enough."""
LANE_GAP_M = 12.0
WALL_HALF_WIDTH_M = 3.0
CAR_WIDTH_M = 2.0

COAST = 3
FULL_THROTTLE = 6
FULL_BRAKE = 0
STEERING_BINS = 13
STRAIGHT = STEERING_BINS // 2

LONG = 300
"""Length of a car of 4 m; half a notch is added, see `length_m`."""
SHORT = 60
"""Length of a car of 0.8 m, which at 35 m/s passes a wall, or another such car, within one step."""


@dataclass(frozen=True)
class Car:
    """A car with its centre on notch `at` of its lane and its goal half a notch beyond notch `goal`."""

    lane: int
    at: int = 0
    speed: int = 0
    goal: int = FAR_GOAL
    length: int = LONG
    further: tuple[int, ...] = ()
    """The goals of its list, likewise."""
    repeats: bool = False

    @property
    def length_m(self):
        return (self.length + 0.5) * NOTCH_M


@dataclass(frozen=True)
class Wall:
    """A road edge across a lane, half a notch beyond notch `at`."""

    lane: int
    at: int


@dataclass(frozen=True)
class Stage:
    """Agents, static vehicles and walls; all rotated about the origin by `turn_rad`."""

    agents: tuple[Car, ...]
    static_vehicles: tuple[Car, ...] = ()
    walls: tuple[Wall, ...] = ()
    turn_rad: float = 0.0
    name: str = "staged"

    def place(self, along_m, across_m):
        cos, sin = math.cos(self.turn_rad), math.sin(self.turn_rad)
        return along_m * cos - across_m * sin, along_m * sin + across_m * cos

    def scene(self):
        """The `Scene` that shows this stage: agents first, so that agent r is object r."""
        # places, goals and speeds of the cars
        cars = self.agents + self.static_vehicles
        lane_of = [car.lane * LANE_GAP_M for car in cars]
        at = np.array([self.place(car.at * NOTCH_M, y) for car, y in zip(cars, lane_of)])
        goals = [(car.goal + 0.5) * NOTCH_M for car in self.agents]
        # A car on its own goal becomes no agent; without a log it is static.
        goals += [car.at * NOTCH_M for car in self.static_vehicles]
        listed = [(r, self.place((goal + 0.5) * NOTCH_M, lane_of[r])) for r, car in enumerate(self.agents)
                  for goal in car.further]
        lists = scene_module.GoalLists(
            object=np.array([r for r, _ in listed], np.int32),
            goal_m=np.array([at for _, at in listed], np.float32).reshape(-1, 2),
            repeating=np.array([r for r, car in enumerate(self.agents) if car.repeats], np.int32))
        goal = np.array([self.place(x, y) for x, y in zip(goals, lane_of)])
        speed = np.array([car.speed * NOTCH_MPS for car in cars])
        forward = np.array(self.place(1.0, 0.0))
        # objects, in the one frame of the scene
        count = len(cars)
        frame = lambda values: np.asarray(values, np.float32).reshape(1, count)
        objects = scene_module.Objects(
            id=np.arange(100, 100 + count, dtype=np.int64),
            kind=np.full(count, scene_module.OBJECT_KIND_CODES["vehicle"], np.uint8),
            length_m=np.array([car.length_m for car in cars], np.float32),
            width_m=np.full(count, CAR_WIDTH_M, np.float32),
            height_m=np.full(count, 1.5, np.float32),
            goal_m=goal.astype(np.float32),
            marked_expert=np.zeros(count, bool),
            x_m=frame(at[:, 0]),
            y_m=frame(at[:, 1]),
            heading_rad=frame(np.full(count, self.turn_rad)),
            vx_mps=frame(speed * forward[0]),
            vy_mps=frame(speed * forward[1]),
            valid=np.ones((1, count), bool),
        )
        # lanes and walls
        lanes = sorted({car.lane for car in cars})
        lines = [
            ("lane", [self.place(-2.0, k * LANE_GAP_M), self.place(LANE_END * NOTCH_M, k * LANE_GAP_M)]) for k in lanes
        ]
        for wall in self.walls:
            x, y = (wall.at + 0.5) * NOTCH_M, wall.lane * LANE_GAP_M
            lines.append(
                ("edge", [self.place(x, y - WALL_HALF_WIDTH_M), self.place(x, y + WALL_HALF_WIDTH_M)])
            )
        return replace(make_scene(self.name, objects, lines), goal_lists=lists)


def make_scene(name, objects, lines, dt_s=DT_S):
    """A hand-made `Scene`. lines: (kind name, [(x_m, y_m), ...]) for each polyline."""
    roads = roads_of([(scene_module.ROAD_KIND_CODES[kind], line) for kind, line in lines])
    graph = scene_module.LaneGraph(start=np.zeros(len(lines) + 1, np.int32), successor=np.zeros(0, np.int32))
    return scene_module.Scene(
        name=name, source="hand-made", generated=False, dt_s=dt_s, origin_m=np.zeros(2), objects=objects,
        roads=roads, lanes=graph)


def coasting_car(lane, speed=60, length=LONG, goal_step=None, wall_step=None, car_step=None):
    """An agent that coasts from notch 0, and the obstacles on its lane that cause the scheduled events.

    Each step is the step of the trial, from 1, in which the coasting car reaches its goal, a wall, a static vehicle.

    Returns:
        (agent, static vehicles, walls).
    """
    midway = lambda step: speed * (step - 1) + speed // 2
    goal = FAR_GOAL if goal_step is None else GOAL_RADIUS + midway(goal_step)
    half = (length + 1) // 2
    walls = () if wall_step is None else (Wall(lane, half + midway(wall_step)),)
    static_vehicles = () if car_step is None else (Car(lane, at=length + 1 + midway(car_step), length=length),)
    return Car(lane, speed=speed, goal=goal, length=length), static_vehicles, walls


def coasting_stage(schedule, speed=60, length=LONG, **more):
    """A stage with one lane an agent; schedule: one dict of `goal_step`, `wall_step`, `car_step` an agent."""
    agents, static_vehicles, walls = [], [], []
    for lane, steps in enumerate(schedule):
        agent, more_static_vehicles, more_walls = coasting_car(lane, speed, length, **steps)
        agents.append(agent)
        static_vehicles += more_static_vehicles
        walls += more_walls
    return Stage(tuple(agents), tuple(static_vehicles), tuple(walls), **more)


def actions_for(action_type, pushes):
    """The actions that accelerate each agent by its bin, 0 .. 6, and steer it straight."""
    pushes = np.asarray(pushes, np.int64)
    if action_type == "discrete":
        return pushes * STEERING_BINS + STRAIGHT
    if action_type == "multi_discrete":
        return np.stack([pushes, np.full_like(pushes, STRAIGHT)], axis=-1)
    return np.stack([(pushes - COAST) / COAST, np.zeros(len(pushes))], axis=-1).astype(np.float32)
