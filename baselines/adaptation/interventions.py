"""What does an ablation change? It empties a policy's memory, resets its trial features, or copies both from another
agent.

Trial features are the features of an observation named `trial/...`. A policy can know earlier trials from them and from
its memory alone. An intervention changes the memory when a later trial of an episode starts, and the trial features in
every step of later trials.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch
from drive_env.evaluation import first_episodes

from ..policy.runner import Memory, PolicyRunner

CURRENT = "trial/reward"
"""The trial feature that changes within a trial: at its start it is the last reward of the trial before."""


# ---- where trials start, and what is known there ----


class TrialFeatures:
    """Reads and replaces the trial features of the observations of a batch.

    Attributes:
        count: F, how many there are.
    """

    def __init__(self, batch: Batch, device: torch.device):
        features = {name: feature for name, feature in batch.observation_layout().items() if name.startswith("trial/")}
        self._offsets = torch.tensor([feature.offset for feature in features.values()], device=device)
        self._is_fixed = torch.tensor([name != CURRENT for name in features], device=device)
        self.count = len(features)

    def read(self, observations: Tensor) -> Tensor:
        """(R, F), a copy."""
        return observations[:, self._offsets]

    def replaced(self, observations: Tensor, features: Tensor, agents: Tensor, starts: Tensor) -> Tensor:
        """A copy of observations with other trial features; the reward is replaced only where a trial starts.

        Args:
            observations: (R, O). features: (R, F), of `read`.
            agents: (R,) bool, whose features are replaced. starts: (R,) bool, those of them whose trial starts.
        """
        chosen = agents[:, None] & (self._is_fixed | starts[:, None])
        changed = observations.clone()
        changed[:, self._offsets] = torch.where(chosen, features, self.read(observations))
        return changed


class TrialStarts:
    """Finds the observations with which later trials of an episode start."""

    def __init__(self, batch: Batch):
        self._before = np.zeros(batch.num_agents, np.int32)

    def __call__(self, batch: Batch) -> np.ndarray:
        """(R,) bool. It is called for every observation of the batch."""
        starts = (batch.trial_index > 0) & (batch.trial_index != self._before)
        self._before = batch.trial_index.copy()
        return starts


@dataclass
class Past:
    """What R agents know of earlier trials: their memory and their trial features, (R, F)."""

    memory: Memory
    features: Tensor

    def copy_from(self, other: Past, agents: Tensor, sources: Tensor) -> None:
        """Overwrites the pasts of some agents by those of others, (n,) indices each."""
        mine, theirs = self.memory.cache, other.memory.cache
        mine.keys[:, agents], mine.values[:, agents] = theirs.keys[:, sources], theirs.values[:, sources]
        mine.written[agents], mine.position[agents] = theirs.written[sources], theirs.position[sources]
        self.memory.previous_actions[agents] = other.memory.previous_actions[sources]
        self.features[agents] = other.features[sources]


def by_trial(batch: Batch, starts: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """The trials that start, each with the (n,) indices of its agents."""
    return [(trial, np.flatnonzero(starts & (batch.trial_index == trial)))
            for trial in np.unique(batch.trial_index[starts]).tolist()]


# ---- interventions ----


class Wiped:
    """The memory is empty when a trial starts."""

    def __init__(self, batch: Batch, device: torch.device):
        self._starts, self._device = TrialStarts(batch), device

    def __call__(self, batch: Batch, memory: Memory, observations: Tensor) -> Tensor:
        memory.cache.reset(torch.from_numpy(self._starts(batch)).to(self._device))
        return observations


class Blanked:
    """The trial features are those of the first trial. Zeros would be an input that no trial has."""

    def __init__(self, batch: Batch, device: torch.device):
        self._starts, self._device = TrialStarts(batch), device
        self._features = TrialFeatures(batch, device)
        self._of_first: Tensor | None = None

    def __call__(self, batch: Batch, memory: Memory, observations: Tensor) -> Tensor:
        first, later, starts = (torch.from_numpy(flag).to(self._device) for flag in (
            batch.first, batch.trial_index > 0, self._starts(batch)))
        own = self._features.read(observations)
        self._of_first = own if self._of_first is None else torch.where(first[:, None], own, self._of_first)
        return self._features.replaced(observations, self._of_first, later, starts)


class WipedAndBlanked:
    """Both: no input distinguishes a later trial from the first."""

    def __init__(self, batch: Batch, device: torch.device):
        self._parts = Wiped(batch, device), Blanked(batch, device)

    def __call__(self, batch: Batch, memory: Memory, observations: Tensor) -> Tensor:
        for part in self._parts:
            observations = part(batch, memory, observations)
        return observations


class Exchanged:
    """When a trial starts, each agent gets the past of a donor, who has played the trials before as the policy does.

    Args:
        runner: the policy, without intervention. donors: the index of each agent's donor, (R,), in a batch.
    """

    def __init__(self, batch: Batch, runner: PolicyRunner, donors: Callable[[Batch], Tensor]):
        self._starts, self._device = TrialStarts(batch), runner.device
        self._features = TrialFeatures(batch, runner.device)
        self._donors = donors(batch).to(runner.device)
        self._pasts = recorded_pasts(batch, runner)
        self._given: Tensor | None = None

    def __call__(self, batch: Batch, memory: Memory, observations: Tensor) -> Tensor:
        if self._given is None:
            self._given = self._features.read(observations)
        starts = self._starts(batch)
        for trial, indices in by_trial(batch, starts):
            agents = torch.from_numpy(indices).to(self._device)
            Past(memory, self._given).copy_from(self._pasts[trial - 1], agents, self._donors[agents])
        later, starts = (torch.from_numpy(flag).to(self._device) for flag in (batch.trial_index > 0, starts))
        return self._features.replaced(observations, self._given, later, starts)


class Recorded:
    """Changes nothing, and records the past of every agent at the start of each later trial of its first episode.

    Attributes:
        pasts: at the starts of the second trial, the third, ...
    """

    def __init__(self, batch: Batch, device: torch.device):
        self.pasts: list[Past] = []
        self._starts, self._device = TrialStarts(batch), device
        self._features = TrialFeatures(batch, device)
        self._episodes = np.zeros(batch.num_agents, np.int64)

    def __call__(self, batch: Batch, memory: Memory, observations: Tensor) -> Tensor:
        self._episodes += batch.first
        now = Past(memory, self._features.read(observations))
        if not self.pasts:
            self.pasts = [copy.deepcopy(now) for _ in range(1, batch.config.max_trials)]
        for trial, indices in by_trial(batch, self._starts(batch) & (self._episodes == 1)):
            agents = torch.from_numpy(indices).to(self._device)
            self.pasts[trial - 1].copy_from(now, agents, agents)
        return observations


def recorded_pasts(batch: Batch, runner: PolicyRunner) -> list[Past]:
    """The pasts in the episodes that a batch is about to play, played in a copy of it."""
    devices = [runner.device] if runner.device.type == "cuda" else []
    # Torch's generator is restored, so that the batch itself is played with the random numbers of the policy `full`.
    with copy.copy(batch) as twin, torch.random.fork_rng(devices):
        recorded = Recorded(twin, runner.device)
        first_episodes(twin, replace(runner, intervene=lambda _: recorded)(twin))
    return recorded.pasts


# ---- ablations ----


def of_another_scene(batch: Batch) -> Tensor:
    """Donors are the agents of the next world, whose scene is another one where the batch has several."""
    return (torch.arange(batch.num_agents) + batch.agents_per_world) % batch.num_agents


def of_the_same_scene(batch: Batch) -> Tensor:
    """Donors are the agents of another world with the same scene, where each scene is played in several worlds."""
    return (torch.arange(batch.num_agents) + len(batch.scenes) * batch.agents_per_world) % batch.num_agents


def of_another_episode(batch: Batch) -> Tensor:
    """Donors are the agents of the next world with the same scene, however the batch lists its scenes; those of a scene
    with one world are their own donors, which changes nothing. The batch has the `scene_order` "cycle"."""
    # Before the first reset, `scene_index` does not say which scene a world plays.
    scenes = [id(batch.scenes[world_id % len(batch.scenes)]) for world_id in batch.world_ids.tolist()]
    worlds = range(batch.num_worlds)
    donors = [next(other for other in (*worlds[world + 1:], *worlds[: world + 1]) if scenes[other] == scenes[world])
              for world in worlds]
    slots = torch.arange(batch.agents_per_world)
    return (torch.tensor(donors)[:, None] * batch.agents_per_world + slots).reshape(-1)


def ablations(runner: PolicyRunner) -> dict[str, PolicyRunner]:
    """The policy under each ablation, by name.

    Args:
        runner: the policy, without intervention.

    Returns:
        full: as it is. wiped: without memory of earlier trials. blanked: with the trial features of a first trial.
        wiped and blanked: both. shuffled: with the past of an agent in another scene. redrawn: with the past of an
        agent in the same scene, whose hidden value was drawn independently, as if it were drawn anew for this trial.
    """
    device = runner.device
    makers = {"wiped": partial(Wiped, device=device), "blanked": partial(Blanked, device=device),
              "wiped and blanked": partial(WipedAndBlanked, device=device),
              "shuffled": partial(Exchanged, runner=runner, donors=of_another_scene),
              "redrawn": partial(Exchanged, runner=runner, donors=of_the_same_scene)}
    return {"full": runner, **{name: replace(runner, intervene=make) for name, make in makers.items()}}
