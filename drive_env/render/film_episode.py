"""How is an episode filmed in one call? One world, some trials, one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from ..batch import Batch
from ..config import ConfigSource
from ..drivers import LaneDriver
from ..errors import ConfigError, checked_path, plain, value_text
from ..names import named_arguments
from ..playing import Progress, actor, play_trials
from ..policies import Policy, config_of_episode, resolved
from ..reports import MetricValue
from ..scenes import Scenes
from .extensions import FILM_EXTENSIONS, SHEET_EXTENSIONS
from .film import contact_sheet, write_picture, write_video
from .view import SceneView

FILM_SIZE_PX, TILE_SIZE_PX = (1280, 720), (400, 300)

LEAST_FILM_FPS, FILM_FPS_LIMIT = 0.1, 100
"""Films of smaller time steps leave out frames."""

HOLD_S = 0.8
"""A film repeats the last frame of a trial for this long."""

SHEET_COLUMNS = 5

KEPT_PER_CHOSEN = 16
"""A trial keeps at most this many frames for each one on the sheet; those chosen are then nearly evenly spaced."""

FULL_BRAKE = np.array([[-1.0, 0.0]], np.float32)
"""A continuous action of one agent: throttle, steering."""


@named_arguments
def play(scenes: Scenes, path: str | os.PathLike, policy: Policy = "lane",
         agents: int | None = None, trials: int | None = None, seed: int = 0, view: str = "scene",
         agent: int = 0, size: tuple[int, int] | None = None, config: ConfigSource | None = None,
         progress: Progress | None = None, fps: float | None = None,
         agent_colours: bool = False) -> dict[str, MetricValue]:
    """Runs one episode and writes it as a film (".mp4", ".gif") or a contact sheet (".png").

    Args:
        scenes: as for `Batch`.
        path: an existing file is replaced.
        policy: as for `record`, but "replay" shows the log: all vehicles but one agent replay it or are static; that
            agent is rule-based, stops at its goal, and its events are ignored.
        agents: as `DriveConfig.agents_per_world`; not for "replay".
        trials: number of trials of the episode; None: `max_trials` of the config, which is that of the training for a
            trained policy without a `config`.
        seed: of the episode and of the random policy.
        view, agent, agent_colours: as for `SceneView`.
        size: of a frame, pixels; None: 1280 x 720 for films, and 400 x 300 for each picture of a sheet.
        config: all other fields of the config; None: as for `record`.
        progress: called after every step with the steps done and the largest possible number of steps.
        fps: frames per second of a film, which is in real time: at most one per step, so fewer leave out steps; None:
            one per step, but at most 100. Not for sheets.

    Returns:
        The metrics of the batch at the end.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
        MissingExtraError: the packages of the extra `render` are not installed.
    """
    path = checked_path(path, (*FILM_EXTENSIONS, *SHEET_EXTENSIONS))
    film = path.lower().endswith(FILM_EXTENSIONS)
    fps = _checked_fps(fps, film)
    policy = resolved(policy)
    config = _config(config, policy, agents, trials)
    with Batch(scenes, config=config, seed=seed, threads=1) as batch:
        act = _actor(batch, policy, seed)
        scene_view = SceneView(batch, size=size or (FILM_SIZE_PX if film else TILE_SIZE_PX), view=view, agent=agent,
                               agent_colours=agent_colours)
        if film:
            write_film(batch, act, scene_view, path, progress=progress, fps=fps)
        else:
            batch.reset()
            write_picture(_sheet(_frames(batch, act, scene_view, progress)), path)
        return batch.metrics()


def write_film(batch: Batch, act: Callable[[], np.ndarray], scene_view: SceneView, path: str,
               steps: int | None = None, progress: Progress | None = None, fps: float | None = None) -> None:
    """Plays the next episode of world 0 of a batch into a film in real time.

    Args:
        act: returns the actions of all agents.
        scene_view: of world 0.
        path: ".mp4" or ".gif"; an existing file is replaced.
        steps: after which the film is cut; None: at the end of the episode.
        progress, fps: as for `play`.

    Raises:
        ConfigError: the path has another extension.
        OSError: the file cannot be written.
    """
    batch.reset()
    frames = islice(_frames(batch, act, scene_view, progress), None if steps is None else steps + 1)
    dt_s = batch.roles[int(batch.scene_index[0])].dt_s
    # Steps shorter than a frame: keep every n-th, and the last of each trial.
    stride = max(1, round(1 / (dt_s * (FILM_FPS_LIMIT if fps is None else fps))))
    shown_fps = 1 / (dt_s * stride)
    write_video(_with_holds(_every_nth(frames, stride), round(HOLD_S * shown_fps)), path, fps=shown_fps)


def _checked_fps(fps, is_film):
    fps = plain(fps)
    if fps is None:
        return None
    if not is_film:
        raise ConfigError(f"fps is {value_text(fps)}; a sheet has no frames per second, so it must be None")
    if isinstance(fps, bool) or not isinstance(fps, (int, float)) or not LEAST_FILM_FPS <= fps <= FILM_FPS_LIMIT:
        raise ConfigError(f"fps is {value_text(fps)}; it must be a number from {LEAST_FILM_FPS:g} to {FILM_FPS_LIMIT}")
    return float(fps)


def _config(config, policy, agents, trials):
    if policy != "replay":
        return config_of_episode(config, policy, trials, agents)
    config, agents = config_of_episode(config, policy, trials, None), plain(agents)
    # The type comes first: a comparison with an array has no truth value.
    if agents is not None and not (isinstance(agents, int) and agents == 1):
        raise ConfigError(f"agents is {value_text(agents)}; policy 'replay' leaves one agent, so it must be 1 or None")
    # If an event stopped or removed the agent, the trial would end before the log.
    return config.replace(agents_per_world=1, others="replay", on_goal="ignore", on_collision="ignore",
                          on_offroad="ignore", action_type="continuous")


def _actor(batch, policy, seed):
    if policy != "replay":
        return actor(batch, policy, seed)
    driver = LaneDriver(batch)
    return lambda: FULL_BRAKE if batch.trial_state()["had_goal"][0] else driver.act_all()


def _frames(batch, act, scene_view, progress) -> Iterator[tuple[np.ndarray, bool]]:
    """The frames of one episode, and whether each is the last of its trial."""
    yield scene_view.frame(), False
    for ends_trial in play_trials(batch, act, batch.config.max_trials, progress):
        yield scene_view.frame(), ends_trial


def _every_nth(frames, n):
    for index, (frame, ends_trial) in enumerate(frames):
        if index % n == 0 or ends_trial:
            yield frame, ends_trial


def _with_holds(frames, hold_frames):
    for frame, ends_trial in frames:
        for _ in range(1 + hold_frames * ends_trial):
            yield frame


def _sheet(frames):
    """One row of frames per trial, evenly spaced from its first to its last."""
    selected, trial = [], _EvenlySpaced(SHEET_COLUMNS)
    for frame, ends_trial in frames:
        trial.add(frame)
        if ends_trial:
            selected += trial.selected(frame)
            trial = _EvenlySpaced(SHEET_COLUMNS)
    return contact_sheet(selected, SHEET_COLUMNS)


class _EvenlySpaced:
    """Evenly spaced frames of a trial of unknown length: when there are too many, every second one is dropped."""

    def __init__(self, count: int):
        self._count, self._stride, self._added = count, 1, 0
        self._kept: list[np.ndarray] = []

    def add(self, frame: np.ndarray) -> None:
        if self._added % self._stride == 0:
            self._kept.append(frame)
        self._added += 1
        if len(self._kept) > KEPT_PER_CHOSEN * self._count:
            self._kept = self._kept[::2]
            self._stride *= 2

    def selected(self, last: np.ndarray) -> list[np.ndarray]:
        indices = np.linspace(0, len(self._kept) - 1, self._count).round().astype(int)
        return [*(self._kept[index] for index in indices[:-1]), last]
