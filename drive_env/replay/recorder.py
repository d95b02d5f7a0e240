"""How is a world recorded while another loop steps it?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..action_space import action_dimensions, bins_of_index
from ..batch import Batch
from ..config import varied_parameters
from ..errors import CallError, checked_int
from ..reports import reward_metrics
from ..roles import Roles
from ..sub_batch import check_is_whole
from .recording import Recording
from .trials import FLAGS, Trial, events_of, own_features, set_features


class Frame(NamedTuple):
    """The world after one call; the arrays are those of a `Trial` at one frame."""

    goal_m: np.ndarray
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
    flags: np.ndarray
    outcome: np.ndarray
    own: np.ndarray
    sets: np.ndarray
    blind: np.ndarray
    braking: np.ndarray
    light_state: np.ndarray
    script_frame: np.ndarray


class _OpenTrial:
    """A trial to which frames can be added."""

    def __init__(self, episode: int, index: int, scene: int, coplayer: np.ndarray, weights: np.ndarray,
                 hidden: dict[str, np.ndarray]):
        self.episode, self.index, self.scene = episode, index, scene
        self.coplayer, self.weights, self.hidden = coplayer, weights, hidden
        self.frames: list[Frame] = []
        self.complete = False

    def add(self, frame: Frame, complete: bool) -> None:
        self.frames.append(frame)
        self.complete = complete

    def finished(self) -> Trial:
        stacked = Frame(*(np.stack(values) for values in zip(*self.frames, strict=True)))._asdict()
        flags = dict(zip(FLAGS, np.moveaxis(stacked.pop("flags"), 1, 0), strict=True))
        return Trial(self.episode, self.index, self.scene, self.complete, coplayer=self.coplayer, weights=self.weights,
                     hidden=self.hidden, flags=flags, **stacked)


class Recorder:
    """Records one world of a batch for a replay page.

    Call `capture()` after every `reset` of the world and after every `step`. It does not change the batch, and a batch
    without a recorder has no extra cost. The recording begins with the first start of a trial that is captured.

    Args:
        batch: any batch; `env.batch` for an env.
        world: index of the world.

    Raises:
        ConfigError: the batch has no such world.
    """

    def __init__(self, batch: Batch, world: int = 0) -> None:
        check_is_whole(batch)
        self.batch, self.world = batch, checked_int("world", world, 0, batch.num_worlds - 1)
        self._layout = batch.observation_layout()
        self._reward_sums = ("own_reward",) if batch.has_own_reward else reward_metrics(batch.config)
        self._own = np.array([feature.offset for feature in own_features(self._layout)])
        places = np.arange(batch.observation_size)
        self._sets = np.concatenate([places[:0], *(places[one.slice] for one in set_features(self._layout))])
        self._roles: list[Roles] = []
        self._trials: list[_OpenTrial] = []
        self._episode = 0
        self._waited = np.ones(batch.agents_per_world, bool)
        """The channel `waits` of the previous capture."""

    def capture(self) -> None:
        """Records the current state of the world as the next frame of its trial.

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
            self._episode += bool(self._trials) and bool(batch.first[first_agent])
            coplayer = batch.coplayer[agents].copy() if batch.config.coplayers else np.zeros(roles.num_agents, bool)
            hidden = {name: batch.hidden[name][agents] for name in varied_parameters(batch.config.hidden)}
            self._trials.append(_OpenTrial(self._episode, state["trial"], self._scene_of(roles), coplayer,
                                           batch.reward_weights[agents], hidden))
        if self._trials:
            trial = self._trials[-1]
            trial.add(self._frame(agents, trial, state), bool(batch.trial_ended[first_agent]))
        self._waited = batch.waits[first_agent : first_agent + batch.agents_per_world].copy()

    def recording(self) -> Recording:
        """Everything captured so far.

        Raises:
            CallError: no trial has been captured yet.
        """
        if not self._trials:
            raise CallError(
                "no start of a trial was captured; call capture after reset, then after every step")
        return Recording(self.batch.config, self._layout, tuple(self._roles),
                         tuple(trial.finished() for trial in self._trials), self.batch.has_own_reward)

    def _opens_trial(self, agents):
        """Whether the observations are the first of a trial: those of a reset, or of a restart step.

        A restart step is one for which all agents waited, so that no action had an effect, and in which no trial ended.
        """
        batch = self.batch
        ignored = self._waited.all() and batch.invalid_step[agents].all()
        restarted = ignored and not batch.trial_ended[agents].any()
        return restarted or batch.first[agents].any()

    def _scene_of(self, roles):
        if roles not in self._roles:
            self._roles.append(roles)
        return self._roles.index(roles)

    def _frame(self, agents, trial, state):
        batch, vehicles = self.batch, self.batch.vehicles(self.world)
        count = agents.stop - agents.start
        acted = (~self._waited[:count] & bool(trial.frames))[:, None]
        onsets = batch.step_events(self.world)
        # The first frame of a trial has no events and no actions: those in the batch belong to the step before.
        events = np.stack([onsets[event][:count] for event in events_of(batch.config)], axis=1) & acted
        observations = batch.float_observations(agents)
        actions = _continuous(batch.bound_actions[agents], acted, batch.config)
        return Frame(
            goal_m=state["goal_m"][:count],
            goal_heading_rad=state.get("goal_heading_rad", np.full(count, np.nan, np.float32))[:count],
            respawns=state.get("respawns", np.zeros(count, np.int32))[:count],
            x_m=vehicles["x_m"], y_m=vehicles["y_m"], z_m=vehicles["z_m"], heading_rad=vehicles["heading_rad"],
            speed_mps=vehicles["speed_mps"], present=vehicles["present"], follows_log=vehicles["follows_log"],
            actions=actions.astype(np.float32), rewards=batch.rewards[agents].copy(),
            reward_sums=np.stack([state[name][:count] for name in self._reward_sums], axis=1),
            events=events,
            flags=np.stack([getattr(batch, name)[agents] for name in FLAGS]),
            outcome=batch.outcome[agents].copy(), own=observations[:, self._own], sets=observations[:, self._sets],
            **{name: state.get(name, np.zeros(count, bool))[:count] for name in ("blind", "braking")},
            light_state=batch.light_states(self.world),
            script_frame=state.get("script_frame", np.zeros(0, np.int32)))


def _continuous(actions, acted, config):
    """(R, dimensions) continuous actions equal to actions of the config's type; 0 for agents that did not act, whose
    actions may be anything."""
    dimensions = action_dimensions(config)
    if config.action_type == "continuous":
        return np.where(acted, actions, 0.0)
    actions = np.where(acted.reshape(-1, *[1] * (actions.ndim - 1)), actions, 0)
    bins = bins_of_index(actions, dimensions) if config.action_type == "discrete" else actions
    shares = np.stack([dimension.shares[bins[:, i]] for i, dimension in enumerate(dimensions)], axis=1)
    return np.where(acted, shares, 0.0)
