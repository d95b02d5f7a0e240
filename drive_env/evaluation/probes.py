"""What is measured over whole trials while a batch is played? Comfort, and the scores of docs/scores.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..behaviours import TrialLog
from ..behaviours.trial_log import DRIVING
from ..reports import metric_names
from .episodes import Probe
from .scores import SCORES, comfort_signals, driven_trial, score_driven
from .scores.all_scores import comfort_shares
from .scores.driven_trial import event_speed_mps

Measured = Callable[[Batch], npt.NDArray[np.bool_] | None]
"""As `Evaluator.measured`."""

COMFORT = ("hard_braking_share", "comfortable_share")
"""The metrics that `Comfort` measures."""


class Probes(Probe):
    """Several probes of one batch.

    Args:
        probes: at least one; their metrics have different names.
    """

    def __init__(self, probes: Sequence[Probe]) -> None:
        self._probes = probes

    def after_reset(self) -> None:
        """Calls `after_reset` of each probe."""
        for probe in self._probes:
            probe.after_reset()

    def after_step(self, playing: npt.NDArray[np.bool_]) -> None:
        """Calls `after_step` of each probe."""
        for probe in self._probes:
            probe.after_step(playing)

    def columns(self) -> dict[str, npt.NDArray[np.float32]]:
        """The metrics of all probes."""
        return {name: column for probe in self._probes for name, column in probe.columns().items()}


class LoggedTrials(Probe):
    """Logs the trials of each world, for subclasses that measure them by their logs."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def ended(self, world: int, log: TrialLog) -> None:
        """Called after the last step of each trial of `world`, with the log of the trial."""

    def after_reset(self) -> None:
        """Begins the logs of the first trials."""
        self._logs = [self._log(world) for world in range(self._batch.num_worlds)]
        self._ended = np.zeros(self._batch.num_worlds, bool)

    def _log(self, world: int) -> TrialLog:
        log = TrialLog(self._batch, world)
        log.capture()
        return log

    def after_step(self, playing: npt.NDArray[np.bool_]) -> None:
        """Adds a frame to the log of each world that is `playing`."""
        for world in np.flatnonzero(playing).tolist():
            if self._ended[world]:  # this step was a restart
                self._logs[world] = self._log(world)
            else:
                self._logs[world].capture()
            self._ended[world] = self._batch.trial_ended[world * self._batch.agents_per_world]
            if self._ended[world]:
                self.ended(world, self._logs[world])


class DrivenScores(LoggedTrials):
    """The scores of docs/scores.md of each trial, except those that trial records or `Comfort` have.

    Args:
        batch: in which agents do not respawn.
        measured: returns (R,) bool, the agents that are scored, or None for all, once the batch has been reset.
            Co-players are not scored.
    """

    def __init__(self, batch: Batch, measured: Measured) -> None:
        super().__init__(batch)
        self._measured = measured
        recorded = {*metric_names(batch.config), *COMFORT}
        self._scores = {name: np.full((batch.num_agents, batch.config.max_trials), np.nan, np.float32)
                        for name in SCORES if name not in recorded}

    def ended(self, world: int, log: TrialLog) -> None:
        """Scores the agents of `world`."""
        batch, first, measured = self._batch, world * self._batch.agents_per_world, self._measured(self._batch)
        for agent in range(log.roles.num_agents):
            row = first + agent
            is_coplayer = batch.config.coplayers and batch.coplayer[row]
            if (measured is None or measured[row]) and not is_coplayer:
                scores = score_driven(driven_trial(log, agent))
                for name, column in self._scores.items():
                    column[row, batch.trial_index[row]] = scores[name]

    def columns(self) -> dict[str, npt.NDArray[np.float32]]:
        """The scores, NaN in trials that did not end and for agents that are not scored."""
        return self._scores


class Comfort(Probe):
    """`COMFORT` of each trial, as `score_driven` computes them, from speeds and headings alone.

    Args:
        batch: any; where agents respawn, nothing is measured.
        measured: returns (R,) bool, the agents that are measured, or None for all, once the batch has been reset.
    """

    def __init__(self, batch: Batch, measured: Measured) -> None:
        self._batch, self._measured = batch, measured
        self._shares = np.full((len(COMFORT), batch.num_agents, batch.config.max_trials), np.nan, np.float32)

    def _agents(self, name: str) -> np.ndarray:
        """(W, agents) a copy of an array of the core's state."""
        return self._batch._core.state[name][:, : self._batch.agents_per_world].copy()

    def after_reset(self) -> None:
        """Begins the first trials."""
        batch, worlds = self._batch, self._batch.num_worlds
        measured = self._measured(batch)
        self._counts = (np.ones(batch.num_agents, bool) if measured is None else measured).reshape(worlds, -1)
        self._dt_s = np.array([batch.roles[scene].dt_s for scene in batch.scene_index])
        self._frames: list[list[np.ndarray]] = [[] for _ in range(worlds)]
        self._steps = np.zeros((worlds, batch.agents_per_world), np.int64)
        self._x_m, self._y_m, self._speed_mps = (self._agents(name) for name in ("x_m", "y_m", "speed_mps"))
        self._capture(np.ones(worlds, bool))

    def _capture(self, worlds: np.ndarray) -> None:
        """Adds speeds and headings of the agents of some worlds to their trials."""
        frame = np.stack([self._speed_mps, self._agents("heading_rad")], axis=1)
        for world in np.flatnonzero(worlds).tolist():
            self._frames[world].append(frame[world])

    def after_step(self, playing: npt.NDArray[np.bool_]) -> None:
        """Adds a frame to the trial of each world that is `playing`, and measures trials that end."""
        batch = self._batch
        if batch.config.on_goal == "respawn":
            return

        # Speeds after the step; the core sets the speed of an agent to 0 in the step of the event that halts it.
        x_m, y_m, speed_mps = (self._agents(name) for name in ("x_m", "y_m", "speed_mps"))
        acted = ~batch.invalid_step.reshape(speed_mps.shape)
        halted = acted & (self._agents("status") != DRIVING)
        moved_m = np.hypot(x_m - self._x_m, y_m - self._y_m)
        speed_mps = np.where(halted, event_speed_mps(self._speed_mps, moved_m, self._dt_s[:, None]), speed_mps)
        self._x_m, self._y_m, self._speed_mps = x_m, y_m, speed_mps

        # A step in which no agent acts is a restart, after which a trial begins.
        restarted = playing & ~acted.any(axis=1)
        for world in np.flatnonzero(restarted).tolist():
            self._frames[world] = []
        self._steps[restarted] = 0
        self._capture(playing)
        self._steps += acted
        for world in np.flatnonzero(playing & batch.trial_ended[:: batch.agents_per_world]).tolist():
            self._measure(world)

    def _measure(self, world: int) -> None:
        """Measures the trial of a world that has ended."""
        batch, first = self._batch, world * self._batch.agents_per_world
        frames = np.stack(self._frames[world]).astype(np.float64)
        for agent in np.flatnonzero(self._counts[world] & (self._steps[world] > 0)).tolist():
            own = frames[: self._steps[world, agent] + 1, :, agent]
            row = first + agent
            self._shares[:, row, batch.trial_index[row]] = comfort_shares(
                comfort_signals(own[:, 0], own[:, 1], float(self._dt_s[world])))

    def columns(self) -> dict[str, npt.NDArray[np.float32]]:
        """The shares, NaN in trials that did not end and for agents that are not measured."""
        return dict(zip(COMFORT, self._shares, strict=True))
