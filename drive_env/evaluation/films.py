"""Which episodes of an evaluation are shown, and in which files? Those with the lowest scores, played again.

An episode follows from its scene, world id, seed and config, so the one that is shown is the one that was measured; if
the actions of a policy depend on more than that, `Render.exact` is False.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..batch import OUTCOMES, Batch
from ..errors import DriveError
from ..playing import play_trials
from ..policies import Act
from ..replay import Recorder
from .failures_page import FAILURES_PAGE, TableLine, failures_page
from .result import EvalResult, Failure, Render, films_folder
from .rows import Rows
from .settings import EvaluatorConfig

FILM_LIMIT = 10
"""Most files that an evaluator writes in one evaluation."""

TIME_LIMIT_S = 60.0
"""No file is begun after this time in the films of an evaluation."""

NAME_CHARACTERS = 100
"""Longest part of a scene's name, from its end, in the name of a file: file systems allow 255 bytes."""

OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9.-]+")
"""Characters that names of files do not have; names of scenes may be paths."""

Opened = Callable[[str, int], AbstractContextManager[tuple[Batch, Act]]]
"""Takes the group and the world id of an episode; opens a batch of this world alone, and its policy."""


class ScoredEpisode(NamedTuple):
    """An episode with rows.

    Attributes:
        group, world: which identify it. scene, scene_key: of its scene.
        score: mean over its rows.
        rows: its part of the rows of the result.
    """

    group: str
    world: int
    scene: str
    scene_key: int
    score: float
    rows: slice

    def outcomes(self, rows: Rows) -> dict[str, int]:
        """The number of trials of each outcome that occurs, failures before goals."""
        found = rows["outcome"][self.rows].tolist()
        return {name: found.count(name) for name in (*OUTCOMES[2:], OUTCOMES[1]) if name in found}

    def lowest_agent(self, rows: Rows) -> int:
        """The agent of the trial with the lowest score, the first of equal ones."""
        return int(rows["agent"][self.rows][rows["score"][self.rows].argmin()])


def scored_episodes(rows: Rows) -> list[ScoredEpisode]:
    """All episodes with rows: the lowest score first, equal scores in the order of groups and worlds."""
    groups, worlds = rows["group"].astype(str), rows["world"]
    if not len(worlds):
        return []
    # The rows of an episode are consecutive.
    is_first = (groups[1:] != groups[:-1]) | (worlds[1:] != worlds[:-1])
    starts = [0, *(np.flatnonzero(is_first) + 1).tolist()]
    found = [ScoredEpisode(str(groups[start]), int(worlds[start]), str(rows["scene"][start]),
                           int(rows["scene_key"][start]), float(rows["score"][start:end].mean(dtype=np.float64)),
                           slice(start, end))
             for start, end in zip(starts, [*starts[1:], len(worlds)], strict=True)]
    return sorted(found, key=lambda episode: episode.score)


def preferred(episodes: Sequence[ScoredEpisode], half: int | None) -> list[ScoredEpisode]:
    """The episodes with those of every second scene first, otherwise in the same order.

    Args:
        half: 0 or 1, which of the two halves of the scenes comes first; None: the order is unchanged.
    """
    places = {key: place for place, key in enumerate(sorted({episode.scene_key for episode in episodes}))}
    return sorted(episodes, key=lambda episode: half is not None and places[episode.scene_key] % 2 != half)


def with_films(result: EvalResult, config: EvaluatorConfig, out: Path, update: int, opened: Opened) -> EvalResult:
    """Plays the episodes with the lowest scores again, writes them beside the result, and adds the files to it.

    Also writes a table of the episodes that links the files. A file that cannot be written is a failure of the result.

    Args:
        config: of the evaluator, with its budgets. out: the file of the result. update: of the training, else 0.
        opened: opens an episode.
    """
    began, folder = time.perf_counter(), films_folder(out)
    episodes = scored_episodes(result.rows)
    half = update // max(config.interval, 1) % 2 if config.render_rotates else None
    films = [(episode, view) for episode in preferred(episodes, half)[: config.render_scenes]
             for view in config.render_views]

    # One file after the other, within the budgets.
    renders: list[Render] = []
    failures: list[Failure] = []
    names: set[str] = set()
    links: dict[tuple[str, int], dict[str, str]] = {}
    for episode, view in films[:FILM_LIMIT]:
        if time.perf_counter() - began > TIME_LIMIT_S:
            break
        path = folder / _file_name(episode.scene, update, view, names)
        file = path.relative_to(out.parent).as_posix()
        try:
            with opened(episode.group, episode.world) as (batch, act):
                _write(batch, act, view, episode.lowest_agent(result.rows), config.render_steps, path)
                exact = _is_exact(batch.trial_records(), result.rows, episode.rows)
        except (DriveError, OSError) as error:  # the figures are measured already, and must not be lost
            failures.append(Failure(f"the film {file}", f"{type(error).__name__}: {error}"))
            continue
        renders.append(Render(file, view, episode.scene, episode.group, episode.world, config.seed, episode.score,
                              exact))
        links.setdefault((episode.group, episode.world), {})[view] = path.name

    # The table, with links to the files.
    lines = [TableLine(episode.score, episode.outcomes(result.rows), episode.scene, episode.group, episode.world,
                       links.get((episode.group, episode.world), {})) for episode in episodes]
    (folder / FAILURES_PAGE).write_text(failures_page(result, lines), encoding="utf-8")
    render_s = time.perf_counter() - began
    return replace(
        result, renders=renders, renders_left=len(films) - len(renders) - len(failures),
        failures=[*result.failures, *failures],
        seconds={**result.seconds, "total": result.seconds["total"] + render_s, "render": render_s})


def film_modules() -> tuple[Any, Any]:
    """The view and the writer of films; they import the packages of the extra `render`.

    Raises:
        MissingExtraError: a package is not installed.
    """
    from ..render.film_episode import write_film
    from ..render.view import SceneView

    return SceneView, write_film


def _file_name(scene: str, update: int, view: str, names: set[str]) -> str:
    """A name that is not among `names`, to which it is added."""
    shown = OTHER_CHARACTERS.sub("_", scene)[-NAME_CHARACTERS:]
    extension = ".html" if view == "replay" else ".mp4"
    # Several episodes may have one scene.
    for number in range(1, len(names) + 2):
        name = f"{shown}{'' if number == 1 else f'_{number}'}_u{update}_{view}{extension}"
        if name not in names:
            break
    names.add(name)
    return name


def _write(batch: Batch, act: Act, view: str, agent: int, steps: int | None, path: Path) -> None:
    """Plays an episode, or its first steps, into a file."""
    if view != "replay":
        scene_view, write_film = film_modules()
        write_film(batch, lambda: act(batch), scene_view(batch, view=view, agent=agent), str(path), steps)
        return
    recorder = Recorder(batch)
    batch.reset()
    recorder.capture()
    for _ in islice(play_trials(batch, lambda: act(batch), batch.config.max_trials), steps):
        recorder.capture()
    recorder.recording().save_html(path)


def _is_exact(records: npt.NDArray[np.void], rows: Rows, part: slice) -> bool:
    """Whether the trials that ended have the outcomes and the scores, to the bit, of the rows in `part`."""
    shown = {(record["agent"], record["trial"]): (OUTCOMES[record["outcome"]], record["score"].tobytes())
             for record in records}
    measured = {(agent, trial): (outcome, score.tobytes()) for agent, trial, outcome, score in zip(
        *(rows[name][part] for name in ("agent", "trial", "outcome", "score")), strict=True)}
    return all(shown.get(key, trial) == trial for key, trial in measured.items())
