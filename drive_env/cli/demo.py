"""What does the demo show? The town and another scene, played by a random and by a rule-based driver; then trials."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..api.parallel import DriveParallelEnv, parallel_env
from ..config import DriveConfig
from ..drivers import LaneDriver, RandomDriver
from ..reports import MetricValue
from ..scenes import Scene
from ..scenes.resolve import is_generator, resolve_scenes
from . import show, trials_demo, visuals

TRIALS = 2
CONFIG = DriveConfig(max_trials=TRIALS)

FILM_SIZE = "x".join(map(str, trials_demo.FILM_SIZE_PX))

FILES = ("episode.mp4", "episode.html")
"""The film and the page of the scene in the folder of `--out`."""

SEPARATE_SHARE = 0.01
"""Phases with a smaller share of the time are combined."""

METRICS = (
    ("score", "score: goal without infraction", "{:.2f}"),
    ("goal", "goal", "{:.2f}"),
    ("collision", "collision", "{:.2f}"),
    ("offroad", "off-road", "{:.2f}"),
    ("timeout", "timeout", "{:.2f}"),
    ("trial_length", "trial length, steps", "{:.0f}"),
    ("distance_m", "distance, m", "{:.1f}"),
    ("mean_speed_mps", "mean speed, m/s", "{:.1f}"),
    ("reward", "reward", "{:+.2f}"),
    ("trial_0_score", "score in trial 1", "{:.2f}"),
    ("trial_1_score", "score in trial 2", "{:.2f}"),
    ("trials", "trials recorded", "{:.0f}"),
)
"""Names in `Batch.metrics`, labels in the table, formats."""


class DriverResults(NamedTuple):
    """Results of some episodes of one driver."""

    driver: str
    metrics: dict[str, MetricValue]
    agent_steps: int
    driver_s: float
    api_s: float
    phase_s: dict[str, float]


def run(scene_name: str | None, episodes: int, seed: int, out: Path | None) -> None:
    """Plays the town, the scene, if one is named, and trials; films the last of the scenes and the trials into `out`.
    """
    if out is not None:
        visuals.check_folder(out, (*FILES, *trials_demo.FILES))
    own_scenes, title = None, ""
    if scene_name is not None:
        own_scenes = resolve_scenes(scene_name, seeds=[seed])
        title = own_scenes[0].source if is_generator(scene_name) else scene_name
        if len(own_scenes) > 1:
            title += f": {len(own_scenes)} scenes, drawn at random"
        parallel_env(own_scenes, CONFIG).close()  # an error before anything is played
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    show.lines(show.machine())
    play_and_report("town: 64 generated towns, drawn at random", "town", episodes, seed)
    if own_scenes is not None:
        play_and_report(title, own_scenes, episodes, seed)
    show.lines("\nThe array API, Batch, has no dicts; drive-env bench measures it.")
    if out is not None:
        show.heading("films: an episode of the lane driver")
        episode = visuals.Episode(scene_name or "town", policy="lane", trials=TRIALS, seed=seed)
        film, page = FILES
        visuals.play(episode, out / film, size=FILM_SIZE)
        visuals.replay(episode, out / page)
    trials_demo.run(seed, out)


def play_and_report(title: str, scenes: str | tuple[Scene, ...], episodes: int, seed: int) -> None:
    """Plays the episodes with each of the two drivers and prints their metrics and times."""
    results = []
    with show.progress() as bars:
        for name, driver in (("random actions", RandomDriver), ("lane driver", LaneDriver)):
            bar = bars.add_task(name, total=episodes)
            env = parallel_env(scenes, CONFIG)
            results.append(play(env, name, driver(env.batch), episodes, seed, partial(bars.advance, bar)))
            env.close()
            all_roles = env.batch.roles
    show.heading(title)
    show.lines(f"{show.plural(episodes, 'episode')} of {TRIALS} trials for each driver; "
               f"{show.plural(len(env.possible_agents), 'agent')}, "
               f"trials of {span(roles.trial_steps for roles in all_roles)} steps of "
               f"{span(roles.dt_s for roles in all_roles)} s")
    report_metrics(results)
    report_time(results)


def span(values: Iterable[float]) -> str:
    """The value that all have, or the lowest and the highest."""
    different = sorted(set(values))
    return " to ".join(f"{value:g}" for value in (different[0], different[-1])[: len(different)])


def play(env: DriveParallelEnv, name: str, driver: RandomDriver | LaneDriver, episodes: int, seed: int,
         count_episode: Callable[[], None]) -> DriverResults:
    """Plays the episodes of a seed and times driver and env separately."""
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
    api_s = env_s - sum(phase_s.values())
    return DriverResults(name, env.batch.metrics(), agent_steps, driver_s, api_s, phase_s)


def report_metrics(results: list[DriverResults]) -> None:
    """Prints a table of metrics with a column for each driver."""
    rows = []
    for name, label, form in METRICS:
        values = [one.metrics[name] for one in results]
        rows.append([label, *(form.format(value.value) if value.n else "-" for value in values)])
    show.table("metrics", ["mean over agents", *(one.driver for one in results)], rows)


def report_time(results: list[DriverResults]) -> None:
    """Prints a table of the env's time by phase, and that of the drivers."""
    # Seconds by phase for every driver; small ones are combined.
    spent = [{"Python dicts": one.api_s} | {f"core: {phase}": s for phase, s in one.phase_s.items()}
             for one in results]
    totals = [sum(parts.values()) for parts in spent]
    names = sorted(spent[0], key=lambda name: -sum(parts[name] for parts in spent))
    separate = [name for name in names
                if any(parts[name] >= SEPARATE_SHARE * total for parts, total in zip(spent, totals, strict=True))]
    for parts in spent:
        parts["other phases"] = sum(seconds for name, seconds in parts.items() if name not in separate)

    def row(label: str, cell: Callable[[DriverResults, dict[str, float], float], str]) -> list[str]:
        return [label, *map(cell, results, spent, totals)]

    def share_of(name: str) -> Callable[[DriverResults, dict[str, float], float], str]:
        return lambda one, parts, total: f"{100 * parts[name] / total:.1f}%"

    show.table("time of the env by phase", ["", *(one.driver for one in results)], [
        row("agent-steps/s", lambda one, parts, total: show.count(one.agent_steps / total)),
        *(row(f"  {name}", share_of(name)) for name in [*separate, "other phases"]),
        row("us per agent-step", lambda one, parts, total: f"{1e6 * total / one.agent_steps:.2f}"),
        row("us per agent-step of the driver",
            lambda one, parts, total: f"{1e6 * one.driver_s / one.agent_steps:.2f}"),
    ])
