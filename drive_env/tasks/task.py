"""Which tasks are there? Each is a function that returns scenes, a config for them and the scores of optimal policies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex

from ..config import DriveConfig, ObservationConfig, RewardConfig
from ..errors import ConfigError, SceneError, checked_int, plain, value_text
from ..fields import number
from ..names import named_arguments
from ..scenes import Scene, resolve_scenes
from ..scenes.generate import GENERATORS, closures, occluded
from ..scenes.generate import gates as gates_generator
from ..scenes.generate.forks import FORK_M, detour_m
from .optimum import KNOWLEDGE, TRIALS_LIMIT, Trials, all_but, in_a_row, one_of, optimum

TASK_SEEDS = range(64)
REVEAL_LIMIT_S = 0.9
"""A goal revealed at most this long before the end of a trial is out of reach from every other exit."""

STEP_S = 0.2
GOAL_RADIUS_M = 2.5
GOAL_ALONE = RewardConfig(goal=1.0, collision=0.0, offroad=0.0)
"""Any other reward could reveal what is hidden."""

EXIT_STEPS, EXIT_SPEED_MPS = 30, 6.5
"""Steps of a trial and the speed limit of the hidden exit: 39 m at most, so that an agent reaches each exit, at most
37 m away, but no second one."""

MAX_SPEED_MPS = 8.0
"""On streets with forks."""

SPARE_TIME = 1.6
"""Length of a trial whose time is not meant to limit the agent, relative to the longest route at full speed: enough to
slow down in the loops, as `LaneDriver` does."""

SPARE_DETOURS = 1.5
"""Detours for which a trial of the occluded crossing has the time: one, and half of one to spare. With the time for
two, 9 to 18% more than for one, a car could drive around a second van: the optimal scores would not hold.
"""


@dataclass(frozen=True)
class Task:
    """Scenes, a config, and what can be achieved.

    Attributes:
        name: of the task.
        scenes: the scenes.
        config: the config to play them with.
        optimal_scores: by an entry of `KNOWLEDGE`, the success rate of an optimal policy in each trial, from 0.
    """

    name: str
    scenes: tuple[Scene, ...]
    config: DriveConfig
    optimal_scores: dict[str, tuple[float, ...]]


@named_arguments
def hidden_exit(exits: SupportsIndex = 3, trials: SupportsIndex = 3, seeds: Iterable[int] = TASK_SEEDS,
                reveal_s: float = 0.0) -> Task:
    """One of several exits is the goal, the same in all trials of an episode; an agent learns which by trying.

    The observation shows all exits as candidate goals and, with `reveal_s` 0, never which of them is the goal. It does
    not show how long the previous trial took, which would reveal at which exit it ended. Only the goal is rewarded. A
    trial is too short for two exits.

    Args:
        exits: number of exits, 2 to 5.
        trials: in an episode, 1 to 5.
        seeds: of the scenes, see the generator `exits`. Train and evaluate on different ones.
        reveal_s: the goal is observed in this time before the end of a trial, too late to drive there, 0 to 0.9 s. An
            agent that remembers it needs no further guess.

    Raises:
        ConfigError: `trials` or `reveal_s` is out of its range.
        SceneError: `exits` is out of its range, or `seeds` are no whole numbers.
    """
    trials, exits, scenes = _checked("exits", "exits", exits, trials, seeds)
    in_range, reveal_s = number(0.0, REVEAL_LIMIT_S), plain(reveal_s)
    if not in_range.fits(reveal_s):
        raise ConfigError(f"reveal_s is {value_text(reveal_s)}; it must be {in_range.allowed}")
    config = DriveConfig(
        max_trials=trials, dt_s=STEP_S, trial_steps=EXIT_STEPS, dynamics={"max_speed_mps": EXIT_SPEED_MPS},
        goal_radius_m=GOAL_RADIUS_M, reward=GOAL_ALONE,
        observation=ObservationConfig(
            partners=0, roads=32, candidates=exits, goal_reveal_s=reveal_s, steps_share=False))
    return Task("hidden_exit", scenes, config, _scores(one_of(exits, reveal_s > 0), trials))


@named_arguments
def gates(gates: SupportsIndex = 2, trials: SupportsIndex = 2, seeds: Iterable[int] = TASK_SEEDS) -> Task:
    """At each gate a car comes towards the agent's: it drives through a lay-by (yields) or along the street (insists).

    The agent has to take the other way, and commits itself before it can observe what the car does. Which of the two
    each car does is drawn per episode, independently of the others. A wrong choice ends the trial, so that a trial
    teaches the gates up to the first wrong one.

    Args:
        gates: their number, 1 to 3. With one, a memory adds nothing to the trial features in the first two trials.
        trials: in an episode, 1 to 5.
        seeds: of the scenes, see the generator `gates`. Train and evaluate on different ones.

    Raises:
        ConfigError: `trials` is out of its range.
        SceneError: `gates` is out of its range, or `seeds` are no whole numbers.
    """
    trials, gates, scenes = _checked("gates", "gates", gates, trials, seeds)
    longest_m = gates_generator.GAP_M * (gates + 1) + (FORK_M + detour_m(0.0)) * gates
    return Task("gates", scenes, _street(trials, SPARE_TIME * longest_m, partners=gates),
                _scores(in_a_row(gates), trials))


@named_arguments
def occluded_crossing(vans: SupportsIndex = 3, trials: SupportsIndex = 2, seeds: Iterable[int] = TASK_SEEDS) -> Task:
    """Behind one of several parked vans a pedestrian steps onto the lane, once the car can no longer change its
    route; a trial has time for one detour.

    Which van it is, is drawn per episode. A trial that fails shows the van.

    Args:
        vans: their number, 2 to 5.
        trials: in an episode, 1 to 5.
        seeds: of the scenes, see the generator `occluded`. Train and evaluate on different ones.

    Raises:
        ConfigError: `trials` is out of its range.
        SceneError: `vans` is out of its range, or `seeds` are no whole numbers.
    """
    trials, vans, scenes = _checked("occluded", "vans", vans, trials, seeds)
    shortest_m = occluded.GAP_M * (vans + 1) + FORK_M * vans - GOAL_RADIUS_M
    time_m = shortest_m + SPARE_DETOURS * detour_m(occluded.RISE_M)
    return Task("occluded_crossing", scenes, _street(trials, time_m, partners=vans + 1),
                _scores(one_of(vans, revealed=True), trials))


@named_arguments
def hidden_closure(closed: SupportsIndex = 2, trials: SupportsIndex = 3, seeds: Iterable[int] = TASK_SEEDS) -> Task:
    """Some of three routes to the goal are closed; an agent observes the barrier of a route once it has chosen it.

    Which routes are closed is drawn per episode.

    Args:
        closed: how many of the three, 1 or 2. With 1, a memory adds nothing to the trial features in the first two
            trials.
        trials: in an episode, 1 to 5.
        seeds: of the scenes, see the generator `closures`. Train and evaluate on different ones.

    Raises:
        ConfigError: `trials` is out of its range.
        SceneError: `closed` is out of its range, or `seeds` are no whole numbers.
    """
    trials, closed, scenes = _checked("closures", "closed", closed, trials, seeds)
    longest_m = closures.LEAD_RANGE_M[1] + FORK_M + detour_m(closures.RISE_RANGE_M[1]) + closures.END_M
    return Task("hidden_closure", scenes, _street(trials, SPARE_TIME * longest_m, partners=closed),
                _scores(all_but(closed, closures.ROUTES), trials))


def _checked(generator: str, name: str, value: SupportsIndex, trials: SupportsIndex,
             seeds: Iterable[int]) -> tuple[int, int, tuple[Scene, ...]]:
    """The number of trials, the value of a generator's parameter, both checked, and the scenes."""
    trials = checked_int("trials", trials, 1, TRIALS_LIMIT)
    span = GENERATORS[generator].PARAMETERS[name]
    value = checked_int(name, value, span.low, span.high, SceneError)
    return trials, value, resolve_scenes(generator, seeds=seeds, parameters={name: value})


def _street(trials: int, time_m: float, partners: int) -> DriveConfig:
    """The config of a street with forks, whose trials take as long as `time_m` at full speed. Where the previous trial
    ended is not observed: it would replace a memory of the place."""
    return DriveConfig(
        max_trials=trials, dt_s=STEP_S, trial_steps=math.ceil(time_m / (MAX_SPEED_MPS * STEP_S)),
        dynamics={"max_speed_mps": MAX_SPEED_MPS}, goal_radius_m=GOAL_RADIUS_M, reward=GOAL_ALONE,
        observation=ObservationConfig(partners=partners, roads=64, steps_share=False))


def _scores(shown: Trials, trials: int) -> dict[str, tuple[float, ...]]:
    return {knowledge: optimum(shown, trials, knowledge) for knowledge in KNOWLEDGE}
