"""What does the file of a trained policy hold, and is it intact? Weights, and what inputs and outputs mean.

The file is one of `numpy.savez`: an array per weight, and one with a text in JSON. Reading it executes no code.
"""

from __future__ import annotations

import json
import lzma
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..action_space import action_dimensions
from ..config import DriveConfig
from ..errors import ConfigError, DriveError, value_text
from ..layout import observation_layout
from ..whole_file import whole_file
from .network import Floats, SetBlock, Shape, needed_weights

FORMAT = 1
"""Version of the file."""

SUFFIX = ".npz"

HEAD = "policy.json"
"""Name of the array that holds everything but the weights, as a text."""

HEADER_BYTES = 4096
"""An array in the file has a header, which is shorter than this."""

HEAD_BYTES = 1 << 24
"""More than the text of `HEAD` takes."""

DAMAGE = (ValueError, TypeError, LookupError, AttributeError, EOFError, RuntimeError, ArithmeticError, MemoryError,
          SyntaxError, tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
"""What numpy, zipfile and the reader below raise for damaged files."""

SIZE_LIMIT = 1 << 16
"""The largest value of each number of a shape: a damaged file cannot request more memory."""

WEIGHT_LIMIT = 1 << 28
"""Of all weights together, 1 GiB: zeros take a thousandth of that in a file."""

FEATURE_TYPES: tuple[Any, ...] = (str, str, (int, float), (int, float), int, int, int)
"""Of the entries of a feature in `PolicyFile.layout`."""


@dataclass(frozen=True)
class PolicyFile:
    """The content of a file.

    Attributes:
        shape: of the network. object_width: width of the encodings of the sets' slots.
        weights: float32 arrays by name, as `needed_weights` lists them.
        config: of the worlds in the training; observations and actions mean what they mean under it.
        layout: the features of an observation, as (name, unit, scale, low, offset, slots, stride).
        actions: what an action means, as from `meaning_of_actions`.
        checkpoint: path, sha256, update and steps of the checkpoint that was exported.
        scenes: the scenes of the training as settings of an evaluator.
    """

    shape: Shape
    object_width: int
    weights: Mapping[str, Floats]
    config: DriveConfig
    layout: list[list[Any]]
    actions: Mapping[str, Any]
    checkpoint: Mapping[str, Any]
    scenes: Mapping[str, Any]


def meaning_of_observations(config: DriveConfig) -> list[list[Any]]:
    """The features of an observation that have slots, as (name, unit, scale, low, offset, slots, stride).

    Args:
        config: of the worlds.
    """
    return [[one.name, one.unit, one.scale, one.low, one.offset, one.slots, one.stride]
            for one in observation_layout(config).values() if one.slots]


def cause_of_other_observations(then: DriveConfig, now: DriveConfig) -> str:
    """The fields by which observations mean something else, as the end of a sentence; "" if no single field does.

    Args:
        then: config of the training. now: of the worlds at hand.
    """
    was, present = then.to_dict(), now.to_dict()
    meant, found = meaning_of_observations(now), []
    for name, value in present.items():
        nested = isinstance(value, dict) and isinstance(was[name], dict)
        for key in value if nested else [None]:
            here, there = (value[key], was[name].get(key)) if nested else (value, was[name])
            if here == there:
                continue
            try:
                changed = meaning_of_observations(now.replace(**{name: {key: there} if nested else there})) != meant
            except DriveError:  # the value of the training does not fit the other fields
                continue
            if changed:
                found.append(f"{name}.{key}" if nested else name)
                found[-1] += f" is {value_text(here)} and was {value_text(there)} in the training"
    return f", since {', and '.join(found)}" if found else ""


NUMBER_ENTRIES = ("name", "unit", "lowest value", "highest value", "bins")
"""What identifies a number of an action."""


def meaning_of_actions(config: DriveConfig) -> dict[str, Any]:
    """The type of the actions, the vehicle model, and name, unit, bounds and bins of each number.

    Args:
        config: of the worlds.
    """
    return {"type": config.action_type, "model": config.dynamics.model, "numbers": [
        [one.name, one.unit, one.low, one.high, one.shares.tolist()] for one in action_dimensions(config)]}


def difference_of_actions(then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """How two meanings of actions differ, as the end of a sentence; None if they are equal.

    Args:
        then: of the training, as from `meaning_of_actions`. now: of the worlds at hand.
    """
    for key in ("type", "model"):
        if then[key] != now[key]:
            return f"actions whose {key} is {value_text(then[key])}; this batch has {value_text(now[key])}"
    if len(then["numbers"]) != len(now["numbers"]):
        return f"actions of {len(then['numbers'])} numbers; this batch has {len(now['numbers'])}"
    for was, present in zip(then["numbers"], now["numbers"], strict=True):
        for entry, one, other in zip(NUMBER_ENTRIES, was, present, strict=True):
            if one != other:
                return (f"actions whose number {value_text(was[0])} has the {entry} {value_text(one)}; this batch has "
                        f"{value_text(other)}")
    return None


def write_policy(path: str | os.PathLike[str], policy: PolicyFile, half: bool = False) -> None:
    """Writes a policy; the same policy gives the same bytes.

    Args:
        path: of the file. policy: its content.
        half: whether weights are stored in half precision (float16), which halves the file.

    Raises:
        ConfigError: the file cannot be written, or has another suffix than `SUFFIX`.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ConfigError(f"path is {os.fspath(path)!r}; it must end in {SUFFIX}")
    head = {"format": FORMAT, "shape": policy.shape._asdict(), "object_width": policy.object_width,
            "config": policy.config.to_dict(), "layout": policy.layout, "actions": policy.actions,
            "checkpoint": policy.checkpoint, "scenes": policy.scenes}
    arrays: dict[str, Any] = {HEAD: np.array(json.dumps(head, allow_nan=False))}
    arrays |= {name: array.astype(np.float16 if half else np.float32) for name, array in policy.weights.items()}
    try:
        with whole_file(path) as beside, open(beside, "wb") as file:
            np.savez_compressed(file, **arrays)
    except OSError as error:
        raise ConfigError(f"{os.fspath(path)}: it cannot be written: {error.strerror or error}") from None


def read_policy(path: str | os.PathLike[str]) -> PolicyFile:
    """Reads a policy.

    Args:
        path: of a file that `write_policy` wrote.

    Raises:
        ConfigError: it cannot be read, is no policy, of another version, or damaged.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            head = _head(file)
            if head["format"] != FORMAT:
                raise ConfigError(f"{name}: it has format {head['format']!r}; this version reads format {FORMAT}")
            shape, object_width = _shape(head["shape"]), _number(head["object_width"], 1)
            weights = _weights(file, needed_weights(shape, object_width))
        config = DriveConfig.from_dict(head["config"])
        layout, actions, checkpoint, scenes = (head[key] for key in ("layout", "actions", "checkpoint", "scenes"))
        if not isinstance(checkpoint, dict) or not isinstance(scenes, dict):
            raise ValueError("checkpoint and scenes must be objects")
        # What a batch is compared with, and what the network takes and gives.
        _check_meanings(layout, actions)
        _check_ends(shape, layout, actions)
    except ConfigError as error:
        raise ConfigError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None
    except DriveError:
        raise
    except OSError as error:
        raise ConfigError(f"{name}: it cannot be read: {error.strerror or error}") from None
    except DAMAGE as error:
        raise ConfigError(f"{name}: it is no trained policy, or damaged: {type(error).__name__}: "
                          f"{' '.join(str(error).split())}") from None
    return PolicyFile(shape, object_width, weights, config, layout, actions, checkpoint, scenes)


def _head(file: Any) -> dict[str, Any]:
    """Everything but the weights; sizes and names are checked before anything is read."""
    names = file.zip.namelist()
    # numpy reads an array "a" from an entry "a" rather than from "a.npy", and zipfile the last entry of a name.
    if odd := [name for name in names if not name.endswith(".npy") or names.count(name) > 1]:
        raise ValueError(f"it has an entry {odd[0]!r}, which has another name than an array or is there twice")
    if (size := file.zip.getinfo(f"{HEAD}.npy").file_size) > HEAD_BYTES:
        raise ValueError(f"its text has {size} bytes; it may have {HEAD_BYTES}")
    head: dict[str, Any] = json.loads(str(file[HEAD]), parse_constant=_finite, parse_float=_finite)
    return head


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"its text has the number {text}; numbers must be finite")
    return value


def _check_meanings(layout: Any, actions: Any) -> None:
    """Raises a ValueError unless these have the form of `meaning_of_observations` and `meaning_of_actions`."""
    if not isinstance(layout, list) or not layout or not all(
            isinstance(one, list) and len(one) == len(FEATURE_TYPES)
            and all(isinstance(entry, kind) for entry, kind in zip(one, FEATURE_TYPES, strict=True)) for one in layout):
        raise ValueError("its layout must be a list of features")
    if not isinstance(actions, dict) or actions.keys() != {"type", "model", "numbers"} or not all(
            isinstance(one, list) and len(one) == len(NUMBER_ENTRIES) and isinstance(one[-1], list)
            for one in actions["numbers"]):
        raise ValueError("its actions must have a type, a model, and the meaning of each number")


def _check_ends(shape: Shape, layout: list[list[Any]], actions: Mapping[str, Any]) -> None:
    """Raises a ValueError unless a network of a shape takes such observations and gives such actions."""
    end = 1 + max(offset + (slots - 1) * stride for *_, offset, slots, stride in layout)
    ends = [shape.own, *(one.start + one.slots * one.size for one in shape.sets)]
    if max(ends) > end:
        raise ValueError(f"its network reads {max(ends)} floats of an observation, which has {end}")
    bins = tuple(len(number[-1]) for number in actions["numbers"])
    sizes = {"discrete": (math.prod(bins),), "multi_discrete": bins, "continuous": ()}.get(actions["type"])
    components = len(sizes) if sizes else len(bins)
    if shape.sizes != sizes or shape.components != components:
        raise ValueError(f"its network gives {shape.components} numbers with the values {list(shape.sizes)}, but its "
                         "actions are others")


def _shape(found: Mapping[str, Any]) -> Shape:
    """The shape from JSON, every number checked."""
    sets = tuple(SetBlock(str(name), *(_number(value, 0) for value in numbers)) for name, *numbers in found["sets"])
    numbers = {key: _number(found[key], least) for key, least in (
        ("own", 1), ("width", 1), ("layers", 1), ("heads", 0), ("kv_heads", 0), ("context", 1), ("components", 1))}
    low, high = (float(value) for value in found["bounds"])
    if not isinstance(previous_action := found["previous_action"], bool):
        raise ValueError(f"previous_action is {value_text(previous_action)}; it must be True or False")
    shape = Shape(**numbers, sets=sets, previous_action=previous_action,
                  sizes=tuple(_number(value, 1) for value in found["sizes"]), bounds=(low, high))
    if not (math.isfinite(low) and math.isfinite(high)) or any(one.presence >= one.size for one in sets):
        raise ValueError("the bounds or the sets of its shape are inconsistent")
    if shape.heads and (shape.width % (2 * shape.heads) or not shape.kv_heads or shape.heads % shape.kv_heads):
        raise ValueError("its heads do not divide its width")
    if shape.sizes and len(shape.sizes) != shape.components:
        raise ValueError("the number of sizes of its action is not that of components")
    return shape


def _number(value: Any, least: int) -> int:
    if type(value) is not int or not least <= value <= SIZE_LIMIT:
        raise ValueError(f"a number of its shape is {value!r}; it must be a whole number from {least} to {SIZE_LIMIT}")
    return value


def _weights(file: Any, needed: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    """The weights of a file, of these names and shapes, finite; their sizes are checked before they are read."""
    if unknown := sorted(set(file.files) - needed.keys() - {HEAD}):
        raise ValueError(f"it has an array {unknown[0]!r}, which its shape does not describe")
    if (count := sum(map(math.prod, needed.values()))) > WEIGHT_LIMIT:
        raise ValueError(f"its shape has {count} weights; it may have {WEIGHT_LIMIT}")
    found = {}
    for name, size in needed.items():
        if name not in file.files:
            raise ValueError(f"it has no array {name!r}")
        if file.zip.getinfo(f"{name}.npy").file_size > 4 * math.prod(size) + HEADER_BYTES:
            raise ValueError(f"its array {name!r} is larger than its shape")
        array = file[name]
        if array.shape != size or array.dtype not in (np.float16, np.float32) or not np.isfinite(array).all():
            raise ValueError(f"its array {name!r} must be finite floats of shape {size}")
        found[name] = array.astype(np.float32)
    return found
