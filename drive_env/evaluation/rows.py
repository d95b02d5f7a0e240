"""What is recorded of every played trial? One row each, as columns, and as a CSV file from which they can be read."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch import OUTCOMES, Batch
from ..errors import ConfigError
from ..scenes.scene import OBJECT_KINDS
from ..trial_records import metrics_in

Rows = dict[str, npt.NDArray[Any]]
"""Columns of equal length, by name: those of `HEAD`, then one for each metric, float32."""

HEAD: dict[str, Any] = {
    "source": object, "scene": object, "scene_key": np.int64, "group": object, "seed": np.uint64,
    "world": np.int64, "agent": np.int32, "trial": np.int32, "object_id": np.int64, "kind": object, "outcome": object}
"""Names and types of the columns that identify a trial and its outcome."""

ENCODING_ERRORS = "surrogatepass"
"""How bytes of a file's name are stored that are no UTF-8: Python reads them as surrogates."""

ORDER = ("trial", "agent", "world")
"""Sort keys of the rows of a group, the first key last (as for `numpy.lexsort`); groups are sorted by name."""


def rows_of(batch: Batch, records: npt.NDArray[np.void], heads: Sequence[Mapping[str, Any]],
            further: Mapping[str, npt.NDArray[Any]]) -> Rows:
    """The rows of some trial records of a batch, without those of co-players.

    Args:
        records: from `Batch.trial_records`.
        heads: for each world of the batch, its values of the columns source, scene, scene_key, group and world.
        further: further metrics by name, (agents, trials) float32 each, for the agents of the batch.
    """
    records = records[~records["coplayer"]]
    worlds = records["world"]
    own = records["agent"] - worlds * batch.agents_per_world
    objects = [batch.roles[scene].objects[agent] for scene, agent in zip(records["scene"], own, strict=True)]
    of_scene = [batch.scenes[scene].objects for scene in records["scene"]]
    columns: dict[str, Any] = {
        name: [heads[world][name] for world in worlds] for name in ("source", "scene", "scene_key", "group", "world")}
    columns |= {"seed": [batch.seed] * len(records), "agent": own, "trial": records["trial"],
                "object_id": [table.id[index] for table, index in zip(of_scene, objects, strict=True)],
                "kind": [OBJECT_KINDS[int(table.kind[index])] for table, index in zip(of_scene, objects, strict=True)],
                "outcome": [OUTCOMES[code] for code in records["outcome"]]}
    found: Rows = {name: np.array(columns[name], dtype) for name, dtype in HEAD.items()}
    found |= {name: records[name].astype(np.float32) for name in metrics_in(records)}
    return found | {name: values[records["agent"], records["trial"]].astype(np.float32)
                    for name, values in further.items()}


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows of tables with the same columns, sorted by group, world, agent and trial. `parts` may be empty."""
    parts = [part for part in parts if len(part["world"])]  # a shard without episodes has no metrics
    if not parts:
        return {name: np.zeros(0, dtype) for name, dtype in HEAD.items()}
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    groups = np.unique(whole["group"].astype(str), return_inverse=True)[1]
    order = np.lexsort([*(whole[name] for name in ORDER), groups])
    return {name: column[order] for name, column in whole.items()}


def metrics_of(rows: Rows) -> list[str]:
    """The names of the metrics among the columns."""
    return [name for name in rows if name not in HEAD]


def write_rows(rows: Rows, path: Path) -> None:
    """Writes a CSV file from which the same numbers and texts are read back: names of files may have any character."""
    texts = [[str(value) for value in column] for column in rows.values()]
    # The writer puts no quotes around a carriage return, at which the reader would begin a new row.
    has_returns = any("\r" in value for column in rows.values() if column.dtype == object for value in column)
    with path.open("w", newline="", encoding="utf-8", errors=ENCODING_ERRORS) as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if has_returns else csv.QUOTE_MINIMAL)
        writer.writerow(rows)
        writer.writerows(zip(*texts, strict=True))


def read_rows(path: Path) -> Rows:
    """The rows of a CSV file that `write_rows` wrote.

    Raises:
        ConfigError: it cannot be read, or has other columns.
    """
    try:
        with path.open(newline="", encoding="utf-8", errors=ENCODING_ERRORS) as file:
            names, *lines = [*csv.reader(file)] or [[]]
        if list(HEAD) != names[: len(HEAD)] or any(len(line) != len(names) for line in lines):
            raise ValueError(f"its columns must begin with {', '.join(HEAD)}")
        return {name: np.array([line[place] for line in lines], object).astype(HEAD.get(name, np.float32))
                for place, name in enumerate(names)}
    except (OSError, ValueError, csv.Error) as error:
        reason = isinstance(error, OSError) and error.strerror or error
        raise ConfigError(f"{path}: the rows of a result cannot be read: {reason}") from None
