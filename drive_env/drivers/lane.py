"""A rule-based driver: lane keeping, car following, and right of way."""

from __future__ import annotations

import numpy as np

from ..batch import Batch
from ..sub_batch import check_is_whole
from .controls import actions_of, check_controls
from .idm import ACCELERATION_MPS2, HARDEST_BRAKING_MPS2
from .reference_path import ReferencePaths
from .steering import path_ahead, pursuit_steering
from .yielding import limit_acceleration

SETTLE_S = 0.5
"""Time in which the speed controller corrects an error of the speed."""


class LaneDriver:
    """Drives the agents of a batch by rule: along lane centres, slower in bends, with a gap to other vehicles.

    The reference path is the shortest one along lanes; if no lanes lead to the goal, it is the object's logged track;
    if there is no log, the straight line. Where two paths conflict, the vehicle that arrives first has the right of
    way. The actions are a function of the worlds' current state.

    Args:
        batch: any batch; `env.batch` for an env.

    Raises:
        ConfigError: `batch` is not a whole `Batch`, or its vehicle model has other controls than acceleration and
            steering.
    """

    def __init__(self, batch: Batch) -> None:
        check_is_whole(batch)
        check_controls(batch.config)
        self.batch = batch
        self._paths: dict[int, ReferencePaths] = {}

    def act(self, world: int = 0) -> np.ndarray:
        """Actions for the agents of one world, in the form of `batch.actions`; those of agents that wait are arbitrary.

        Args:
            world: a world of the batch.

        Raises:
            ConfigError: there is no such world.
            CallError: the batch is closed.
        """
        batch, vehicles = self.batch, self.batch.vehicles(world)
        scene_index = int(batch.scene_index[world])
        if scene_index not in self._paths:
            self._paths[scene_index] = ReferencePaths(batch.roles[scene_index], batch.config)
        paths = self._paths[scene_index]
        waits = batch.waits[world * batch.agents_per_world :][: paths.count]
        acceleration_mps2, steering_rad = _controls(paths, vehicles, ~waits)
        actions = np.zeros((batch.agents_per_world, *batch.actions.shape[1:]), batch.actions.dtype)
        actions[: paths.count] = actions_of(
            acceleration_mps2, steering_rad, vehicles["length_m"][: paths.count], batch.config)
        return actions

    def act_all(self) -> np.ndarray:
        """Actions for every agent of the batch, in the form of `batch.actions`.

        Raises:
            CallError: the batch is closed.
        """
        return np.concatenate([self.act(world) for world in range(self.batch.num_worlds)])


def _controls(paths: ReferencePaths, vehicles: dict[str, np.ndarray], drives: np.ndarray
              ) -> tuple[np.ndarray, np.ndarray]:
    """(agents,) acceleration, m/s2, and steering, rad; `drives` marks the agents that do not wait."""
    agents = np.arange(paths.count)
    speed_mps, places = vehicles["speed_mps"][agents], paths.places(vehicles)
    path = path_ahead(paths, vehicles, drives, places)
    desired_mps = paths.speed_mps[agents, places + 1]
    acceleration_mps2 = np.clip(
        (desired_mps - speed_mps) / max(SETTLE_S, paths.dt_s), -HARDEST_BRAKING_MPS2, ACCELERATION_MPS2)
    limit_acceleration(acceleration_mps2, path, vehicles, drives, desired_mps)
    # Braking ends at rest, also where the config allows reverse.
    acceleration_mps2 = np.maximum(acceleration_mps2, -speed_mps / paths.dt_s)
    return acceleration_mps2, pursuit_steering(path, vehicles, paths.dt_s)
