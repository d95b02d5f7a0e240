"""How is a world recorded while somebody else steps it?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..batch import Batch
from ..cast import Cast
from ..core import lib
from ..errors import CallError, ConfigError
from ..layout import Feature
from .events import paid_events
from .recording import EVENTS, FLAGS, Recording, Trial

SLOT_BLOCKS = ("partners", "roads")
"""Parts of an observation whose features have slots."""

STATES_OF_EVENTS = ("ego/in_contact", "ego/over_edge")
"""What an observation shows once a collision or a crossing has begun."""


class Frame(NamedTuple):
    """What was to be seen after one call; the arrays are those of a `Trial` at one frame."""

    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    speed_mps: np.ndarray
    present: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    events: np.ndarray
    flags: np.ndarray
    outcome: np.ndarray
    own: np.ndarray


class _Played:
    """A trial that may still go on."""

    def __init__(self, episode: int, index: int, scene: int, row_count: int):
        self.episode, self.index, self.scene, self.row_count = episode, index, scene, row_count
        self.frames: list[Frame] = []
        self.complete = False

    def finished(self) -> Trial:
        stacked = Frame(*(np.stack(values) for values in zip(*self.frames, strict=True)))._asdict()
        flags = dict(zip(FLAGS, np.moveaxis(stacked.pop("flags"), 1, 0), strict=True))
        return Trial(self.episode, self.index, self.scene, self.complete, flags=flags, **stacked)


class Recorder:
    """Keeps what one world of a batch shows, for a replay page.

    Call `capture()` after every `reset` that opens an episode of the world and after every `step`. It changes nothing
    of the batch, and a batch that nobody records pays nothing. Frames before the first start of a trial are not kept.

    Args:
        batch: any batch; `env.batch` for an env.
        world: which of its worlds.

    Raises:
        ConfigError: the batch has no such world.
    """

    def __init__(self, batch: Batch, world: int = 0):
        if isinstance(world, bool) or not isinstance(world, (int, np.integer)) or not 0 <= world < batch.world_count:
            raise ConfigError(f"world is {world!r}; it must be a whole number from 0 to {batch.world_count - 1}")
        self.batch, self.world = batch, int(world)
        self._layout = batch.observation_layout()
        own = own_features(self._layout)
        self._own = np.array([feature.offset for feature in own])
        self._states = [[feature.name for feature in own].index(name) for name in STATES_OF_EVENTS]
        self._casts: list[Cast] = []
        self._played: list[_Played] = []
        self._episode = -1

    def capture(self) -> None:
        """Keeps what the world shows now, as the next frame of its trial.

        Raises:
            CallError: the batch is closed.
        """
        batch, first_row = self.batch, self.world * self.batch.rows_per_world
        vehicles = batch.vehicles(self.world)
        cast = batch.casts[int(batch.scene_index[self.world])]
        rows = slice(first_row, first_row + cast.row_count)
        if self._opens_trial(rows):
            if batch.first[rows].any():
                self._episode += 1
            if self._episode >= 0:
                self._played.append(_Played(
                    self._episode, int(batch.trial_index[first_row]), self._scene_of(cast), cast.row_count))
        if self._played:
            trial = self._played[-1]
            trial.frames.append(self._frame(vehicles, rows, trial.frames[-1] if trial.frames else None))
            trial.complete = bool(batch.trial_ended[rows].any())

    def recording(self) -> Recording:
        """All that was captured so far.

        Raises:
            CallError: there is nothing to show yet.
        """
        if not self._played:
            raise CallError("no start of an episode was captured; call capture after reset, then after every step")
        return Recording(self.batch.config, self._layout, tuple(self._casts),
                         tuple(played.finished() for played in self._played))

    def _opens_trial(self, rows):
        """Whether the observations are a trial's first ones: only then has no action had an effect and no trial ended."""
        batch = self.batch
        restarted = batch.invalid_step[rows].all() and not batch.trial_ended[rows].any()
        return batch.first[rows].any() or restarted

    def _scene_of(self, cast):
        if cast not in self._casts:
            self._casts.append(cast)
        return self._casts.index(cast)

    def _frame(self, vehicles, rows, before):
        batch = self.batch
        acted = ~batch.invalid_step[rows] & (before is not None)
        own = batch.observations[rows][:, self._own]
        actions = np.where(acted[:, None], _shares(batch.actions[rows], batch.config.action_type), 0.0)
        began = np.zeros((len(own), len(EVENTS)), bool)
        if before is not None:
            began[:, 1:] = (own[:, self._states] > 0) & (before.own[:, self._states] == 0)
        events = paid_events(batch.rewards[rows], batch.outcome[rows], began, batch.config.reward)
        return Frame(
            x_m=vehicles["x_m"], y_m=vehicles["y_m"], heading_rad=vehicles["heading_rad"],
            speed_mps=vehicles["speed_mps"], present=vehicles["present"], actions=actions.astype(np.float32),
            rewards=batch.rewards[rows].copy(), events=events & acted[:, None],
            flags=np.stack([getattr(batch, name)[rows] for name in FLAGS]), outcome=batch.outcome[rows].copy(), own=own)


def own_features(layout: dict[str, Feature]) -> list[Feature]:
    """Those of which every row has one, none a slot."""
    return [feature for feature in layout.values() if feature.name.partition("/")[0] not in SLOT_BLOCKS]


def _shares(actions, action_type):
    """(R, 2) throttle and steering in [-1, 1] of actions in any form."""
    if action_type == "continuous":
        return actions
    bins = actions
    if action_type == "discrete":
        bins = np.stack(np.divmod(actions, lib.DRV_STEERING_BINS), axis=1)
    return bins / np.array([(lib.DRV_ACCELERATION_BINS - 1) / 2, (lib.DRV_STEERING_BINS - 1) / 2]) - 1.0
