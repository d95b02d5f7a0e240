"""How is a configuration measured? As one of several cases, which are interleaved round after round."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from drive_env import Batch, DriveConfig

IGNORE_EVENTS = DriveConfig(on_goal="ignore", on_collision="ignore", on_offroad="ignore")
"""No agent leaves, so every step updates and observes all of them: the most work."""

ROUNDS = 5
"""Measurements of each case, over which figures are medians."""

DRAWS = 32
"""Sets of random actions, drawn in advance and used cyclically."""

SPREADS = {"state": 1e-3}
"""By vehicle model, the share of its limits within which actions are drawn; for all others it is 1. The limits of
`state` are those of coordinates, most of which are off any map."""

AGE_STRIDE = 7
"""Steps by which the clocks of successive worlds differ at first, so that few worlds restart in the same step."""


class Case:
    """One measured configuration.

    Args:
        step: takes the actions of all agents of `batch`. close: called at the end.
        acting_agents: returns for how many agents the action of the last step had an effect.
    """

    def __init__(self, name: str, step: Callable[[np.ndarray], None], batch: Batch, close: Callable[[], None],
                 acting_agents: Callable[[], int]):
        self.name, self.step, self.close, self.acting_agents = name, step, close, acting_agents
        self.draws = draws_for(batch)
        self.rates: list[float] = []

    def run(self, seconds: float) -> float:
        """Agent-steps per second, over whole rounds of the draws."""
        agent_steps = 0
        begin = now = time.perf_counter()
        while now - begin < seconds:
            for actions in self.draws:
                self.step(actions)
                agent_steps += self.acting_agents()
            now = time.perf_counter()
        return agent_steps / (now - begin)


def draws_for(batch: Batch) -> list[np.ndarray]:
    """Seeded random actions of all agents, `DRAWS` times."""
    rng = np.random.default_rng(0)
    if batch.config.action_type == "discrete":
        return [rng.integers(0, batch.single_action_space.n, batch.num_agents) for _ in range(DRAWS)]
    spread = SPREADS.get(batch.config.dynamics.model, 1.0)
    return [rng.uniform(-spread, spread, batch.actions.shape).astype(np.float32) for _ in range(DRAWS)]


def of_batch(name: str, batch: Batch) -> Case:
    """The case of a batch, which is reset here. It counts the agent-steps in which the action has an effect."""
    shortest = min(roles.trial_steps for roles in batch.roles)
    batch.reset(initial_ages=np.arange(batch.num_worlds) * AGE_STRIDE % shortest)
    return Case(name, batch.step, batch, batch.close,
                lambda: batch.num_agents - int(np.count_nonzero(batch.invalid_step)))


def use_one_core() -> None:
    """Restricts this process to one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def interleaved(cases: list[Case], seconds: float) -> dict[str, list[float]]:
    """The rates of each case, one per round."""
    for case in cases:
        case.run(seconds / 4)  # warm-up
    for _ in range(ROUNDS):
        for case in cases:
            case.rates.append(case.run(seconds))
    for case in cases:
        case.close()
    return {case.name: case.rates for case in cases}
