"""How do the metrics of a run develop? Curves over agent-steps, as one picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .same_settings import parts

CURVES = (("goal", "score", "collision", "offroad"), ("reward",), ("entropy",), ("value_all_explained",),
          ("kl", "clipped"), ("grad_norm",))
"""The metrics of each panel."""

PER_TRIAL = ("trial_{}_score", "entropy_trial_{}", "value_trial_{}_explained", "advantage_trial_{}_std")
"""The metrics of further panels, with one curve per trial, where an episode has several trials."""

OF_TRIAL = re.compile(r"_?trial_(\d+)_?")
"""The part of a metric's name with the trial, counted from 0; the picture counts from 1."""


OF_EVALUATOR = CURVES[0]
"""The metrics of the panel of each evaluator of `run.evaluators`."""


def panels_of(lines: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """The metrics of each panel for the lines of a log."""
    trials = 0
    while any(PER_TRIAL[0].format(trials) in line for line in lines):
        trials += 1
    evaluators = dict.fromkeys(line["evaluator"] for line in lines if "evaluator" in line)
    return [*CURVES, *(tuple(map(name.format, range(trials))) for name in PER_TRIAL if trials > 1),
            *(tuple(f"eval/{name}/{metric}" for metric in OF_EVALUATOR) for name in evaluators)]


def words_of(name: str) -> tuple[str, str]:
    """The name of a metric in the legend of its panel, and the label of the axis where the legend names trials."""
    trial = OF_TRIAL.search(name)
    if not trial:
        return name.replace("_", " "), ""
    return f"trial {int(trial[1]) + 1}", OF_TRIAL.sub("_", name).strip("_").replace("_", " ")


def _draw_evaluator(axes: Any, found: list[list[Any]], name: str, colour: str) -> None:
    """Draws a figure of an evaluator: a curve for each part of the log with equal settings, and lines between them."""
    label: str | None = name.rpartition("/")[2]
    axes.set_ylabel(name.split("/")[1])
    for before, part in zip([[], *found], found):
        dots = [(line["agent_steps"], line[name], line.get(f"{name}_ci95")) for line in part
                if line.get(name) is not None]
        if dots:
            axes.plot(*zip(*(dot[:2] for dot in dots)), "o-", color=colour, markersize=3, label=label)
            label = None
        if before and part:
            axes.axvline((before[-1]["agent_steps"] + part[0]["agent_steps"]) / 2, color="black", linestyle=":",
                         linewidth=0.8)
        if intervals := [(at, *ends) for at, _, ends in dots if ends]:
            axes.fill_between(*zip(*intervals), color=colour, alpha=0.15, linewidth=0)


def draw_curves(lines: list[dict[str, Any]], path: Path) -> None:
    """Draws the lines of a log: updates as curves, evaluations as dots, the random policy as a dashed line, and the
    evaluators of `run.evaluators` as curves with intervals, in panels of their own, cut by a dotted line where a run
    was resumed with other settings of the evaluator."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    # The panels, and the points of a metric in lines of a kind.
    panels = panels_of(lines)
    of_evaluators = {name for line in lines if "evaluator" in line for name in line}
    columns = (len(panels) + 1) // 2
    figure = Figure(figsize=(13 / 3 * columns, 7), layout="constrained")
    FigureCanvasAgg(figure)
    points = lambda found, name: [(line["agent_steps"], line[name]) for line in found if line.get(name) is not None]
    of_kind = lambda kind, name: points((line for line in lines if line["kind"] == kind), name)
    all_axes = figure.subplots(2, columns).flat
    for axes in all_axes[len(panels):]:
        axes.axis("off")
    for axes, names in zip(all_axes, panels):
        # One colour per metric.
        for index, name in enumerate(names):
            colour = f"C{index}"
            if curve := of_kind("update", name):
                label, quantity = words_of(name)
                axes.plot(*zip(*curve), color=colour, label=label)
                axes.set_ylabel(quantity)
            if name not in of_evaluators:
                if dots := of_kind("evaluation", name):
                    axes.plot(*zip(*dots), "o", color=colour)
            else:
                _draw_evaluator(axes, parts(lines, name.split("/")[1]), name, colour)
            for _, value in of_kind("random_policy", name)[:1]:
                axes.axhline(value, color=colour, linestyle="--", linewidth=1)
        # Axes and legend.
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel("agent steps")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
        axes.grid(alpha=0.3)
    figure.suptitle("lines: training; dots: evaluation on every scene; dashed: random policy"
                    + ("; with bands: evaluators" if of_evaluators else ""), fontsize="medium")
    figure.savefig(path, dpi=80)
