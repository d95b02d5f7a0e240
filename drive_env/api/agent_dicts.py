"""The dicts by agent that a PettingZoo step returns, from the arrays of a one-world batch.

Most steps have no reward, no flag and the same infos as the step before. So the dicts are cached, and copied as long as
the bytes that they were made from are unchanged.
"""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import OUTCOMES, Batch
from ..binding import lib
from .infos import add_optional_channels, info_of, optional_channels
from .observation_form import Observation, ObservationForm


class AgentDicts:
    """Observations, rewards, flags and infos of the agents that can still act.

    Args:
        batch: a one-world batch.
        names: the name of each of its agents.
        form: the form of observations.
        copy: whether observations are copies.
        finished: "leave", or "wait": agents that are done stay until the episode ends, and their flags are raised then.

    Attributes:
        agents: the names of the agents that can still act in this episode.
        indices: their indices in the batch.
        flagged: (agents,) bool, agents whose termination is deferred by "wait".
    """

    def __init__(self, batch: Batch, names: list[str], form: ObservationForm, copy: bool, finished: str) -> None:
        self._batch, self._names, self._form, self._copy, self._finished = batch, names, form, copy, finished
        self._views, self._optional_channels = list(form.array), optional_channels(batch)
        self._templates = _InfoTemplates()
        self._codes: bytes | None = None
        self._infos: list[dict[str, bool | int]] = []
        self._any_decided = False
        self._staying: npt.NDArray[np.bool_] | None = None
        self.flagged = np.zeros(len(names), bool)
        self.keep(np.zeros(len(names), bool))

    def keep(self, stays: npt.NDArray[np.bool_]) -> None:
        """Sets which agents can still act.

        Args:
            stays: (agents,) bool.
        """
        self.indices, self._stays = np.flatnonzero(stays), stays
        self.agents = list(compress(self._names, stays))
        self._all = len(self.indices) == len(stays)
        self._codes = None
        self._all_false = dict.fromkeys(self.agents, False)
        self._zero_rewards = dict.fromkeys(self.agents, 0.0)
        self._no_reward = bytes(self._batch.rewards.nbytes)
        self._all_views = dict(zip(self.agents, compress(self._views, stays)))

    def open(self) -> None:
        """Begins an episode: every agent that has a vehicle can act."""
        self.keep(~self._batch.removed)
        self.flagged[:] = False

    def update(self) -> bool:
        """Updates the infos after a step or reset; returns whether any code changed."""
        codes, trial = self._batch.code.tobytes(), self._batch.trial_index.item(0)
        if codes == self._codes and trial == self._templates.trial:
            return False
        self._templates.open(trial)
        self._infos = [self._templates[code] for code in self._batch.code[self.indices].tolist()]
        self._any_decided = bool((self._batch.code >> lib.DRV_CODE_OUTCOME_SHIFT).any())
        self._codes = codes
        return True

    def step_dicts(self) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool],
                                  dict[str, dict[str, Any]]]:
        """Observations, rewards, terminations, truncations and infos of a step; drops the agents that are done."""
        terminations, truncations = self._flags()
        returned = self.observations(), self._rewards(), terminations, truncations, self.infos()
        if self._staying is not None:
            self.keep(self._staying)
        return returned

    def observations(self) -> dict[str, Observation]:
        """The observation of each agent, (observation size,) or a dict."""
        if not self._copy and self._form.is_array:
            return self._all_views.copy()
        if not self._copy:
            return dict(zip(self.agents, compress(self._form.of_each(copy=False), self._stays)))
        return dict(zip(self.agents, self._form.of_each(slice(None) if self._all else self.indices)))

    def infos(self) -> dict[str, dict[str, Any]]:
        """A fresh info for each agent."""
        infos: dict[str, dict[str, Any]] = dict(zip(self.agents, map(dict, self._infos)))
        add_optional_channels(infos.values(), self._batch, self._optional_channels, self.indices)
        return infos

    def recover(self) -> None:
        """Restores the agents that can act, from the batch, after an exception within a call, such as Ctrl-C."""
        trial = self._batch.trial_state()
        roles = self._batch.roles[self._batch.scene_index[0]]
        present = np.arange(self._batch.agents_per_world) < roles.num_agents
        last = trial["trial"] + 1 == self._batch.config.max_trials
        decided = present & (trial["outcome"] != 0) if last else np.zeros_like(present)
        is_over = decided.sum() == present.sum()
        self.flagged[:] = decided & (trial["outcome"] != OUTCOMES.index("timeout"))
        self.keep(present & ~decided if self._finished == "leave" or is_over else present)

    def _by_agent(self, channel: np.ndarray) -> dict[str, Any]:
        return dict(zip(self.agents, (channel if self._all else channel[self.indices]).tolist()))

    def _rewards(self) -> dict[str, float]:
        rewards = self._batch.rewards
        return self._zero_rewards.copy() if rewards.tobytes() == self._no_reward else self._by_agent(rewards)

    def _flags(self) -> tuple[dict[str, bool], dict[str, bool]]:
        """Terminations and truncations; sets `_staying` to the agents that stay, or to None where all do."""
        self._staying = None
        if not self._any_decided:
            return self._all_false.copy(), self._all_false.copy()
        terminated, truncated = self._batch.terminations, self._batch.truncations
        if self._finished == "wait":
            self.flagged |= terminated
            # The end of the last trial ends the episode: the deferred flags are raised here.
            if self._batch.trial_ended.item(0) and self._templates.trial + 1 == self._batch.config.max_trials:
                self._staying = np.zeros_like(terminated)
                return self._by_agent(self.flagged), self._by_agent(truncated)
        elif terminated.any() or truncated.any():
            self._staying = np.zeros_like(terminated)
            self._staying[self.indices] = ~(terminated | truncated)[self.indices]
            return self._by_agent(terminated), self._by_agent(truncated)
        return self._all_false.copy(), self._all_false.copy()


class _InfoTemplates(dict):
    """Infos of one trial by code, each made when the code first occurs; callers copy them."""

    trial = -1

    def open(self, trial: int) -> None:
        """Drops the infos of another trial."""
        if trial != self.trial:
            self.clear()
            self.trial = trial

    def __missing__(self, code: int) -> dict[str, bool | int]:
        self[code] = info = info_of(code, self.trial)
        return info
