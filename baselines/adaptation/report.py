"""How are the scores of an ablation reported? As a table, as JSON data, and as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.table import Table

from .scores import Estimate, Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OPTIMAL = "optimal, {}"
"""The name of the row of an optimal policy, by what it knows of earlier trials."""


def as_table(title: str, policies: Mapping[str, Scores], optimal: Mapping[str, Sequence[float]]) -> Table:
    """One row for each policy and each optimum, with 95% intervals."""
    trials = max(scores.trials for scores in policies.values())
    table = Table(title=title, box=SIMPLE)
    table.add_column("policy", no_wrap=True)
    for name in (*(f"trial {trial}" for trial in range(trials)), "last - first", "memory's share", "n"):
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


def draw_scores(policies: Mapping[str, Scores], optimal: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draws the score of each trial with its interval, by policy, and the optima as dashed lines."""
    with _picture(path) as axes:
        for index, (name, scores) in enumerate(policies.items()):
            found = [scores.of_trial(trial) for trial in range(scores.trials)]
            # Beside each other, so that equal scores are seen.
            x = [trial + 0.04 * (index - len(policies) / 2) for trial in range(scores.trials)]
            ends = [[one.value - one.low for one in found], [one.high - one.value for one in found]]
            axes.errorbar(x, [one.value for one in found], ends, marker="o", markersize=4, capsize=2, label=name)
        for style, (knowledge, scores) in zip(("--", "-.", ":"), optimal.items()):
            axes.plot(range(len(scores)), scores, style, color="black", linewidth=1,
                      label=OPTIMAL.format(knowledge.replace("_", " ")))
        axes.set_xticks(range(max(scores.trials for scores in policies.values())))
        axes.set_xlabel("trial")


def draw_training(points: Sequence[tuple[int, Mapping[str, Scores]]], optimal: Mapping[str, Sequence[float]],
                  path: Path) -> None:
    """Draws how the score of each trial develops in a training, by policy, and the optima with memory as dotted lines.

    Args:
        points: of each checkpoint its agent-steps and scores, by the names of two policies.
    """
    from matplotlib.ticker import EngFormatter

    steps = [agent_steps for agent_steps, _ in points]
    with _picture(path) as axes:
        # One colour per trial, one style per policy.
        for trial in range(next(iter(points[0][1].values())).trials):
            for style, name in zip(("-", "--"), points[0][1]):
                found = [policies[name].of_trial(trial) for _, policies in points]
                axes.plot(steps, [one.value for one in found], style, color=f"C{trial}", label=f"trial {trial}, {name}")
                axes.fill_between(steps, [one.low for one in found], [one.high for one in found], color=f"C{trial}",
                                  alpha=0.15, linewidth=0)
            if optimal:
                axes.axhline(optimal["memory"][trial], color=f"C{trial}", linestyle=":", linewidth=1)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel("agent steps")


@contextmanager
def _picture(path: Path) -> Iterator[Axes]:
    """Axes with scores on the vertical one; they are completed and written to the file at the end of the context."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    yield axes
    axes.set_ylabel("score")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(path, dpi=110)
