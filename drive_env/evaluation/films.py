"""Which episodes of an evaluation are shown, and in which files? Those with the lowest scores, played again.

An episode follows from its scene, world id, seed, config and actions. The actions of the episodes with the lowest
scores are kept while the metrics are measured, so the very episode that was measured is shown, whatever the policy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..action_array import action_array
from ..batch import OUTCOMES, Batch
from ..errors import DriveError
from ..playing import play_trials
from ..policies import Act, MakeAct
from ..replay import Recorder
from ..whole_file import whole_file
from .episodes import Played
from .failures_page import FAILURES_PAGE, TableLine, failures_page
from .result import EvalResult, Failure, Render, films_folder
from .rows import Rows, joined
from .settings import EvaluatorConfig

FILM_LIMIT = 10
"""Most files that an evaluator writes in one evaluation."""

TIME_LIMIT_S = 60.0
"""No file is begun after this time in the films of an evaluation."""

NAME_CHARACTERS = 100
"""Longest part of a scene's name, from its end, in the name of a file: file systems allow 255 bytes."""

OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9.-]+")
"""Characters that names of files do not have; names of scenes may be paths."""

FILM_NAME = re.compile(r".+_u([0-9]+)_(replay|scene|follow)\.(html|mp4)")
"""Names of the files of an evaluator, with the number of the update."""

NOT_WRITTEN = (DriveError, OSError, ValueError)
"""Errors of a file, such as a full disk, by which the figures that were measured before must not be lost."""

Opened = Callable[[str, int], Batch]
"""Takes the group and the world id of an episode; makes a batch of this world alone."""


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


class Candidate(NamedTuple):
    """An episode that may be shown.

    Attributes:
        score, group, world: as in `ScoredEpisode`.
        half: 0 or 1, in which half of the scenes its scene is.
        actions: (steps, agents of a world, ...), those of the policy in its first steps.
    """

    score: float
    group: str
    world: int
    half: int
    actions: npt.NDArray[Any]


class Candidates:
    """The episodes with the lowest scores so far, and their actions.

    Args:
        config: of the evaluator, with its budgets.
    """

    def __init__(self, config: EvaluatorConfig) -> None:
        self._count, self._steps = min(config.render_scenes or 0, FILM_LIMIT), config.render_steps or 0
        self._kept: list[Candidate] = []
        self._actions: list[npt.NDArray[Any]] = []

    def logged(self, make_act: MakeAct) -> MakeAct:
        """`make_act` for policies whose actions are kept until the next batch is played."""
        def make(batch: Batch) -> Act:
            act, self._actions = make_act(batch), []

            def log(batch: Batch) -> np.ndarray:
                actions = act(batch)
                if len(self._actions) < self._steps:
                    self._actions.append(action_array(actions, batch.bound_actions).copy())
                return actions

            return log

        return make

    def add(self, part: Played, rows: Rows, half_of: Callable[[int], int]) -> None:
        """Adds the episodes of a batch, and drops those that cannot be shown any more.

        Args:
            rows: of the batch. half_of: takes a scene key and returns in which half of the scenes it is.
        """
        batch = part.batch
        actions = np.stack(self._actions)
        by_world = actions.reshape(len(actions), batch.num_worlds, batch.agents_per_world, *actions.shape[2:])
        place_of = {episode.world: place for place, episode in enumerate(part.episodes)}
        found = [*self._kept, *(
            Candidate(one.score, one.group, one.world, half_of(one.scene_key), by_world[:, place_of[one.world]])
            for one in scored_episodes(joined([rows])))]
        # Copies: a view would keep the actions of all worlds of the batch.
        self._kept = [one._replace(actions=one.actions.copy()) for half in (0, 1)
                      for one in sorted((one for one in found if one.half == half), key=_by_score)[: self._count]]

    def in_order(self, half: int | None) -> list[Candidate]:
        """The episodes to show, the lowest score first.

        Args:
            half: 0 or 1, which half of the scenes comes first; None: the halves make no difference.
        """
        return sorted(sorted(self._kept, key=_by_score), key=lambda one: half is not None and one.half != half)[
            : self._count]


def _by_score(one: Candidate) -> tuple[float, str, int]:
    return one.score, one.group, one.world


def with_films(result: EvalResult, config: EvaluatorConfig, candidates: Candidates, out: Path, update: int,
               opened: Opened) -> EvalResult:
    """Plays the episodes with the lowest scores again, writes them beside the result, and adds the files to it.

    Also writes a table of the episodes that links the files. A file that cannot be written is a failure of the result.

    Args:
        config: of the evaluator, with its budgets. out: the file of the result. update: of the training, else 0.
        opened: makes the batch of an episode.
    """
    # The films to make, in order.
    began, folder = time.perf_counter(), films_folder(out)
    episodes = {(episode.group, episode.world): episode for episode in scored_episodes(result.rows)}
    half = update // max(config.interval, 1) % 2 if config.render_rotates else None
    films = [(one, view) for one in candidates.in_order(half) for view in config.render_views]
    wanted = min(config.render_scenes or 0, len(episodes)) * len(config.render_views)

    # One file after the other, within the budgets.
    renders: list[Render] = []
    failures: list[Failure] = []
    names: set[str] = set()
    links: dict[tuple[str, int], dict[str, str]] = {}
    for one, view in films[:FILM_LIMIT]:
        if time.perf_counter() - began > TIME_LIMIT_S:
            break
        episode = episodes[one.group, one.world]
        path = folder / _file_name(episode.scene, update, view, names)
        file = path.relative_to(out.parent).as_posix()
        try:
            with opened(one.group, one.world) as batch:
                _write(batch, one.actions, view, episode.lowest_agent(result.rows), path)
        except NOT_WRITTEN as error:
            failures.append(_failure(file, error))
            continue
        renders.append(Render(file, view, episode.scene, one.group, one.world, config.seed, episode.score))
        links.setdefault((one.group, one.world), {})[view] = path.name

    # The files of earlier evaluations, and the table, with links to the files.
    lines = [TableLine(episode.score, episode.outcomes(result.rows), episode.scene, episode.group, episode.world,
                       links.get(place, {})) for place, episode in episodes.items()]
    tried = len(renders) + len(failures)
    try:
        drop_old_films(folder, [Path(render.file).name for render in renders], update, config.render_kept)
    except OSError as error:
        failures.append(Failure(f"the films in {folder}", f"{type(error).__name__}: {error}"))
    try:
        with whole_file(folder / FAILURES_PAGE) as beside:
            Path(beside).write_text(failures_page(result, lines), encoding="utf-8")
    except NOT_WRITTEN as error:
        failures.append(_failure(FAILURES_PAGE, error))
    render_s = time.perf_counter() - began
    return replace(
        result, renders=renders, renders_left=wanted - tried, failures=[*result.failures, *failures],
        seconds={**result.seconds, "total": result.seconds["total"] + render_s, "render": render_s})


def drop_old_films(folder: Path, names: Collection[str], update: int, kept: int | None) -> None:
    """Deletes the films of the evaluation that the present one replaces, and those of old ones. Other files remain.

    Args:
        folder: of the films of one evaluator.
        names: of the files of the present evaluation. update: its number; files with this number and other names are
            those of an evaluation that it replaces.
        kept: number of evaluations whose films remain, the present one included; None: all.

    Raises:
        OSError: the folder cannot be read, or a file cannot be deleted.
    """
    of_update: dict[int, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if found := FILM_NAME.fullmatch(path.name):
            of_update.setdefault(int(found[1]), []).append(path)
    dropped = [path for path in of_update.pop(update, ()) if path.name not in names]
    # By time and not by number: a training that was continued from an older checkpoint has smaller numbers again.
    by_time = sorted(of_update.values(), key=lambda paths: max(path.stat().st_mtime_ns for path in paths), reverse=True)
    for paths in [] if kept is None else by_time[kept - 1:]:
        dropped += paths
    for path in dropped:
        path.unlink()


def film_modules() -> tuple[Any, Any]:
    """The view and the writer of films; they import the packages of the extra `render`.

    Raises:
        MissingExtraError: a package is not installed.
    """
    from ..render.extra import need
    from ..render.film_episode import write_film
    from ..render.view import SceneView

    need("av")  # otherwise imported when a film has its first frame
    return SceneView, write_film


def check_views(config: EvaluatorConfig) -> None:
    """Checks that the views of an evaluator can be drawn.

    Raises:
        MissingExtraError: as from `film_modules`.
    """
    if config.render and set(config.render_views) != {"replay"}:
        film_modules()


def _failure(file: str, error: Exception) -> Failure:
    return Failure(f"the film {file}", f"{type(error).__name__}: {error}")


def _file_name(scene: str, update: int, view: str, names: set[str]) -> str:
    """A name that differs from all `names`, also where capital letters make no difference, and is added to them."""
    shown = OTHER_CHARACTERS.sub("_", scene)[-NAME_CHARACTERS:]
    extension = ".html" if view == "replay" else ".mp4"
    # Several episodes may have one scene.
    for number in range(1, len(names) + 2):
        name = f"{shown}{'' if number == 1 else f'_{number}'}_u{update}_{view}{extension}"
        if name.lower() not in names:
            break
    names.add(name.lower())
    return name


def _write(batch: Batch, actions: npt.NDArray[Any], view: str, agent: int, path: Path) -> None:
    """Plays the steps of an episode whose `actions` are known into a file."""
    # A world of a larger batch may have more slots than its scene has agents.
    following = iter(actions[:, : batch.num_agents])
    act = lambda: next(following)
    if view != "replay":
        scene_view, write_film = film_modules()
        write_film(batch, act, scene_view(batch, view=view, agent=agent), str(path), len(actions))
        return
    recorder = Recorder(batch)
    batch.reset()
    recorder.capture()
    for _ in islice(play_trials(batch, act, batch.config.max_trials), len(actions)):
        recorder.capture()
    recorder.recording().save_html(path)
