"""What do the inputs and outputs of a policy mean? Written as JSON with its weights, and checked when they are read."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

from gymnasium import spaces

from drive_env import Feature
from drive_env.trained import ROTARY_BASE, meaning_of_actions

from ..config import TrainConfig
from ..plain import value_text
from .checkpoint_files import damaged, unknown

POSITIONS = f"rotary by valid tokens of the episode, pairs (i, i + half), base {ROTARY_BASE:g}"
"""The position encoding."""

FIELDS = {name: kind for name, kind in get_type_hints(Feature).items() if name != "meaning"}
"""What identifies a feature; `meaning` is prose, and may be reworded."""

FORMER = "max_acceleration_mps2"
"""An entry of `actions` in checkpoints that do not have the meaning of each number of an action."""

SIZE_LIMIT = 1 << 20
"""Of an action space: far above any real one, and small enough to be allocated."""


def semantics(config: TrainConfig, layout: Mapping[str, Feature], space: spaces.Space) -> dict[str, Any]:
    """What the inputs and outputs of the policy mean."""
    return {
        "positions": POSITIONS, "context": config.model.context, "credit": config.ppo.credit,
        "gamma_trial": config.ppo.gamma_trial, "layout_hash": layout_hash(layout),
        "layout": [{name: getattr(feature, name) for name in FIELDS} for feature in layout.values()],
        "actions": {"space": space_to_json(space), **meaning_of_actions(config.env.drive)}}


def layout_hash(layout: Mapping[str, Feature]) -> str:
    """A hash of the names, units, scales, bounds and offsets of all features."""
    table = [[getattr(feature, name) for name in sorted(FIELDS)] for feature in layout.values()]
    return hashlib.sha256(json.dumps(table).encode()).hexdigest()


def space_to_json(space: spaces.Space) -> dict[str, Any]:
    """The kind of an action space with its sizes, or, for a box, its lower and upper bound and its shape."""
    if isinstance(space, spaces.Discrete):
        return {"discrete": [int(space.n)]}
    if isinstance(space, spaces.MultiDiscrete):
        return {"multi_discrete": [int(n) for n in space.nvec]}
    return {"box": [float(space.low.min()), float(space.high.max()), *space.shape]}


# ---- reading ----


def check_semantics(path: Path, found: Any, config: TrainConfig) -> None:
    """Raises a CheckpointError unless inputs and outputs mean the same in this version and agree with the config."""
    found = _object(path, "semantics", found)
    if "positions" in found and isinstance(found["positions"], str) and found["positions"] != POSITIONS:
        raise unknown(path, f"positions are {value_text(found['positions'])}; this version has {POSITIONS!r}")
    meant = semantics(config, layout_of(path, found), space_of(path, found))
    for name, value in meant.items():
        if name in ("layout", "actions"):
            continue
        if not _same(_entry(path, "semantics", found, name), value):
            raise damaged(path, f"config.json: semantics.{name} is {value_text(found[name])}; its config and layout "
                                f"require {value!r}")
    # Before they had the meaning of each number, checkpoints had the type and some limits of the vehicle, which the
    # config has, too.
    is_former = FORMER in found["actions"]
    for name, value in meant["actions"].items():
        if is_former and name not in found["actions"]:
            continue
        if not _same(_entry(path, "semantics.actions", found["actions"], name), value):
            raise damaged(path, f"config.json: semantics.actions.{name} is {value_text(found['actions'][name])}; its "
                                f"config requires {value!r}")


def layout_of(path: Path, found: Mapping[str, Any]) -> dict[str, Feature]:
    """The layout of the observations that the policy was trained on; meanings are empty."""
    features = _entry(path, "semantics", found, "layout")
    if not isinstance(features, list) or not features:
        raise damaged(path, f"config.json: semantics.layout is {value_text(features)}; it must be a list of features")
    layout = {}
    for index, feature in enumerate(features):
        where = f"semantics.layout[{index}]"
        _object(path, where, feature)
        for name, kind in FIELDS.items():
            value = _entry(path, where, feature, name)
            if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
                raise damaged(path, f"config.json: {where}.{name} is {value_text(value)}; it must be of type "
                                    f"{kind.__name__}")
        if extra := feature.keys() - FIELDS.keys():
            raise damaged(path, f"config.json: {where} has {value_text(min(extra))}, which is unknown")
        layout[feature["name"]] = Feature(**feature, meaning="")
    return layout


def space_of(path: Path, found: Mapping[str, Any]) -> spaces.Space:
    """The space of the actions that the policy was trained on."""
    actions = _object(path, "semantics.actions", _entry(path, "semantics", found, "actions"))
    space = _object(path, "semantics.actions.space", _entry(path, "semantics.actions", actions, "space"))
    made = _space(*next(iter(space.items()))) if len(space) == 1 else None
    if made is None:
        raise damaged(path, f"config.json: semantics.actions.space is {value_text(space)}; it must be a discrete, "
                            "multi_discrete or box space")
    return made


def _space(kind: str, numbers: Any) -> spaces.Space | None:
    """The space of that kind; None where the numbers describe none."""
    if not isinstance(numbers, list) or any(type(number) not in (int, float) for number in numbers):
        return None
    bounds, sizes = (numbers[:2], numbers[2:]) if kind == "box" else ([], numbers)
    if not sizes or any(type(size) is not int or not 1 <= size <= SIZE_LIMIT for size in sizes):
        return None
    if kind == "discrete" and len(sizes) == 1:
        return spaces.Discrete(sizes[0])
    if kind == "multi_discrete":
        return spaces.MultiDiscrete(sizes)
    if kind == "box" and -1e6 <= bounds[0] < bounds[1] <= 1e6 and math.prod(sizes) <= SIZE_LIMIT:
        return spaces.Box(*bounds, tuple(sizes))
    return None


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; True and 1 are not."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _object(path: Path, name: str, found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise damaged(path, f"config.json: {name} is {value_text(found)}; it must be an object")
    return found


def _entry(path: Path, where: str, found: Mapping[str, Any], name: str) -> Any:
    if name not in found:
        raise damaged(path, f"config.json: {where} lacks {name!r}")
    return found[name]
