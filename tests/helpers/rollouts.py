"""How do tests collect rollouts? Policies, seeded steps with garbage and resets, and a record of every array."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from oracle import FLAGS
from scripted_scenes import ACCELERATION_BINS, ACTION_COUNT, COAST, COAST_ACTION, STEERING_BINS, STRAIGHT

from drive_env import DisturbanceConfig

ARRAYS = (*FLAGS, "trial_index", "outcome", "rewards", "observations")
UNTOUCHED, STEPPED, RESET = range(3)
"""What a call did to a world."""


def snapshot(batch):
    """Copies of every array that a call may write."""
    arrays = {name: np.array(getattr(batch, name)) for name in ARRAYS}
    arrays["scene_index"] = np.array(batch.scene_index)
    return arrays


@dataclass
class Record:
    """A rollout: `arrays[t]` holds the arrays after call t, `did[t]` what the call did to each world.

    With disturbances, `disturbed` is among the arrays: whether one is on in the coming step, should the agent drive.
    """

    config: object
    trial_steps: object
    restart: str
    world_of_agent: np.ndarray
    layout: dict
    space: object
    arrays: list = field(default_factory=list)
    did: list = field(default_factory=list)
    ages: list = field(default_factory=list)

    @classmethod
    def of(cls, batch, config, trial_steps=None, restart="auto"):
        """trial_steps: one number, or one a scene, for a config whose own is None."""
        return cls(
            config=config,
            trial_steps=config.trial_steps if trial_steps is None else trial_steps,
            restart=restart,
            world_of_agent=np.array(batch.world_of_agent),
            layout=dict(batch.observation_layout()),
            space=batch.single_observation_space,
        )

    def after_reset(self, batch, worlds=None, ages=None):
        count = len(batch.scene_index)
        did = np.full(count, RESET)
        if worlds is not None:
            did[~np.asarray(worlds, bool)] = UNTOUCHED
        self._add(batch, did, np.zeros(count, int) if ages is None else np.asarray(ages))

    def after_step(self, batch):
        count = len(batch.scene_index)
        self._add(batch, np.full(count, STEPPED), np.zeros(count, int))

    def _add(self, batch, did, ages):
        arrays = snapshot(batch)
        if self.config.disturbances != DisturbanceConfig():
            left = batch._core.state["blind_steps"] + batch._core.state["braking_steps"]
            arrays["disturbed"] = left.reshape(-1) > 0
        self.arrays.append(arrays)
        self.did.append(did)
        self.ages.append(ages)

    def stacked(self, name):
        return np.stack([arrays[name] for arrays in self.arrays])


def idle_actions(batch):
    """Actions with which every agent coasts straight on."""
    if batch.actions.dtype == np.float32:
        return np.zeros(batch.actions.shape, np.float32)
    if batch.actions.ndim == 2:
        return np.tile(np.array([COAST, STRAIGHT], np.int64), (batch.num_agents, 1))
    return np.full(batch.num_agents, COAST_ACTION, np.int64)


def constant_actions(batch, acceleration_bin, steering_bin=STRAIGHT):
    """The same acceleration bin, 0 to 6, and steering bin, 0 to 12, for every agent."""
    if batch.actions.dtype == np.float32:
        values = np.array([acceleration_bin / COAST - 1, steering_bin / STRAIGHT - 1], np.float32)
        return np.tile(values, (batch.num_agents, 1))
    if batch.actions.ndim == 2:
        return np.tile(np.array([acceleration_bin, steering_bin], np.int64), (batch.num_agents, 1))
    return np.full(batch.num_agents, acceleration_bin * STEERING_BINS + steering_bin, np.int64)


def random_actions(batch, rng):
    if batch.actions.dtype == np.float32:
        return rng.uniform(-1, 1, batch.actions.shape).astype(np.float32)
    if batch.actions.ndim == 2:
        return np.stack([rng.integers(0, bins, batch.num_agents) for bins in (ACCELERATION_BINS, STEERING_BINS)], 1)
    return rng.integers(0, ACTION_COUNT, batch.num_agents)


def with_garbage_where_agents_wait(batch, actions, rng):
    """The same actions, with invalid values for the agents that wait."""
    waits = np.asarray(batch.waits, bool)
    garbage = (
        np.array([np.nan, np.inf, -np.inf, 1e30, -7.0], np.float32) if actions.dtype == np.float32
        else np.array([-1, ACTION_COUNT, 10**6, np.iinfo(np.int64).min, np.iinfo(np.int64).max]))
    actions = actions.copy()
    actions[waits] = rng.choice(garbage, actions[waits].shape)
    return actions


POLICIES = {
    "full_brake": lambda batch, rng: constant_actions(batch, 0),
    "coast": lambda batch, rng: idle_actions(batch),
    "full_throttle": lambda batch, rng: constant_actions(batch, 6),
    "turn_hard": lambda batch, rng: constant_actions(batch, 5, 12),
    "random": random_actions,
    "forward_mostly": lambda batch, rng: np.where(
        _per_agent(batch, rng.random(batch.num_agents) < 0.7),
        constant_actions(batch, 5),
        random_actions(batch, rng),
    ),
}
"""Name to a function of (batch, random generator) that returns actions."""


def _per_agent(batch, choice):
    return choice[:, None] if batch.actions.ndim == 2 else choice


def collect(batch, config, policy, calls, seed=0, trial_steps=None, restart="auto", reset_share=0.0):
    """Steps a batch with a policy, and garbage for agents that wait; returns the record of all arrays.

    reset_share: chance, at each call, that some worlds are reset before it, a third of the time with ages.
    """
    rng = np.random.default_rng(seed)
    num_worlds = len(batch.scene_index)
    record = Record.of(batch, config, trial_steps, restart)
    batch.reset()
    record.after_reset(batch)
    for _ in range(calls):
        if rng.random() < reset_share:
            worlds = rng.random(num_worlds) < 0.5
            reset_and_record(batch, record, worlds, rng)
        if restart == "caller":
            worlds = worlds_at_their_end(batch, config)
            if worlds.any():
                batch.reset(worlds=worlds)
                record.after_reset(batch, worlds)
        batch.step(with_garbage_where_agents_wait(batch, policy(batch, rng), rng))
        record.after_step(batch)
    return record


def worlds_at_their_end(batch, config):
    """(worlds,) bool: the last trial of the episode has ended."""
    worlds = np.zeros(len(batch.scene_index), bool)
    over = np.asarray(batch.trial_ended, bool) & (np.asarray(batch.trial_index) == config.max_trials - 1)
    worlds[np.asarray(batch.world_of_agent)[over]] = True
    return worlds


def reset_and_record(batch, record, worlds, rng):
    ages = None
    if rng.random() < 1 / 3:
        steps = np.broadcast_to(np.min(record.trial_steps), (len(worlds),))
        ages = rng.integers(0, steps).astype(np.int32)
    batch.reset(worlds=worlds, initial_ages=ages)
    record.after_reset(batch, worlds, ages)
