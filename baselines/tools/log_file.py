"""Which lines does a run's log contain? metrics.jsonl, whose last line may be incomplete."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

LOG = "metrics.jsonl"

FIELDS = {"kind": str, "update": int, "agent_steps": int}
"""The fields of every line, with their types."""


class LogError(ValueError):
    """A line of a log is damaged."""


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; none if there is no file. An incomplete last line is left out.

    Raises:
        LogError: another line is damaged.
    """
    return _split(path)[0]


def truncate_after(path: Path, update: int) -> int:
    """Drops the lines after an update and an incomplete last line; returns the number of the latter, or 0.

    After update 0, before the first checkpoint, nothing can be resumed, so all lines are dropped. The log is replaced
    atomically.

    Raises:
        LogError: another line is damaged.
    """
    lines, incomplete = _split(path) if update else ([], 0)
    temporary = path.with_name(f".{path.name}.unfinished")
    try:
        with temporary.open("wb", buffering=0) as file:
            for line in lines:
                if line["update"] <= update:
                    append(file, line)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return incomplete


def append(file: BinaryIO, line: Mapping[str, Any]) -> None:
    """Writes a line at the end of an unbuffered file: all of it, or none.

    Raises:
        OSError: the disk is full.
    """
    text, size = json.dumps(line).encode() + b"\n", os.fstat(file.fileno()).st_size
    try:
        written = file.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, file.name) from None  # which file it is
    if written != len(text):
        file.truncate(size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file.name)


def _split(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The complete lines, and the number of the last line if it is incomplete, else 0."""
    *whole, rest = path.read_bytes().split(b"\n") if path.is_file() else [b""]
    lines = [_parsed(path, number, text) for number, text in enumerate(whole, 1)]
    if not rest:
        return lines, 0
    try:
        return [*lines, _parsed(path, len(whole) + 1, rest)], 0
    except LogError:
        return lines, len(whole) + 1


def _parsed(path: Path, number: int, text: bytes) -> dict[str, Any]:
    where = f"line {number} of {os.fspath(path)!r}"
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LogError(f"{where} is damaged: {error}") from None
    for name, kind in FIELDS.items():
        if not isinstance(line, dict) or type(line.get(name)) is not kind:  # True is an int to isinstance
            raise LogError(f"{where} is damaged: it has no {name!r} of type {kind.__name__}")
    return line
