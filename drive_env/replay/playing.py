"""How does one record a policy in one call? One world, some episodes."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from ..batch import Batch
from ..config import DriveConfig
from ..drivers import LaneDriver, RandomDriver
from ..errors import ConfigError
from .recorder import Recorder
from .recording import Recording

POLICIES = ("lane", "random")

Policy = str | Callable[[Batch], np.ndarray]
Progress = Callable[[int, int], None]


def record(scenes="town", policy: Policy = "lane", config: DriveConfig | None = None, seed: int = 0,
           episodes: int = 1, progress: Progress | None = None) -> Recording:
    """Plays a world and keeps what happened; `save_html` of the result writes the replay page.

    Args:
        scenes: as for `Batch`.
        policy: "lane" drives by rule, "random" draws actions. Or a function that is given the batch and
            returns actions for every row; it is called once a step, also where the step is a restart.
        config: of the batch; `max_trials` says how many trials an episode has.
        seed: of the first episode and of the random policy.
        episodes: how many to play.
        progress: called after every step with the steps done and the most there can be.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
        ActionError: the policy returned what is no action.
    """
    _check(policy, episodes)
    with Batch(scenes, config=config, seed=seed, threads=1) as batch:
        act = _actor(batch, policy, seed)
        recorder, tally = Recorder(batch), _Tally(batch, episodes, progress)
        batch.reset()
        recorder.capture()
        while not tally.is_over:
            batch.step(act())
            recorder.capture()
            tally.count(bool(batch.trial_ended[0]))
        return recorder.recording()


def write_replay(scenes, path: str | os.PathLike, policy: Policy = "lane", trials: int = 1, seed: int = 0,
                 agents: int | None = None, config: DriveConfig | None = None,
                 progress: Progress | None = None) -> Recording:
    """Plays one episode and writes its replay page.

    Args:
        scenes, policy, seed, progress: as for `record`.
        path: of the page, ends in .html.
        trials: of the episode.
        agents: rows of the world, as `DriveConfig.agents_per_world`; None leaves that to the config.
        config: everything else.

    Raises:
        ConfigError, SceneError, ActionError: as for `record`, or the page cannot be written.
    """
    path = os.fspath(path)
    if not path.lower().endswith((".html", ".htm")):
        raise ConfigError(f"path is {path!r}; it must end in .html")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise ConfigError(f"path is {path!r}; there is no folder {folder!r}")
    config = (config or DriveConfig()).replace(max_trials=trials)
    if agents is not None:
        config = config.replace(agents_per_world=agents)
    recording = record(scenes, policy, config, seed, progress=progress)
    recording.save_html(path)
    return recording


class _Tally:
    """Counts the steps of some episodes, and says how far along they are."""

    def __init__(self, batch: Batch, episodes: int, progress: Progress | None):
        longest = max(cast.trial_steps for cast in batch.casts)
        self._calls_a_trial = longest + 1  # a restart is a step of its own
        self._trials = episodes * batch.config.max_trials
        self._ended = self._calls = 0
        self._progress = progress

    @property
    def is_over(self) -> bool:
        return self._ended == self._trials

    def count(self, ended: bool) -> None:
        self._ended += ended
        self._calls = 0 if ended else self._calls + 1
        if self._progress:
            # Trials that end early leave steps out.
            most = self._trials * self._calls_a_trial - 1
            self._progress(min(self._ended * self._calls_a_trial + self._calls, most), most)


def _check(policy, episodes):
    if not callable(policy) and policy not in POLICIES:
        offered = ", ".join(map(repr, POLICIES))
        raise ConfigError(f"policy is {policy!r}; it must be a function or one of {offered}")
    if isinstance(episodes, bool) or not isinstance(episodes, (int, np.integer)) or episodes < 1:
        raise ConfigError(f"episodes is {episodes!r}; it must be a whole number of 1 or more")


def _actor(batch, policy, seed):
    if callable(policy):
        return lambda: policy(batch)
    return (RandomDriver(batch, seed) if policy == "random" else LaneDriver(batch)).act_all
