"""What does the config.json of a checkpoint contain? Every field is checked before it is used."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drive_env import DriveConfig

from ..config import TrainConfig
from ..plain import value_text
from .checkpoint_files import DamagedError, damaged, printable, read_json, unknown
from .checkpoint_folder import update_of
from .checkpoint_semantics import check_semantics

SCHEMA = 1
"""The version that is written."""

FROZEN = {1: Path(__file__).parent / "schema" / "1.json"}
"""By version, the values of config fields that a checkpoint lacks, instead of today's defaults. A field added later is
added to the files of old versions, with the value that describes the behaviour of those versions."""

KEYS = ("schema", "config", "counters", "semantics", "ranks", "precision", "files")
"""The keys of config.json."""

COUNTERS = ("update", "agent_steps", "env_steps")

RANK_LIMIT = 1 << 20
"""More than any run has; it bounds the list of their files."""

PRECISIONS = ("float32", "bfloat16")

WEIGHTS, OPTIMIZER = "weights.safetensors", "optimizer.safetensors"

RANDOM = "random"
"""The state of torch's random number generator, in the file of a rank."""


def rank_file(rank: int) -> str:
    """The file of a rank."""
    return f"rank-{rank}.safetensors"


def read_about(path: Path) -> dict[str, Any]:
    """The config.json of a checkpoint, every field checked.

    Raises:
        CheckpointError: it is missing, damaged, or of an unknown version.
    """
    found = read_json(path, "config.json")
    missing = [key for key in KEYS if not isinstance(found, dict) or key not in found]
    if missing:
        raise DamagedError(f"{os.fspath(path)!r} is no checkpoint: its config.json has no {missing[0]!r}")
    config = config_from_json(found["config"], found["schema"], path)
    _check_counters(path, found["counters"])
    if type(found["ranks"]) is not int or not 1 <= found["ranks"] <= RANK_LIMIT:
        raise damaged(path, f"config.json: ranks is {value_text(found['ranks'])}; it must be a whole number from 1 to "
                            f"{RANK_LIMIT}")
    if found["precision"] not in PRECISIONS:
        raise damaged(path, f"config.json: precision is {value_text(found['precision'])}; it must be one of "
                            f"{', '.join(map(repr, PRECISIONS))}")
    _check_files(path, found)
    check_semantics(path, found["semantics"], config)
    return found


def _check_counters(path: Path, counters: Any) -> None:
    if not isinstance(counters, dict):
        raise damaged(path, f"config.json: counters is {value_text(counters)}; it must be an object")
    for name in COUNTERS:
        if name not in counters:
            raise damaged(path, f"config.json: counters lacks {name!r}")
        if type(counters[name]) is not int or not 0 <= counters[name] < 1 << 63:
            raise damaged(path, f"config.json: counters.{name} is {value_text(counters[name])}; it must be a whole "
                                "number from 0 to 2**63 - 1")
    if extra := counters.keys() - set(COUNTERS):
        raise damaged(path, f"config.json: counters has {value_text(min(extra))}, which is unknown")
    if update_of(path) not in (None, counters["update"]):
        raise damaged(path, f"config.json: counters.update is {counters['update']}; the name of its folder "
                            f"says {update_of(path)}")


def _check_files(path: Path, found: dict[str, Any]) -> None:
    """`files` names weights and optimiser, and the files of all ranks or of none."""
    files, ranks = found["files"], [rank_file(rank) for rank in range(found["ranks"])]
    if not isinstance(files, dict) or set(files) not in ({WEIGHTS, OPTIMIZER}, {WEIGHTS, OPTIMIZER, *ranks}):
        raise damaged(path, f"config.json: files is {value_text(files)}; it must name {WEIGHTS}, {OPTIMIZER}, and the "
                            f"files of all {found['ranks']} ranks or of none")
    for file in path.glob("rank-*.safetensors"):
        if file.name not in files:
            raise damaged(path, f"config.json: files does not name {value_text(file.name)}, which exists")
    for name, digest in files.items():
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
            raise damaged(path, f"config.json: files.{name} is {value_text(digest)}; it must be a SHA-256 of 64 "
                                "digits")


def config_from_json(found: Any, version: Any, path: Path | str = "") -> TrainConfig:
    """The config of a checkpoint of that version; missing fields get the values frozen for it.

    Raises:
        CheckpointError: the version or a key is unknown, or a value does not fit.
    """
    known = ", ".join(map(str, FROZEN))
    if type(version) is not int:  # True and 1.0 equal 1
        raise damaged(path, f"config.json: schema is {value_text(version)}; this version reads {known}")
    if version not in FROZEN:
        raise unknown(path, f"schema is {value_text(version)}; this version reads {known}")
    return _build(path, TrainConfig(), "", found, json.loads(FROZEN[version].read_text()))


def _build(path: Path | str, default: Any, prefix: str, found: Any, frozen: Mapping[str, Any]) -> Any:
    """A config like `default` with the fields in `found`, else in `frozen`; nested configs are built recursively."""
    values = _values(path, default, prefix, found, frozen)
    try:
        return type(default)(**values)
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(path, f"config.json: config.{prefix}{error}") from None


def _values(path: Path | str, default: Any, prefix: str, found: Any, frozen: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a config's fields. Configs nested in a `DriveConfig` stay dicts, so that its errors name the path.
    """
    if not isinstance(found, Mapping):
        raise damaged(path, f"config.json: config{'.' * bool(prefix)}{prefix[:-1]} is {value_text(found)}; it must be "
                            "an object")
    known = [field.name for field in dataclasses.fields(default)]
    for name in found:
        if name not in known:
            raise unknown(path, f"config has {prefix}{printable(name)}, which is unknown")
    values = {}
    for name in known:
        if name not in found and name not in frozen:
            raise unknown(path, f"config lacks {prefix}{name}, and its schema has no value for it")
        value, nested = found[name] if name in found else frozen[name], getattr(default, name)
        if dataclasses.is_dataclass(nested):
            build = _values if isinstance(default, DriveConfig) else _build
            value = build(path, nested, f"{prefix}{name}.", found.get(name, {}), frozen.get(name, {}))
        values[name] = tuple(value) if isinstance(value, list) else value
    return values
