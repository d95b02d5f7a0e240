"""What does a learner compute from a rollout? A small recurrent one, by the contract's table, for law 9."""

from __future__ import annotations

import numpy as np
from rollouts import ARRAYS, FLAGS, RESET, UNTOUCHED

MEMORY_SIZE = 4
DISCOUNT = 0.9


def learner_advantages(record, credit, replace=None):
    """One-step advantages of a small recurrent learner that follows the contract's table "what a learner does with it".

    It computes context, values and advantages from the channels alone and skips agents that wait.

    Args:
        credit: "through" trials, or "per trial".
        replace: None, or a value that replaces every observation of a waiting agent but the one right after a
            truncation.

    Returns:
        (calls, agents) advantages, 0 where no action was taken.
    """
    # the channels, and what each call did to the world of each agent
    observations = record.stacked("observations").astype(np.float64)
    arrays = {name: record.stacked(name) for name in ARRAYS if name != "observations"}
    flags = {name: arrays[name].astype(bool) for name in FLAGS}
    if replace is not None:
        observations[flags["waits"] & ~flags["truncation"]] = replace
    was_reset = np.stack([did[record.world_of_agent] == RESET for did in record.did])
    untouched = np.stack([did[record.world_of_agent] == UNTOUCHED for did in record.did])
    # random weights of a recurrent layer and a value head
    rng = np.random.default_rng(5)
    width = observations.shape[2]
    into_memory, of_memory, of_observation = (
        rng.normal(size=(MEMORY_SIZE, width)), rng.normal(size=MEMORY_SIZE), rng.normal(size=width))

    calls, agents = arrays["rewards"].shape
    advantages = np.zeros((calls, agents))
    for r in range(agents):
        memory = np.zeros(MEMORY_SIZE)
        open_step = None  # entry of the last acting step, whose advantage lacks the next value
        value = None
        for t in range(calls):
            if untouched[t, r]:
                continue
            # the reward of the action taken before this call
            if was_reset[t, r]:
                open_step = None
            elif not flags["invalid_step"][t, r]:
                advantages[t, r] = arrays["rewards"][t, r] - value
                open_step = t
            # memory and value at this observation
            if flags["first"][t, r]:
                memory = np.zeros(MEMORY_SIZE)
            waits = flags["waits"][t, r]
            if not waits or flags["truncation"][t, r]:
                new_memory = np.tanh(0.5 * memory + into_memory @ observations[t, r])
                value_here = of_memory @ new_memory + of_observation @ observations[t, r]
            if not waits:
                memory, value = new_memory, value_here
            # the value after the last acting step: 0 at an end, else of this observation
            if open_step is None:
                continue
            closes = flags["terminations"][t, r] or (
                credit == "per trial" and waits and not flags["truncation"][t, r]
            )
            bootstraps = flags["truncations"][t, r] or (credit == "per trial" and flags["truncation"][t, r])
            if closes:
                open_step = None
            elif bootstraps or not waits:
                advantages[open_step, r] += DISCOUNT * value_here
                open_step = None
    return advantages


def check_law_9(record):
    """Replaces the observations of waiting agents by NaN and by a large number; no advantage may change."""
    for credit in ("through", "per trial"):
        advantages = learner_advantages(record, credit)
        assert np.isfinite(advantages).all() and advantages.any()
        for replacement in (np.nan, 1e6):
            assert np.array_equal(learner_advantages(record, credit, replacement), advantages), f"credit {credit}"
