"""How does one record a policy in one call? One world, some episodes."""

from __future__ import annotations

import os

from ..batch import Batch
from ..config import ConfigSource, checked_config
from ..errors import checked_int, checked_path
from ..playing import Policy, Progress, actor, check_policy, play_trials
from ..scenes import Scenes
from .recorder import Recorder
from .recording import Recording


def record(scenes: Scenes = "town", policy: Policy = "lane", config: ConfigSource | None = None, seed: int = 0,
           episodes: int = 1, progress: Progress | None = None) -> Recording:
    """Plays a world and keeps what happened; `save_html` of the result writes the replay page.

    Args:
        scenes: as for `Batch`.
        policy: "lane" drives by rule, "random" draws actions. Or a function that is given the batch and
            returns actions for every agent; it is called once a step, also where the step is a restart.
        config: of the batch; `max_trials` says how many trials an episode has.
        seed: of the first episode and of the random policy.
        episodes: how many to play.
        progress: called after every step with the steps done and the most there can be.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
        ActionError: the policy returned what is no action.
    """
    check_policy(policy)
    episodes = checked_int("episodes", episodes, 1, 1_000_000)
    with Batch(scenes, config=config, seed=seed, threads=1) as batch:
        act, recorder = actor(batch, policy, seed), Recorder(batch)
        batch.reset()
        recorder.capture()
        for _ in play_trials(batch, act, episodes * batch.config.max_trials, progress):
            recorder.capture()
        return recorder.recording()


def write_replay(scenes: Scenes, path: str | os.PathLike, policy: Policy = "lane", trials: int = 1, seed: int = 0,
                 agents: int | None = None, config: ConfigSource | None = None,
                 progress: Progress | None = None) -> Recording:
    """Plays one episode and writes its replay page.

    Args:
        scenes, policy, seed, progress: as for `record`.
        path: of the page, ends in .html.
        trials: of the episode.
        agents: agents of the world, as `DriveConfig.agents_per_world`; None leaves that to the config.
        config: everything else.

    Raises:
        ConfigError, SceneError, ActionError: as for `record`, or the page cannot be written.
    """
    path = checked_path(path, (".html", ".htm"))
    config = checked_config(config).replace(max_trials=trials)
    if agents is not None:
        config = config.replace(agents_per_world=agents)
    recording = record(scenes, policy, config, seed, progress=progress)
    recording.save_html(path)
    return recording
