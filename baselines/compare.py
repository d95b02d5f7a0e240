"""Which of several runs is better? A metric of each against agent-steps and time, with verdicts and config fields.

    python -m baselines.compare runs/a-0 runs/a-1 runs/b-0 runs/b-1     two configs with two seeds each
    python -m baselines.compare runs/* --evaluator held_out --metric score
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from .tools.interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.compare").install()

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tyro
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from drive_env.outputs import checked_file

from .tools.compared import (
    VERDICTS, RunCurve, cautions, differing, field_value, grouped, label_of, mean_and_spread, reached, read_run,
    verdict_of)

MAX_TABLE_COLUMNS = 1000
"""Number of characters that no line of a table exceeds."""


def as_table(groups: Sequence[Sequence[RunCurve]], labels: Sequence[str], metric: str) -> Table:
    """One row for each group: seeds, last value with its spread, verdicts, and what reaching each verdict took."""
    table = Table(box=SIMPLE)
    columns = ("runs", "seeds", f"last {metric}", "verdict", *(f"steps to {name}" for name, _ in VERDICTS[1:]),
               f"minutes to {VERDICTS[-1].name}")
    for column in columns:
        table.add_column(column, justify="left" if column in ("runs", "verdict") else "right", no_wrap=True)
    for label, group in zip(labels, groups, strict=True):
        last = np.array([run.values[-1] for run in group])
        counts = Counter(map(verdict_of, group))
        verdicts = ", ".join(name if count == len(group) else f"{name} {count}/{len(group)}"
                             for name, count in counts.items())
        table.add_row(label, ", ".join(str(run.seed) for run in group), _with_spread(last), verdicts,
                      *(_taken(group, "agent_steps", verdict.threshold, "{:,.0f}") for verdict in VERDICTS[1:]),
                      _taken(group, "minutes", VERDICTS[-1].threshold, "{:.1f}"))
    return table


def field_table(groups: Sequence[Sequence[RunCurve]], labels: Sequence[str]) -> Table:
    """The fields in which the configs of the groups differ, with the values of each group."""
    table = Table(title="differences of the configs", box=SIMPLE)
    for column in ("field", *labels):
        table.add_column(column, no_wrap=True)
    for name in differing(groups):
        table.add_row(name, *(str(field_value(group, name)) for group in groups))
    return table


def draw(groups: Sequence[Sequence[RunCurve]], labels: Sequence[str], metric: str, path: Path) -> None:
    """Draws the metric against agent-steps and against minutes: the mean of each group, with its spread over seeds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    by_steps, by_time = figure.subplots(1, 2, sharey=True)
    for axes, name, words in ((by_steps, "agent_steps", "agent steps"), (by_time, "minutes", "minutes of updates")):
        for index, (label, group) in enumerate(zip(labels, groups, strict=True)):
            x, mean, low, high = mean_and_spread([getattr(run, name) for run in group], [run.values for run in group])
            axes.plot(x, mean, "o-", markersize=3, color=f"C{index}", label=label)
            axes.fill_between(x, low, high, color=f"C{index}", alpha=0.15, linewidth=0)
        for verdict in VERDICTS[1:]:
            axes.axhline(verdict.threshold, color="black", linestyle=":", linewidth=0.8)
        axes.set_xlabel(words)
        axes.grid(alpha=0.3)
    by_steps.xaxis.set_major_formatter(EngFormatter(sep=""))
    by_steps.set_ylabel(metric)
    figure.legend(*by_steps.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False,
                  fontsize="small")
    figure.supxlabel("mean over seeds; bands: lowest to highest seed; dotted: thresholds of the verdicts",
                     fontsize="small")
    figure.savefig(path, dpi=110)


def picture_extensions() -> tuple[str, ...]:
    """The extensions of the pictures that can be drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return tuple(f".{kind}" for kind in FigureCanvasAgg.filetypes)


def _with_spread(values: np.ndarray) -> str:
    spread = f" [{values.min():.3f}, {values.max():.3f}]" if len(values) > 1 else ""
    return f"{values.mean():.3f}{spread}"


def _taken(group: Sequence[RunCurve], name: str, threshold: float, form: str) -> str:
    """The median over seeds of what reaching a threshold took, the upper of two; "-" unless most seeds reached it."""
    indices = [reached(run, threshold) for run in group]
    # A seed that never reached it counts as one that took longer than all others.
    taken = sorted(np.inf if index is None else getattr(run, name)[index]
                   for run, index in zip(group, indices, strict=True))
    median = taken[len(taken) // 2]
    return form.format(median) if np.isfinite(median) else "-"


def main() -> None:
    """The command: `python -m baselines.compare RUN...`."""

    def run(runs: tuple[Path, ...], metric: str = "goal", evaluator: str | None = None,
            out: Path = Path("comparison.png")) -> None:
        """Compares runs by their logs. Runs with the same config form one row and one curve, with a spread.

        Args:
            runs: folders of runs.
            metric: name of a metric of their evaluations.
            evaluator: the evaluator of run.evaluators that measured it; none: the evaluation on the training's scenes.
            out: the picture to write.
        """
        # The curves of the runs, in groups.
        try:
            if not runs:
                raise ValueError("RUNS is missing; it must be the folders of one or more runs")
            checked_file("--out", out, picture_extensions())
            groups = grouped([read_run(folder, metric, evaluator) for folder in runs])
        except (ValueError, OSError) as error:  # from a log or checkpoint; the message is one sentence
            sys.exit(f"baselines.compare: {error}")
        labels = [label_of(group, groups[0], number) for number, group in enumerate(groups, 1)]

        # The tables, and the picture.
        tables = [as_table(groups, labels, metric), *([field_table(groups, labels)] if len(groups) > 1 else [])]
        for table in tables:
            width = Console(width=MAX_TABLE_COLUMNS).measure(table).maximum
            Console(width=max(Console().width, width)).print(table)  # not cut in a narrow terminal or a pipe
        for sentence in cautions(groups):
            print(f"baselines.compare: {sentence}", file=sys.stderr)
        draw(groups, labels, metric, out)
        print(f"picture: {out}")

    tyro.cli(run, prog="python -m baselines.compare", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
