"""What can be seen in a minute? The town and a scene of yours, played by chance and by rule."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..api.parallel import DriveParallelEnv, parallel_env
from ..config import DriveConfig
from ..drivers import LaneDriver, RandomDriver
from ..reports import Figure
from ..scenes import Scene
from ..scenes.resolve import is_generator
from . import looking, show
from .inspection import find_scene

TRIALS = 2
SCENE_AGENTS = 32

SHOWN_SHARE = 0.01
"""Parts that take less of the time than this are shown together."""

FIGURES = (
    ("score", "score: goal without infraction", "{:.2f}"),
    ("goal", "goal", "{:.2f}"),
    ("collision", "collision", "{:.2f}"),
    ("offroad", "off-road", "{:.2f}"),
    ("timeout", "timeout", "{:.2f}"),
    ("trial_length", "trial length, steps", "{:.0f}"),
    ("distance_m", "distance, m", "{:.1f}"),
    ("mean_speed_mps", "mean speed, m/s", "{:.1f}"),
    ("reward", "reward", "{:+.2f}"),
    ("trial_0_score", "score in trial 0", "{:.2f}"),
    ("trial_1_score", "score in trial 1", "{:.2f}"),
    ("trials", "trials recorded", "{:.0f}"),
)
"""Figures of `Batch.metrics`, how the table calls them and how many digits they get."""


class Played(NamedTuple):
    """What some episodes of one driver came to."""

    driver: str
    metrics: dict[str, Figure]
    agent_steps: int
    driver_s: float
    face_s: float
    phase_s: dict[str, float]


def run(scene_name: str | None, episodes: int, seed: int, out: Path | None) -> None:
    own_scene, title = None, ""
    if scene_name is not None:
        own_scene = find_scene(scene_name, seed, SCENE_AGENTS)
        title = own_scene.source if is_generator(scene_name) else scene_name
    if out is not None:
        looking.prepare(out)
    show.lines(show.machine())
    play_and_report("town: 64 generated towns, drawn at random", "town", episodes, seed)
    if own_scene is not None:
        play_and_report(title, own_scene, episodes, seed)
    show.lines("\nThe array API, Batch, does without the dicts; drive-env bench measures it.")
    if out is not None:
        show.heading("to look at: an episode by the lane driver")
        name = scene_name or "town"
        looking.play(name, out / "episode.mp4", "lane", None, TRIALS, seed, "scene", 0)
        looking.replay(name, out / "episode.html", "lane", None, TRIALS, seed)


def play_and_report(title: str, scenes: str | Scene, episodes: int, seed: int) -> None:
    config = DriveConfig(max_trials=TRIALS)
    played = []
    with show.progress() as bars:
        for name, driver in (("random actions", RandomDriver), ("lane driver", LaneDriver)):
            bar = bars.add_task(name, total=episodes)
            env = parallel_env(scenes, config)
            played.append(play(env, name, driver(env.batch), episodes, seed, partial(bars.advance, bar)))
            env.close()
            roles = env.batch.roles[0]
    show.heading(title)
    show.lines(f"{show.some(episodes, 'episode')} of {TRIALS} trials for each driver; "
               f"{show.some(len(env.possible_agents), 'agent')}, "
               f"trials of {roles.trial_steps} steps of {roles.dt_s:g} s")
    report_metrics(played)
    report_time(played)


def play(env: DriveParallelEnv, name: str, driver: RandomDriver | LaneDriver, episodes: int, seed: int,
         count_episode: Callable[[], None]) -> Played:
    """Plays the episodes of a seed; what is timed belongs to the driver or to the env."""
    agent_steps, driver_s, env_s = 0, 0.0, 0.0
    env.batch.phase_times(True)
    for episode in range(episodes):
        env.reset(seed=seed if episode == 0 else None)
        while env.agents:
            begin = time.perf_counter()
            actions = dict(zip(env.possible_agents, driver.act(), strict=True))
            middle = time.perf_counter()
            *_, infos = env.step(actions)
            end = time.perf_counter()
            driver_s += middle - begin
            env_s += end - middle
            agent_steps += sum(not info["invalid_step"] for info in infos.values())
        count_episode()
    phase_s = env.batch.phase_times(False)
    face_s = env_s - sum(phase_s.values())
    return Played(name, env.batch.metrics(), agent_steps, driver_s, face_s, phase_s)


def report_metrics(played: list[Played]) -> None:
    agents = []
    for name, label, form in FIGURES:
        figures = [one.metrics[name] for one in played]
        agents.append([label, *(form.format(figure.value) if figure.n else "-" for figure in figures)])
    show.table("how they drove", ["mean over agents", *(one.driver for one in played)], agents)


def report_time(played: list[Played]) -> None:
    spent = [{"Python dicts": one.face_s} | {f"core: {phase}": s for phase, s in one.phase_s.items()}
             for one in played]
    totals = [sum(parts.values()) for parts in spent]
    names = sorted(spent[0], key=lambda name: -sum(parts[name] for parts in spent))
    shown = [name for name in names
             if any(parts[name] >= SHOWN_SHARE * total for parts, total in zip(spent, totals, strict=True))]
    for parts in spent:
        parts["all else"] = sum(seconds for name, seconds in parts.items() if name not in shown)

    def agent(label: str, cell: Callable[[Played, dict[str, float], float], str]) -> list[str]:
        return [label, *map(cell, played, spent, totals)]

    def share_of(name: str) -> Callable[[Played, dict[str, float], float], str]:
        return lambda one, parts, total: f"{100 * parts[name] / total:.1f}%"

    show.table("where the time of the env went", ["", *(one.driver for one in played)], [
        agent("agent-steps/s", lambda one, parts, total: show.count(one.agent_steps / total)),
        *(agent(f"  {name}", share_of(name)) for name in [*shown, "all else"]),
        agent("us an agent-step", lambda one, parts, total: f"{1e6 * total / one.agent_steps:.2f}"),
        agent("us the driver took for it",
            lambda one, parts, total: f"{1e6 * one.driver_s / one.agent_steps:.2f}"),
    ])
