"""A rule-based driver: lanes and lane changes, car following, right of way, lights and signs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..batch import Batch
from ..binding import ffi
from .controls import actions_of
from .lane_changes import ReferencePath
from .reference_path import Plan, Planner, native_driver
from .rule_based import RuleBasedDriver

LEGS = 2
"""Number of goals that a path leads to: the present one and the next one, so that the driver can prepare for it."""

PATHS_KEPT = 16384
"""Most paths that a driver caches; the cache is cleared when it is full."""


class WorldDriver(NamedTuple):
    """The core's driver of a world whose goals are not those of its scene alone.

    Attributes:
        scene: index of the scene.
        keys: of each agent, identifies its present plan among all plans of the scene; see `LaneDriver._plans`.
        paths: of each agent, along its present plan.
        handle: a drv_lane_driver.
    """

    scene: int
    keys: list[bytes]
    paths: list[list[ReferencePath]]
    handle: Any


class LaneDriver(RuleBasedDriver):
    """Drives the agents of a batch by rule: along lane centres, slower in bends, with a gap to other vehicles.

    * **Reference path.** The shortest one along lanes; if no lanes lead to the goal, the object's logged track; without
      a log, lanes side by side, with lane changes; else the straight line. It leads to the goal and straight on past
      it. With `on_goal` "next" it leads on to the next goal, and begins where the agent is as it reaches a goal; with
      "respawn" it is that of the start that the agent has. Where the scene has candidate goals, it leads to the drawn
      one. If the config hides the goal (`observation.goal_reveal_s`), it leads to the goal in the scene, and to no
      further goals: with `on_goal` "next" it goes straight on past the first one.
    * **Speed.** The limit of the lane in generated scenes, up to 30 m/s; in logs 50 km/h, or more, up to 30 m/s, where
      the path is too long for that within a trial. The acceleration is that of the intelligent driver model.
    * **Lights and signs**, with `traffic_controls`. It stops at red, at yellow if 3 m/s2 suffice, and at stop signs. At
      stop and yield signs it waits for agents that come on a road without one.
    * **Right of way.** Where paths cross, the agent that can no longer stop goes first, then the one that is inside
      the crossing, then the one that arrives first; the other one waits. Of two inside, the one that leaves the
      crossing first goes first. One that stands does not start before one that is too fast to stop. An agent enters
      a crossing only if it can leave it. Of agents that stand and wait for each other in a cycle, the one of lowest
      index drives on. Where paths join, agents merge in turn (zipper merge), the nearer one first.
    * **Lane changes.** It changes lanes as soon as the gaps ahead and behind on the other lane are at least the sum of
      the gap at rest, half of the headway, and the distance that the faster vehicle needs to brake to the speed of the
      other. Where the lane ends it waits for a gap; the agent behind on the other lane makes room. Of two agents that
      are to exchange lanes, the one behind stops earlier; where both stand beside each other, one drives on. It
      changes lanes only to get to its goal.
    * **Overtaking**, in generated scenes. On the oncoming lane it passes vehicles that are no agents and drive at less
      than 75% of the speed of its path, if by a forecast of its accelerations it is back before its goal and at least
      1.2 s before it meets an oncoming vehicle. It does not overtake near places where paths cross or across stop
      lines.

    Vehicles that will not drive on are passed on the left. Vehicles that are no agents and cross are forecast to drive
    straight on. The driver uses no hidden values, does not reverse, does not park, and gives no priority from the
    right. The actions are a function of the worlds' current state; with `on_goal` "next" also of the places where the
    agents reached their goals.

    Args:
        batch: any batch; `env.batch` for an env.
        overtakes: whether agents overtake; if not, they stay behind slow vehicles.

    Raises:
        ConfigError: `batch` is not a whole `Batch`, or the actions of its vehicle model set other numbers than an
            acceleration and a wheel angle or curvature.
    """

    def __init__(self, batch: Batch, *, overtakes: bool = True) -> None:
        super().__init__(batch)
        self.overtakes = bool(overtakes)
        # Planners, and the lengths of agents, by scene; paths from starts by scene, agent and goals; the core's drivers
        # by scene or, where worlds differ in their goals, by world.
        self._planners: dict[int, Planner] = {}
        self._length_m: dict[int, np.ndarray] = {}
        self._paths: dict[tuple[int, int, bytes], list[ReferencePath]] = {}
        self._of_scene: dict[int, Any] = {}
        self._of_world: dict[int, WorldDriver] = {}

    def _actions(self, first: int, count: int) -> np.ndarray:
        batch = self.batch
        batch._check_open()
        scenes = [int(scene) for scene in batch.scene_index[first : first + count]]
        for scene in set(scenes) - set(self._length_m):
            self._add_scene(scene)

        # Worlds one by one where they differ in their goals, else in one call.
        if any(self._follows_goals(scene) for scene in set(scenes)):
            parts = [batch._core.drive(world, 1, self._drivers_of([scene], world)) for world, scene
                     in enumerate(scenes, first)]
            acceleration_mps2, steering_rad = np.concatenate(parts, axis=1)
        else:
            acceleration_mps2, steering_rad = batch._core.drive(first, count, self._drivers_of(scenes, first))
        length_m = np.concatenate([self._length_m[scene] for scene in scenes])
        return actions_of(acceleration_mps2, steering_rad, length_m, batch.config)

    def _follows_goals(self, scene: int) -> bool:
        """Whether the goals of the agents of a scene are not those of the scene alone: drawn, or one after another.

        Goals that the config hides are not followed.
        """
        config, has_candidates = self.batch.config, len(self.batch.roles[scene].scene.candidate_goals_m) > 0
        is_hidden = has_candidates and config.observation.goal_reveal_s is not None
        return not is_hidden and (config.on_goal == "next" or has_candidates)

    def _drivers_of(self, scenes: list[int], world: int) -> list[Any]:
        """The drivers for a call of the core, one a scene of the batch; `world` has the drawn goals."""
        drivers = [ffi.NULL] * len(self.batch.roles)
        for scene in set(scenes):
            drivers[scene] = self._driver(scene, world)
        return drivers

    def _driver(self, scene: int, world: int) -> Any:
        if self._follows_goals(scene):
            return self._driver_of_world(scene, world)
        if scene not in self._of_scene:
            planner = self._planners[scene]
            self._of_scene[scene] = self._native(
                scene, [planner.paths(agent, planner.scene_plan(agent)) for agent in range(planner.roles.num_agents)])
        return self._of_scene[scene]

    def _driver_of_world(self, scene: int, world: int) -> Any:
        """The driver of a world with its present goals; agents keep the paths of plans that they already had."""
        plans, last = self._plans(scene, world), self._of_world.get(world)
        keys = [key for key, _ in plans]
        if last is None or (last.scene, last.keys) != (scene, keys):
            known = {}
            if last is not None and last.scene == scene:
                known = dict(zip(enumerate(last.keys), last.paths, strict=True))
            paths = [known.get((agent, key)) or self._paths_along(scene, agent, key, plan)
                     for agent, (key, plan) in enumerate(plans)]
            last = self._of_world[world] = WorldDriver(scene, keys, paths, self._native(scene, paths))
        return last.handle

    def _native(self, scene: int, paths: list[list[ReferencePath]]) -> Any:
        """The core's driver of a scene along the paths of each agent."""
        batch = self.batch
        return native_driver(self._planners[scene], batch._core.scene_handles[scene], batch.config, paths,
                             self.overtakes)

    def _plans(self, scene: int, world: int) -> list[tuple[bytes, Plan]]:
        """The present plan of each agent of a world, each with a key that identifies it."""
        # Where goals limit the speed, a path ends at its first goal.
        batch, core = self.batch, self.batch._core
        legs = LEGS if batch.config.goal_max_speed_mps is None else 1
        goals_m, counts = core.goals(world, legs)
        state = {name: core.state[name][world] for name in ("goals_reached", "x_m", "y_m", "heading_rad")}
        trial = b"".join(core.state[name][world].tobytes() for name in ("episode", "trial"))
        plans = []
        for agent in range(batch.roles[scene].num_agents):
            of_agent_m = goals_m[agent, : counts[agent]].astype(np.float64)
            if len(of_agent_m) == 0:  # before the first reset
                plans.append((b"", self._planners[scene].scene_plan(agent)))
                continue

            # Where an agent reached its goal differs between trials, and so does the path from there on.
            reached = int(state["goals_reached"][agent]) if batch.config.on_goal == "next" else 0
            x_m, y_m, heading_rad = (float(state[name][agent]) for name in ("x_m", "y_m", "heading_rad"))
            plan = Plan(of_agent_m, (x_m, y_m, heading_rad) if reached else None)
            plans.append((reached.to_bytes(8, "little") + of_agent_m.tobytes() + (trial if reached else b""), plan))
        return plans

    def _paths_along(self, scene: int, agent: int, key: bytes, plan: Plan) -> list[ReferencePath]:
        """The paths of a plan; those of plans that begin at the agent's start are cached, up to `PATHS_KEPT` plans."""
        if plan.pose is not None:
            return self._planners[scene].paths(agent, plan)
        if (scene, agent, key) not in self._paths:
            if len(self._paths) >= PATHS_KEPT:
                self._paths.clear()
            self._paths[scene, agent, key] = self._planners[scene].paths(agent, plan)
        return self._paths[scene, agent, key]

    def _add_scene(self, scene: int) -> None:
        roles = self.batch.roles[scene]
        agents = roles.objects[: roles.num_agents]
        self._length_m[scene] = np.ones(self.batch.agents_per_world, np.float32)  # absent agents: any length
        self._length_m[scene][: len(agents)] = roles.scene.objects.length_m[agents]
        self._planners[scene] = Planner(roles)
