"""Which checkpoint of a run is the best? The one with the best evaluation by a metric, `run.best_metric`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .same_settings import parts


def name_and_sign(metric: str) -> tuple[str, int]:
    """The name of a metric, and -1 if it has a minus in front: the lowest value is the best."""
    return metric.removeprefix("-"), -1 if metric.startswith("-") else 1


def best_update(lines: Iterable[Mapping[str, Any]], metric: str, updates: Collection[int]) -> int | None:
    """The update with the best evaluation, the first of equal ones; None if no evaluation has a value.

    Only evaluations with the newest settings count: figures of other scenes cannot be compared.

    Args:
        lines: of the log. metric: of `run.best_metric`. updates: among which to choose.
    """
    name, sign = name_and_sign(metric)
    found = [(sign * line[name], line["update"]) for line in parts(lines)[-1]
             if line["update"] in updates and line.get(name) is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else None
