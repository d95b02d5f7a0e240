"""What is kept of the trials a world has played?"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from ..config import DriveConfig
from ..errors import ConfigError
from ..layout import Feature
from ..roles import Roles

FLAGS = ("terminations", "truncations", "trial_ended", "truncation", "invalid_step", "first", "removed",
         "stopped", "waits")
"""The channels of a `Batch` that are yes or no."""

EVENTS = ("goal", "collision", "offroad")
"""What is paid, in the order of the terms of a reward."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One trial as it was seen; vehicle i is agent i of the world, then come log-replay vehicles and static vehicles.

    Arrays have F frames: frame 0 is the trial's first observation, frame s what came of its driving step s.
    The R agents are those that have a vehicle.

    Attributes:
        episode: counted from 0 since the recording began. index: `trial_index`, from 0.
        scene: index into `Recording.casts`.
        complete: its last step was recorded.
        x_m, y_m, heading_rad, speed_mps: (F, vehicles) float32. present: (F, vehicles) bool, on the map.
        actions: (F, R, 2) float32, throttle and steering in [-1, 1]; 0 where the agent did not act.
        rewards: (F, R) float32. events: (F, R, 3) bool, what of `EVENTS` the agent met in the step.
        flags: (F, R) bool each, by the names in `FLAGS`. outcome: (F, R) uint8, index into `OUTCOMES`.
        own: (F, R, features) float32, the part of each observation that has no slots, in order of the layout.
    """

    episode: int
    index: int
    scene: int
    complete: bool
    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    speed_mps: np.ndarray
    present: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    events: np.ndarray
    flags: dict[str, np.ndarray]
    outcome: np.ndarray
    own: np.ndarray

    @property
    def frame_count(self) -> int:
        """F: the driving steps that were recorded, and one."""
        return len(self.x_m)


@dataclass(frozen=True, eq=False)
class Recording:
    """Some trials of one world.

    Attributes:
        config, layout: of the batch that was recorded.
        casts: the scenes that were played, and who plays which part in each.
        trials: in the order they were played.
    """

    config: DriveConfig
    layout: dict[str, Feature]
    roles: tuple[Roles, ...]
    trials: tuple[Trial, ...]

    def html(self, title: str | None = None) -> str:
        """The replay page: one HTML document that needs no network.

        Args:
            title: shown at the top; None takes the names of the scenes.
        """
        from .page import fill_page

        return fill_page(self, title)

    def save_html(self, path: str | os.PathLike, title: str | None = None) -> int:
        """Writes the replay page to `path` and returns its size in bytes; `title` as for `html`.

        Raises:
            ConfigError: the file cannot be written.
        """
        page = self.html(title).encode()
        try:
            with open(path, "wb") as file:
                file.write(page)
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"path is {os.fspath(path)!r}; it cannot be written: {reason}") from error
        return len(page)

    def __repr__(self) -> str:
        frames = sum(trial.frame_count for trial in self.trials)
        return f"Recording({len(self.trials)} trials, {frames} frames, {len(self.roles)} scenes)"
