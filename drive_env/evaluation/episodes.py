"""How is every episode of a list played exactly once, many worlds at a time?

Each episode has a world of its own, with an id that no other episode has. The draws of a world depend on the seed and
its id alone, so an episode is the same in every batch and shard.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..config import DriveConfig
from ..errors import ConfigError, SceneError
from ..playing import actions_of
from ..policies import Act, MakeAct
from ..scenes import Scene
from ..trial_records import held_records

WORLDS_AT_ONCE = 64
"""Number of worlds of a batch: enough to keep all threads of a machine busy, few enough to fit its memory."""

STALL_FACTOR = 3
"""An episode that has not ended after this many times the steps of its trials is stalled."""


@dataclass(frozen=True)
class Episode:
    """One episode to be played.

    Attributes:
        world: id of its world, different for all episodes.
        scene: the scene.
        scene_key: number of the scene: the same for all of its episodes, different for different scenes.
        group: name of the group in whose figures the episode counts, too; "" for none.
        source: name of the source of the scene, such as its file.
    """

    world: int
    scene: Scene
    scene_key: int
    group: str = ""
    source: str = ""


class Probe:
    """Measures metrics while a batch is played. This base class measures none."""

    def after_reset(self) -> None:
        """Called before the first step."""

    def after_step(self, playing: npt.NDArray[np.bool_]) -> None:
        """Called after each step. `playing`: (W,) bool, the worlds whose episode had not ended before the step."""

    def columns(self) -> dict[str, npt.NDArray[np.float32]]:
        """Metrics by name: (R, trials) float32, one value per agent and trial, NaN where there is none."""
        return {}


@dataclass
class Played:
    """The outcome of the episodes of a batch.

    Attributes:
        batch: open until the next batch is played.
        episodes: one per world. records: the trial records of the complete episodes.
        complete, stalled: (W,) bool, whether all trials of the episode ended; whether they did not within the limit.
        probe: the probe of the batch.
        agent_steps: number of steps in which an agent acted, summed over agents.
        play_s, policy_s: wall time of the whole batch, and of the policy: each call counts by the share of worlds whose
            episode had not ended.
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
           failed: Callable[[Episode, Exception], None] | None = None,
           worlds_at_once: int | None = None) -> Iterator[Played]:
    """Plays each episode once and yields the batches as they are done.

    Args:
        episodes: batches consist of consecutive ones, so their world ids should be close to each other.
        make_act: makes the policy of a batch.
        config: of the worlds; `scene_order` is set to "cycle".
        seed, threads: as for `Batch`.
        probe: makes the probe of a batch.
        failed: called with each episode whose scene cannot be played under the config, and with the error; None: the
            error is raised.
        worlds_at_once: number of consecutive episodes in a batch; None: `WORLDS_AT_ONCE`.
    """
    config, waiting = config.replace(scene_order="cycle"), []
    for episode in episodes:
        waiting.append(episode)
        if len(waiting) == (worlds_at_once or WORLDS_AT_ONCE):
            yield from _played(waiting, make_act, config, seed, threads, probe, failed)
            waiting = []
    if waiting:
        yield from _played(waiting, make_act, config, seed, threads, probe, failed)


def _played(episodes, make_act, config, seed, threads, probe, failed):
    """`played` in one batch; if it cannot be made, in two parts, down to the single episodes that fail."""
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
        half = _half(episodes)
        for part in (episodes[:half], episodes[half:]):
            yield from _played(part, make_act, config, seed, threads, probe, failed)
        return
    with batch:
        yield play_first_episodes(batch, make_act(batch), probe(batch), episodes)


def _half(episodes: Sequence[Episode]) -> int:
    """The length of the first of two parts, about a half; the episodes of a scene stay together if there are others."""
    middle = len(episodes) // 2
    starts = [place for place in range(1, len(episodes)) if episodes[place].scene is not episodes[place - 1].scene]
    return min(starts, key=lambda place: abs(place - middle), default=middle)


def _scene_list(episodes: Sequence[Episode]) -> list[Scene]:
    """The list of scenes with which each world plays the scene of its episode under the `scene_order` "cycle".

    A world then plays the scene at its id modulo the length: the smallest length without two ids at one place.
    """
    worlds = np.array([episode.world for episode in episodes], np.int64)
    length = len(worlds)
    while len(np.unique(worlds % length)) < len(worlds):
        length += 1
    scenes = [episodes[0].scene] * length  # fills the places that no world plays
    for episode in episodes:
        scenes[episode.world % length] = episode.scene
    return scenes


def play_first_episodes(batch: Batch, act: Act, probe: Probe | None = None,
                        episodes: Sequence[Episode] = ()) -> Played:
    """Plays the next episode of every world. A world that ends early is stepped on, but no longer measured.

    Raises:
        ActionError: `act` did not return actions. CallError: it has stepped or reset the batch itself.
    """
    probe = probe or Probe()
    last_trial, first_agent = batch.config.max_trials - 1, np.arange(batch.num_worlds) * batch.agents_per_world
    began, policy_s, agent_steps, steps = time.perf_counter(), 0.0, 0, 0
    # A world may take as long as its own scene allows.
    batch.reset()
    probe.after_reset()
    limit = STALL_FACTOR * batch.config.max_trials * np.array(
        [batch.roles[scene].trial_steps for scene in batch.scene_index])
    complete, playing = np.zeros((2, batch.num_worlds), bool)
    playing[:] = True

    # Until every world has ended its last trial, or is stalled.
    while playing.any():
        before = time.perf_counter()
        actions = actions_of(act, batch)
        policy_s += (time.perf_counter() - before) * float(playing.mean())  # it also acts where the episode has ended
        batch.step(actions)
        steps += 1
        agent_steps += int((~batch.invalid_step & playing[batch.world_of_agent]).sum())
        probe.after_step(playing)
        complete |= playing & batch.trial_ended[first_agent] & (batch.trial_index[first_agent] == last_trial)
        playing = ~complete & (steps < limit)

    # A world stores the records of one episode; those of a later one, into which it was stepped on, are dropped
    # without a warning. The filters of `warnings` belong to the whole process, so other threads would miss theirs.
    records = held_records(batch._core, clear=True, warns=False)
    return Played(batch, episodes, records[complete[records["world"]]], complete, ~complete, probe, agent_steps,
                  time.perf_counter() - began, policy_s)


def first_episodes(batch: Batch, act: Act) -> npt.NDArray[np.void]:
    """Resets the batch, plays one episode in every world, and returns the trial records of these episodes.

    Args:
        batch: holds the records of an episode: `Batch(trial_records=config.max_trials)`.
        act: returns the actions of all agents.

    Returns:
        (n,) records, as from `Batch.trial_records`; none of worlds that are stalled.

    Raises:
        ConfigError: the batch holds no records.
        ActionError: `act` did not return actions. CallError: it has stepped or reset the batch itself.
    """
    return play_first_episodes(batch, act).records
