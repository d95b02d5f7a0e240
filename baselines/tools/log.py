"""Where are the metrics of a run logged? JSON lines always; progress bar, TensorBoard and W&B where configured."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .log_file import LOG, append, truncate_after
from .log_films import add_film, wandb_media


WANDB_ID = "wandb_id.txt"
"""The file in the folder of a run with its id in W&B."""


class Log:
    """Writes each line of metrics to all loggers of a run.

    Args:
        folder: of the run. mute: writes nothing, as on other ranks than the main one.
        resumed: the update to resume after; later lines are dropped. 0: a new run, all lines are dropped.
        tensorboard, wandb: also log there. config: of the run, for W&B.
        wandb_options: project and name of the run in W&B, each None for W&B's own choice.
        share_done: returns which share of the run is done, for a progress bar; None: no bar.
        check: raises an error where the folder may no longer be written to; called before each line.
    """

    def __init__(self, folder: Path, mute: bool, resumed: int = 0, tensorboard: bool = False, wandb: bool = False,
                 share_done: Callable[[], float] | None = None, config: dict | None = None,
                 check: Callable[[], None] = lambda: None, wandb_options: Mapping[str, str | None] | None = None):
        self._check, self._wandb_module = check, None
        self._mute, self._file, self._tensorboard, self._wandb, self._progress = mute, None, None, None, None
        if mute:
            return
        # Missing packages are reported before a file is touched.
        tensorboard_module, wandb_module = check_loggers(tensorboard, wandb)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / LOG
        if dropped := truncate_after(path, resumed):
            report(f"line {dropped} of {str(path)!r} is incomplete; it is dropped")
        self._file = path.open("ab", buffering=0)
        if tensorboard_module:
            self._tensorboard = tensorboard_module.SummaryWriter(str(folder))
        if wandb_module:
            self._wandb_module = wandb_module
            self._wandb = _wandb_run(wandb_module, folder, resumed > 0, config, wandb_options or {})
        if share_done:
            self._progress = _Progress(share_done)

    def write(self, kind: str, counters: Mapping[str, int], metrics: Mapping[str, Any]) -> None:
        """Writes one line of a kind: "start", "random_policy", "update", "evaluation" or "end"; an evaluation by an
        evaluator has its name in `evaluator`. An error also goes to stderr.

        Raises:
            OSError: the disk is full.
        """
        if self._mute:
            return
        self._check()
        line = {"kind": kind, **counters, **{name: _finite(value) for name, value in metrics.items()}}
        append(self._file, line)
        if "error" in line:
            report(f"{kind} at update {line['update']} failed: {line['error'].strip()}")
        # Names of evaluators' figures have a prefix already.
        numbers = {name if name.startswith("eval/") else f"{kind}/{name}": value for name, value in line.items()
                   if isinstance(value, float)}
        if self._tensorboard:
            for name, value in numbers.items():
                self._tensorboard.add_scalar(name, value, counters["agent_steps"])
        if self._wandb:
            self._wandb.log(numbers | dict(counters))
        if self._progress:
            self._progress.show(kind, line)

    def show(self, counters: Mapping[str, int], files: Mapping[str, Path]) -> None:
        """Shows films and replay pages in W&B, and films in TensorBoard, which cannot show pages.

        An error goes to stderr: the files remain in the run's folder.

        Args:
            files: by tag.
        """
        try:
            for tag, file in files.items():
                if self._tensorboard and file.suffix == ".mp4":
                    add_film(self._tensorboard, tag, file, counters["agent_steps"])
            if self._wandb and files:
                self._wandb.log({tag: wandb_media(self._wandb_module, file) for tag, file in files.items()}
                                | dict(counters))
        except Exception as error:  # noqa: BLE001  no failure to show a film may end the training
            report(f"films at update {counters['update']} are not shown: {type(error).__name__}: {error}")

    def close(self) -> None:
        """Closes all loggers."""
        for part in (self._file, self._tensorboard, self._progress):
            if part:
                part.close()
        if self._wandb:
            self._wandb.finish()


def check_loggers(tensorboard: bool, wandb: bool) -> tuple[Any, Any]:
    """The modules of TensorBoard and W&B; None for one that is not requested.

    Raises:
        ImportError: a requested package is missing.
    """
    return (_import("torch.utils.tensorboard", "tensorboard") if tensorboard else None,
            _import("wandb", "wandb") if wandb else None)


def _wandb_run(module: Any, folder: Path, is_resumed: bool, config: dict | None,
               options: Mapping[str, str | None]) -> Any:
    """The run in W&B: that of the folder where a run is resumed, so that its curves continue, else a new one."""
    file = folder / WANDB_ID
    former = {"id": file.read_text().strip(), "resume": "allow"} if is_resumed and file.is_file() else {}
    run = module.init(dir=str(folder), config=config, **options, **former)
    file.write_text(run.id)
    return run


def report(text: str) -> None:
    """Prints one line to stderr, above a progress bar."""
    print(f"baselines: {text}", file=sys.stderr, flush=True)


def _finite(value: Any) -> Any:
    """The value, or None, JSON's null, for a float that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _import(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"logging to {package} needs it; install it with: pip install {package}") from None


class _Progress:
    def __init__(self, share_done: Callable[[], float]):
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
                             TimeRemainingColumn(), TextColumn("{task.fields[now]}"))
        self._share_done = share_done
        self._task = self._bar.add_task("training", total=1.0, now="")
        self._bar.start()

    def show(self, kind: str, line: Mapping[str, Any]) -> None:
        formatted = lambda name, form: "-" if line.get(name) is None else format(line[name], form)
        if kind == "update":
            self._bar.update(self._task, completed=self._share_done(),
                             now=f"{formatted('agent_steps_per_s', ',.0f')} steps/s, goal {formatted('goal', '.2f')}, "
                                 f"entropy {formatted('entropy', '.2f')}, kl {formatted('kl', '.4f')}")
        elif kind in ("random_policy", "evaluation") and "evaluator" not in line and "error" not in line:
            self._bar.console.print(f"{kind} at update {line['update']}: goal {formatted('goal', '.3f')}, "
                                    f"score {formatted('score', '.3f')}, collision {formatted('collision', '.3f')}, "
                                    f"offroad {formatted('offroad', '.3f')}", highlight=False,
                                    soft_wrap=True)
        elif kind == "evaluation" and "failure" not in line and "error" not in line:
            metrics = [(name, f"eval/{line['evaluator']}/{name}") for name in ("score", "goal", "collision", "offroad")]
            self._bar.console.print(f"evaluator {line['evaluator']} at update {line['update']}: " + ", ".join(
                f"{name} {formatted(key, '.3f')}" for name, key in metrics), highlight=False, soft_wrap=True)

    def close(self) -> None:
        self._bar.stop()
