"""A rule-based driver: lanes and lane changes, car following, right of way, lights and signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..batch import Batch
from ..binding import ffi
from ..errors import checked_int
from ..sub_batch import check_is_whole
from .controls import actions_of, check_controls
from .reference_path import native_driver


class LaneDriver:
    """Drives the agents of a batch by rule: along lane centres, slower in bends, with a gap to other vehicles.

    * **Reference path.** The shortest one along lanes; if no lanes lead to the goal, the object's logged track; without
      a log, lanes side by side, with lane changes; else the straight line. It leads to the goal of the scene and
      straight on past it: not to goals that follow with `on_goal` "next"; with "respawn" it is that of the start that
      the agent has. Where the scene has candidate goals, it leads to the drawn one, unless the config ever hides it
      (`observation.goal_reveal_s`).
    * **Speed.** The limit of the lane in generated scenes, up to 30 m/s; in logs 50 km/h, or more, up to 30 m/s, where
      the path is too long for that within a trial. The acceleration is that of the intelligent driver model.
    * **Lights and signs**, with `traffic_controls`. It stops at red, at yellow if 3 m/s2 suffice, and at stop signs. At
      stop and yield signs it waits for agents that come on a road without one.
    * **Right of way.** Where paths cross, the agent that is inside goes first, then the one that arrives first; the
      other one waits before the crossing. It enters a crossing only if it can leave it. Of agents that stand and wait
      for each other in a cycle, the one of lowest index drives on. Where paths join, agents merge in turn (zipper
      merge), the nearer one first.
    * **Lane changes.** It changes lanes as soon as the gaps ahead and behind on the other lane are at least the sum of
      the gap at rest, half of the headway, and the distance that the faster vehicle needs to brake to the speed of the
      other. Where the lane ends it waits for a gap; the agent behind on the other lane makes room.
      It changes lanes to get to its goal only, not to overtake.

    Vehicles that stand for ever are passed on the left. Vehicles that are no agents and cross are forecast to drive
    straight on. The driver knows no hidden values, does not reverse, does not park, and gives no priority from the
    right. The actions are a function of the worlds' current state.

    Args:
        batch: any batch; `env.batch` for an env.

    Raises:
        ConfigError: `batch` is not a whole `Batch`, or the actions of its vehicle model set other numbers than an
            acceleration and a wheel angle or curvature.
    """

    def __init__(self, batch: Batch) -> None:
        check_is_whole(batch)
        check_controls(batch.config)
        self.batch = batch
        # The core's drivers by scene and drawn goals (b"" for those of the scene), and the lengths of agents by scene.
        self._drivers: dict[tuple[int, bytes], Any] = {}
        self._length_m: dict[int, np.ndarray] = {}

    def act(self, world: int = 0) -> np.ndarray:
        """Actions for the agents of one world, in the form of `batch.actions`; those of agents that wait are arbitrary.

        Args:
            world: a world of the batch.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed.
        """
        return self._actions(checked_int("world", world, 0, self.batch.num_worlds - 1), 1)

    def act_all(self) -> np.ndarray:
        """Actions for every agent of the batch, in the form of `batch.actions`.

        Raises:
            CallError: the batch is closed.
        """
        return self._actions(0, self.batch.num_worlds)

    def _actions(self, first: int, count: int) -> np.ndarray:
        batch = self.batch
        batch._check_open()
        scenes = [int(scene) for scene in batch.scene_index[first : first + count]]
        for scene in set(scenes) - set(self._length_m):
            self._add_lengths(scene)

        # Worlds one by one where they differ in their goals, else in one call.
        if any(self._follows_draw(scene) for scene in set(scenes)):
            parts = [batch._core.drive(world, 1, self._drivers_of([scene], world)) for world, scene
                     in enumerate(scenes, first)]
            acceleration_mps2, steering_rad = np.concatenate(parts, axis=1)
        else:
            acceleration_mps2, steering_rad = batch._core.drive(first, count, self._drivers_of(scenes, first))
        length_m = np.concatenate([self._length_m[scene] for scene in scenes])
        return actions_of(acceleration_mps2, steering_rad, length_m, batch.config)

    def _follows_draw(self, scene: int) -> bool:
        """Whether the agents of a scene drive to goals that their episode drew."""
        has_candidates = len(self.batch.roles[scene].scene.candidate_goals_m) > 0
        return has_candidates and self.batch.config.observation.goal_reveal_s is None

    def _drivers_of(self, scenes: list[int], world: int) -> list[Any]:
        """The drivers for a call of the core, one a scene of the batch; `world` has the drawn goals."""
        drivers = [ffi.NULL] * len(self.batch.roles)
        for scene in set(scenes):
            drivers[scene] = self._driver(scene, world)
        return drivers

    def _driver(self, scene: int, world: int) -> Any:
        batch = self.batch
        drawn_m = self._drawn_m(scene, world) if self._follows_draw(scene) else None
        key = scene, b"" if drawn_m is None else drawn_m.tobytes()
        if key not in self._drivers:
            # Agents may draw more combinations of goals than memory holds paths for.
            if len(self._drivers) >= batch.num_worlds + len(batch.roles):
                self._drivers.clear()
            handle = batch._core.scene_handles[scene]
            self._drivers[key] = native_driver(batch.roles[scene], handle, batch.config, drawn_m)
        return self._drivers[key]

    def _drawn_m(self, scene: int, world: int) -> np.ndarray:
        """(agents, 3) float64, the drawn goals of a world, as `native_driver` takes them."""
        state, count = self.batch._core.state, self.batch.roles[scene].num_agents
        columns = [state[name][world][:count] for name in ("goal_x_m", "goal_y_m", "goal_z_m")]
        if len(columns[2]) == 0:  # no scene of the batch has roads above each other
            columns[2] = np.full(count, np.nan, np.float32)
        return np.stack(columns, axis=1).astype(np.float64)

    def _add_lengths(self, scene: int) -> None:
        roles = self.batch.roles[scene]
        agents = roles.objects[: roles.num_agents]
        self._length_m[scene] = np.ones(self.batch.agents_per_world, np.float32)  # absent agents: any length
        self._length_m[scene][: len(agents)] = roles.scene.objects.length_m[agents]
