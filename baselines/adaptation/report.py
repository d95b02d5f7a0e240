"""How are the scores of an ablation reported? As a table, as JSON data, and as pictures.

Tables and pictures count trials from 1; arrays, JSON data and the names of metrics count them from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.table import Table

from .scores import Estimate, Scores
from .training import RunScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OPTIMAL = "optimal, {}"
"""The name of the row of an optimal policy, by what it knows of earlier trials."""


def as_table(title: str, policies: Mapping[str, Scores], optimal: Mapping[str, Sequence[float]]) -> Table:
    """One row for each policy and each optimum, with 95% intervals."""
    trials = max(scores.trials for scores in policies.values())
    table = Table(title=title, box=SIMPLE)
    table.add_column("policy", no_wrap=True)
    for name in (*(f"trial {trial + 1}" for trial in range(trials)), "last - first", "memory's share", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, found in as_data(policies, optimal).items():
        cells = [*found["scores"], *[None] * (trials - len(found["scores"])), found["gain"], found["memory_share"]]
        table.add_row(name, *map(_formatted, cells), str(found["scores"][0]["n"]))
    for knowledge, scores in optimal.items():
        table.add_row(OPTIMAL.format(knowledge.replace("_", " ")), *(f"{score:.3f}" for score in scores),
                      f"{scores[-1] - scores[0]:.3f}", "", "")
    return table


def _formatted(found: dict[str, float] | None) -> str:
    return f"{found['value']:.3f} [{found['low']:.2f}, {found['high']:.2f}]" if found else ""


def as_data(policies: Mapping[str, Scores], optimal: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """By policy: `scores` of each trial, `gain` from the first trial to the last, `memory_share` in the last, and
    `minus_full`, the difference of each trial's score to the policy `full`; an estimate or None each."""
    data = lambda estimate: asdict(estimate) if isinstance(estimate, Estimate) else None
    found = {}
    for name, scores in policies.items():
        last, full = scores.trials - 1, policies["full"]
        is_comparable = scores.trials == full.trials
        found[name] = {
            "scores": [data(scores.of_trial(trial)) for trial in range(scores.trials)],
            "gain": data(scores.gain(last)) if last else None,
            "memory_share": data(scores.memory_share(last, optimal)) if optimal and is_comparable else None,
            "minus_full": [data(scores.excess(full, trial)) for trial in range(min(scores.trials, full.trials))]}
    return found


def draw_scores(policies: Mapping[str, Mapping[str, Any]], optimal: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draws the score of each trial with its interval, by policy, and the optima as dashed lines.

    Args:
        policies: of `as_data`.
    """
    with _picture(path) as (axes,):
        for index, (name, found) in enumerate(policies.items()):
            scores = found["scores"]
            # Beside each other, so that equal scores are seen.
            x = [trial + 0.04 * (index - (len(policies) - 1) / 2) for trial in range(1, len(scores) + 1)]
            ends = [[one["value"] - one["low"] for one in scores], [one["high"] - one["value"] for one in scores]]
            axes.errorbar(x, [one["value"] for one in scores], ends, marker="o", markersize=4, capsize=2, label=name)
        for style, (knowledge, optimum) in zip(("--", "-.", ":"), optimal.items()):
            axes.plot(range(1, len(optimum) + 1), optimum, style, color="black", linewidth=1,
                      label=OPTIMAL.format(knowledge.replace("_", " ")))
        axes.set_xticks(range(1, max(len(found["scores"]) for found in policies.values()) + 1))
        axes.set_xlabel("trial")


def draw_training(points: Sequence[tuple[int, Mapping[str, Scores]]], optimal: Mapping[str, Sequence[float]],
                  path: Path) -> None:
    """Draws how the score of each trial develops in a training, by policy, and the optima with memory as dotted lines.

    Args:
        points: of each checkpoint its agent-steps and scores, by the names of two policies.
    """
    from matplotlib.ticker import EngFormatter

    steps = [agent_steps for agent_steps, _ in points]
    with _picture(path) as (axes,):
        # One colour per trial, one style per policy.
        for trial in range(next(iter(points[0][1].values())).trials):
            for style, name in zip(("-", "--"), points[0][1]):
                found = [policies[name].of_trial(trial) for _, policies in points]
                axes.plot(steps, [one.value for one in found], style, color=f"C{trial}",
                          label=f"trial {trial + 1}, {name}")
                axes.fill_between(steps, [one.low for one in found], [one.high for one in found], color=f"C{trial}",
                                  alpha=0.15, linewidth=0)
            if optimal:
                axes.axhline(optimal["memory"][trial], color=f"C{trial}", linestyle=":", linewidth=1)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel("agent steps")


def draw_runs(trainings: Sequence[Sequence[RunScores]], path: Path) -> None:
    """Draws how the score of each trial develops over the runs of trainings, each of which is a panel.

    The optima with memory, where they are known for a run, are dotted lines.

    Args:
        trainings: the runs of each, in their order; their agent-steps add up.
    """
    from matplotlib.ticker import EngFormatter

    with _picture(path, len(trainings)) as all_axes:
        for axes, runs in zip(all_axes, trainings, strict=True):
            start = 0
            for number, run in enumerate(runs):
                end = start + int(run.agent_steps[-1])
                for trial, scores in enumerate(run.scores.T):
                    axes.plot(start + run.agent_steps, scores, color=f"C{trial}",
                              label=None if number else f"trial {trial + 1}")
                    if run.optimal:
                        axes.plot([start, end], [run.optimal[trial]] * 2, ":", color=f"C{trial}")
                # The name of the run above its part, and a line where the next one begins.
                axes.text((start + end) / 2, 1.04, run.name, ha="center", va="bottom", rotation=20, fontsize="x-small")
                if number:
                    axes.axvline(start, color="black", linewidth=0.8)
                start = end
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
            axes.set_xlabel(f"agent steps, seed {runs[0].seed}")


@contextmanager
def _picture(path: Path, panels: int = 1) -> Iterator[Sequence[Axes]]:
    """Axes beside each other, with scores on the vertical one; they are completed and written to the file at the end of
    the context."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8 + 4 * (panels - 1), 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
    yield all_axes
    all_axes[0].set_ylabel("score")
    all_axes[0].set_ylim(-0.02, 1.02)
    for axes in all_axes:
        axes.grid(alpha=0.3)
    all_axes[-1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(path, dpi=110)
