"""What is told of a run? Figures of an update, lines of a log, progress, curves."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from drive_env import Figure

from .dist import Ranks
from .lines import LOG, append, begin_at
from .segment import Segment

LEFT_EDGES = (5, 20, 50, 100)
"""Steps to the time limit at which the bins of the value's figures begin and end."""


def segment_figures(segment: Segment, returns: Tensor, trials: int, ranks: Ranks) -> dict[str, Tensor]:
    """Rates, and how well values foretold returns, by the distance to the time limit and by trial; on the device.

    Args:
        returns: (R, T). trials: of an episode.
    """
    kept = segment.kept
    agents = torch.tensor(float(kept.numel()), device=kept.device, dtype=torch.float64)
    flags = torch.stack([getattr(segment, name).sum() for name in (
        "terminations", "truncations", "truncation", "trial_ended")]).double()
    edges = torch.tensor(LEFT_EDGES, device=kept.device)
    by_left = _value_sums(torch.bucketize(segment.steps_left, edges, right=True), len(LEFT_EDGES) + 1, segment, returns)
    by_trial = _value_sums(segment.trial_index.long(), trials, segment, returns)
    packed = ranks.sum(torch.cat([agents[None], flags, by_left.flatten(), by_trial.flatten()]))
    agents, flags = packed[0], packed[1:5]
    by_left, by_trial = (part.view(-1, 5) for part in packed[5:].split([by_left.numel(), by_trial.numel()]))

    figures = {"kept_share": by_left[:, 0].sum() / agents}
    for index, name in enumerate(("termination", "truncation_of_episode", "truncation", "trial_end")):
        figures[f"{name}_rate"] = flags[index] / agents
    figures |= _value_figures("value_all", by_left.sum(0))
    names = [f"left_{low}_{high}" for low, high in zip((0, *LEFT_EDGES), (*LEFT_EDGES, "up"))]
    for name, sums in zip(names, by_left):
        figures |= _value_figures(f"value_{name}", sums)
    for trial, sums in enumerate(by_trial):
        figures |= _value_figures(f"value_trial_{trial}", sums)
    return figures


def _value_sums(index: Tensor, bins: int, segment: Segment, returns: Tensor) -> Tensor:
    """(bins, 5): over the kept steps of each bin the count, and the sums of R, R^2, R - V, (R - V)^2."""
    kept = segment.kept
    error = torch.where(kept, returns - segment.values, 0.0).double()
    wide = torch.where(kept, returns, 0.0).double()
    parts = torch.stack([kept.double(), wide, wide.square(), error, error.square()], -1)
    index = torch.where(kept, index, 0).flatten()
    return torch.zeros(bins, 5, dtype=torch.float64, device=kept.device).index_add_(0, index, parts.flatten(0, 1))


def _value_figures(name: str, sums: Tensor) -> dict[str, Tensor]:
    count, total, square, error, error_square = sums
    spread = square / count - (total / count).square()
    explained = 1 - (error_square / count - (error / count).square()) / spread
    return {f"{name}_count": count, f"{name}_loss": 0.5 * error_square / count, f"{name}_explained": explained}


def to_floats(figures: Mapping[str, Tensor]) -> dict[str, float]:
    """All figures in one copy from the device."""
    return dict(zip(figures, torch.stack([figure.double() for figure in figures.values()]).tolist()))


def with_counts(report: Mapping[str, Figure]) -> dict[str, float]:
    """What a line holds of a report of the env: each figure, and as `<name>_n` over how many agents it is the mean."""
    values = {name: figure.value for name, figure in report.items()}
    return values | {f"{name}_n": figure.n for name, figure in report.items()}


class Log:
    """Writes what a run does: JSON lines always, the rest where asked.

    Args:
        folder: of the run. mute: of a rank that does not lead. resumed: the update to go on behind; later lines go.
    """

    def __init__(self, folder: Path, mute: bool, resumed: int = 0, tensorboard: bool = False, wandb: bool = False,
                 progress: bool = True, total_steps: int = 0, config: dict | None = None):
        self._mute, self._file, self._board, self._wandb, self._progress = mute, None, None, None, None
        if mute:
            return
        board = _wanted("torch.utils.tensorboard", "tensorboard") if tensorboard else None
        weights_and_biases = _wanted("wandb", "wandb") if wandb else None
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / LOG
        if cut := begin_at(path, resumed):
            report(f"line {cut} of {str(path)!r} breaks off; it is dropped")
        self._file = path.open("ab", buffering=0)
        if board:
            self._board = board.SummaryWriter(str(folder))
        if weights_and_biases:
            self._wandb = weights_and_biases.init(dir=str(folder), config=config)
        if progress:
            self._progress = _Progress(total_steps)

    def write(self, kind: str, counters: Mapping[str, int], figures: Mapping[str, Any]) -> None:
        """One line; `kind` says of what. An error among the figures is also reported on stderr.

        Raises:
            OSError: the disk is full.
        """
        if self._mute:
            return
        line = {"kind": kind, **counters, **{name: _plain(value) for name, value in figures.items()}}
        append(self._file, line)
        if "error" in line:
            report(f"{kind} at update {line['update']} failed: {line['error'].strip()}")
        numbers = {f"{kind}/{name}": value for name, value in line.items() if isinstance(value, float)}
        if self._board:
            for name, value in numbers.items():
                self._board.add_scalar(name, value, counters["agent_steps"])
        if self._wandb:
            self._wandb.log(numbers | dict(counters))
        if self._progress:
            self._progress.show(kind, line)

    def close(self) -> None:
        for part in (self._file, self._board, self._progress):
            if part:
                part.close()
        if self._wandb:
            self._wandb.finish()


def report(text: str) -> None:
    """One line on stderr; a progress bar moves out of its way."""
    print(f"baselines: {text}", file=sys.stderr, flush=True)


def _plain(value: Any) -> Any:
    """What JSON can hold: a figure that has no value is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _wanted(module: str, package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"logging to {package} needs it; install it with: pip install {package}") from None


class _Progress:
    def __init__(self, total_steps: int):
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
                             TimeRemainingColumn(), TextColumn("{task.fields[now]}"))
        self._task = self._bar.add_task("training", total=total_steps, now="")
        self._bar.start()

    def show(self, kind: str, line: Mapping[str, Any]) -> None:
        said = lambda name, form: "-" if line.get(name) is None else format(line[name], form)
        if kind == "update":
            self._bar.update(self._task, completed=line["agent_steps"],
                             now=f"{said('agent_steps_per_s', ',.0f')} steps/s, goal {said('goal', '.2f')}, "
                                 f"entropy {said('entropy', '.2f')}, kl {said('kl', '.4f')}")
        elif "error" not in line:
            self._bar.console.print(f"{kind} at update {line['update']}: goal {said('goal', '.3f')}, "
                                    f"score {said('score', '.3f')}, collision {said('collision', '.3f')}, "
                                    f"offroad {said('offroad', '.3f')}", highlight=False)

    def close(self) -> None:
        self._bar.stop()


class Stopwatch:
    """Shares of time by name: `lap` books what passed since the last one."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now

    def take(self) -> dict[str, float]:
        """Seconds since the last call, by name."""
        taken, self.seconds = self.seconds, {}
        return taken


CURVES = (("goal", "score", "collision", "offroad"), ("reward",), ("entropy",), ("value_all_explained",),
          ("kl", "clipped"), ("grad_norm",))


def draw_curves(lines: list[dict[str, Any]], path: Path) -> None:
    """Curves of a run over its agent steps; evaluations are dots, random play a dashed line."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(13, 7), layout="constrained")
    FigureCanvasAgg(figure)
    of = lambda kind, name: [(line["agent_steps"], line[name]) for line in lines
                             if line["kind"] == kind and line.get(name) is not None]
    for axes, names in zip(figure.subplots(2, 3).flat, CURVES):
        for index, name in enumerate(names):
            colour = f"C{index}"
            if curve := of("update", name):
                axes.plot(*zip(*curve), color=colour, label=name.replace("_", " "))
            if dots := of("evaluation", name):
                axes.plot(*zip(*dots), "o", color=colour)
            for _, value in of("chance", name)[:1]:
                axes.axhline(value, color=colour, linestyle="--", linewidth=1)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel("agent steps")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
        axes.grid(alpha=0.3)
    figure.suptitle("lines: while training; dots: evaluation on every scene; dashed: random play", fontsize="medium")
    figure.savefig(path, dpi=80)
