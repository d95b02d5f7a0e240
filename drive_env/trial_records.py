"""One record per agent and finished trial, and the metrics over any set of them."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from .binding import check, ffi, lib, per_thread
from .errors import ConfigError, value_text
from .names import named_arguments
from .native_batch import NativeBatch
from .reports import PER_TRIAL, MetricValue, Metrics, add_quotients, metric_names

GROUPS = ("scene", "world")
"""Fields of a record that `trial_metrics` can group by."""

HEAD = (("episode", np.int64), ("world", np.int32), ("scene", np.int32), ("trial", np.int32), ("agent", np.int32),
        ("outcome", np.int32), ("coplayer", np.bool_))


def record_dtype(metrics: list[str]) -> np.dtype:
    """The fields of a trial record: episode, world, scene, trial, agent, outcome, coplayer, and the float32 metrics."""
    return np.dtype([*HEAD, *((name, np.float32) for name in metrics)])


def metrics_in(records: npt.NDArray[np.void]) -> list[str]:
    """The metrics among the fields of trial records."""
    return list((records.dtype.names or ())[len(HEAD):])


def _are_records(records: object) -> bool:
    if not isinstance(records, np.ndarray) or records.ndim != 1 or records.dtype.names is None:
        return False
    names = metrics_in(records)
    return set(PER_TRIAL.values()) <= set(names) and records.dtype == record_dtype(names)


def held_records(core: NativeBatch, clear: bool, warns: bool = True) -> npt.NDArray[np.void]:
    """The records that the worlds of a batch hold, world by world, oldest first; see `Batch.trial_records`.

    Args:
        clear: whether the worlds drop them. warns: whether a `RuntimeWarning` reports records that were lost.
    """
    if not core.record_capacity:
        raise ConfigError("this batch holds no records; make it with trial_records=n, the number of finished trials "
                          "that each world can hold")
    capacity = core.num_agents * core.record_capacity
    names = metric_names(core.config)
    head, values = np.zeros(capacity, np.dtype([*HEAD], align=True)), np.zeros((capacity, len(names)), np.float32)
    copied, lost, message = ffi.new("int64_t *"), ffi.new("int64_t *"), per_thread.message
    check(lib.drv_batch_trial_records(
        core.handle, clear, capacity, ffi.cast("drv_trial_record *", head.ctypes.data),
        ffi.cast("float *", values.ctypes.data), copied, lost, message), message)
    if lost[0] and warns:
        warnings.warn(f"{lost[0]} trial records were lost: each world holds those of trial_records="
                      f"{core.record_capacity} finished trials; call trial_records() more often, or raise that number",
                      RuntimeWarning, stacklevel=3)
    records = np.zeros(copied[0], record_dtype(names))
    for name, _ in HEAD:
        records[name] = head[name][: copied[0]]
    for index, name in enumerate(names):
        records[name] = values[: copied[0], index]
    return records


def check_group(by: object) -> None:
    """Raises a `ConfigError` if trial records cannot be grouped by `by`."""
    if not isinstance(by, str) or by not in GROUPS:
        raise ConfigError(f"by is {value_text(by)}; it must be None, 'scene' or 'world'")


def check_of(of: object) -> None:
    """Raises a `ConfigError` if `of` is none of the groups of agents that a report can cover."""
    if not isinstance(of, str) or of not in ("ego", "coplayer"):
        raise ConfigError(f"of is {value_text(of)}; it must be 'ego' or 'coplayer'")


@named_arguments
def trial_metrics(records: npt.NDArray[np.void], by: str | None = None, of: str = "ego"
                  ) -> dict[str, MetricValue] | dict[int, dict[str, MetricValue]]:
    """The metrics of docs/metrics.md over some trial records, each agent with equal weight.

    Args:
        records: any selection of the records of one batch, from `Batch.trial_records`.
        by: None, or "scene" or "world" for one report per scene or world that has records.
        of: "ego" for the records of egos, "coplayer" for those of co-players.

    Returns:
        `MetricValue` by metric: the mean over the agents that have records, and `n`, their number. The records
        of an agent are averaged within each trial index, then over the trial indices. With `by`, one such dict by the
        index of each scene or world.

    Raises:
        ConfigError: `records` has other fields, or `by` or `of` is none of the above.
    """
    if not _are_records(records):
        raise ConfigError(f"records is {value_text(records)}; it must be an array of Batch.trial_records, of one "
                          "dimension")
    check_of(of)
    records = records[records["coplayer"] == (of == "coplayer")]
    if by is None:
        return _report(records)
    check_group(by)
    return {int(index): _report(records[records[by] == index]) for index in np.unique(records[by])}


def _report(records: npt.NDArray[np.void]) -> dict[str, MetricValue]:
    # One entry per pair of agent and trial index that has records, sorted by agent.
    pairs, place = np.unique(np.stack([records["agent"], records["trial"]], axis=1), axis=0, return_inverse=True)
    place, count = place.reshape(-1), np.bincount(place.reshape(-1), minlength=len(pairs))
    means = {name: np.bincount(place, records[name].astype(np.float64), len(pairs)) / np.maximum(count, 1)
             for name in metrics_in(records)}
    agents, owner = np.unique(pairs[:, 0], return_inverse=True)

    report = Metrics(trials=MetricValue(float(len(records)), len(records)))
    for name, values in means.items():
        report[name] = _mean(np.bincount(owner, values, len(agents)) / np.maximum(np.bincount(owner), 1))
    add_quotients(report)
    trials = np.unique(pairs[:, 1]).tolist()
    for trial in trials:
        for short, name in PER_TRIAL.items():
            report[f"trial_{trial}_{short}"] = _mean(means[name][pairs[:, 1] == trial])
    for trial in trials:
        if trial > 0 and 0 in trials:
            score = np.full((len(agents), 2), np.nan)
            for column, index in enumerate((0, trial)):
                chosen = pairs[:, 1] == index
                score[owner[chosen], column] = means["score"][chosen]
            gain = score[:, 1] - score[:, 0]
            report[f"ada_delta_trial_{trial}_minus_0"] = _mean(gain[~np.isnan(gain)])
    return report


def _mean(values: np.ndarray) -> MetricValue:
    return MetricValue(float(values.mean()) if len(values) else float("nan"), len(values))
