"""How well does a policy drive? Runs the evaluators of a config or of options, prints tables and writes results."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DriveError, printable, value_text
from ..evaluation import Evaluator, EvalResult, evaluator_of, load_result, load_sections, resolved_section
from ..evaluation import merge as merged
from ..evaluation.config import EVALUATORS, overrides_of, runnable
from ..evaluation.failures_page import FAILURES_PAGE
from ..evaluation.figures import Figure
from ..evaluation.films import FILM_LIMIT, TIME_LIMIT_S
from ..evaluation.result import INCOMPLETE, films_folder, result_paths, rows_file
from ..outputs import checked_file, checked_folder
from ..policies import Policy, TrainedPolicy
from . import show

__all__ = ["check_inputs_remain", "evaluators", "merge_files", "run"]

BOUNDS = ("random", "constant", "replay", "idm", "lane")
"""Policies that need no training, with which the evaluated one is compared."""

FIRST = ("realism_2025", "realism_2024", "score", "shows_behaviour", "goal", "collision", "at_fault_collision",
         "offroad", "red_light", "stop_sign", "timeout", "progress", "close_call", "wrong_way_share",
         "over_speed_share", "hard_braking_share", "comfortable_share", "mean_speed_mps",
         "distance_per_infraction_m", "nuplan_score", "vmax_score", "log_divergence_m")
"""First metrics of the table, if measured; those that match `FURTHER` follow. The result file has all metrics."""

OF_GROUPS = ("score", "at_fault_collision", "shows_behaviour", "nuplan_score")
"""Metrics of the table of groups, if measured."""

FAILURE_STEPS = 1000
"""With `--failures`, number of steps after which a replay page is cut, unless the config sets `render_steps`."""

SHARD = re.compile("([0-9]{1,20})/([0-9]{1,20})")
"""I/N of `--shard`; Python refuses to convert thousands of digits."""

FURTHER = re.compile(r"trial_\d+_score|ada_delta_\w+|area_\w+|score_over_\w+|realism_\d+_\w+|likelihood_\w+")


def evaluators(scenes: Sequence[str], names: Sequence[str], config: Path | None, control: str | None,
               trials: int | None, settings: Sequence[str], policy: Policy | None = None,
               failures: int | None = None) -> list[Evaluator]:
    """The evaluators that the options select, with the settings of `--set`, `--trials`, `--control` and `--failures`.

    Args:
        policy: as returned by `resolved`; its training, if it has one, determines config and scenes that are not set.
        failures: number of episodes to show; None: what the settings say.

    Raises:
        ConfigError: an option does not fit.
    """
    overrides: dict[str, Any] = dict(overrides_of(settings))
    for option, key, value in (("--scenes", "scenes", list(scenes) or None), ("--trials", "env.max_trials", trials),
                               ("--control", "env.control", control), ("--failures", "render_scenes", failures),
                               ("--failures", "render", None if failures is None else True)):
        if value is not None and key in overrides:
            raise ConfigError(f"{option} and --set {key} are both set; at most one may be")
        if value is not None:
            overrides[key] = value
    if config is None:
        sections: dict[str, dict[str, Any]] = {name: {"type": name} for name in EVALUATORS}
        names = names or ["human_replay" if control == "sdc" else "multi_scenario"]
    else:
        sections = load_sections(config)
        names = names or runnable(sections)
        if not names:
            raise ConfigError(f"{config}: no section is run; it must have one with a type that is enabled, or "
                              f"--evaluator must be one of {', '.join(map(repr, sections))}")
    if len(set(names)) < len(names):
        raise ConfigError(f"--evaluator is {', '.join(map(repr, names))}; each may be named once")
    trained = (policy.config, policy.scenes) if isinstance(policy, TrainedPolicy) else (None, None)
    steps = {} if failures is None else {"render_steps": FAILURE_STEPS}
    return [evaluator_of(name, {**steps, **resolved_section(name, sections, overrides)}, *trained) for name in names]


def run(name: str | None, policy: Policy | None, chosen: Sequence[Evaluator], out: Path | None, shard: str,
        bounds: bool, threads: int, listed: bool, shown: bool) -> int:
    """Runs the evaluators, prints a table for each and writes their results; or only lists or shows the evaluators.

    Args:
        name, policy: name of the policy in tables and results, and the policy as returned by `resolved`; None if the
            evaluators are only listed or shown.

    Returns:
        The exit code.

    Raises:
        ConfigError: an option does not fit.
        DriveError: of several evaluators, some failed; the results of the others are written.
    """
    if listed or shown:
        for evaluator in chosen:
            text = (f"{evaluator.name}   {evaluator.type}" if listed
                    else json.dumps(evaluator.resolved(), indent=1))
            show.lines(printable(text) if listed else text)
        return 0
    if name is None or policy is None:
        raise ConfigError("POLICY is missing; it must be a name, package.module:name of a function, or the folder of a "
                          "checkpoint")
    for evaluator in chosen:
        if evaluator.config.render and out is None:
            raise ConfigError("--out is not set; with --failures or render = true it must be the result (.json) beside "
                              f"which eval.{evaluator.name} writes pages and films")
    part, paths = _shard(shard), _paths(out, chosen)
    results: list[EvalResult] = []
    failed: list[str] = []
    for evaluator, path in zip(chosen, paths, strict=True):
        try:
            results.append(_evaluated(evaluator, name, policy, part, threads, bounds, path))
        except DriveError as error:
            if len(chosen) == 1:
                raise
            failed.append(f"{evaluator.name}: {type(error).__name__}: {error}")
            show.heading(failed[-1])
            continue
        if path is not None:  # at once: an error or interrupt in a later evaluator leaves this result
            results[-1].save(path)
            show.lines(f"\nresult: {path}")
            if evaluator.config.render:
                show.lines(printable(films_text(results[-1], path)))
    if failed:
        raise DriveError(f"{len(failed)} of {len(chosen)} evaluators failed: {'; '.join(failed)}")
    # Not `coverage.complete`, which is False for every single shard; `merge` checks whether shards are missing.
    is_incomplete = any(result.coverage.played < result.coverage.expected for result in results)
    return INCOMPLETE if is_incomplete else 0


def merge_files(paths: Sequence[Path], out: Path) -> int:
    """Joins results of shards, prints the table of the joined result and writes it; returns the exit code."""
    check_inputs_remain(paths, out)
    _check_result(out)
    result = merged([_read_for(path, out) for path in paths])
    _print(result, {})
    result.save(out)
    show.lines(f"\nresult: {out}")
    return 0 if result.coverage.complete else INCOMPLETE


def check_inputs_remain(paths: Sequence[Path], out: Path) -> None:
    """Raises a `ConfigError` if one of the results that a command reads is the file that it is to write."""
    for path in paths:
        if path.resolve() == out.resolve():
            raise ConfigError(f"--out is {str(out)!r}, which is one of the results to read; it must be another file")


def _read_for(path: Path, out: Path) -> EvalResult:
    """The result of a file, with the paths of its films from the folder of another file."""
    result = load_result(path)
    return replace(result, renders=[
        replace(render, file=Path(os.path.relpath(path.parent / render.file, out.parent)).as_posix())
        for render in result.renders])


def _evaluated(evaluator: Evaluator, name: str, policy: Policy, shard: tuple[int, int], threads: int,
               bounds: bool, out: Path | None) -> EvalResult:
    """The result of the policy; prints it beside the results of those `BOUNDS` that fit the config, without films."""
    beside: dict[str, EvalResult] = {}
    without = copy(evaluator)
    without.config = evaluator.config.replace(render=False)
    with show.progress() as bars:
        def played(one: str, driver: Policy, by: Evaluator = without) -> EvalResult:
            bar = bars.add_task(f"{evaluator.name}: {one}", total=None)
            return by.rollout(driver, shard, threads, policy_name=one, out=out, progress=lambda done, most: bars.update(
                bar, completed=done, total=most))

        # A class is instantiated anew for each evaluator, by its name; a checkpoint is read only once.
        result = played(name, policy if isinstance(policy, TrainedPolicy) else name, evaluator)
        for other in BOUNDS if bounds else ():
            if other == name:
                continue
            try:
                beside[other] = played(other, other)
            except ConfigError:  # the vehicle model or the scenes do not allow this policy
                continue
    _print(result, beside)
    return result


def shown_metrics(result: EvalResult) -> list[str]:
    """The names of the metrics of a table."""
    further = [name for name in result.metrics if FURTHER.fullmatch(name)]
    return [name for name in (*FIRST, *further) if name in result.metrics]


def group_metrics(result: EvalResult) -> list[str]:
    """The names of the metrics that are shown for each group."""
    return [name for name in OF_GROUPS if all(name in found for found in result.groups.values())]


def _print(result: EvalResult, beside: dict[str, EvalResult]) -> None:
    """Prints the table of a result, its groups, its coverage and its failures."""
    figures = {name: result.metrics[name] for name in shown_metrics(result)}
    show.table(printable(result.evaluator), ["metric", printable(result.policy), "95% interval", *beside, "n"], [
        [name, figure_text(figure), interval_text(figure),
         *(figure_text(other.metrics.get(name)) for other in beside.values()), str(figure.n)]
        for name, figure in figures.items()])
    if result.groups:
        names = group_metrics(result)
        show.table("by group", ["group", *(text for name in names for text in (name, "95% interval")), "n"], [
            [printable(group), *(text for name in names for text in (
                figure_text(found[name]), interval_text(found[name]))), str(found["score"].n)]
            for group, found in result.groups.items()])
    coverage = result.coverage
    show.lines(f"\nepisodes: {coverage.played} of {coverage.expected}, {show.plural(coverage.unique_scenes, 'scene')}"
               + (f", {coverage.stalled} stalled" if coverage.stalled else "")
               + (f"; shards {', '.join(map(str, result.shards))} of {result.shard_count}"
                  if result.shard_count > 1 else ""))
    for failure in result.failures:
        show.lines(printable(f"not played: {failure.scene}: {failure.error}"))


def films_text(result: EvalResult, path: Path) -> str:
    """Where the films of a result are, how many there are, and how many are left."""
    text = f"failures: {films_folder(path) / FAILURES_PAGE}, {show.plural(len(result.renders), 'file')}"
    if result.renders_left:
        text += (f"; {result.renders_left} left, since an evaluator shows at most {FILM_LIMIT} and begins none after "
                 f"{TIME_LIMIT_S:g} s")
    return text


def figure_text(figure: Figure | None) -> str:
    """The value of a figure, or nothing."""
    return "" if figure is None or figure.value is None else f"{figure.value:.3g}"


def interval_text(figure: Figure) -> str:
    """The interval of a figure, or nothing."""
    if figure.ci95 is None:
        return ""
    low, high = figure.ci95
    return f"[{low:.3g}, {'-' if high is None else f'{high:.3g}'}]"


def _shard(text: str) -> tuple[int, int]:
    found = SHARD.fullmatch(text)
    if not found or not int(found[1]) < int(found[2]):
        raise ConfigError(f"--shard is {value_text(text)}; it must be I/N with 0 <= I < N, such as 0/4")
    return int(found[1]), int(found[2])


def _paths(out: Path | None, chosen: Sequence[Evaluator]) -> list[Path | None]:
    """The result file of each evaluator; checked before anything is played."""
    if out is None:
        return [None] * len(chosen)
    if len(chosen) == 1:
        paths = [out]
    elif out.suffix == ".json":
        raise ConfigError(f"--out is {str(out)!r}; for {len(chosen)} evaluators it must be a folder")
    else:
        paths = result_paths(checked_folder("--out", out), [evaluator.name for evaluator in chosen])
        out.mkdir(parents=True, exist_ok=True)
    for evaluator, path in zip(chosen, paths, strict=True):
        _check_result(path)
        if evaluator.config.render:
            checked_folder("--out", films_folder(path))
    return list(paths)


def _check_result(path: Path) -> None:
    """Checks that a result file and the file of its rows can be written."""
    checked_file("--out", path, (".json",))
    checked_file("--out", rows_file(path), (".csv",))
