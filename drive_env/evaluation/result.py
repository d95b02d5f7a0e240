"""What does an evaluation return? Figures, their rows and the coverage, as JSON and CSV files that `merge` joins."""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, checked_path, value_text
from ..machine import processor
from ..version import package_version
from ..whole_file import whole_file
from .figures import Figure
from .metrics import figures_of_groups, figures_of_rows
from .per_scene import SceneScores, scores_by_scene
from .rows import Rows, joined, read_rows, write_rows

SCHEMA = 1
"""Version of the JSON format, which drive_env/evaluation/result.schema.json describes."""

INCOMPLETE = 3
"""Exit code of `drive-env evaluate` and `merge` if an episode was not played, or a shard is missing."""

FILE_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
"""Names of evaluators whose results are files: each is a file or a folder in the folder of the results, and a word of
a command that is no option."""

DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""Names of devices on Windows, which no file there can have, whatever follows after a dot."""

FILE_NAME_LIMIT = 100
"""Characters of such a name: file systems allow 255 with its suffix."""

FORM: dict[str, Any] = {
    "evaluator": str, "type": str, "policy": str, "checkpoint": (dict, type(None)), "config": dict,
    "policy_env": dict, "config_sha256": str, "seed": int, "seconds": dict, "agent_steps": int, "created": str,
    "renders_left": int, "package": dict, "machine": dict}
"""Types of the entries that a result is read from, besides those of its rows, coverage, shards, failures and films."""

SECONDS = ("total", "play", "policy", "render")
"""Names of the times of a result."""

KINDS: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool}
"""Types in JSON of the attributes of `Coverage`, `Failure` and `Render`, by their annotations."""


@lru_cache(maxsize=1)
def this_package() -> dict[str, Any]:
    """Version of drive-env, and the commit from which it runs. Computed once per process: the loaded code stays that of
    the first call if the checkout changes."""
    return {"version": package_version(), **_checkout()}


def _checkout() -> dict[str, Any]:
    """Commit of the checkout from which the package runs, and whether files were changed; None outside a checkout."""
    git = lambda *words: subprocess.run(["git", *words], cwd=Path(__file__).parent, text=True, capture_output=True,
                                        check=True, timeout=60).stdout.strip()
    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)  # fails in a checkout of another project
        return {"git": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.SubprocessError):
        return {"git": None, "dirty": None}


@dataclass(frozen=True)
class Coverage:
    """How many of the episodes were played; each is played at most once.

    Attributes:
        expected: episodes of the list of scenes; a source that cannot be read counts as one scene.
        played: those that were played to the end of their last trial.
        unique_scenes: number of different scenes of the played episodes.
        stalled: those that had not ended after three times the steps of their trials.
        complete: whether all expected episodes of all shards were played.
    """

    expected: int
    played: int
    unique_scenes: int
    stalled: int
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """The attributes in the types of JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Failure:
    """A scene or a group that was not played, or a film that could not be written.

    Attributes:
        scene: name of the scene, file, group or film.
        error: type and message of the exception.
        trace: traceback of the exception; "" where none was stored.
    """

    scene: str
    error: str
    trace: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The attributes in the types of JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Render:
    """A file that shows an episode.

    Attributes:
        file: its path from the folder of the result's file, with forward slashes.
        view: "replay" for a replay page, "scene" or "follow" for a film.
        scene, group, world: of the episode, as in the rows. seed: of the worlds.
        score: mean over the rows of the episode.
    """

    file: str
    view: str
    scene: str
    group: str
    world: int
    seed: int
    score: float

    def to_dict(self) -> dict[str, Any]:
        """The attributes in the types of JSON."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class EvalResult:
    """The result of one evaluator.

    Attributes:
        evaluator, type: name and type of the evaluator.
        policy: name of the policy.
        checkpoint: path, sha256, update and steps of a trained policy, as passed to `rollout`; None: none was passed.
        config: the settings of the evaluator, as from `Evaluator.hashed`.
        policy_env: fields of the worlds' config that differ from `config` for this policy, such as the vehicle model of
            the policy "replay".
        config_sha256: hash of `config`; results with the same hash can be compared.
        seed: of the worlds.
        metrics: figures by name. groups: the figures of each group, by its name.
        coverage: how many episodes were played.
        rows: one row per trial of each agent, as columns by name.
        failures: what was not played or shown, and why.
        seconds: wall time by name: "total", "play" (stepping, the policy and probes), "policy", which leaves out its
            share in worlds whose episode had ended, and "render" (films and replay pages).
        agent_steps: number of steps in which an agent acted, summed over agents.
        shards: indices of the shards in this result. shard_count: number of all shards.
        created: time in UTC, ISO 8601.
        renders: files that show episodes. renders_left: number of files that were not begun within the budgets.
        package: version of drive-env, commit of its checkout and whether files were changed. machine: its processor.
            Both are those of the evaluation, also in a result that was read or merged.
    """

    evaluator: str
    type: str
    policy: str
    checkpoint: Mapping[str, Any] | None
    config: Mapping[str, Any]
    policy_env: Mapping[str, Any]
    config_sha256: str
    seed: int
    metrics: Mapping[str, Figure]
    groups: Mapping[str, Mapping[str, Figure]]
    coverage: Coverage
    rows: Rows
    failures: Sequence[Failure]
    seconds: Mapping[str, float]
    agent_steps: int
    shards: tuple[int, ...] = (0,)
    shard_count: int = 1
    created: str = field(default_factory=lambda: datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
    renders: Sequence[Render] = ()
    renders_left: int = 0
    package: Mapping[str, Any] = field(default_factory=lambda: dict(this_package()))
    machine: Mapping[str, Any] = field(default_factory=lambda: {"cpu": processor()})

    @property
    def by_scene(self) -> list[SceneScores]:
        """The scores of each scene in each group, by trial, in the order of the list of scenes."""
        return scores_by_scene(self.rows)

    @property
    def planning_ms(self) -> float | None:
        """Time in the policy per agent-step, ms; None without steps."""
        return 1000 * self.seconds["policy"] / self.agent_steps if self.agent_steps else None

    @property
    def totals(self) -> dict[str, float]:
        """Numbers of played episodes, of agents with rows and of rows (trials), and the km driven in these."""
        rows = self.rows
        agents = set(zip(rows["group"].tolist(), rows["world"].tolist(), rows["agent"].tolist(), strict=True))
        distance_m = rows["distance_m"].sum(dtype=np.float64) if "distance_m" in rows else 0.0
        return {"episodes": self.coverage.played, "agents": len(agents), "trials": len(rows["world"]),
                "distance_km": float(distance_m) / 1000.0}

    def to_dict(self, episodes_csv: str | None = None, episodes_sha256: str | None = None) -> dict[str, Any]:
        """The result in the types of JSON, without its rows.

        Args:
            episodes_csv: name of the file with the rows; None: they are not saved.
            episodes_sha256: hash of that file.
        """
        figures = lambda found: {name: figure.to_dict() for name, figure in found.items()}
        return {
            "schema": SCHEMA, "evaluator": self.evaluator, "type": self.type, "created": self.created,
            "package": dict(self.package), "policy": self.policy,
            "checkpoint": self.checkpoint and dict(self.checkpoint), "config": dict(self.config),
            "policy_env": dict(self.policy_env), "config_sha256": self.config_sha256, "seed": self.seed,
            "shard": {"played": list(self.shards), "count": self.shard_count}, "metrics": figures(self.metrics),
            "groups": {group: figures(found) for group, found in self.groups.items()},
            "scenes": [scores.to_dict() for scores in self.by_scene],
            "coverage": self.coverage.to_dict(), "totals": self.totals, "episodes_csv": episodes_csv,
            "episodes_sha256": episodes_sha256,
            "seconds": dict(self.seconds), "agent_steps": self.agent_steps, "planning_ms": self.planning_ms,
            "failures": [failure.to_dict() for failure in self.failures],
            "renders": [render.to_dict() for render in self.renders], "renders_left": self.renders_left,
            "machine": dict(self.machine)}

    def save(self, path: str | Path) -> None:
        """Writes the result and its rows to two files of one folder, such as result.json and result.episodes.csv.

        Args:
            path: of the JSON file. Existing files are replaced once both are complete: an interrupt or a full disk
                leaves them as they are.

        Raises:
            ConfigError: the path does not end in .json, or its folder does not exist.
            OSError: a file cannot be written.
        """
        file = Path(checked_path(path, (".json",)))
        table = rows_file(file)
        # The table is moved to its place first.
        with whole_file(file) as head, whole_file(table) as rows:
            write_rows(self.rows, Path(rows))
            data = self.to_dict(table.name, _file_sha256(Path(rows)))
            Path(head).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def rows_file(path: Path) -> Path:
    """The file of the rows of a result file."""
    return path.with_suffix(".episodes.csv")


def films_folder(path: Path) -> Path:
    """The folder of the films and replay pages of a result file."""
    return path.parent / "films" / path.stem


def load_result(path: str | Path) -> EvalResult:
    """Reads a saved result and its rows, and computes the figures from the rows.

    Args:
        path: of the JSON file that `EvalResult.save` wrote; the file of the rows is in the same folder.

    Raises:
        ConfigError: a file cannot be read, is not a result in the format of this version, or changed after it was
            saved.
    """
    path = Path(path)
    try:
        # The rows, which must be those that were saved with the result.
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refused)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"its schema is {value_text(data.get('schema') if isinstance(data, dict) else data)}; "
                             f"it must be {SCHEMA}")
        name = _typed("episodes_csv", data["episodes_csv"], str)
        if Path(name).name != name:
            raise ValueError(f"episodes_csv is {value_text(name)}; it must be the name of a file in the same folder")
        table = path.parent / name
        rows = read_rows(table)
        if _file_sha256(table) != data["episodes_sha256"]:  # cut short, or of another result with this name
            raise ValueError(f"the rows in {table} are not those that were saved with it")

        # Every other entry: its type, and its range where it has one.
        shown = {name: _typed(name, data[name], kind) for name, kind in FORM.items()}
        if sha256_of(shown["config"]) != shown["config_sha256"]:
            raise ValueError("config_sha256 is not the hash of its config")
        if set(shown["seconds"]) != set(SECONDS) or not all(
                _is_kind(one, (int, float)) and math.isfinite(one) for one in shown["seconds"].values()):
            raise ValueError(f"seconds is {value_text(shown['seconds'])}; it must have the numbers "
                             + ", ".join(SECONDS))
        coverage = _record(Coverage, "coverage", data["coverage"])
        if not 0 <= coverage.played <= coverage.expected:
            raise ValueError(f"its coverage has {coverage.played} played episodes of {coverage.expected} expected ones")

        # The shards, then the result with figures from its rows.
        shard = _typed("shard", data["shard"], dict)
        shards, count = _typed("shards", shard["played"], list), _typed("the number of shards", shard["count"], int)
        if count < 1:
            raise ValueError(f"the number of shards is {count}; it must be 1 or more")
        for one in shards:
            _typed("shard", one, int)
        if not shards or len(set(shards)) < len(shards) or not set(shards) <= set(range(count)):
            raise ValueError(f"its shards are {value_text(shards)}; they must be different ones from 0 to {count - 1}")
        return _with_figures(EvalResult(
            **shown, metrics={}, groups={}, rows=rows, shard_count=count, shards=tuple(shards), coverage=coverage,
            failures=[_record(Failure, "a failure", one) for one in _typed("failures", data["failures"], list)],
            renders=[_record(Render, "a film", one) for one in _typed("renders", data["renders"], list)]))
    except OSError as error:
        raise ConfigError(f"{error.filename or path}: it cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigError(f"{path}: not a result of an evaluation: {reason}") from None


def result_path(folder: Path, name: str) -> Path:
    """The file of an evaluator's result in a folder.

    Raises:
        ConfigError: the name of the evaluator cannot be that of a file.
    """
    if len(name) > FILE_NAME_LIMIT or not FILE_NAME.fullmatch(name):
        raise ConfigError(f"the name of an evaluator is {value_text(name)}; for a file of results it must consist of "
                          f"at most {FILE_NAME_LIMIT} of the letters A to Z and a to z, digits, '_', '-' and '.', with "
                          "a letter, a digit or '_' at both ends")
    if DEVICES.fullmatch(name):
        raise ConfigError(f"the name of an evaluator is {value_text(name)}, which is that of a device on Windows; for "
                          "a file of results it must be another one")
    return folder / f"{name}.json"


def result_paths(folder: Path, names: Sequence[str]) -> list[Path]:
    """The files of the results of several evaluators in a folder.

    Raises:
        ConfigError: as from `result_path`, or some file systems have one file for two names.
    """
    first: dict[str, str] = {}
    for name in names:
        if (other := first.setdefault(name.lower(), name)) != name:
            raise ConfigError(f"two evaluators have the names {other!r} and {name!r}; for files of results they must "
                              "differ in more than capital letters, which some file systems do not distinguish")
    return [result_path(folder, name) for name in names]


def settings_that_differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The dotted names of the settings in which the configs of two results differ."""
    found = []
    for name in dict.fromkeys([*one, *other]):
        here, there = one.get(name), other.get(name)
        if isinstance(here, Mapping) and isinstance(there, Mapping):
            found += [f"{name}.{inner}" for inner in settings_that_differ(here, there)]
        elif here != there or (name in one) != (name in other):
            found.append(name)
    return found


def merge(results: Iterable[EvalResult]) -> EvalResult:
    """Joins the results of shards; the figures equal those of an evaluation without shards, bit for bit.

    Args:
        results: at least one; of different shards, with the same config, policy, checkpoint and version of drive-env.

    Raises:
        ConfigError: there are none, or they do not fit together.
    """
    results = checked_results(results)

    # Only different shards of one evaluation fit together.
    first = results[0]
    for other in results[1:]:
        if other.config_sha256 != first.config_sha256:
            differing = ", ".join(settings_that_differ(first.config, other.config))
            raise ConfigError(f"the settings {differing} differ between two results; only shards of one evaluation can "
                              "be merged")
        for name in ("policy", "checkpoint", "shard_count"):
            one, two = getattr(first, name), getattr(other, name)
            if one != two:
                raise ConfigError(f"{name} is {value_text(two)} in one result and {value_text(one)} in another; only "
                                  "shards of one evaluation can be merged")
        for name in ("version", "git"):  # another version may simulate otherwise
            one, two = first.package.get(name), other.package.get(name)
            if one != two and one is not None and two is not None:
                raise ConfigError(f"the {'commit' if name == 'git' else name} of drive-env is {value_text(two)} in one "
                                  f"result and {value_text(one)} in another; only shards of one evaluation can be "
                                  "merged")
    shards = sorted(shard for result in results for shard in result.shards)
    if len(set(shards)) < len(shards):
        twice = next(shard for shard in shards if shards.count(shard) > 1)
        raise ConfigError(f"shard {twice} of {first.shard_count} is in two results; each may be merged once")

    # Shards have no scene in common, so all counts are sums.
    counts = {name: sum(getattr(result.coverage, name) for result in results)
              for name in ("expected", "played", "unique_scenes", "stalled")}
    is_complete = counts["played"] == counts["expected"] and len(shards) == first.shard_count
    return _with_figures(replace(
        first, coverage=Coverage(**counts, complete=is_complete), shards=tuple(shards),
        rows=joined([result.rows for result in results]),
        failures=[failure for result in results for failure in result.failures],
        renders=[render for result in results for render in result.renders],
        renders_left=sum(result.renders_left for result in results),
        seconds={name: sum(result.seconds[name] for result in results) for name in first.seconds},
        machine={"cpu": "; ".join(dict.fromkeys(str(result.machine.get("cpu")) for result in results))},
        agent_steps=sum(result.agent_steps for result in results), created=max(result.created for result in results)))


def _with_figures(result: EvalResult) -> EvalResult:
    return replace(result, metrics=figures_of_rows(result.rows), groups=figures_of_groups(result.rows))


def _typed(name: str, value: Any, kind: Any) -> Any:
    """A value of a saved result.

    Raises:
        ValueError: it has another type.
    """
    if not _is_kind(value, kind):
        raise ValueError(f"{name} is {value_text(value)}, which has another type than in a result")
    return value


def _is_kind(value: Any, kind: Any) -> bool:
    """Whether a value of JSON has a type; true and false are no numbers there."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _record(kind: Any, name: str, data: Any) -> Any:
    """A `Coverage`, `Failure` or `Render` of a saved result.

    Raises:
        ValueError: an attribute is unknown or has another type. TypeError: one is missing.
    """
    found, types = _typed(name, data, dict), kind.__annotations__
    if unknown := found.keys() - types.keys():
        raise ValueError(f"{name} has {value_text(sorted(unknown)[0])}, which is unknown")
    return kind(**{key: _typed(key, value, KINDS[types[key]]) for key, value in found.items()})


def _refused(text: str) -> None:
    """NaN and infinite numbers, which Python's reader of JSON accepts by default."""
    raise ValueError(f"it has the number {text}")


def checked_results(results: Iterable[EvalResult]) -> list[EvalResult]:
    """Results as a list.

    Raises:
        ConfigError: there are none, or they are something else.
    """
    found = list(results) if isinstance(results, Iterable) else [results]
    if not found:
        raise ConfigError("results is empty; it must hold at least one result")
    if not isinstance(results, Iterable) or not all(isinstance(one, EvalResult) for one in found):
        raise ConfigError(f"results is {value_text(results)}; it must hold an EvalResult or more, as from "
                          "`load_result`")
    return found


def _file_sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sha256_of(config: Mapping[str, Any]) -> str:
    """The hash of a config: of its JSON text with sorted keys and without spaces."""
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
