"""Which scenes are hard? Those with the lowest mean scores in one or several results."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..behaviours import BEHAVIOURS, behaviour_scenes
from ..errors import ConfigError, SceneError, checked_int, checked_path, value_text
from ..scenes import Scene
from ..scenes.load import scenes_of
from ..scenes.packaged import is_packaged
from ..scenes.resolve import find_source, is_generator, vehicle_count
from ..whole_file import whole_file
from .result import EvalResult, checked_results
from .sources import sources_of

SCHEMA = 1
"""Version of the JSON format."""

FORM: dict[str, Any] = {"source": str, "scene": str, "agents": (int, type(None)), "parameters": dict,
                        "hardness": (int, float), "results": int, "trials": int}
"""Types of the entries of a scene in the file."""

Key = tuple[str, str, int | None, str]
"""What identifies a scene: source, name, number of vehicles, and parameters as JSON."""

NUMBERED = re.compile(r"(\w+)/(\d+)")
"""A scene of a generator or of a class of behaviour, by its seed or its number in the class."""


@dataclass(frozen=True)
class SceneHardness:
    """How hard a scene is.

    Attributes:
        source: the file, or a name and a number, such as "town/10000000" or "cut_in/3".
        scene: name of the scene; a file may hold several.
        agents: number of vehicles with which a generator made it; None: its default, and for other sources.
        parameters: other parameters with which a generator made it.
        hardness: mean over results of 1 minus the mean score of the trials in the scene; 0 if all scores are 1, and 1
            if all are 0.
        results: number of results with trials in the scene. trials: number of these trials.
    """

    source: str
    scene: str
    agents: int | None
    parameters: Mapping[str, Any]
    hardness: float
    results: int
    trials: int


def scene_hardness(results: Iterable[EvalResult]) -> list[SceneHardness]:
    """The hardness of every scene of some results, the hardest first; equal ones in the order of their names.

    Each result has the same weight, however many trials it has: results may be of several policies, or of one policy at
    several times.

    Args:
        results: at least one, of one or several evaluators.

    Raises:
        ConfigError: there are none, or they have no trial.
    """
    results = checked_results(results)

    # 1 minus the mean score of each scene in each result.
    lacking: dict[Key, list[float]] = {}
    trials: dict[Key, int] = {}
    for result in results:
        scores: dict[Key, list[float]] = {}
        columns = (result.rows[name].tolist() for name in ("source", "scene", "score")) if len(
            result.rows["world"]) else ((), (), ())
        for source, scene, score in zip(*columns, strict=True):
            scores.setdefault((source, scene, *_made_with(source, result.config)), []).append(score)
        for key, found in scores.items():
            lacking.setdefault(key, []).append(1.0 - float(np.mean(found)))
            trials[key] = trials.get(key, 0) + len(found)

    if not lacking:
        raise ConfigError("the results have no trial, so no scene has a hardness; an episode must have been played")

    # Their means over results, as rows.
    rows = [SceneHardness(source, scene, agents, json.loads(parameters), hardness=float(np.mean(found)),
                          results=len(found), trials=trials[source, scene, agents, parameters])
            for (source, scene, agents, parameters), found in lacking.items()]
    return sorted(rows, key=lambda row: (-row.hardness, row.source, row.scene, row.agents or 0))


def save_hardness(rows: Sequence[SceneHardness], path: str | os.PathLike[str]) -> None:
    """Writes the hardness of scenes as JSON.

    Args:
        rows: from `scene_hardness`. path: ends in .json, in an existing folder; an existing file is replaced.

    Raises:
        ConfigError: the path does not end in .json, or its folder does not exist.
        OSError: the file cannot be written.
    """
    data = {"schema": SCHEMA, "scenes": [vars(row) for row in rows]}
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    with whole_file(checked_path(path, (".json",))) as beside:
        Path(beside).write_text(text, encoding="utf-8")


def load_hardness(path: str | os.PathLike[str]) -> list[SceneHardness]:
    """The hardness of scenes from a file.

    Args:
        path: of a file that `save_hardness` wrote.

    Raises:
        ConfigError: it cannot be read, or has another format.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("scenes"), list):
            raise ValueError(f"it must have the schema {SCHEMA} and a list of scenes")
        for row in data["scenes"]:
            if not isinstance(row, dict) or row.keys() != FORM.keys() or not all(
                    isinstance(row[name], kind) for name, kind in FORM.items()):
                raise ValueError(f"a scene is {value_text(row)}; it must have {', '.join(FORM)}")
            if not 0.0 <= row["hardness"] <= 1.0:
                raise ValueError(f"a hardness is {row['hardness']}; it must be from 0 to 1")
        return [SceneHardness(**row) for row in data["scenes"]]
    except (OSError, ValueError, RecursionError) as error:
        reason = isinstance(error, OSError) and error.strerror or error
        raise ConfigError(f"{os.fspath(path)}: the hardness of scenes cannot be read: {reason}") from None


def hard_scenes(count: int, path: str | os.PathLike[str]) -> list[Scene]:
    """The hardest scenes of a file of `save_hardness`, to be played, evaluated or trained on, the hardest first.

    Args:
        count: how many. path: of the file.

    Raises:
        ConfigError: the file cannot be read, or has fewer scenes.
        SceneError: a scene cannot be read or made again.
    """
    rows = load_hardness(path)
    if not rows:
        raise ConfigError(f"{os.fspath(path)}: it has no scene")
    return [_scene_of(row) for row in rows[: checked_int("count", count, 1, len(rows))]]


def _made_with(source: str, config: Mapping[str, Any]) -> tuple[int | None, str]:
    """Vehicles and parameters, as JSON, with which an evaluation generated a source; (None, "{}") for other sources."""
    found = NUMBERED.fullmatch(source)
    if not found or not is_generator(found[1]):
        return None, "{}"
    agents, in_world = config.get("scene_agents"), config.get("env", {}).get("agents_per_world")
    if agents is None and in_world is not None:
        agents = vehicle_count(found[1], in_world)
    return agents, json.dumps(config.get("scene_parameters", {}), sort_keys=True)


def _scene_of(row: SceneHardness) -> Scene:
    found = NUMBERED.fullmatch(row.source)
    if found and is_generator(found[1]):
        scenes = list(sources_of(found[1], int(found[2]), 1, row.agents, row.parameters)[0].read())
    elif found and found[1] in BEHAVIOURS:
        scenes = list(behaviour_scenes(found[1], (int(found[2]),)))
    else:
        scenes = list(scenes_of(find_source(row.source if is_packaged(row.source) else Path(row.source))))
    for scene in scenes:
        if scene.name == row.scene:
            return scene
    raise SceneError(f"{row.source}: it has no scene {row.scene!r}; it has "
                     + ", ".join(repr(scene.name) for scene in scenes))
