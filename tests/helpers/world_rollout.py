"""What happened to the agents of one world in a recorded rollout? Arrays by call and agent, from the channels alone."""

from __future__ import annotations

import itertools

import numpy as np
from oracle import OUTCOMES
from rollouts import ARRAYS, FLAGS, RESET, UNTOUCHED

NONE, GOAL, COLLISION, OFFROAD, TIMEOUT, OTHER = range(len(OUTCOMES))


class WorldRollout:
    """The arrays of one world after the calls that wrote them, (calls, agents) each; entry 0 is a reset."""

    def __init__(self, record, world):
        # the arrays of the world, at the calls that wrote them
        self.config = record.config
        self.restart = record.restart
        self.layout = record.layout
        self.space = record.space
        touched = [t for t, did in enumerate(record.did) if did[world] != UNTOUCHED]
        agents = np.flatnonzero(record.world_of_agent == world)
        for name in ARRAYS:
            values = np.stack([record.arrays[t][name][agents] for t in touched])
            setattr(self, name, values.astype(bool) if name in FLAGS else values)
        self.scene_index = np.array([record.arrays[t]["scene_index"][world] for t in touched])
        self.is_reset = np.array([record.did[t][world] == RESET for t in touched])
        self.call_count, self.num_agents = self.rewards.shape
        self.last_trial = self.trial_index == self.config.max_trials - 1
        self.gone = self.removed | self.stopped

        # which calls opened a trial or an episode
        ended_before = np.concatenate([[False], self.trial_ended[:-1].any(axis=1)])
        last_before = np.concatenate([[False], self.last_trial[:-1].any(axis=1)])
        self.is_restart = ~self.is_reset & ended_before
        self.opens_episode = self.is_reset | (self.is_restart & last_before)
        self.opens_trial = self.is_reset | self.is_restart
        self.is_driving_step = ~self.opens_trial
        # the entry that opened the episode, and the trial, to which each entry belongs; the clock of that trial
        count = np.arange(self.call_count)
        self.episode_start = np.maximum.accumulate(np.where(self.opens_episode, count, 0))
        self.trial_start = np.maximum.accumulate(np.where(self.opens_trial, count, 0))
        age = np.array([record.ages[t][world] for t in touched])
        self.age = np.where(self.is_reset, age, 0)[self.trial_start]
        self.clock = self.age + count - self.trial_start
        steps = np.asarray(record.trial_steps)
        self.trial_steps = np.full(self.call_count, steps) if steps.ndim == 0 else steps[self.scene_index]
        # what each agent did: one that is absent is removed from the first observation of its episode on
        self.absent = self.removed[self.episode_start]
        none_before = np.zeros((1, self.num_agents), bool)
        waits_before = np.concatenate([none_before, self.waits[:-1]])
        self.acted = self.is_driving_step[:, None] & ~waits_before
        none = np.zeros(len(record.world_of_agent), bool)
        announced = np.stack([record.arrays[t].get("disturbed", none)[agents] for t in touched])
        self.disturbed = self.acted & np.concatenate([none_before, announced[:-1]])
        self.stopped_driving = self.acted & self.gone
        self.events = self._events_from_rewards()

    def _events_from_rewards(self):
        """(calls, agents) sets of events, or None where two sets have the same reward."""
        reward_of = {"goal": self.config.reward.goal, "collision": self.config.reward.collision,
                     "offroad": self.config.reward.offroad}
        sums = {}
        for count in range(4):
            for events in itertools.combinations(reward_of, count):
                sums[frozenset(events)] = sum(reward_of[name] for name in events)
        values = sorted(sums.values())
        if min(b - a for a, b in itertools.pairwise(values)) < 1e-3:
            return None
        away = np.abs(self.rewards[..., None] - np.array(list(sums.values())))
        self.check(away.min(axis=-1) < 1e-5, "a reward is a sum of the configured terms")
        out = np.empty(len(sums), object)
        out[:] = list(sums)
        return out[away.argmin(axis=-1)]

    def trials(self):
        """(first entry, entry after the last) of each trial."""
        starts = [*np.flatnonzero(self.opens_trial), self.call_count]
        return list(itertools.pairwise(starts))

    def episodes(self):
        starts = [*np.flatnonzero(self.opens_episode), self.call_count]
        return list(itertools.pairwise(starts))

    def where(self, bad):
        """The first places where a law is broken, as (entry, agent)."""
        return f"at (call, agent) {[tuple(int(i) for i in place) for place in np.argwhere(bad)[:4]]}"

    def check(self, holds, law):
        """Asserts that a law holds at every entry."""
        holds = np.asarray(holds)
        assert holds.all(), f"{law}: broken {self.where(~holds)}"


def columns_outside(layout, width, prefixes):
    """(width,) bool: the columns of no feature whose name starts with one of the prefixes."""
    mask = np.ones(width, bool)
    for name, entry in layout.items():
        if name.startswith(tuple(prefixes)):
            mask[columns_of(entry)] = False
    return mask


def columns_of(entry):
    return entry.offset + np.arange(entry.slots) * entry.stride
