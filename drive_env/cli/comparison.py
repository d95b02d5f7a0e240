"""Which of several evaluated policies is better? Shows their figures, and whether their intervals overlap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigError, printable, value_text
from ..evaluation import EvalResult, Figure, load_result
from ..evaluation.result import settings_that_differ
from . import evaluation, show


def run(paths: Sequence[Path]) -> None:
    """Prints a table of results of the same episodes.

    Raises:
        ConfigError: there are fewer than two, one cannot be read, or they are of different episodes.
    """
    if len(paths) < 2:
        raise ConfigError(f"RESULT is {value_text([str(path) for path in paths])}; it must be two results or more")
    results = [load_result(path) for path in paths]
    first = results[0]
    for path, other in zip(paths, results, strict=True):
        if differing := settings_that_differ(first.config, other.config):
            raise ConfigError(f"{path}: its settings {', '.join(differing)} differ from those of {paths[0]}; only "
                              "results of the same episodes can be compared")
        if (here := _part_text(other)) != (there := _part_text(first)):
            raise ConfigError(f"{path}: it has {here}, and {paths[0]} has {there}; only results of the same episodes "
                              "can be compared")
    columns = [f"{number}: {printable(result.policy)}" for number, result in enumerate(results, 1)]
    show.table(printable(first.evaluator), ["metric", *columns, "apart from 1"], [
        _row(name, [result.metrics.get(name) for result in results]) for name in evaluation.shown_metrics(first)])
    for name in evaluation.group_metrics(first) if first.groups else ():
        show.table(f"{name} by group", ["group", *columns, "apart from 1"], [
            _row(group, [result.groups.get(group, {}).get(name) for result in results])
            for group in dict.fromkeys(group for result in results for group in result.groups)])
    trials = [_trials_of(result) for result in results]
    show.lines("")
    for number, (path, result, played) in enumerate(zip(paths, results, trials, strict=True), 1):
        coverage = result.coverage
        show.lines(printable(f"{number}: {path}, episodes: {coverage.played} of {coverage.expected}"))
        if apart := len(played ^ trials[0]):
            show.lines(f"{number}: {apart} trials are in this result or in 1 alone, so the figures are of different "
                       "trials")
        if result.package != first.package:
            show.lines(printable(f"{number}: made by {_package_text(result)}, and 1 by {_package_text(first)}"))


def _part_text(result: EvalResult) -> str:
    """Which shards a result has; all shards that were merged are the evaluation that was not split."""
    if len(result.shards) == result.shard_count:
        return "all scenes"
    name = "shard" if len(result.shards) == 1 else "shards"
    return f"{name} {', '.join(map(str, result.shards))} of {result.shard_count}"


def _with_interval(figure: Figure | None) -> str:
    return "" if figure is None else f"{evaluation.figure_text(figure)} {evaluation.interval_text(figure)}".strip()


def _row(name: str, figures: Sequence[Figure | None]) -> list[str]:
    """The cells of a metric or group: the figure of each result, and the numbers of the results whose interval does
    not overlap that of the first; "-" for none."""
    apart = [str(number) for number, figure in enumerate(figures[1:], 2) if not _overlap(figures[0], figure)]
    return [printable(name), *map(_with_interval, figures), ", ".join(apart) or "-"]


def _trials_of(result: EvalResult) -> set[tuple[Any, ...]]:
    """What identifies each trial of a result."""
    columns = (result.rows[name].tolist() for name in ("group", "source", "scene", "world", "agent", "trial"))
    return set(zip(*columns, strict=True))


def _package_text(result: EvalResult) -> str:
    found = result.package
    commit = f", commit {found['git']}{' with changes' if found.get('dirty') else ''}" if found.get("git") else ""
    return f"drive-env {found.get('version')}{commit}"


def _overlap(one: Figure | None, other: Figure | None) -> bool:
    """Whether two intervals have a value in common; True if one of them is unknown."""
    if one is None or other is None or one.ci95 is None or other.ci95 is None:
        return True
    (low, high), (other_low, other_high) = one.ci95, other.ci95
    return (high is None or other_low <= high) and (other_high is None or low <= other_high)
