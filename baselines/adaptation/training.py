"""How did the score of each trial develop over the runs of a training? By their logs, run by run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..tools.checkpoint import about, checkpoints, config_of, newest
from ..tools.checkpoint_config import WEIGHTS
from ..tools.log_file import LOG, read_lines
from .scores import optimal_curves

TRIAL_SCORE = "trial_{}_score"
"""The metric of a log; trials are counted from 0."""


class RunScores(NamedTuple):
    """The scores of one run.

    Attributes:
        name: of its folder. seed: `run.seed`.
        agent_steps: (n,) at its updates. scores: (n, trials), moving averages over the trials of all agents.
        optimal: the optimum with memory in each trial; empty where it is not known.
    """

    name: str
    seed: int
    agent_steps: np.ndarray
    scores: np.ndarray
    optimal: tuple[float, ...]


def read_trainings(folders: Sequence[Path]) -> list[list[RunScores]]:
    """The runs of each training; a run belongs to that of the run before it if it began with a checkpoint of that run.

    Raises:
        ValueError: a folder has no run, its log or newest checkpoint is damaged, or its episodes have one trial.
    """
    found: list[list[RunScores]] = []
    for before, folder in zip([None, *folders], folders):
        run = read_scores(folder)
        if before is not None and _follows(folder, before):
            found[-1].append(run)
        else:
            found.append([run])
    return found


def read_scores(folder: Path) -> RunScores:
    """The scores of the run in a folder; raises as `read_trainings`."""
    config, lines = config_of(newest(folder)), read_lines(folder / LOG)
    names = [TRIAL_SCORE.format(trial) for trial in range(config.env.drive.max_trials)]
    if len(names) == 1:
        raise ValueError(f"{os.fspath(folder)!r} has max_trials 1; it must have 2 or more trials in an episode")
    points = [(line["agent_steps"], *(line[name] for name in names)) for line in lines
              if line["kind"] == "update" and all(line.get(name) is not None for name in names)]
    if not points:
        raise ValueError(f"{os.fspath(folder)!r} has no update in which every trial has ended; its log has "
                         f"{len(lines)} lines")
    agent_steps, *scores = np.array(points, np.float64).T
    optimal = optimal_curves(config.env, []).get("memory", ())
    return RunScores(folder.resolve().name, config.run.seed, agent_steps, np.stack(scores, 1), optimal)


def _follows(folder: Path, before: Path) -> bool:
    """Whether a run began with a checkpoint of another one, which may have been moved since then."""
    starts = (line for line in read_lines(folder / LOG) if line["kind"] == "start")
    started_with = next(starts, {}).get("parent_sha256")
    return started_with in [about(path)["files"][WEIGHTS] for path in checkpoints(before)]
