"""What does a recording hold? Some trials of one world as arrays."""

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
"""The bool channels of a `Batch`."""

EVENTS = ("goal", "collision", "offroad")
"""The rewarded events, in the order of the reward terms."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One recorded trial. Vehicle i < R is agent i of the world; log-replay vehicles and then static vehicles follow.

    Arrays have F frames: frame 0 is the start of the trial, frame s the state after its driving step s. The R agents
    are those that have a vehicle.

    Attributes:
        episode: from 0, since the recording began. index: `trial_index`, from 0.
        scene: index into `Recording.roles`.
        complete: whether its last step was recorded.
        x_m, y_m, heading_rad, speed_mps: (F, vehicles) float32. present: (F, vehicles) bool, whether on the map.
        actions: (F, R, 2) float32, throttle and steering in [-1, 1]; 0 if the action had no effect.
        rewards: (F, R) float32. events: (F, R, 3) bool, onsets of `EVENTS` in the step.
        flags: (F, R) bool each, by the names of `FLAGS`. outcome: (F, R) uint8, index into `OUTCOMES`.
        own: (F, R, features) float32, the features of each observation that have no slots, in the order of the layout.
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
        """F, the recorded driving steps plus one."""
        return len(self.x_m)


@dataclass(frozen=True, eq=False)
class Recording:
    """Some trials of one world.

    Attributes:
        config, layout: of the recorded batch.
        roles: the agent roles of each scene that was played.
        trials: in the order of time.
    """

    config: DriveConfig
    layout: dict[str, Feature]
    roles: tuple[Roles, ...]
    trials: tuple[Trial, ...]

    def html(self, title: str | None = None) -> str:
        """The replay page: one HTML document that makes no network request.

        Args:
            title: heading of the page; None takes the names of the scenes.
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
