"""In which step does every event of a scene happen? Small scenes on parallel lanes, in exact integer arithmetic.

Cars are on straight parallel lanes and only accelerate or brake. All positions are whole numbers of *notches*, all
speeds whole numbers of notches a step, and one acceleration bin changes a speed by one. So the tests move the cars
in integers, exactly, while every threshold (a bumper against a wall, a car against a car, the rim of a goal) lies
between two notches, millimetres from any position of a car: no rounding in the core can change a fact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from oracle import CHANNELS, NOTHING, OUTCOMES, Facts, Metrics, Rules, World

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
FAR_GOAL = 150_000
"""2 km: no trial of these tests is long enough."""
LANE_GAP_M = 12.0
WALL_HALF_WIDTH_M = 3.0
CAR_WIDTH_M = 2.0

COAST = 3
FULL_THROTTLE = 6
FULL_BRAKE = 0
STRAIGHT = 6
"""The middle of the 13 steering bins."""

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
        cars = self.agents + self.static_vehicles
        lane_of = [car.lane * LANE_GAP_M for car in cars]
        at = np.array([self.place(car.at * NOTCH_M, y) for car, y in zip(cars, lane_of)])
        goals = [(car.goal + 0.5) * NOTCH_M for car in self.agents]
        # A car on its own goal becomes no agent; without a log it is static.
        goals += [car.at * NOTCH_M for car in self.static_vehicles]
        goal = np.array([self.place(x, y) for x, y in zip(goals, lane_of)])
        speed = np.array([car.speed * NOTCH_MPS for car in cars])
        forward = np.array(self.place(1.0, 0.0))
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
        lanes = sorted({car.lane for car in cars})
        lines = [
            ("lane", [self.place(-2.0, k * LANE_GAP_M), self.place(30.0, k * LANE_GAP_M)]) for k in lanes
        ]
        for wall in self.walls:
            x, y = (wall.at + 0.5) * NOTCH_M, wall.lane * LANE_GAP_M
            lines.append(
                ("edge", [self.place(x, y - WALL_HALF_WIDTH_M), self.place(x, y + WALL_HALF_WIDTH_M)])
            )
        return make_scene(self.name, objects, lines)


def make_scene(name, objects, lines, dt_s=DT_S):
    """A hand-made `Scene`. lines: (kind name, [(x_m, y_m), ...]) for each polyline."""
    points = np.array([point for _, line in lines for point in line], np.float32).reshape(-1, 2)
    count = len(lines)
    roads = scene_module.Roads(
        id=np.arange(count, dtype=np.int64),
        kind=np.array([scene_module.ROAD_KIND_CODES[kind] for kind, _ in lines], np.uint8),
        start=np.cumsum([0] + [len(line) for _, line in lines]).astype(np.int32),
        x_m=points[:, 0].copy(),
        y_m=points[:, 1].copy(),
        width_m=np.zeros(count, np.float32),
        speed_limit_mps=np.zeros(count, np.float32),
    )
    graph = scene_module.LaneGraph(start=np.zeros(count + 1, np.int32), successor=np.zeros(0, np.int32))
    return scene_module.Scene(
        name=name, source="hand-made", generated=False, dt_s=dt_s, origin_m=np.zeros(2), objects=objects,
        roads=roads, lanes=graph)


def _overlap(a, b, at_a, at_b):
    """Whether two cars of one lane overlap; their lengths add up to a whole number plus a half."""
    return 2 * abs(at_a - at_b) <= a.length + b.length + 1


def _meet(a, b, gap_before, gap_after):
    """Whether they overlap anywhere between one gap (a's position minus b's) and another."""
    if gap_before * gap_after <= 0:
        return True
    return 2 * min(abs(gap_before), abs(gap_after)) <= a.length + b.length + 1


class Motion:
    """The cars of one world of a stage, moved in whole numbers."""

    def __init__(self, stage):
        self.stage = stage
        self.cars = stage.agents + stage.static_vehicles
        self.restart()

    def restart(self):
        self.at = [car.at for car in self.cars]
        self.speed = [car.speed for car in self.cars]

    def advance(self, pushes, drives, on_map):
        """Moves the driving agents one step and returns the facts of every agent, judged from that one snapshot.

        pushes: one acceleration bin (0 .. 6) an agent; those of agents that do not drive are not read.
        drives, on_map: one bool an agent, as they are before the step.
        """
        num_agents = len(self.stage.agents)
        before = list(self.at)
        for r in range(num_agents):
            if drives[r]:
                self.speed[r] = min(max(self.speed[r] + pushes[r] - COAST, 0), FASTEST)
                self.at[r] += self.speed[r]
        there = [*on_map[:num_agents], *([True] * len(self.stage.static_vehicles))]
        return [
            Facts(
                goal=self._meets_goal(r, before[r]),
                collision=self._meets_car(r, before, there),
                offroad=self._meets_wall(r, before[r]),
            ) if drives[r] else NOTHING
            for r in range(num_agents)
        ]

    def _meets_goal(self, r, before):
        goal = self.stage.agents[r].goal + 0.5
        return before - GOAL_RADIUS <= goal <= self.at[r] + GOAL_RADIUS

    def _meets_wall(self, r, before):
        car = self.cars[r]
        half = (car.length + 0.5) / 2
        onset = False
        for wall in self.stage.walls:
            if wall.lane == car.lane:
                place = wall.at + 0.5
                over_it_already = abs(place - before) <= half
                onset |= not over_it_already and before - half <= place <= self.at[r] + half
        return onset

    def _meets_car(self, r, before, there):
        car = self.cars[r]
        for other_index, other in enumerate(self.cars):
            if other_index == r or other.lane != car.lane or not there[other_index]:
                continue
            if _overlap(car, other, before[r], before[other_index]):
                continue
            gaps = before[r] - before[other_index], self.at[r] - self.at[other_index]
            if _meet(car, other, *gaps):
                return True
        return False


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
        return pushes * 13 + STRAIGHT
    if action_type == "multi_discrete":
        return np.stack([pushes, np.full_like(pushes, STRAIGHT)], axis=-1)
    return np.stack([(pushes - COAST) / 3.0, np.zeros(len(pushes))], axis=-1).astype(np.float32)


class StagedBatch:
    """The arrays that a `Batch` of staged scenes must show: `Motion` gives the facts, the oracle the channels.

    The arrays have the names, shapes and types of the batch's. `scene_index` passes the scenes that the batch drew;
    without it world w plays scenes w, w + 1, ... in its episodes. Observations hold the car's position, its speed and
    its trial features, enough to test the laws on.
    """

    def __init__(self, stages, config, num_worlds, agents_per_world=None, restart="auto"):
        self.stages = stages
        self.config = config
        self.agents_per_world = agents_per_world or max(len(stage.agents) for stage in stages)
        self.num_agents = num_worlds * self.agents_per_world
        self.world_of_agent = np.repeat(np.arange(num_worlds), self.agents_per_world)
        rules = Rules.of(config, restart=restart)
        self.figures = Metrics(self.num_agents, rules.ema_alpha)
        self.worlds = [World(rules, self.agents_per_world, self.figures, w * self.agents_per_world)
                       for w in range(num_worlds)]
        self.motions = [None] * num_worlds
        self.scene_index = np.full(num_worlds, -1, np.int32)
        self.episodes = np.full(num_worlds, -1)
        self.actions = np.zeros(self.num_agents, np.int64)
        self._empty_arrays()

    # -- calls

    def reset(self, worlds=None, initial_ages=None, scene_index=None):
        for w in range(len(self.worlds)):
            if worlds is None or worlds[w]:
                self._choose_scene(w, scene_index)
                age = 0 if initial_ages is None else int(initial_ages[w])
                self._show(w, self.worlds[w].reset(self._present(w), age))

    def step(self, actions, scene_index=None):
        """actions: discrete ones; those of agents that wait are not read."""
        for world in self.worlds:
            if world.agents is None or (
                    world.next_call_restarts and world.last_trial and world.rules.restart == "caller"):
                world.step(None)
        for w, world in enumerate(self.worlds):
            if not world.next_call_restarts:
                first = w * self.agents_per_world
                pushes = [
                    int(actions[first + r]) // 13 if drives else COAST
                    for r, drives in enumerate(world.drives)
                ]
                facts = self.motions[w].advance(pushes, world.drives, world.on_map)
                facts += [NOTHING] * (self.agents_per_world - len(facts))
                self._show(w, world.step(facts))
                continue
            if world.last_trial:
                self._choose_scene(w, scene_index)
            self.motions[w].restart()
            self._show(w, world.step(None, self._present(w)))

    def trial_features(self, agent):
        return self.worlds[agent // self.agents_per_world].trial_features(agent % self.agents_per_world)

    def restart_features(self, agent):
        return self.worlds[agent // self.agents_per_world].restart_features(agent % self.agents_per_world)

    # -- what the law checks read of a batch

    def observation_layout(self):
        return self.layout

    # -- internal

    def _choose_scene(self, w, scene_index):
        self.episodes[w] += 1
        chosen = (w + self.episodes[w]) % len(self.stages) if scene_index is None else scene_index[w]
        self.scene_index[w] = chosen
        self.motions[w] = Motion(self.stages[chosen])

    def _present(self, w):
        count = len(self.stages[self.scene_index[w]].agents)
        return [r < count for r in range(self.agents_per_world)]

    def _empty_arrays(self):
        for name in CHANNELS:
            dtype = {"rewards": np.float32, "trial_index": np.int32, "outcome": np.uint8}.get(name, bool)
            setattr(self, name, np.zeros(self.num_agents, dtype))
        names = ["ego/at", "ego/speed", "trial/index", "trial/reward", "trial/steps_share",
                 *(f"trial/outcome_{name}" for name in OUTCOMES)]
        scales = {"ego/at": 1e-4, "ego/speed": 1 / FASTEST, "trial/index": 1 / self.config.max_trials}
        self.layout = {
            name: SimpleNamespace(offset=i, slots=1, stride=0, scale=scales.get(name, 1.0), low=-1.0)
            for i, name in enumerate(names)}
        self.observations = np.zeros((self.num_agents, len(names)), np.float32)
        self.single_observation_space = SimpleNamespace(low=np.float32(-1), high=np.float32(1))

    def _show(self, w, channels):
        agents = slice(w * self.agents_per_world, (w + 1) * self.agents_per_world)
        for name, values in channels.items():
            getattr(self, name)[agents] = values
        for r in range(self.agents_per_world):
            features = self.worlds[w].trial_features(r)
            shown = self.observations[w * self.agents_per_world + r]
            shown[:] = 0
            if features is None:
                continue
            raw = {f"trial/{name}": value for name, value in features.items()}
            raw |= {"ego/at": self.motions[w].at[r], "ego/speed": self.motions[w].speed[r]}
            for name, entry in self.layout.items():
                shown[entry.offset] = min(max(raw[name] * entry.scale, entry.low), 1.0)
