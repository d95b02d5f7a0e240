"""How is every episode of a list played exactly once, many worlds at a time?

Each episode has a world of its own, whose id is its place in the list. A world's draws depend on the seed and its id
alone, so an episode is the same in whichever batch or shard it is played.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..config import DriveConfig
from ..errors import ConfigError, SceneError
from ..policies import Act, MakeAct
from ..scenes import Scene

WORLDS_AT_ONCE = 64
"""Worlds of one batch: enough to keep the threads of a machine busy, few enough for its memory."""

STALL_FACTOR = 3
"""An episode that takes so many times the steps of its trials is stalled."""


@dataclass(frozen=True)
class Episode:
    """One episode to be played.

    Attributes:
        world: id of its world, different for all episodes.
        scene: the scene.
        scene_key: the same for all episodes of a scene, different for different scenes.
        group: name of the group in which its figures are also reported, "" for none.
    """

    world: int
    scene: Scene
    scene_key: int
    group: str = ""


class Probe:
    """Measures something while worlds are played; this one measures nothing."""

    def after_reset(self) -> None:
        """Called before the first step."""

    def after_step(self, playing: npt.NDArray[np.bool_]) -> None:
        """Called after each step; `playing`, (W,), are the worlds whose episode the step was part of."""

    def columns(self) -> dict[str, npt.NDArray[np.float32]]:
        """(R, trials) metrics by name: of each agent in each trial, NaN where there is none."""
        return {}


@dataclass
class Played:
    """What became of the episodes of a batch.

    Attributes:
        batch: it is closed when the next one is played.
        episodes: that of each world. records: the trial records of the complete ones.
        complete, stalled: (W,) bool, whether all trials ended, or took too long.
        probe: what measured the batch.
        agent_steps: steps in which an agent acted. play_s, policy_s: time of all steps, and in the policy.
    """

    batch: Batch
    episodes: Sequence[Episode]
    records: npt.NDArray[np.void]
    complete: npt.NDArray[np.bool_]
    stalled: npt.NDArray[np.bool_]
    probe: Probe
    agent_steps: int
    play_s: float
    policy_s: float


def played(episodes: Iterable[Episode], make_act: MakeAct, config: DriveConfig, seed: int, threads: int = 0,
           probe: Callable[[Batch], Probe] = lambda batch: Probe(),
           failed: Callable[[Episode, Exception], None] | None = None) -> Iterator[Played]:
    """Plays each episode once and yields batch after batch.

    Args:
        episodes: ascending by world, at least roughly: batches are made of consecutive ones.
        config: of the worlds; `scene_order` is set to "cycle".
        probe: makes what measures a batch.
        failed: called with an episode whose scene cannot be played under the config; None: its error is raised.
    """
    config, waiting = config.replace(scene_order="cycle"), []
    for episode in episodes:
        waiting.append(episode)
        if len(waiting) == WORLDS_AT_ONCE:
            yield from _played(waiting, make_act, config, seed, threads, probe, failed)
            waiting = []
    if waiting:
        yield from _played(waiting, make_act, config, seed, threads, probe, failed)


def _played(episodes, make_act, config, seed, threads, probe, failed):
    """The same in one batch, or in smaller ones that leave out what cannot be played."""
    worlds = [episode.world for episode in episodes]
    try:
        batch = Batch(_scene_list(episodes), num_worlds=len(worlds), config=config, seed=seed, threads=threads,
                      world_ids=np.array(worlds, np.int64), trial_records=config.max_trials)
    except (ConfigError, SceneError) as error:
        if failed is None:
            raise
        if len(episodes) == 1:
            failed(episodes[0], error)
            return
        half = len(episodes) // 2
        for part in (episodes[:half], episodes[half:]):
            yield from _played(part, make_act, config, seed, threads, probe, failed)
        return
    with batch:
        yield play_first_episodes(batch, make_act(batch), probe(batch), episodes)


def _scene_list(episodes: Sequence[Episode]) -> list[Scene]:
    """The list of scenes with which each world plays its own: with "cycle", that at its id modulo their number."""
    worlds = np.array([episode.world for episode in episodes], np.int64)
    length = len(worlds)
    while len(np.unique(worlds % length)) < len(worlds):
        length += 1
    scenes = [episodes[0].scene] * length  # of places between theirs, which no world plays
    for episode in episodes:
        scenes[episode.world % length] = episode.scene
    return scenes


def play_first_episodes(batch: Batch, act: Act, probe: Probe | None = None,
                        episodes: Sequence[Episode] = ()) -> Played:
    """Plays the next episode of every world; a world that is done earlier is stepped further, without being measured.
    """
    probe = probe or Probe()
    last_trial, first_agent = batch.config.max_trials - 1, np.arange(batch.num_worlds) * batch.agents_per_world
    began, policy_s, agent_steps, steps = time.perf_counter(), 0.0, 0, 0
    batch.reset()
    probe.after_reset()
    limit = STALL_FACTOR * batch.config.max_trials * np.array(
        [batch.roles[scene].trial_steps for scene in batch.scene_index])
    complete, playing = np.zeros((2, batch.num_worlds), bool)
    playing[:] = True
    while playing.any():
        before = time.perf_counter()
        actions = act(batch)
        policy_s += time.perf_counter() - before
        batch.step(actions)
        steps += 1
        agent_steps += int((~batch.invalid_step & playing[batch.world_of_agent]).sum())
        probe.after_step(playing)
        complete |= playing & batch.trial_ended[first_agent] & (batch.trial_index[first_agent] == last_trial)
        playing = ~complete & (steps < limit)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the records of later episodes are lost on purpose
        records = batch.trial_records()
    return Played(batch, episodes, records[complete[records["world"]]], complete, ~complete, probe, agent_steps,
                  time.perf_counter() - began, policy_s)


def first_episodes(batch: Batch, act: Act) -> npt.NDArray[np.void]:
    """The trial records of the next episode of every world, each world's once; the batch is reset before.

    Args:
        batch: holds the records of an episode: `Batch(trial_records=config.max_trials)`.
        act: returns the actions of all agents.

    Returns:
        (n,) records, as of `Batch.trial_records`.

    Raises:
        ConfigError: the batch holds no records.
        ActionError: `act` did not return actions.
    """
    return play_first_episodes(batch, act).records
