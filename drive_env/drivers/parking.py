"""A rule-based driver for parking lots: lanes, bays, both gears, and who goes first."""

from __future__ import annotations

import numpy as np

from ..batch import Batch
from ..config import FOLLOWED_GOALS, GOAL_RESPONSES
from ..errors import ConfigError
from ..native import native_scene
from . import parking_plan
from .controls import actions_of
from .parking_order import Order
from .parking_path import Lot
from .parking_plan import CREEP_MPS, Plan, Planned, plan_of
from .rule_based import RuleBasedDriver


class ParkingDriver(RuleBasedDriver):
    """Parks the agents of a batch by rule, and takes them out of their bays: scenes of `generate_scene("parking")`.

    * **Path.** Along lanes to the aisle; from there into the bay, or the other way round, on lines and arcs with as few
      changes of gear as there is room for, mostly 2 or fewer. A goal in a bay without a heading is reached with the
      nose in. The path is that of the scene and does not change: vehicles that do not move, and agents in their bays,
      are obstacles.
    * **Control.** Curvature of the path, with feedback of the errors of place and heading of the rear axle. Lanes are
      driven at their limits, the rest at 1.2 m/s. The car stops in the middle of its bay.
    * **Order.** No agent drives onto the remaining path of one that goes before it, nor into one that stands: see
      `parking_order.py`.

    An agent without a path, because no lanes lead to its goal or there is no room, stands. Vehicles that move by
    themselves are ignored. The actions are a function of the worlds' states since the start of their trials. A driver
    may take over at any step; from then on call it at every step.

    Args:
        batch: any batch; `env.batch` for an env.

    Raises:
        ConfigError: `batch` is not a whole `Batch`, its config does not allow reverse, its agents have other goals than
            those of their scenes, or the actions of its vehicle model set other numbers than an acceleration and a
            wheel angle or curvature.
        SceneError: several lanes lead into a bay; raised as the scene is first played.
    """

    def __init__(self, batch: Batch) -> None:
        super().__init__(batch)
        least_mps = batch.config.dynamics.min_speed_mps
        if least_mps >= -CREEP_MPS:
            raise ConfigError(f"dynamics.min_speed_mps is {least_mps}; for a ParkingDriver, which reverses, it must be "
                              f"below {-CREEP_MPS}")
        if batch.config.on_goal in FOLLOWED_GOALS:
            allowed = ", ".join(repr(name) for name in GOAL_RESPONSES if name not in FOLLOWED_GOALS)
            raise ConfigError(f"on_goal is {batch.config.on_goal!r}; for a ParkingDriver, which drives to one goal, it "
                              f"must be one of {allowed}")
        for roles in batch.roles:
            if count := len(roles.scene.candidate_goals_m):
                raise ConfigError(f"scene {roles.scene.name} has {count} candidate goals; for a ParkingDriver, which "
                                  "drives to the goals in the scene, it must have 0")
        self._planned: dict[int, Planned] = {}
        self._plan: Plan | None = None
        # The pose of the plan where each agent is, and the scene, episode and trial for which that holds.
        self._at = np.zeros((batch.num_worlds, batch.agents_per_world), np.int64)
        self._trials = np.full((batch.num_worlds, 3), -2, np.int64)

    def _actions(self, first: int, count: int) -> np.ndarray:
        batch, worlds = self.batch, slice(first, first + count)
        batch._check_open()
        state = {name: array[worlds] for name, array in batch._core.state.items()}
        scenes = state["scene_index"][:, 0]
        plan = self._plan_with(scenes)
        dt_s = np.array([batch.roles[scene].dt_s for scene in scenes.tolist()])[:, None]
        axles = parking_plan.rear_axles(plan, scenes, state, batch.agents_per_world)

        # Where they are on their paths: in a trial that is new, anywhere; else a step farther at most.
        trials = np.concatenate([state[name] for name in ("scene_index", "episode", "trial")], axis=1)
        is_new = (trials != self._trials[worlds]).any(axis=1)
        at = np.where(is_new[:, None], parking_plan.nearest(plan, axles, scenes, np.flatnonzero(is_new)),
                      self._at[worlds])
        at = parking_plan.advanced(plan, axles, at, dt_s)
        self._at[worlds], self._trials[worlds] = at, trials

        # Agents without a path stop.
        has_path = plan.last[scenes] > 0
        is_there = state["present"][:, : batch.agents_per_world] > 0
        is_stopped = batch.stopped.reshape(batch.num_worlds, -1)[worlds]
        free_m = parking_plan.clear_m(plan, at, scenes, is_there, is_stopped)
        acceleration_mps2 = np.where(has_path, parking_plan.acceleration_mps2(plan, axles, at, free_m, dt_s),
                                     -axles.speed_mps / dt_s)
        curvature_per_m = np.where(has_path, parking_plan.curvature_per_m(plan, axles, at, dt_s), 0.0)
        steering_rad = np.arctan(curvature_per_m * plan.wheelbase_m[scenes])
        return actions_of(acceleration_mps2.ravel(), steering_rad.ravel(), plan.length_m[scenes].ravel(), batch.config)

    def _plan_with(self, scenes: np.ndarray) -> Plan:
        """The plan, which has these scenes."""
        batch, config = self.batch, self.batch.config
        missing = set(scenes.tolist()) - set(self._planned)
        for scene in sorted(missing):
            roles = batch.roles[scene]
            lot = Lot(roles, native_scene(roles, lane_graph=True), config)
            paths = [lot.path(agent) for agent in range(roles.num_agents)]
            ways = [lot.standing(agent) if path is None else path for agent, path in enumerate(paths)]
            self._planned[scene] = Planned(lot.cars, paths, Order(lot.cars, ways))
        if missing or self._plan is None:
            self._plan = plan_of(self._planned, len(batch.roles), batch.agents_per_world,
                                 -config.dynamics.min_speed_mps)
        return self._plan
