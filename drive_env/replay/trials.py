"""The data of a recording: some trials of one world as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..config import DriveConfig
from ..layout import SETS, Feature
from ..reports import reward_metrics
from ..roles import Roles

FLAGS = ("terminations", "truncations", "trial_ended", "truncation", "invalid_step", "first", "removed",
         "stopped", "waits")
"""The bool channels of a `Batch`."""

EVENTS = ("goal", "collision", "offroad", "red_light", "stop_sign")
"""The rewarded events, in the order of the reward terms; the last two exist with `traffic_controls`."""

OWN_REWARD = "own"
"""The only term of a reward that `Batch(reward=...)` computes."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One recorded trial. Vehicle i < R is agent i of the world; log-replay, rule-based and static vehicles
    follow.

    Arrays have F frames: frame 0 is the start of the trial, frame s the state after its driving step s. The R agents
    are those that have a vehicle.

    Attributes:
        episode: number of the episode in the recording, from 0. index: `trial_index`, from 0.
        scene: index into `Recording.roles`.
        complete: whether its last step was recorded.
        goal_m: (F, R, 2) float32. coplayer: (R,) bool, whether the agent is a co-player.
        goal_heading_rad: (F, R) float32, heading with which the goal counts as reached, NaN for any.
        respawns: (F, R) int32, how often the agent has appeared at another start in the trial.
        weights: (R, terms) float32, of `REWARD_TERMS`.
        hidden: (R,) float32 each, the values of the hidden parameters that vary, by name.
        x_m, y_m, heading_rad, speed_mps: (F, vehicles) float32. present: (F, vehicles) bool, whether on the map.
        z_m: (F, vehicles) float32, height of the road under it; 0 where no roads lie above each other.
        follows_log: (F, vehicles) bool, whether it replays its log, which rule-based vehicles may be handed back to.
        actions: (F, R, dimensions) float32, as continuous actions, in [-1, 1]; 0 if the action had no effect.
        rewards: (F, R) float32. reward_sums: (F, R, terms) float32, of the trial so far, by `Recording.rewarded`.
        events: (F, R, events) bool, onsets of `Recording.events` in the step.
        flags: (F, R) bool each, by the names of `FLAGS`. outcome: (F, R) uint8, index into `OUTCOMES`.
        own: (F, R, features) float32, the features of each observation without slots, in the order of the layout.
        sets: (F, R, floats) float32, the slots of each of `set_features`, one feature after another.
        blind, braking: (F, R) bool, whether that disturbance is on, as in `Batch.trial_state`.
        light_state: (F, controls) uint8, what the traffic lights of the scene show after the step.
        script_frame: (F, scripts) int32, steps that the log of each of `Roles.scripts` has run; 0 while it waits, -1
            where its option was not drawn.
    """

    episode: int
    index: int
    scene: int
    complete: bool
    goal_m: np.ndarray
    coplayer: np.ndarray
    weights: np.ndarray
    hidden: dict[str, np.ndarray]
    goal_heading_rad: np.ndarray
    respawns: np.ndarray
    x_m: np.ndarray
    y_m: np.ndarray
    z_m: np.ndarray
    heading_rad: np.ndarray
    speed_mps: np.ndarray
    present: np.ndarray
    follows_log: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    reward_sums: np.ndarray
    events: np.ndarray
    flags: dict[str, np.ndarray]
    outcome: np.ndarray
    own: np.ndarray
    sets: np.ndarray
    blind: np.ndarray
    braking: np.ndarray
    light_state: np.ndarray
    script_frame: np.ndarray

    @property
    def frame_count(self) -> int:
        """F, the recorded driving steps plus one."""
        return len(self.x_m)


@dataclass(frozen=True, eq=False)
class RecordedTrials:
    """The data of a `Recording`, which documents the fields."""

    config: DriveConfig
    layout: dict[str, Feature]
    roles: tuple[Roles, ...]
    trials: tuple[Trial, ...]
    has_own_reward: bool = False

    @property
    def events(self) -> tuple[str, ...]:
        """Those of `EVENTS` that the config has."""
        return events_of(self.config)

    @property
    def rewarded(self) -> tuple[str, ...]:
        """The terms of the reward: those of `REWARD_TERMS` that every config has, and others with a weight or range.

        With `has_own_reward` it is `OWN_REWARD` alone.
        """
        if self.has_own_reward:
            return (OWN_REWARD,)
        return tuple(metric.removeprefix("reward_") for metric in reward_metrics(self.config))


def events_of(config: DriveConfig) -> tuple[str, ...]:
    """Those of `EVENTS` that a config has."""
    return EVENTS if config.traffic_controls else EVENTS[:3]


RECORDED_SETS = ("candidates", "controls", "goals")
"""The sets of an observation that are recorded; the page selects vehicles and road segments itself."""


def set_features(layout: dict[str, Feature]) -> list[Feature]:
    """The features of `RECORDED_SETS` that have slots."""
    return [feature for feature in layout.values()
            if feature.slots and feature.name.partition("/")[0] in RECORDED_SETS]


def own_features(layout: dict[str, Feature]) -> list[Feature]:
    """The features without slots, one number per agent."""
    return [feature for feature in layout.values() if feature.name.partition("/")[0] not in SETS]
