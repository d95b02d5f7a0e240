"""How is a policy recorded in one call? One world, some episodes."""

from __future__ import annotations

import os

from ..batch import Batch
from ..config import ConfigSource
from ..errors import checked_int, checked_path
from ..names import named_arguments
from ..own_reward import RewardFunction
from ..playing import Progress, actor, play_trials
from ..policies import Policy, config_of_episode, config_or_trained, resolved
from ..scenes import Scenes
from .recorder import Recorder
from .recording import Recording

PAGE_EXTENSIONS = (".html", ".htm")
"""Those that the file of a replay page may have."""

@named_arguments
def record(scenes: Scenes = "town", policy: Policy = "lane", config: ConfigSource | None = None, seed: int = 0,
           episodes: int = 1, progress: Progress | None = None, reward: RewardFunction | str | None = None
           ) -> Recording:
    """Runs a policy in one world and records it; `save_html` of the result writes the replay page.

    Args:
        scenes: as for `Batch`.
        policy: one of `drive_env.policies.POLICIES`, such as "lane"; "package.module:name" of a function; the folder of
            a checkpoint; or a function from the batch to the actions of all agents. It is called once per step, also
            for restart steps; its method `reset(mask)`, if it has one, with the agents whose episode begins.
        config: of the batch; an episode has `max_trials` trials. None: of a checkpoint that of its training, else the
            default.
        seed: of the first episode and of the random policy.
        episodes: number of episodes.
        progress: called after every step with the steps done and the largest possible number of steps.
        reward: as for `Batch`.

    Raises:
        ConfigError, SceneError: an argument is out of its range.
        ActionError: the policy did not return actions.
    """
    policy = resolved(policy)
    config = config_or_trained(config, policy)
    episodes = checked_int("episodes", episodes, 1, 1_000_000)
    with Batch(scenes, config=config, seed=seed, threads=1, reward=reward) as batch:
        act, recorder = actor(batch, policy, seed), Recorder(batch)
        batch.reset()
        recorder.capture()
        for _ in play_trials(batch, act, episodes * batch.config.max_trials, progress):
            recorder.capture()
        return recorder.recording()


@named_arguments
def write_replay(scenes: Scenes, path: str | os.PathLike, policy: Policy = "lane", trials: int | None = None,
                 seed: int = 0, agents: int | None = None, config: ConfigSource | None = None,
                 progress: Progress | None = None, reward: RewardFunction | str | None = None) -> Recording:
    """Runs one episode and writes its replay page.

    Args:
        scenes, policy, seed, progress, reward: as for `record`.
        path: of the page; it ends in .html or .htm.
        trials: number of trials of the episode; None: `max_trials` of the config, which is that of the training for a
            trained policy without a `config`.
        agents: as `DriveConfig.agents_per_world`; None: that of the config.
        config: all other fields of the config; None: as for `record`.

    Raises:
        ConfigError, SceneError, ActionError: as for `record`, or the page cannot be written.
    """
    path = checked_path(path, PAGE_EXTENSIONS)
    policy = resolved(policy)
    config = config_of_episode(config, policy, trials, agents)
    recording = record(scenes, policy, config, seed, progress=progress, reward=reward)
    recording.save_html(path)
    return recording
