"""When does a training evaluate, and what if an evaluation fails? Evaluators that are due run one after the other.

An evaluator runs in the process of the training, or in one of its own that reads a checkpoint. A failure of one is
printed and counted; the others and the training go on.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DriveError, checked_int, value_text
from ..names import named_arguments
from ..policies import Policy
from .base import UPDATE_LIMIT, Evaluator
from .figures import Figure
from .films import check_views, drop_old_films
from .result import INCOMPLETE, EvalResult, films_folder, load_result, result_path, result_paths

TAIL_CHARACTERS = 2000
"""Number of characters of stderr, from its end, that the error of a failed process quotes."""

UNFINISHED = ".unfinished"
"""Folder of the files that a process writes, within that of the results."""

MakeCommand = Callable[[Path, Evaluator, Path], Sequence[str]]
"""Takes a checkpoint, an evaluator and the path of the result; returns the words of the command that writes it."""


class ProcessError(DriveError, RuntimeError):
    """An evaluation in a process of its own failed."""


@dataclass(frozen=True)
class Evaluated:
    """How one evaluator ran.

    Attributes:
        name: of the evaluator.
        result: None if it failed.
        error, trace: type and message of the exception, and its traceback; "" if it did not fail.
        seconds: wall time, from the start of the evaluator until its result was written.
        failures: number of failed evaluations of the manager so far, this one included.
    """

    name: str
    result: EvalResult | None
    error: str
    trace: str
    seconds: float
    failures: int

    def line(self) -> dict[str, Any]:
        """The entries of a log, in the types of JSON.

        Each metric is `eval/<name>/<metric>`, with the number of its rows at `<key>_n` and the ends of its interval at
        `<key>_ci95`; of groups, `eval/<name>/<group>/score` alone. `eval_seconds` is the sum of `render_seconds`, for
        films and replay pages, and `play_seconds`, for everything else. Figures with another `config_sha256` are of
        other episodes.
        """
        prefix = f"eval/{self.name}"
        found: dict[str, Any] = {"evaluator": self.name, f"{prefix}/eval_seconds": self.seconds,
                                 "eval_failures": self.failures}
        if self.result is None:
            return found | {"failure": self.error, "traceback": self.trace}
        coverage, render_s = self.result.coverage, self.result.seconds["render"]
        found |= {f"{prefix}/play_seconds": self.seconds - render_s, f"{prefix}/render_seconds": render_s,
                  f"{prefix}/config_sha256": self.result.config_sha256}
        if self.result.renders or self.result.renders_left:
            found |= {f"{prefix}/renders": [render.file for render in self.result.renders],
                      f"{prefix}/renders_left": self.result.renders_left}
        found |= {f"{prefix}/expected": coverage.expected, f"{prefix}/played": coverage.played}
        for metric, figure in self.result.metrics.items():
            found |= _entries(f"{prefix}/{metric}", figure)
        for group, figures in self.result.groups.items():
            found |= _entries(f"{prefix}/{group}/score", figures["score"])
        return found


def _entries(key: str, figure: Figure) -> dict[str, Any]:
    return {key: figure.value, f"{key}_n": figure.n, f"{key}_ci95": figure.ci95 and list(figure.ci95)}


class EvalManager:
    """Runs evaluators at their intervals.

    Args:
        evaluators: in the order in which they run, with different names.
        folder: of the results; each is written as `<name>.json` and replaces the one of the evaluation before. Created
            if missing. None: no result is written.
        command: for evaluators with `mode="subprocess"`; None: there may be none.
        environment: variables of these processes; None: those of this one.
        threads: as for `Batch`.
        report: called with the text of each failure; the default writes it to stderr.

    Attributes:
        failures: number of evaluations that failed.

    Raises:
        ConfigError: two evaluators have one name, a name cannot be that of a file, or an evaluator with the mode
            "subprocess" lacks `folder` or `command`, or one with `render` lacks `folder`.
        MissingExtraError: films are to be made, and a package of the extra `render` is not installed.
    """

    @named_arguments
    def __init__(self, evaluators: Sequence[Evaluator], folder: Path | None = None,
                 command: MakeCommand | None = None, environment: Mapping[str, str] | None = None, threads: int = 0,
                 report: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True)) -> None:
        self.evaluators, self.failures = list(evaluators), 0
        self._folder, self._command, self._environment = folder, command, environment
        self._threads, self._report = threads, report
        for evaluator in self.evaluators:
            if not isinstance(evaluator, Evaluator):
                raise ConfigError(f"evaluators holds {value_text(evaluator)}; it must hold evaluators")
        names = [evaluator.name for evaluator in self.evaluators]
        for evaluator in self.evaluators:
            if names.count(evaluator.name) > 1:
                raise ConfigError(f"evaluators has {value_text(evaluator.name)} twice; each name may occur once")
            if evaluator.config.mode == "subprocess" and (folder is None or command is None):
                raise ConfigError(f"mode of eval.{evaluator.name} is 'subprocess'; without a folder and a command it "
                                  "must be 'inline'")
            if evaluator.config.render and folder is None:
                raise ConfigError(f"render of eval.{evaluator.name} is True; without a folder it must be False")
            check_views(evaluator.config)
        if folder is not None:
            result_paths(folder, names)

    def due(self, update: int, force: bool = False) -> list[Evaluator]:
        """The evaluators to run after an update: the enabled ones whose interval divides the number of updates.

        Args:
            update: number of updates since the start of the training.
            force: set it after the last update: every enabled evaluator with an interval runs.

        Raises:
            ConfigError: `update` is no whole number from 0 on.
        """
        update = checked_int("update", update, 0, UPDATE_LIMIT)
        return [one for one in self.evaluators if one.config.enabled and one.config.interval
                and (force or update % one.config.interval == 0)]

    def needs_checkpoint(self, update: int, force: bool = False) -> bool:
        """Whether an evaluator that is due reads a checkpoint, which must be saved first.

        Args:
            update, force: as for `due`.

        Raises:
            ConfigError: as from `due`.
        """
        return any(evaluator.config.mode == "subprocess" for evaluator in self.due(update, force))

    def maybe_run(self, update: int, policy: Policy, checkpoint: Path | None = None, force: bool = False
                  ) -> Iterator[Evaluated]:
        """Runs the evaluators that are due and yields each outcome at once.

        Args:
            update, force: as for `due`.
            policy: for the mode "inline".
            checkpoint: of the same policy, for the mode "subprocess".

        Raises:
            ConfigError: as from `due`. An error of an evaluator is part of its outcome.
        """
        for evaluator in self.due(update, force):
            began, result, error, trace = time.perf_counter(), None, "", ""
            try:
                result = self._run(evaluator, policy, checkpoint, update)
            except (Exception, SystemExit) as failure:  # noqa: BLE001  no evaluation may end the training
                self.failures += 1
                error, trace = f"{type(failure).__name__}: {failure}", traceback.format_exc()
                self._report(f"evaluator {evaluator.name} failed after update {update}:\n{trace}")
            yield Evaluated(evaluator.name, result, error, trace, time.perf_counter() - began, self.failures)

    def _run(self, evaluator: Evaluator, policy: Policy, checkpoint: Path | None, update: int) -> EvalResult:
        """The result of one evaluator, written to the folder."""
        out = None if self._folder is None else result_path(self._folder, evaluator.name)
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
        if evaluator.config.mode == "subprocess":
            result = self._in_subprocess(evaluator, checkpoint, update)
        else:
            result = evaluator.rollout(policy, threads=self._threads, out=out, update=update)
        if out is not None:
            result.save(out)
        return result

    def _in_subprocess(self, evaluator: Evaluator, checkpoint: Path | None, update: int) -> EvalResult:
        """Runs an evaluator in a process of its own and reads its result."""
        if checkpoint is None or self._folder is None or self._command is None:
            raise ConfigError(f"checkpoint is None; evaluator {evaluator.name} has the mode 'subprocess' and needs one")
        # An empty folder: the result of an earlier evaluation must not be taken for that of this one.
        out, limit_s = result_path(self._folder / UNFINISHED, evaluator.name), evaluator.config.timeout_s
        shutil.rmtree(out.parent, ignore_errors=True)
        out.parent.mkdir()
        try:
            done = subprocess.run(self._command(checkpoint, evaluator, out), env=self._environment, text=True,
                                  errors="replace", capture_output=True, stdin=subprocess.DEVNULL, timeout=limit_s)
            if done.returncode not in (0, INCOMPLETE) or not out.is_file():
                wrote = "" if out.is_file() else " and wrote no result"
                raise ProcessError(f"the process of evaluator {evaluator.name} ended with exit code {done.returncode}"
                                   f"{wrote}; its stderr ends with: {_tail(done.stderr)}")
            result = load_result(out)
            if result.config_sha256 != evaluator.config_sha256:
                raise ProcessError(f"the process of evaluator {evaluator.name} had other settings than this one")
            if films_folder(out).is_dir():
                films = films_folder(result_path(self._folder, evaluator.name))
                films.mkdir(parents=True, exist_ok=True)
                for file in films_folder(out).iterdir():
                    file.replace(films / file.name)
                drop_old_films(films, [Path(render.file).name for render in result.renders], update,
                               evaluator.config.render_kept)
            return result
        except subprocess.TimeoutExpired as error:
            raise ProcessError(f"the process of evaluator {evaluator.name} took more than its timeout_s of "
                               f"{limit_s:g}; its stderr ends with: {_tail(error.stderr)}") from None
        finally:
            shutil.rmtree(out.parent, ignore_errors=True)


def _tail(text: str | bytes | None) -> str:
    """The end of an output. After a timeout it may be None, or bytes although text was requested."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return (text or "").strip()[-TAIL_CHARACTERS:] or "(nothing)"
