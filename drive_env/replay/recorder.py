"""How is a world recorded while somebody else steps it?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..batch import Batch
from ..core import lib
from ..errors import CallError, checked_int
from ..layout import Feature
from ..part import check_whole
from ..roles import Roles
from .recording import EVENTS, FLAGS, Recording, Trial

SLOT_BLOCKS = ("partners", "roads")
"""Parts of an observation whose features have slots."""


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

    def __init__(self, episode: int, index: int, scene: int):
        self.episode, self.index, self.scene = episode, index, scene
        self.frames: list[Frame] = []
        self.complete = False

    def add(self, frame: Frame, complete: bool) -> None:
        self.frames.append(frame)
        self.complete = complete

    def finished(self) -> Trial:
        stacked = Frame(*(np.stack(values) for values in zip(*self.frames, strict=True)))._asdict()
        flags = dict(zip(FLAGS, np.moveaxis(stacked.pop("flags"), 1, 0), strict=True))
        return Trial(self.episode, self.index, self.scene, self.complete, flags=flags, **stacked)


class Recorder:
    """Keeps what one world of a batch shows, for a replay page.

    Call `capture()` after every `reset` that opens an episode of the world and after every `step`. It changes
    nothing of the batch, and a batch that nobody records pays nothing. Frames before the first start of a
    trial are not kept.

    Args:
        batch: any batch; `env.batch` for an env.
        world: which of its worlds.

    Raises:
        ConfigError: the batch has no such world.
    """

    def __init__(self, batch: Batch, world: int = 0) -> None:
        check_whole(batch)
        self.batch, self.world = batch, checked_int("world", world, 0, batch.num_worlds - 1)
        self._layout = batch.observation_layout()
        self._own = np.array([feature.offset for feature in own_features(self._layout)])
        self._roles: list[Roles] = []
        self._played: list[_Played] = []
        self._episode = 0

    def capture(self) -> None:
        """Keeps what the world shows now, as the next frame of its trial.

        Raises:
            CallError: before `reset`, or the batch is closed.
        """
        batch, first_agent = self.batch, self.world * self.batch.agents_per_world
        state = batch.trial_state(self.world)
        if state["episode"] < 0:
            raise CallError("capture was called before reset; call reset first")
        roles = batch.roles[int(batch.scene_index[self.world])]
        agents = slice(first_agent, first_agent + roles.num_agents)
        if self._opens_trial(agents):
            self._episode += bool(self._played) and bool(batch.first[first_agent])
            self._played.append(_Played(self._episode, state["trial"], self._scene_of(roles)))
        if self._played:
            trial = self._played[-1]
            trial.add(self._frame(agents, trial), bool(batch.trial_ended[first_agent]))

    def recording(self) -> Recording:
        """All that was captured so far.

        Raises:
            CallError: there is nothing to show yet.
        """
        if not self._played:
            raise CallError(
                "no start of a trial was captured; call capture after reset, then after every step")
        return Recording(self.batch.config, self._layout, tuple(self._roles),
                         tuple(played.finished() for played in self._played))

    def _opens_trial(self, agents):
        """Whether observations are a trial's first: then alone no action took effect and no trial ended."""
        batch = self.batch
        restarted = batch.invalid_step[agents].all() and not batch.trial_ended[agents].any()
        return restarted or batch.first[agents].any()

    def _scene_of(self, roles):
        if roles not in self._roles:
            self._roles.append(roles)
        return self._roles.index(roles)

    def _frame(self, agents, trial):
        batch, vehicles = self.batch, self.batch.vehicles(self.world)
        acted = (~batch.invalid_step[agents] & bool(trial.frames))[:, None]
        began = batch.step_events(self.world)
        # A fresh trial's first frame shows no step: what came before it is not its own.
        events = np.stack([began[event][: agents.stop - agents.start] for event in EVENTS], axis=1) & acted
        # A fresh trial's actions are those of the step before it.
        actions = np.where(acted, _shares(batch.actions[agents], batch.config.action_type), 0.0)
        return Frame(
            x_m=vehicles["x_m"], y_m=vehicles["y_m"], heading_rad=vehicles["heading_rad"],
            speed_mps=vehicles["speed_mps"], present=vehicles["present"], actions=actions.astype(np.float32),
            rewards=batch.rewards[agents].copy(), events=events,
            flags=np.stack([getattr(batch, name)[agents] for name in FLAGS]),
            outcome=batch.outcome[agents].copy(), own=batch.float_observations(agents)[:, self._own])


def own_features(layout: dict[str, Feature]) -> list[Feature]:
    """Those of which every agent has one, none a slot."""
    return [feature for feature in layout.values() if feature.name.partition("/")[0] not in SLOT_BLOCKS]


def _shares(actions, action_type):
    """(R, 2) throttle and steering in [-1, 1] of actions in any form."""
    if action_type == "continuous":
        return actions
    bins = actions
    if action_type == "discrete":
        bins = np.stack(np.divmod(actions, lib.DRV_STEERING_BINS), axis=1)
    return bins / np.array([(lib.DRV_ACCELERATION_BINS - 1) / 2, (lib.DRV_STEERING_BINS - 1) / 2]) - 1.0
