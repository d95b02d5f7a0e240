"""How many goals does a plain PPO reach after 1, 3 and 5 minutes on the first task and the harder ones?

    python benchmarks/first_task.py                        # 30 minutes on a quiet machine with two cores
    python benchmarks/first_task.py --levels 3 --jobs 1    # the harder ones too, one run at a time
    python benchmarks/first_task.py --write                # and writes the tables of the pages

Each run is a process of its own that trains as `examples/first_task.py` does, on one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pages import put_measured, table

from drive_env.api.ladder import LADDER

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/first_task.md", "docs/clients/gymnasium.md", "docs/clients/cleanrl.md",
         "docs/clients/sb3.md")
LIBRARIES = {"cleanrl": "CleanRL's `ppo.py`", "sb3": "stable-baselines3's `PPO`"}
ONE_RUN = ("import json, sys, torch; torch.set_num_threads(1); sys.path.insert(0, {folder!r}); import first_task; "
           "print(json.dumps(first_task.run({library!r}, {env_id!r}, {seed}, {minutes})))")


def measure(library: str, env_id: str, seed: int, minutes: Sequence[float]) -> list[list[float]]:
    """One run in a process of its own: (minutes, steps, seconds, share of goals) of each evaluation.

    Raises:
        RuntimeError: the process failed.
    """
    code = ONE_RUN.format(folder=str(ROOT / "examples"), library=library, env_id=env_id, seed=seed,
                          minutes=list(minutes))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode:
        raise RuntimeError(f"the run of {library} on {env_id} with seed {seed} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def span(values: Sequence[float], form: str) -> str:
    """The range of values, or one value where all look the same."""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def row(library: str, env_id: str, runs: Sequence[Sequence[Sequence[float]]]) -> list[str]:
    """The ranges over the runs of one learner on one env, one cell for each evaluation, then the steps of the last."""
    goals = [span([100.0 * found[3] for found in at], "{:.0f}") + "%" for at in zip(*runs, strict=True)]
    return [f"`{env_id}`", LIBRARIES[library], *goals, span([run[-1][1] / 1e3 for run in runs], "{:.0f}") + " k"]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", type=int, default=1, choices=range(1, len(LADDER) + 1),
                        help="how many envs, from the easiest on")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--minutes", type=float, nargs="+", default=[1.0, 3.0, 5.0])
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time; each needs a core of its own")
    parser.add_argument("--write", action="store_true", help="write the table into " + ", ".join(PAGES))
    options = parser.parse_args()

    # All runs, then a row for each env and learner.
    pairs = [(library, level.id) for level in LADDER[:options.levels] for library in options.libraries]
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = {pair: [pool.submit(measure, *pair, seed, options.minutes) for seed in options.seeds] for pair in pairs}
        rows = [row(*pair, [run.result() for run in runs[pair]]) for pair in pairs]
    head = ["env", "PPO", *(f"{minutes:g} min" for minutes in options.minutes), "steps"]
    measured = table(head, rows)
    print(measured)
    if options.write:
        for page in PAGES:
            put_measured(ROOT / page, measured, "first task")


if __name__ == "__main__":
    main()
