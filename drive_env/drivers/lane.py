"""A rule-based driver: lane keeping, car following, and right of way."""

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

    The reference path is the shortest one along lanes; if no lanes lead to the goal, it is the object's logged track;
    if there is no log, the straight line. Where two paths conflict, the vehicle that arrives first has the right of
    way. The path leads to the goal of the scene and straight on past it: not to goals that a task draws, or that follow
    with `on_goal` "next"; with "respawn" it is that of the start that the agent has. The actions are a function of the
    worlds' current state.

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
        # By scene: the core's driver, and the lengths of the agents.
        self._drivers: dict[int, Any] = {}
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
        scenes = batch.scene_index[first : first + count]
        for scene in {int(scene) for scene in scenes} - set(self._drivers):
            self._add_driver(scene)
        drivers = [self._drivers.get(scene, ffi.NULL) for scene in range(len(batch.roles))]
        acceleration_mps2, steering_rad = batch._core.drive(first, count, drivers)
        length_m = np.concatenate([self._length_m[int(scene)] for scene in scenes])
        return actions_of(acceleration_mps2, steering_rad, length_m, batch.config)

    def _add_driver(self, scene: int) -> None:
        batch = self.batch
        roles = batch.roles[scene]
        self._drivers[scene] = native_driver(roles, batch._core.scene_handles[scene], batch.config)
        agents = roles.objects[: roles.num_agents]
        self._length_m[scene] = np.ones(batch.agents_per_world, np.float32)  # absent agents: any length
        self._length_m[scene][: len(agents)] = roles.scene.objects.length_m[agents]
