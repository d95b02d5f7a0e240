"""What does the config.json of a checkpoint say? Every version's, checked field by field."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drive_env import DriveConfig, RewardConfig

from .checkpoint_files import DamagedError, damaged, printable, read_json, shown, unknown
from .config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig
from .semantics import check_semantics

SCHEMA = 2
"""1: optimizer and rollout may be there; batches are pickled, which is not read. 2: `files` has a SHA-256 of each."""

FROZEN = dict.fromkeys((1, 2), Path(__file__).parent / "schema" / "1.json")
"""What a key meant where a file of that version lacks it; never today's default. A key that is new today is added to
the files of old versions with the value that says what they did. 1 and 2 have the same keys with the same meaning."""

KEYS = {1: ("schema", "config", "counters", "semantics"),
        2: ("schema", "config", "counters", "semantics", "ranks", "precision", "files")}
"""What the config.json of a version has."""

COUNTERS = ("update", "agent_steps", "env_steps")

RANK_LIMIT = 1 << 20

PRECISIONS = ("float32", "bfloat16")

WEIGHTS, OPTIMIZER = "weights.safetensors", "optimizer.safetensors"

NAME = re.compile(r"update-([0-9]{8,})")
"""Of a checkpoint in the folder of its run."""

_PARTS = {"env": EnvConfig, "model": ModelConfig, "ppo": PPOConfig, "run": RunConfig, "drive": DriveConfig,
          "reward": RewardConfig}


def rank_file(rank: int) -> str:
    """The file of a rank's rollout."""
    return f"rank-{rank}.safetensors"


def update_of(place: Path) -> int | None:
    """The update that the name of a folder says; None where it is not that of a checkpoint in a run."""
    found = NAME.fullmatch(place.name)
    return int(found[1]) if found and f"update-{int(found[1]):08d}" == place.name else None


def read_about(place: Path) -> dict[str, Any]:
    """The config.json of a checkpoint, every field checked.

    Raises:
        CheckpointError: it is not there, damaged, or of a version that is not known.
    """
    found = read_json(place, "config.json")
    version = found.get("schema") if isinstance(found, dict) else None
    keys = KEYS.get(version, KEYS[1]) if type(version) is int else KEYS[1]
    lacks = [key for key in keys if not isinstance(found, dict) or key not in found]
    if lacks:
        raise DamagedError(f"{os.fspath(place)!r} is no checkpoint: its config.json has no {lacks[0]!r}")
    config = config_from_json(found["config"], version, place)
    _check_counters(place, found["counters"])
    found.setdefault("ranks", 1)
    found.setdefault("precision", "float32")
    if type(found["ranks"]) is not int or not 1 <= found["ranks"] <= RANK_LIMIT:
        raise damaged(place, f"config.json: ranks is {shown(found['ranks'])}; it must be a whole number from 1 to "
                             f"{RANK_LIMIT}")
    if found["precision"] not in PRECISIONS:
        raise damaged(place, f"config.json: precision is {shown(found['precision'])}; it must be one of "
                             f"{', '.join(map(repr, PRECISIONS))}")
    _check_files(place, found)
    check_semantics(place, found["semantics"], config)
    return found


def _check_counters(place: Path, counters: Any) -> None:
    if not isinstance(counters, dict):
        raise damaged(place, f"config.json: counters is {shown(counters)}; it must be an object")
    for name in COUNTERS:
        if name not in counters:
            raise damaged(place, f"config.json: counters lacks {name!r}")
        if type(counters[name]) is not int or not 0 <= counters[name] < 1 << 63:
            raise damaged(place, f"config.json: counters.{name} is {shown(counters[name])}; it must be a whole number "
                                 "from 0 to 2**63 - 1")
    if unknown := counters.keys() - set(COUNTERS):
        raise damaged(place, f"config.json: counters has {shown(min(unknown))}, which this version does not know")
    if update_of(place) not in (None, counters["update"]):
        raise damaged(place, f"config.json: counters.update is {counters['update']}; its folder says "
                             f"{update_of(place)}")


def _check_files(place: Path, found: dict[str, Any]) -> None:
    """`files` names weights and optimizer, and the rollouts of all ranks or of none; none are read of version 1."""
    if found["schema"] == 1:
        found["files"] = dict.fromkeys((WEIGHTS, OPTIMIZER))
        return
    files, ranks = found["files"], [rank_file(rank) for rank in range(found["ranks"])]
    if not isinstance(files, dict) or set(files) not in ({WEIGHTS, OPTIMIZER}, {WEIGHTS, OPTIMIZER, *ranks}):
        raise damaged(place, f"config.json: files is {shown(files)}; it must name {WEIGHTS}, {OPTIMIZER}, and the "
                             f"files of all {found['ranks']} ranks or of none")
    for file in place.glob("rank-*.safetensors"):
        if file.name not in files:
            raise damaged(place, f"config.json: files does not name {shown(file.name)}, which is there")
    for name, digest in files.items():
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
            raise damaged(place, f"config.json: files.{name} is {shown(digest)}; it must be a SHA-256 of 64 digits")


def config_to_json(config: TrainConfig) -> dict[str, Any]:
    return config.to_dict()


def config_from_json(found: Any, version: Any, place: Path | str = "") -> TrainConfig:
    """A config from a file of that version; what the file lacks is what it meant then.

    Raises:
        CheckpointError: the version is unknown, a key is, or a value does not fit.
    """
    known = ", ".join(map(str, FROZEN))
    if type(version) is not int:  # true and 1.0 are 1, but no version
        raise damaged(place, f"config.json: schema is {shown(version)}; this version reads {known}")
    if version not in FROZEN:
        raise unknown(place, f"schema is {shown(version)}; this version reads {known}")
    frozen = json.loads(FROZEN[version].read_text())

    def build(kind, path, found, frozen):
        if not isinstance(found, Mapping):
            raise damaged(place, f"config.json: config{'.' * bool(path)}{path[:-1]} is {shown(found)}; it must be an "
                                 "object")
        known = {field.name: None for field in dataclasses.fields(kind)}
        for name in found:
            if name not in known:
                raise unknown(place, f"config has {path}{printable(name)}, which this version does not know")
        parts = {}
        for name in known:
            if name not in found and name not in frozen:
                raise unknown(place, f"config lacks {path}{name}, and schema {version} does not say what it was")
            value = found[name] if name in found else frozen[name]
            if name in _PARTS:
                value = build(_PARTS[name], f"{path}{name}.", found.get(name, {}), frozen.get(name, {}))
            parts[name] = tuple(value) if isinstance(value, list) else value
        try:
            return kind(**parts)
        except (TypeError, ValueError, OverflowError) as error:
            raise damaged(place, f"config.json: config.{path}{error}") from None

    return build(TrainConfig, "", found, frozen)
