"""Which figures are computed from the rows of played trials?"""

from __future__ import annotations

import numpy as np

from ..reports import PER_TRIAL, QUOTIENTS
from .figures import Figure, Quantity, figures_of, mean_of, unit_of
from .rows import Rows, metrics_of
from .scores import SCORES

CLOSE_S = 0.95
"""A trial has a close call if its smallest time to collision is below this bound, which is that of nuPlan."""

FULL_GROUP = "full"
"""The group of the policy with its memory; if a result has it, all other groups are ablations."""

CLEAN_GROUP = "clean"
"""The group without changes of the config, which is level 0 of every field."""


def group_of(field: str, level: float) -> str:
    """The name of the group for one level of a field, such as "phantom_braking=0.5"."""
    return f"{field}={level:g}"


def figures_of_rows(rows: Rows) -> dict[str, Figure]:
    """The figures of all metrics that these rows have, by the names of docs/evaluation.md."""
    return figures_of(rows["scene_key"], quantities_of(rows))


def figures_of_groups(rows: Rows) -> dict[str, dict[str, Figure]]:
    """The figures of each group that has a name, by group."""
    return {group: figures_of_rows({name: column[rows["group"] == group] for name, column in rows.items()})
            for group in sorted(set(rows["group"].tolist()) - {""})}


def quantities_of(rows: Rows) -> dict[str, Quantity]:
    """The terms of each figure, by its name."""
    found = {name: mean_of(rows[name], SCORES[name].unit if name in SCORES else unit_of(name), ~np.isnan(rows[name]))
             for name in metrics_of(rows)}
    if "min_time_to_collision_s" in rows:
        found["close_call"] = mean_of(rows["min_time_to_collision_s"] < CLOSE_S, "1")

    # Quotients of sums, with the names that reports have.
    for name, (dividend, divisor, factor) in QUOTIENTS.items():
        counted = {"goal": "goals"} if "goals" in rows else {}
        above, below = (rows.get(counted.get(one, one)) for one in (dividend, divisor))
        if above is not None and below is not None:
            found[name] = Quantity(factor * above.astype(np.float64), below.astype(np.float64), len(above),
                                   unit_of(name))
    return found | _by_trial(rows) | _areas(rows) | _over_ablations(rows)


def _over_ablations(rows: Rows) -> dict[str, Quantity]:
    """The score in the last trial minus that of the same agents and trials under each ablation."""
    groups = rows["group"].astype(str)
    names = np.unique(groups).tolist()
    if FULL_GROUP not in names:
        return {}
    score, is_last = rows["score"].astype(np.float64), rows["trial"] == rows["trial"].max()
    agents = rows["world"] * (int(rows["agent"].max()) + 1) + rows["agent"]
    found = {}
    for name in names:
        if name == FULL_GROUP:
            continue
        # An agent counts only if its last trial ended in both groups.
        full, ablated = (is_last & (groups == one) for one in (FULL_GROUP, name))
        full, ablated = full & np.isin(agents, agents[ablated]), ablated & np.isin(agents, agents[full])
        found[f"score_over_{name}"] = Quantity(
            np.where(full, score, 0) - np.where(ablated, score, 0), full.astype(np.float64), int(full.sum()), "1")
    return found


def _areas(rows: Rows) -> dict[str, Quantity]:
    """The mean score over the levels of each field in the groups, from 0 to the highest level, by the trapezoidal rule.

    Every level has the same episodes, so each of its rows has the weight of the level in the rule.
    """
    groups = rows["group"].astype(str)
    names = np.unique(groups).tolist()
    fields = sorted({name.partition("=")[0] for name in names if "=" in name}) if CLEAN_GROUP in names else []
    found = {}
    for field in fields:
        levels = sorted((float(name.partition("=")[2]), name) for name in names if name.startswith(f"{field}="))
        at = np.array([0.0, *(level for level, _ in levels)])
        width = 0.5 * np.diff(at, prepend=at[0]) + 0.5 * np.diff(at, append=at[-1])
        weights = np.zeros(len(groups))
        for share, name in zip(width, [CLEAN_GROUP, *(name for _, name in levels)], strict=True):
            weights[groups == name] = share
        found[f"area_{field}"] = Quantity(weights * rows["score"], weights, int((weights > 0).sum()), "1")
    return found


def _by_trial(rows: Rows) -> dict[str, Quantity]:
    """The metrics of each trial index alone, and the gain of an agent from its first trial to each later one."""
    trials = rows["trial"]
    found: dict[str, Quantity] = {}
    count = int(trials.max()) + 1 if len(trials) else 0
    if count < 2 or "score" not in rows:
        return found
    for trial in range(count):
        for short, name in PER_TRIAL.items():
            if name in rows:
                found[f"trial_{trial}_{short}"] = mean_of(rows[name], unit_of(name), trials == trial)

    # Rows are sorted by agent, then trial: the first trial of an agent is k rows before its trial k.
    scores = rows["score"].astype(np.float64)
    for trial in range(1, count):
        of_trial = np.flatnonzero(trials == trial)
        gain = np.zeros(len(scores))
        gain[of_trial] = scores[of_trial] - scores[of_trial - trial]
        found[f"ada_delta_trial_{trial}_minus_0"] = mean_of(gain, "1", trials == trial)
    return found
