"""Which of several runs is better, and in which fields do their configs differ? From their logs, grouped by config.

Runs whose configs are equal except for the fields of `UNCOMPARED` form a group. The curve of a group is the mean over
its seeds; its spread reaches from the lowest seed to the highest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .checkpoint import config_of, newest
from .log_file import LOG, read_lines
from .same_settings import parts, settings_of

UNCOMPARED = ("env.threads", "run.folder", "run.seed", "run.device", "run.torch_threads", "run.compile", "run.resume",
              "run.overwrite", "run.checkpoint_updates", "run.keep_checkpoints", "run.best_metric",
              "run.evaluate_updates", "run.evaluators", "run.tensorboard", "run.wandb", "run.wandb_project",
              "run.wandb_name", "run.progress")
"""Fields in which configs of a group may differ: the seed, the machine, and what is saved and measured."""

HELD = 3
"""Number of consecutive evaluations that must reach the threshold of a verdict."""


class Verdict(NamedTuple):
    """A verdict, and the lowest value of the metric at which it holds."""

    name: str
    threshold: float


VERDICTS = (Verdict("no success", 0.0), Verdict("first success", 0.05), Verdict("healthy", 0.5),
            Verdict("strong", 0.9))
"""From the lowest threshold to the highest; baselines/README.md explains them."""

TOO_SHORT = "too short"
"""The verdict of a run with fewer than `HELD` evaluations."""


class CompareError(ValueError):
    """Runs cannot be compared; the message is one sentence."""


@dataclass(frozen=True, eq=False)
class RunCurve:
    """The evaluations of one run.

    Attributes:
        folder: of the run. seed: `run.seed`.
        fields: those of its config that are compared, by dotted name.
        agent_steps, minutes: (n,) of training before each evaluation; minutes are those of updates alone.
        values: (n,) the metric.
        settings: hash of those of the evaluator; None: unknown, or the evaluation on the scenes of the training.
        left_out: number of earlier evaluations with other settings, which are not in the curve.
    """

    folder: Path
    seed: int
    fields: Mapping[str, Any]
    agent_steps: np.ndarray
    minutes: np.ndarray
    values: np.ndarray
    settings: str | None = None
    left_out: int = 0


def read_run(folder: Path, metric: str, evaluator: str | None = None) -> RunCurve:
    """The curve of a metric in the log of a run; of evaluations with the newest settings, if these have changed.

    Args:
        metric: of the evaluations. evaluator: of `run.evaluators`; None: the evaluation on the scenes of the training.

    Raises:
        ValueError: the folder has no run, its log or newest checkpoint is damaged, or no evaluation has the metric.
    """
    config, lines = config_of(newest(folder)), read_lines(folder / LOG)
    key = metric if evaluator is None else f"eval/{evaluator}/{metric}"
    *earlier, last = [part for part in parts(lines, evaluator) if part] or [[]]
    meant = set(map(id, last))
    points, minutes, steps_before = [], 0.0, 0
    for line in lines:
        if line["kind"] == "update":
            # The log has rates, and no times: the time of an update is its steps over its rate.
            if line.get("agent_steps_per_s"):
                minutes += (line["agent_steps"] - steps_before) / line["agent_steps_per_s"] / 60
            steps_before = line["agent_steps"]
        elif id(line) in meant and line.get(key) is not None:
            points.append((line["agent_steps"], minutes, line[key]))
    if not points:
        known = sorted({name for line in last for name in line if isinstance(line[name], float)})
        whose = "" if evaluator is None else f" of the evaluator {evaluator!r}"
        raise CompareError(f"{os.fspath(folder)!r} has no evaluation with {key!r}; it has "
                           + (", ".join(known) or f"no evaluation{whose}"))
    agent_steps, at_minutes, values = np.array(points, np.float64).T
    return RunCurve(folder, config.run.seed, compared_fields(config.to_dict()), agent_steps, at_minutes, values,
                    None if evaluator is None else settings_of(last, evaluator), sum(map(len, earlier)))


def compared_fields(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The fields of a config that are compared, by dotted name."""
    found = {}
    for name, value in config.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            found |= compared_fields(value, f"{path}.")
        elif path not in UNCOMPARED:
            found[path] = value
    return found


def grouped(runs: Sequence[RunCurve]) -> list[list[RunCurve]]:
    """The runs by config, in the order in which configs first occur; seeds ascending.

    Raises:
        CompareError: two runs have the same config and the same seed.
    """
    groups: list[list[RunCurve]] = []
    for run in runs:
        group = next((group for group in groups if group[0].fields == run.fields), None)
        if group is None:
            groups.append([run])
        elif twin := next((one for one in group if one.seed == run.seed), None):
            raise CompareError(f"{os.fspath(run.folder)!r} and {os.fspath(twin.folder)!r} have the same config and the "
                               f"seed {run.seed}; each may be compared once")
        else:
            group.append(run)
    return [sorted(group, key=lambda run: run.seed) for group in groups]


def cautions(groups: Sequence[Sequence[RunCurve]]) -> list[str]:
    """Sentences about curves that cannot be compared, since episodes differ, or that leave evaluations out."""
    runs = [run for group in groups for run in group]
    found = [f"{os.fspath(run.folder)!r} was resumed with other settings of its evaluations; earlier ones that "
             f"are left out: {run.left_out}" for run in runs if run.left_out]
    others = [os.fspath(run.folder) for run in runs if run.settings and runs[0].settings not in (None, run.settings)]
    if others:
        found.append(f"the evaluator has other settings in {', '.join(map(repr, others))} than in "
                     f"{os.fspath(runs[0].folder)!r}, so the figures are of different episodes")
    return found


def differing(groups: Sequence[Sequence[RunCurve]]) -> list[str]:
    """The names of the fields in which the configs of groups differ."""
    names = dict.fromkeys(name for group in groups for name in group[0].fields)
    return [name for name in names if any(field_value(group, name) != field_value(groups[0], name) for group in groups)]


def label_of(group: Sequence[RunCurve], first: Sequence[RunCurve], number: int) -> str:
    """Number of a group, and the one field in which it differs from the first group, else the name of its folder."""
    names = differing([first, group])
    if len(names) == 1:
        return f"{number}: {names[0].rpartition('.')[2]} {field_value(group, names[0])}"
    return f"{number}: {group[0].folder.name}"


def field_value(group: Sequence[RunCurve], name: str) -> Any:
    """The value of a field in the config of a group; "(absent)" if it lacks the field."""
    return group[0].fields.get(name, "(absent)")


# ---- verdicts ----


def reached(run: RunCurve, threshold: float) -> int | None:
    """The index of the evaluation at which `HELD` in a row have reached a threshold for the first time; None: never."""
    held = 0
    for index, value in enumerate(run.values):
        held = held + 1 if value >= threshold else 0
        if held == HELD:
            return index
    return None


def verdict_of(run: RunCurve) -> str:
    """The highest verdict whose threshold the last `HELD` evaluations have all reached."""
    if len(run.values) < HELD:
        return TOO_SHORT
    lowest = run.values[-HELD:].min()
    return next(verdict.name for verdict in reversed(VERDICTS) if lowest >= verdict.threshold or verdict is VERDICTS[0])


# ---- curves ----


def mean_and_spread(xs: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """x, mean, lowest and highest value of several curves, over the x that all of them have.

    Args:
        xs, values: of each curve, ascending x; values between its points are interpolated linearly.
    """
    start, end = max(x[0] for x in xs), min(x[-1] for x in xs)
    union = np.unique(np.concatenate(xs))
    at = union[(union >= start) & (union <= end)]
    curves = np.stack([np.interp(at, x, of_x) for x, of_x in zip(xs, values, strict=True)])
    return at, curves.mean(0), curves.min(0), curves.max(0)
