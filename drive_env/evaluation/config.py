"""How do sections of a TOML file become evaluators? By templates, inheritance, overrides and clean defaults.

    [eval.quick]            # without a type: a template, which is never run
    scene_count = 16
    env.trial_steps = 100

    [eval.towns]
    type = "multi_scenario"
    inherits = "quick"
    scenes = ["town"]

Precedence, lowest first: the config of the training, the clean values, the parents from the root on, the section, the
command line.
"""

from __future__ import annotations

import copy
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..config import ConfigSource, DisturbanceConfig, SensorConfig, checked_config
from ..errors import ConfigError, MissingExtraError, value_text
from ..names import check_names, named_arguments
from ..scenes.generate import CONFIG_OF, TRIAL_STEPS
from ..scenes.resolve import is_generator
from .adaptation import Adaptation
from .base import Evaluator
from .behaviour_class import BehaviourClass
from .human_replay import HumanReplay
from .multi_scenario import MultiScenario
from .realism import Realism
from .robustness import Robustness
from .settings import SCHEDULE, EvaluatorConfig
from .traffic_matrix import TrafficMatrix

EVALUATORS: dict[str, type[Evaluator]] = {kind.type: kind for kind in (
    MultiScenario, HumanReplay, BehaviourClass, TrafficMatrix, Robustness, Adaptation, Realism)}
"""The types of evaluators, by name."""

OWN_KEYS = ("type", "inherits", "clean", "eval")
"""Keys of a section that are no fields of `EvaluatorConfig`; `eval` is its field `options`."""

KEYS = (*OWN_KEYS, *(field.name for field in fields(EvaluatorConfig) if field.name != "options"))

CLEAN: dict[str, Any] = {
    "sensors": SensorConfig().to_dict(), "disturbances": DisturbanceConfig().to_dict(), "draw_reward_weights": False,
    "traffic_controls": True}
"""Values of the worlds' config, unless sections or the command line set others: no sensor noise, no disturbances, fixed
weights of the reward, and enforced lights and signs."""

VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def load_sections(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """The `[eval.NAME]` sections of a TOML file, by name.

    Args:
        path: of the file.

    Raises:
        ConfigError: the file cannot be read, has no such section, or has other tables.
        MissingExtraError: Python is older than 3.11, and tomli is not installed.
    """
    # Python reads TOML by itself from 3.11 on.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            raise MissingExtraError('Python before 3.11 reads TOML with tomli; install it with: pip install "drive-env'
                                    '[cli]"') from None

    # The file must consist of [eval.NAME] sections; their keys are checked by `resolved_section`.
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        copy.deepcopy(data)  # fails where later copies would: tables may be nested deeper than arrays
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{os.fspath(path)}: it cannot be read as TOML: {reason}") from None
    if data.keys() != {"eval"} or not isinstance(data["eval"], dict) or not data["eval"]:
        raise ConfigError(f"{os.fspath(path)}: it has the tables {', '.join(data) or '(none)'}; it must have sections "
                          "[eval.NAME] and no others")
    for name, section in data["eval"].items():
        if not isinstance(section, dict):
            raise ConfigError(f"{os.fspath(path)}: eval.{name} is {value_text(section)}; it must be a section "
                              f"[eval.{name}]")
    return data["eval"]


def resolved_section(name: str, sections: Mapping[str, Mapping[str, Any]], overrides: Mapping[str, Any] | None = None
                     ) -> dict[str, Any]:
    """A section merged with its parents and with overrides; a deep copy.

    Args:
        name: of the section. sections: all sections, by name.
        overrides: settings of the command line, by key; a key may be dotted, such as "env.trial_steps".

    Raises:
        ConfigError: there is no such section or parent, parents form a cycle, or a key is unknown.
    """
    # The section and its parents, up to the root.
    chain = [name]
    merged: dict[str, Any] = {}
    while (parent := _section(chain[-1], sections).get("inherits")) is not None:
        if not isinstance(parent, str) or parent not in sections:
            raise ConfigError(f"inherits of eval.{chain[-1]} is {value_text(parent)}; it must be one of "
                              + ", ".join(map(repr, sections)))
        chain.append(parent)
        if parent in chain[:-1]:
            raise ConfigError(f"inherits forms a cycle: {' -> '.join(chain)}")

    # From the root on, so that a section overrides its parents.
    for one in reversed(chain):
        merged = _merged(merged, _checked(f"eval.{one}", _section(one, sections)))
    above = _checked("the command line", overrides or {})
    for key in ("inherits", *SCHEDULE):
        if key in above:
            raise ConfigError(f"the command line has the key {key!r}; it must be in a section, elsewhere it has no "
                              "effect")
    merged = _merged(merged, above)
    merged.pop("inherits", None)
    return merged


@named_arguments
def evaluator_of(name: str, settings: Mapping[str, Any], training: ConfigSource | None = None,
                 trained_scenes: Mapping[str, Any] | None = None) -> Evaluator:
    """The evaluator with the settings of a resolved section.

    Args:
        name: of the evaluator. settings: as returned by `resolved_section`.
        training: the config of the worlds in the training, over which the section and the clean values are merged;
            None: the defaults, or if `scenes` is a single generator, those of its task.
        trained_scenes: the scenes of the training as settings (`TrainedPolicy.scenes`), the default if neither the
            section nor the type sets `scenes`; None: there are none.

    Raises:
        ConfigError: the settings have no type or an unknown one, or a setting does not fit.
    """
    # The keys that are no settings of an evaluator.
    found: dict[str, Any] = copy.deepcopy(dict(settings))
    kind, clean, options = (found.pop(key, default) for key, default in (
        ("type", None), ("clean", True), ("eval", {})))
    if not isinstance(kind, str) or kind not in EVALUATORS:
        raise ConfigError(f"type of eval.{name} is {value_text(kind)}; it must be one of "
                          + ", ".join(map(repr, EVALUATORS)))
    if "options" in found:
        raise ConfigError(f"eval.{name} has the key 'options'; the options of a type must be in its table 'eval'")
    if not isinstance(clean, bool):
        raise ConfigError(f"clean of eval.{name} is {value_text(clean)}; it must be true or false")
    evaluator = EVALUATORS[kind]
    if "scenes" not in {**evaluator.defaults, **found}:
        found = {**(trained_scenes or {}), **found}
    found = {**evaluator.defaults, **found}
    if "scenes" in found:
        found["scenes"] = _expanded("scenes", name, found["scenes"])
    if isinstance(options, Mapping):
        options = {key: _expanded(key, name, value) if evaluator.allowed.get(key) is str else value
                   for key, value in options.items()}

    # The worlds' config by precedence: the training, the clean values, the section with the command line.
    env = found.pop("env", {})
    if not isinstance(env, Mapping):
        raise ConfigError(f"env of eval.{name} is {value_text(env)}; it must be a table")
    base = _generator_env(found.get("scenes", EvaluatorConfig().scenes)) if training is None else (
        checked_config(training).to_dict())
    base = _merged(base, CLEAN) if clean else base
    made = evaluator(name, EvaluatorConfig.from_dict({**found, "env": _merged(base, env), "options": options}))
    made.check_env(env)
    return made


def runnable(sections: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The names of the sections that run if none is named: those that are enabled and have a type.

    Raises:
        ConfigError: as from `resolved_section`.
    """
    found = {name: resolved_section(name, sections) for name in sections}
    return [name for name, settings in found.items() if "type" in settings and settings.get("enabled", True)]


def _section(name: str, sections: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if name not in sections:
        raise ConfigError(f"evaluator is {value_text(name)}; it must be one of {', '.join(map(repr, sections))}")
    return sections[name]


def _checked(owner: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which dotted keys have become tables; raises a `ConfigError` for an unknown key."""
    found = as_tables(owner, settings)
    check_names(owner, found, KEYS, "key", ConfigError)
    return found


def as_tables(owner: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which dotted names have become tables: "env.reward.goal" a key of "reward" in the table "env".

    Args:
        owner: what has the settings, for the message. settings: by name.

    Raises:
        ConfigError: one setting is a part of another, such as env.reward.goal of env.reward.
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if part := next((other for other in settings if other.startswith(f"{name}.")), None):
            raise ConfigError(f"{owner} sets {name} and {part}, which is a part of it; at most one may be set")
        for key in reversed(name.split(".")[1:]):
            value = {key: value}
        found = _merged(found, {name.split(".")[0]: value})
    return found


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy of `below`, with `above` over it: tables are merged, other values are replaced."""
    merged = copy.deepcopy(dict(below))
    for key, value in above.items():
        is_table = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if is_table else copy.deepcopy(value)
    return merged


def _expanded(key: str, name: str, paths: Any) -> Any:
    """`paths` with `~` and environment variables expanded; generators' names and scenes are unchanged."""
    if isinstance(paths, (list, tuple)):
        return [_expanded(key, name, one) for one in paths]
    if not isinstance(paths, str) or is_generator(paths):
        return paths

    def value(found: re.Match[str]) -> str:
        variable = found[1] or found[2]
        if variable not in os.environ:
            raise ConfigError(f"{key} of eval.{name} has {paths!r}; the environment has no variable {variable}")
        return os.environ[variable]

    expanded = os.path.expanduser(VARIABLE.sub(value, paths))
    if expanded.startswith("~"):
        raise ConfigError(f"{key} of eval.{name} has {paths!r}; there is no such home folder")
    return expanded


def _generator_env(scenes: Any) -> dict[str, Any]:
    """The fields that the task of a generator needs, and its `trial_steps`; {} unless `scenes` is one generator."""
    names = list(scenes) if isinstance(scenes, (list, tuple)) else [scenes]
    if len(names) != 1 or not is_generator(names[0]):
        return {}
    steps = TRIAL_STEPS[names[0]]
    return {**CONFIG_OF[names[0]], **({} if steps is None else {"trial_steps": steps})}


def value_of(text: str) -> Any:
    """The value in `--set key=value`: an int, a float, true, false, none, a list in brackets, or else the text."""
    lowered = text.strip()
    if lowered == "none":
        return None
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered.startswith("[") and lowered.endswith("]"):
        return [value_of(part) for part in lowered[1:-1].split(",") if part.strip()]
    for kind in (int, float):
        try:
            return kind(lowered)
        except ValueError:
            continue
    return lowered


def overrides_of(settings: Sequence[str]) -> dict[str, Any]:
    """The overrides of `--set key=value` options.

    Raises:
        ConfigError: one has no key, or no equals sign, or the key of another one.
    """
    found = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set is {setting!r}; it must be key=value, such as env.trial_steps=40")
        if key.strip() in found:
            raise ConfigError(f"--set has the key {key.strip()!r} twice; each may be set once")
        found[key.strip()] = value_of(text)
    return found
