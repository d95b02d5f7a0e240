"""What did training runs learn, and how fast? Tables and a picture from the logs of `baselines.ppo`.

    python benchmarks/learning.py NAME=run/metrics.jsonl ... [--write docs/results.md]

Rates are those of the agents in training (moving averages over trials, docs/metrics.md); time is wall time since the
start of the first update, compilation included.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pages import put_measured, table

TIMES_S = (60, 120, 240)
"""When the rates of a run are reported."""

TIME_TOLERANCE = 1.01
"""Factor by which a time may be exceeded: a run with a time limit ends with an update that is complete after it."""

RATES = ("goal", "collision", "offroad")


def read(path: Path) -> list[dict]:
    """The updates of a run, each with the seconds since its start."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    seconds, before = 0.0, 0
    updates = []
    for line in lines:
        if line["kind"] != "update":
            continue
        seconds += (line["agent_steps"] - before) / line["agent_steps_per_s"]
        before = line["agent_steps"]
        updates.append({**line, "seconds": seconds})
    return updates


def at(updates: list[dict], seconds: float) -> dict:
    """The newest update at that time, within `TIME_TOLERANCE`."""
    return max((line for line in updates if line["seconds"] <= seconds * TIME_TOLERANCE),
               key=lambda line: line["seconds"])


def summary(runs: dict[str, list[dict]]) -> str:
    """A table of the rates and the speed of runs, by name; the speed is that of the second half."""
    head = ["run", *(f"{seconds} s: goal / collision / off-road" for seconds in TIMES_S), "agent-steps",
            "all agent-steps/s"]
    rows = []
    for name, updates in runs.items():
        cells = [" / ".join(f"{100 * at(updates, seconds)[rate]:.1f}%" for rate in RATES) for seconds in TIMES_S]
        late = updates[len(updates) // 2 :]
        speed = sum(line["env_steps_per_s"] for line in late) / len(late)
        rows.append([name, *cells, f"{updates[-1]['agent_steps'] / 1e6:.0f} M", f"{speed / 1e3:.0f} k"])
    return table(head, rows)


def draw(runs: dict[str, list[dict]], path: Path) -> None:
    """Draws each rate over time, one curve per run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.6), sharex=True, sharey=True, layout="constrained")
    for axis, rate in zip(axes, RATES):
        for name, updates in runs.items():
            axis.plot([line["seconds"] for line in updates], [100 * line[rate] for line in updates], label=name,
                      linewidth=1.2)
        axis.set(title={"offroad": "off-road"}.get(rate, rate), xlabel="seconds", ylim=(0, 100))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("% of trials")
    axes[1].legend(fontsize=7)
    figure.savefig(path, dpi=80)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="NAME=LOG", help="a name for the run, and its metrics.jsonl")
    parser.add_argument("--write", type=Path,
                        help="page whose measured part is replaced; a picture is written beside it")
    choices = parser.parse_args()
    runs = {name: read(Path(path)) for name, path in (run.split("=", 1) for run in choices.runs)}
    print(summary(runs))
    if choices.write:
        put_measured(choices.write, summary(runs))
        draw(runs, choices.write.with_suffix(".png"))


if __name__ == "__main__":
    main()
