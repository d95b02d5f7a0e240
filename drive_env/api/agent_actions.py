"""A dict of actions by agent, written into the action array of a one-world batch."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from itertools import compress
from operator import itemgetter
from typing import Any

import numpy as np
from gymnasium import spaces

from ..action_array import can_cast
from ..batch import Batch
from ..errors import ActionError, a_type, value_text


class AgentActions:
    """Checks the actions of the agents that drive and writes them to `batch.bound_actions`.

    Args:
        batch: a one-world batch.
        agents: the name of each of its agents.
        space: the action space of one agent, for messages.
    """

    def __init__(self, batch: Batch, agents: list[str], space: spaces.Space[Any]) -> None:
        self._batch, self._agents, self._space = batch, agents, space
        self._known = frozenset(agents)
        self._bytes = memoryview(batch.bound_actions.data).cast("B")
        self._acting: list[str] = []
        self._pick: Callable[[Mapping[str, Any]], tuple[Any, ...]] | None = None

    def invalidate(self) -> None:
        """Invalidates the cached set of driving agents; must be called when an agent begins or stops waiting."""
        self._pick = None

    def _find_acting(self) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
        drives = ~self._batch.waits
        self._all_act = bool(drives.all())
        self._indices = np.flatnonzero(drives)
        self._acting = list(compress(self._agents, drives))
        self._packer = struct.Struct(f"{len(self._acting)}q")
        self._pick = _picker(self._acting)
        return self._pick

    def read(self, actions: Any) -> None:
        """Writes the actions of the agents that drive.

        Args:
            actions: a mapping by agent; entries of agents that wait are not read.

        Raises:
            ActionError: it is not a mapping, an action is missing or has the wrong shape or type, or a name is unknown.
        """
        # The values of the driving agents, in order.
        if type(actions) is not dict and not isinstance(actions, Mapping):
            raise ActionError(f"actions is {a_type(type(actions))}; it must be a dict by agent")
        pick = self._pick or self._find_acting()
        try:
            values = pick(actions)
        except KeyError:
            raise ActionError(self._missing_text(actions)) from None
        if len(actions) != len(self._acting):
            unknown = [agent for agent in actions if agent not in self._known]
            if unknown:
                raise ActionError(f"actions has an entry for {value_text(unknown[0])}; agents are {self._agents[0]} to "
                                  f"{self._agents[-1]}")
        if not values:
            return

        # Written to the array that the core reads.
        bound = self._batch.bound_actions
        if bound.ndim > 1:
            bound[self._indices] = self._stacked(values, bound)
            return
        try:  # `struct` accepts only integers, and takes half the time of a conversion by numpy
            if self._all_act:
                self._packer.pack_into(self._bytes, 0, *values)
            else:
                bound[self._indices] = np.frombuffer(self._packer.pack(*values), np.int64)
        except (struct.error, TypeError):
            raise ActionError(self._misshapen_text(values)) from None

    def _stacked(self, values: tuple[Any, ...], bound: np.ndarray) -> np.ndarray:
        """Actions of several numbers each, as one array with the dtype of the bound one."""
        try:
            found = np.array(values)
        except ValueError:  # ragged
            found = np.empty(0)
        if found.shape != (len(values), *bound.shape[1:]) or not can_cast(found.dtype, bound.dtype):
            raise ActionError(self._misshapen_text(values))
        with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite, which the core rejects
            return found.astype(bound.dtype)

    def _missing_text(self, actions: Mapping[str, Any]) -> str:
        missing = [agent for agent in self._acting if agent not in actions]
        names = ", ".join(missing[:3]) + (" and others" if len(missing) > 3 else "")
        return f"actions has no entry for {names}; it must have one for every agent that drives"

    def _misshapen_text(self, values: tuple[Any, ...]) -> str:
        for agent, value in zip(self._acting, values):
            try:
                found = np.asarray(value)
            except ValueError:  # ragged
                found = np.empty(0, object)
            if found.shape != self._space.shape or not can_cast(found.dtype, self._batch.bound_actions.dtype):
                return f"the action of {agent} is {value_text(value)}; it must be in {self._space}"
        return f"the actions do not stack into one array; each must be in {self._space}"


def _picker(agents: list[str]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """A function that returns these agents' entries of a dict as a tuple."""
    if not agents:
        return lambda actions: ()
    if len(agents) == 1:
        return lambda actions: (actions[agents[0]],)
    return itemgetter(*agents)
