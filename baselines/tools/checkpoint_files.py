"""Is a file of a checkpoint intact? Reads JSON and tensors; any damage raises an error of one sentence.

Nothing is executed: JSON and safetensors contain data alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from ..plain import value_text


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, of another version, or for other observations."""


class DamagedError(CheckpointError):
    """A file of a checkpoint is missing or has changed since it was written; an older checkpoint may be intact."""


def printable(text: str) -> str:
    """The text with control characters escaped."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def damaged(path: Path, what: str) -> DamagedError:
    """The error of a damaged checkpoint: `what` is the rest of its sentence."""
    return DamagedError(f"{os.fspath(path)!r} is damaged: {what}")


def unknown(path: Path, what: str) -> CheckpointError:
    """The error of a checkpoint that another version of the package has written."""
    return CheckpointError(f"{os.fspath(path)!r} is of another version: config.json: {what}")


def sha256(path: Path) -> str:
    """The hash of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_json(path: Path, name: str) -> Any:
    """The contents of a JSON file of a checkpoint."""
    try:
        return json.loads((path / name).read_text(encoding="utf-8"), object_pairs_hook=_unique)
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedError(f"{os.fspath(path)!r} is no checkpoint, and no folder of a run with one: {name} cannot be "
                           f"read: {reason(error)}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a key that occurs twice is an error, since JSON does not define which value is used."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key in found if [name for name, _ in pairs].count(key) > 1)
        raise ValueError(f"the key {value_text(twice)} occurs twice in an object")
    return found


def read_tensors(path: Path, name: str, digest: str) -> dict[str, Tensor]:
    """The tensors in a file of a checkpoint.

    Args:
        digest: SHA-256 of the file as it was written.
    """
    try:
        data = (path / name).read_bytes()
    except OSError as error:
        raise damaged(path, f"{name} cannot be read: {reason(error)}") from None
    if (now := hashlib.sha256(data).hexdigest()) != digest:
        raise damaged(path, f"{name}, {len(data)} bytes, has the SHA-256 {now[:12]}...; config.json says "
                            f"{digest[:12]}...")
    try:
        return load(data)
    except (SafetensorError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise damaged(path, f"{name}, {len(data)} bytes, is no safetensors file: {reason(error)}") from None


def check_tensors(path: Path, name: str, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Raises a DamagedError unless `found` has the names, types and shapes of `wanted`."""
    for key in wanted:
        if key not in found:
            raise damaged(path, f"{name} lacks {key!r}")
    for key, tensor in found.items():
        if key not in wanted:
            raise damaged(path, f"{name} has {value_text(key)}, which config.json does not describe")
        if _signature(tensor) != _signature(wanted[key]):
            raise damaged(path, f"{name}: {key!r} is {_signature(tensor)}; config.json requires "
                                f"{_signature(wanted[key])}")


def _signature(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def reason(error: Exception) -> str:
    """Why a file cannot be read or written, without a line break."""
    return printable(getattr(error, "strerror", None) or str(error) or type(error).__name__)
