"""What does a learner compute from a rollout? A small recurrent one, by the contract's table, for law 9."""

from __future__ import annotations

import numpy as np
from rollouts import ARRAYS, FLAGS, RESET, UNTOUCHED


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
    observations = record.stacked("observations").astype(np.float64)
    arrays = {name: record.stacked(name) for name in ARRAYS if name != "observations"}
    flags = {name: arrays[name].astype(bool) for name in FLAGS}
    if replace is not None:
        observations[flags["waits"] & ~flags["truncation"]] = replace
    rng = np.random.default_rng(5)
    width = observations.shape[2]
    into_memory, of_memory, of_observation = (
        rng.normal(size=(4, width)),
        rng.normal(size=4),
        rng.normal(size=width),
    )

    calls, agents = arrays["rewards"].shape
    advantages = np.zeros((calls, agents))
    was_reset = np.stack([did[record.world_of_agent] == RESET for did in record.did])
    untouched = np.stack([did[record.world_of_agent] == UNTOUCHED for did in record.did])
    for r in range(agents):
        memory = np.zeros(4)
        open_step = None  # entry of the last acting step, whose advantage lacks the next value
        value = None
        for t in range(calls):
            if untouched[t, r]:
                continue
            if was_reset[t, r]:
                open_step = None
            elif not flags["invalid_step"][t, r]:
                advantages[t, r] = arrays["rewards"][t, r] - value
                open_step = t
            if flags["first"][t, r]:
                memory = np.zeros(4)
            waits = flags["waits"][t, r]
            if not waits or flags["truncation"][t, r]:
                new_memory = np.tanh(0.5 * memory + into_memory @ observations[t, r])
                value_here = of_memory @ new_memory + of_observation @ observations[t, r]
            if not waits:
                memory, value = new_memory, value_here
            if open_step is None:
                continue
            closes = flags["terminations"][t, r] or (
                credit == "per trial" and waits and not flags["truncation"][t, r]
            )
            bootstraps = flags["truncations"][t, r] or (credit == "per trial" and flags["truncation"][t, r])
            if closes:
                open_step = None
            elif bootstraps or not waits:
                advantages[open_step, r] += 0.9 * value_here
                open_step = None
    return advantages


def check_law_9(record):
    """Replaces the observations of waiting agents by NaN and by a large number; no advantage may change."""
    for credit in ("through", "per trial"):
        advantages = learner_advantages(record, credit)
        assert np.isfinite(advantages).all() and advantages.any()
        for replacement in (np.nan, 1e6):
            assert np.array_equal(learner_advantages(record, credit, replacement), advantages), f"credit {credit}"
