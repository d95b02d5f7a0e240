"""What does the demo show of trials? A policy that finds a hidden exit by trying, with its memory and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..batch import OUTCOMES, Batch
from ..config import DriveConfig
from ..evaluation import first_episodes
from ..evaluation.films import film_modules
from ..evaluation.sources import HELD_OUT_SEED
from ..playing import play_trials
from ..policies import MakeAct, load_policy
from ..replay import Recorder
from ..replay.trials import Trial
from ..scenes import Scene
from ..tasks import hidden_exit
from . import show

POLICY = "hidden_exit"

SCENES = 64
"""Number of scenes, all outside the training; one episode is played on each."""

EXITS = ("right", "middle", "left")
"""Names of the exits from the view of the driver, in the order of the candidate goals of a scene."""

FILES = ("trials.mp4", "trials.html")
"""The film and the page of the episode in the folder of `--out`."""

FILM_SIZE_PX = (960, 540)
"""Size of the films of the demo, which takes half as long to draw as the default."""


class Play(NamedTuple):
    """A world, the actions of its only agent in an episode, (steps, 1, ...), and its score in each trial."""

    scene: Scene
    world: int
    actions: np.ndarray
    scores: np.ndarray


def run(seed: int, out: Path | None) -> None:
    """Plays the policy on the scenes, prints its scores and one of its episodes, and films that one into `out`."""
    policy = load_policy(POLICY)
    config = policy.config.replace(scene_order="cycle")
    task = hidden_exit(trials=config.max_trials, seeds=range(HELD_OUT_SEED, HELD_OUT_SEED + SCENES))
    full, wiped = (plays(task.scenes, make_act, config, seed)
                   for make_act in (policy.for_batch, policy.ablated["wiped"]))
    show.heading("the same scene again: trials of a hidden exit")
    show.lines(f"One of {len(EXITS)} exits is the goal: the same one in all trials of an episode, and never observed.\n"
               f"{show.plural(len(full), 'episode')} of the trained policy {POLICY}, on scenes that it was not trained "
               "on;\nfor comparison its memory is emptied before each trial")
    columns = [*(np.mean([one.scores for one in found], 0) for found in (full, wiped)), task.optimal_scores["memory"]]
    show.table("scores", ["mean over episodes", POLICY, "memory emptied", "optimum with memory"], [
        [f"score in trial {trial + 1}", *(f"{scores[trial]:.2f}" for scores in columns)]
        for trial in range(config.max_trials)])
    report_episode(instructive(full), config, seed, out)


def report_episode(play: Play, config: DriveConfig, seed: int, out: Path | None) -> None:
    """Plays an episode again, prints what happens in its trials, and writes its film and page into `out`."""
    with again(play, config, seed) as (batch, act):
        recorder = Recorder(batch)
        batch.reset()
        recorder.capture()
        for _ in play_trials(batch, act, config.max_trials):
            recorder.capture()
        recording = recorder.recording()
    show.heading(f"one of these episodes: scene {play.scene.name}")
    show.lines("\n".join(f"trial {trial.index + 1}: {exit_text(trial, play.scene, config)}"
                         for trial in recording.trials))
    if out is None:
        return
    film, page = (out / name for name in FILES)
    SceneView, write_film = film_modules()
    with again(play, config, seed) as (batch, act):
        write_film(batch, act, SceneView(batch, size=FILM_SIZE_PX), str(film))
    recording.save_html(page)
    show.lines(f"{film}: this episode; the solid ring is the goal, dashed rings are the other exits\n"
               f"{page}: the same, open it in a browser")


def plays(scenes: tuple[Scene, ...], make_act: MakeAct, config: DriveConfig, seed: int) -> list[Play]:
    """An episode of a policy on each scene."""
    actions: list[np.ndarray] = []
    with Batch(scenes, num_worlds=len(scenes), config=config, seed=seed, threads=1,
               trial_records=config.max_trials) as batch:
        act = make_act(batch)

        def logged(batch: Batch) -> np.ndarray:
            actions.append(act(batch).copy())
            return actions[-1]

        records = first_episodes(batch, logged)
    taken, scores = np.stack(actions), np.zeros((len(scenes), config.max_trials))
    scores[records["world"], records["trial"]] = records["score"]
    return [Play(scene, world, taken[:, world: world + 1], scores[world])
            for world, scene in enumerate(scenes)]


def instructive(found: list[Play]) -> Play:
    """The first episode with a failure in the first trial, a success in the last one, and the fewest successes."""
    return min(found, key=lambda one: (one.scores[0] > 0 or one.scores[-1] == 0, one.scores.sum()))


@contextmanager
def again(play: Play, config: DriveConfig, seed: int) -> Iterator[tuple[Batch, Callable[[], np.ndarray]]]:
    """A batch with this world alone, and a function that returns the actions of its episode, step by step."""
    with Batch(play.scene, num_worlds=1, config=config, seed=seed, threads=1, world_ids=[play.world]) as batch:
        yield batch, iter(play.actions).__next__


def exit_text(trial: Trial, scene: Scene, config: DriveConfig) -> str:
    """Which exit the agent drives to, as a text: the one whose goal it comes closest to, if that is close enough."""
    path_m = np.stack([trial.x_m[:, 0], trial.y_m[:, 0]], -1)[trial.present[:, 0]]
    distance_m = np.linalg.norm(path_m[:, None] - scene.candidate_goals_m, axis=-1).min(0)
    exit_, outcome = EXITS[int(distance_m.argmin())], OUTCOMES[trial.outcome.max()]
    if outcome == "goal":
        return f"the {exit_} exit, which is the goal"
    return f"the {exit_} exit, which is wrong" if distance_m.min() <= config.goal_radius_m else f"no exit: {outcome}"
