"""How many agent-steps per second does the array API make? Under random actions, with the time of each phase."""

from __future__ import annotations

import statistics
import time
from enum import Enum
from typing import NamedTuple

import numpy as np

from ..batch import Batch
from ..config import DriveConfig
from ..drivers import RandomDriver
from ..scenes.resolve import is_generator, resolve_scenes
from . import show

REPEATS = 5
WARM_UP_SHARE, LEAST_WARM_UP_S = 0.25, 0.2

DRAWS = 64
"""Sets of actions drawn beforehand and used in turn, so that drawing is not measured."""


class Action(str, Enum):
    """The values of `DriveConfig.action_type`, for the option."""

    discrete = "discrete"
    multi_discrete = "multi_discrete"
    continuous = "continuous"


class Measured(NamedTuple):
    """Agent-steps of some time."""

    agent_steps: int
    seconds: float

    @property
    def rate(self) -> float:
        """Agent-steps per second."""
        return self.agent_steps / self.seconds


def run(scene: str, num_worlds: int, agents: int | None, threads: int, partners: int, roads: int, action: Action,
        seconds: float) -> None:
    """Measures random actions of a batch and prints the rate and the time of each phase."""
    config = DriveConfig(
        on_goal="ignore", on_collision="ignore", on_offroad="ignore", agents_per_world=agents,
        observation={"partners": partners, "roads": roads}, action_type=action.value)
    # No further vehicles of a generated scene are parked beside the agents.
    scenes = resolve_scenes(scene, agents=agents)
    with Batch(scenes=scenes, num_worlds=num_worlds, config=config, seed=0, threads=threads) as batch:
        batch.reset()
        draws = [RandomDriver(batch, seed=draw).act_all() for draw in range(DRAWS)]
        with show.progress() as bars:
            bar = bars.add_task("measuring", total=REPEATS + 2)

            def measure(duration_s: float) -> Measured:
                measured = play(batch, draws, duration_s)
                bars.advance(bar)
                return measured

            measure(max(LEAST_WARM_UP_S, WARM_UP_SHARE * seconds))
            repeats = [measure(seconds) for _ in range(REPEATS)]
            batch.phase_times(True)
            timed = measure(seconds)
            phase_s = batch.phase_times(False)
        report(scene, batch, repeats)
        report_phases(batch, timed, phase_s)


def play(batch: Batch, draws: list[np.ndarray], seconds: float) -> Measured:
    """Steps the batch for about `seconds`."""
    agent_steps, step = 0, 0
    begin = now = time.perf_counter()
    while now - begin < seconds:
        batch.step(draws[step % len(draws)])
        agent_steps += batch.num_agents - np.count_nonzero(batch.invalid_step)
        step += 1
        now = time.perf_counter()
    return Measured(agent_steps, now - begin)


def report(scene: str, batch: Batch, repeats: list[Measured]) -> None:
    """Prints what was measured, on which machine, and the median rate."""
    config, slots = batch.config, batch.config.observation
    scenes = f"{batch.scenes[0].source} and {len(batch.scenes) - 1} like it" if is_generator(scene) else scene
    show.facts([
        ("machine", show.machine()),
        ("scenes", scenes),
        ("worlds", f"{batch.num_worlds} of {batch.agents_per_world} agents, {thread_count(batch)}"),
        ("actions", f"random, {config.action_type}"),
        ("observation", f"{batch.observation_size} floats: {slots.partners} partners, {slots.roads} roads"),
        ("filled slots", filled(batch)),
    ])
    rates = [measured.rate for measured in repeats]
    show.heading(f"{show.count(statistics.median(rates))} agent-steps/s")
    show.lines(f"median of {len(rates)} repeats of {repeats[0].seconds:.2g} s, "
               f"lowest {show.count(min(rates))}, highest {show.count(max(rates))}")


def filled(batch: Batch) -> str:
    """The share of filled slots; empty ones cost less."""
    layout = batch.observation_layout()
    shares = []
    for block in ("partners", "roads"):
        kind = layout[f"{block}/kind"]
        if kind.slots:
            shares.append(f"{100 * float((batch.float_observations()[:, kind.slice] > 0).mean()):.0f}% of {block}")
    return ", ".join(shares) or "no slots"


def thread_count(batch: Batch) -> str:
    """The threads that have a world to step."""
    return show.plural(min(batch.threads, batch.num_worlds), "thread")


def report_phases(batch: Batch, timed: Measured, phase_s: dict[str, float]) -> None:
    """Prints the time of all threads by phase."""
    total_s = timed.seconds * min(batch.threads, batch.num_worlds)
    parts = phase_s | {"calls and waiting": total_s - sum(phase_s.values()), "all": total_s}
    rows = [[part, f"{1e9 * seconds / timed.agent_steps:.1f}", f"{100 * seconds / total_s:.1f}%"]
            for part, seconds in parts.items()]
    show.table(f"time of {thread_count(batch)} by phase", ["", "ns per agent-step", "share"], rows)
