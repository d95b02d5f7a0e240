"""Which of several evaluated policies is better? Shows their figures, and whether their intervals overlap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
        for name in ("shards", "shard_count"):
            if getattr(other, name) != getattr(first, name):
                raise ConfigError(f"{path}: its {name} is {value_text(getattr(other, name))}, that of {paths[0]} "
                                  f"{value_text(getattr(first, name))}; only results of the same episodes can be "
                                  "compared")
    columns = [f"{number}: {printable(result.policy)}" for number, result in enumerate(results, 1)]
    show.table(printable(first.evaluator), ["metric", *columns, "apart from 1"], [
        [name, *(_with_interval(result.metrics.get(name)) for result in results), _apart(name, results)]
        for name in evaluation.shown_metrics(first)])
    for number, (path, result) in enumerate(zip(paths, results, strict=True), 1):
        coverage = result.coverage
        show.lines(printable(f"{number}: {path}, episodes: {coverage.played} of {coverage.expected}"))


def _with_interval(figure: Figure | None) -> str:
    return "" if figure is None else f"{evaluation.figure_text(figure)} {evaluation.interval_text(figure)}".strip()


def _apart(name: str, results: Sequence[EvalResult]) -> str:
    """The numbers of the results whose interval does not overlap that of the first; "-" for none."""
    numbers = [str(number) for number, result in enumerate(results[1:], 2)
               if not _overlap(results[0].metrics[name], result.metrics.get(name))]
    return ", ".join(numbers) or "-"


def _overlap(one: Figure, other: Figure | None) -> bool:
    """Whether two intervals have a value in common; True if one of them is unknown."""
    if other is None or one.ci95 is None or other.ci95 is None:
        return True
    (low, high), (other_low, other_high) = one.ci95, other.ci95
    return (high is None or other_low <= high) and (other_high is None or low <= other_high)
