"""Reports of a batch: metrics, the time of each phase, and agents that start in contact, on an edge or in a goal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .binding import check, ffi, lib, per_thread, table, text
from .config import DriveConfig
from .errors import ArgumentError, UnknownNameError, value_text
from .names import unknown_name
from .native_batch import NativeBatch
from .native_config import native_config
from .roles import Roles
from .scenes import Report, Scene
from .scenes.scene import control_counts


class MetricValue(NamedTuple):
    """The value of a metric in a report, NaN while n is 0: a mean over `n` agents, or a quotient of two such means."""

    value: float
    n: int


class Metrics(dict[str, MetricValue]):
    """Values by the name of the metric: a dict whose error for a missing name lists similar names, or all."""

    def __missing__(self, name: object) -> MetricValue:
        raise UnknownNameError(unknown_name("this report", name, {metric: metric for metric in self}, "metric"))


PER_TRIAL = {"score": "score", "goal": "goal", "collision": "collision", "offroad": "offroad", "length": "trial_length"}
"""Metrics that a report also gives for each trial index: `trial_0_length` is `trial_length` of trials of index 0."""


QUOTIENTS = {"distance_per_infraction_m": ("distance_m", "infractions", 1.0),
             "goals_per_km": ("goal", "distance_m", 1000.0), "time_per_goal_s": ("driving_time_s", "goal", 1.0)}
"""Metrics that only a report has: name to dividend, divisor and a factor. Each is a quotient of two means, since a
trial whose divisor is 0 has no quotient."""


def metric_names(config: DriveConfig) -> list[str]:
    """The names of the metrics of a trial under a config, in the core's order."""
    return [text(name) for name in table(lib.drv_metric_names, "const char *", native_config(config))]


@lru_cache(maxsize=64)
def reward_metrics(config: DriveConfig) -> tuple[str, ...]:
    """Those of `metric_names` that are the sums of reward terms, `reward_<term>`, in the order of the terms."""
    terms = {f"reward_{text(name)}" for name in table(lib.drv_term_names, "const char *")}
    return tuple(name for name in metric_names(config) if name in terms)


def metrics_report(core: NativeBatch, of_coplayers: bool = False) -> Metrics:
    """Every metric of the core by name, then some for each trial index, and the gain in score over the first trial.

    They are those of egos, or, with `of_coplayers`, those of co-players.
    """
    of = lib.DRV_OF_COPLAYERS if of_coplayers else lib.DRV_OF_EGOS
    names = metric_names(core.config)
    report = Metrics(trials=_metric_value(core, lib.drv_batch_trials, of))
    for metric, name in enumerate(names):
        report[name] = _metric_value(core, lib.drv_batch_metric, metric, -1, of)
    add_quotients(report)
    for trial in range(core.config.max_trials):
        for short, name in PER_TRIAL.items():
            metric = names.index(name)
            report[f"trial_{trial}_{short}"] = _metric_value(core, lib.drv_batch_metric, metric, trial, of)
    for trial in range(1, core.config.max_trials):
        report[f"ada_delta_trial_{trial}_minus_0"] = _metric_value(core, lib.drv_batch_adaptation, trial, of)
    return report


def add_quotients(report: Metrics) -> None:
    """Adds `QUOTIENTS` to a report that has the detailed metrics; NaN where a divisor is 0."""
    if "infractions" not in report:
        return
    counts = {"goal": "goals"} if "goals" in report else {}  # with on_goal "next" or "respawn"
    for quotient, (dividend, divisor, factor) in QUOTIENTS.items():
        above, below = (report[counts.get(name, name)] for name in (dividend, divisor))
        report[quotient] = (MetricValue(lib.drv_quotient(factor, above.value, below.value), above.n)
                            if below.value > 0 else MetricValue(math.nan, 0))


def join_metrics(reports: Sequence[Mapping[str, MetricValue]]) -> dict[str, MetricValue]:
    """One report from those of several batches of one config: each metric is the mean over the agents of all.

    Args:
        reports: at least one, of `Batch.metrics()`.

    Returns:
        The same metrics; `trials` is the sum, and quotients are quotients of the means over all.

    Raises:
        ArgumentError: there is no report, one is no report, or they have different metrics.
    """
    if not isinstance(reports, Sequence) or isinstance(reports, (str, bytes)):
        raise ArgumentError(f"reports is {value_text(reports)}; it must be a list of reports of Batch.metrics()")
    if not reports:
        raise ArgumentError("reports is empty; it must have at least one report")
    for index, report in enumerate(reports):
        if not isinstance(report, Mapping) or not all(isinstance(value, MetricValue) for value in report.values()):
            raise ArgumentError(f"reports[{index}] is {value_text(report)}; it must be a report of Batch.metrics(), a "
                                "dict from the name of each metric to its MetricValue")
        if report.keys() != reports[0].keys():
            other = min(report.keys() ^ reports[0].keys())
            raise ArgumentError(f"reports[{index}] and reports[0] have different metrics, such as {other!r}; all must "
                                "be of one config")
    joined = Metrics({name: _joined(name, [report[name] for report in reports]) for name in reports[0]})
    add_quotients(joined)
    return joined


def _controls_note(scene: Scene, config: DriveConfig) -> list[str]:
    """The number of traffic lights and signs, and whether they have an effect."""
    counts = ", ".join(f"{word}: {count}" for word, count in control_counts(scene).items())
    if config.traffic_controls:
        return [counts or "traffic lights and signs: 0, so traffic_controls has no effect in this scene"]
    return [f"{counts}, without effect, since traffic_controls is False"] if counts else []


def _drawn_notes(scene: Scene) -> list[str]:
    """The number of what each episode draws from."""
    parts = {"candidate goals, one of which each episode draws for an agent": len(scene.candidate_goals_m),
             "objects with scripts, of which each episode draws some": scene.scripts.count}
    return [f"{what}: {count}" for what, count in parts.items() if count]


def _goal_lists_note(roles: Roles, config: DriveConfig) -> list[str]:
    """The number of agents with goal lists, and whether these have an effect."""
    count = int((np.diff(roles.goal_lists.start) > 0).sum())
    without = "" if config.on_goal == "next" else f", without effect, since on_goal is {config.on_goal!r}"
    return [f"agents with goal lists: {count}{without}"] if count else []


def _joined(name: str, values: list[MetricValue]) -> MetricValue:
    count = sum(value.n for value in values)
    if name == "trials":
        return MetricValue(float(count), count)
    if not count:
        return MetricValue(math.nan, 0)
    return MetricValue(sum(value.value * value.n for value in values if value.n) / count, count)


def _metric_value(core: NativeBatch, function, *arguments) -> MetricValue:
    found, message = ffi.new("drv_metric_value *"), per_thread.message
    check(function(core.handle, *arguments, found, message), message)
    return MetricValue(found.value, found.n)


def phase_seconds(core: NativeBatch, on: bool) -> dict[str, float]:
    """Seconds spent in each phase, by name; `on` switches timing on or off from here."""
    spent_ns, message = ffi.new("int64_t[]", lib.drv_phase_count()), per_thread.message
    check(lib.drv_batch_time_phases(core.handle, on, spent_ns, message), message)
    return {ffi.string(lib.drv_phase_name(phase)).decode(): ns * 1e-9 for phase, ns in enumerate(spent_ns)}


def full_report(scene: Scene, roles: Roles, config: DriveConfig) -> Report:
    """A copy of the report of a scene's roles, with counts of its special parts, and of agents that start in contact,
    on a road edge or in their goals."""
    report = Report(dict(roles.report.dropped), dict(roles.report.imputed), list(roles.report.notes))
    report.notes += [*_controls_note(scene, config), *_drawn_notes(scene), *_goal_lists_note(roles, config)]
    alone = NativeBatch(config, "auto", (roles,), num_worlds=1, seed=0, threads=1, world_ids=np.zeros(1, np.int64),
                        part_count=1)
    message = per_thread.message
    check(lib.drv_batch_reset(alone.handle, lib.DRV_WHOLE_BATCH, ffi.NULL, ffi.NULL, ffi.NULL, message), message)
    state = {name: array[0] for name, array in alone.state.items()}
    overlapping = state["overlapping"].reshape(alone.agents_per_world, -1).any(axis=1)
    alone.close()
    for what, agents in (("in contact with a vehicle", overlapping), ("over a road edge", state["on_road_edge"]),
                         ("inside their goals", state["in_goal_since_start"])):
        report.notes.append(f"agents that start {what}: {int(agents.sum())}")
    return report
