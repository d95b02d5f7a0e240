"""What does the PettingZoo API cost beyond the core? The env and a `Batch` take alternating steps of the same actions.

The overhead is everything that a step does in Python: reading a dict of actions and building fresh dicts of results.
Run it on a quiet machine:

    python benchmarks/pettingzoo_dicts.py
"""

import argparse
import platform
import statistics
import time

import cases

from drive_env import Batch, generate_scene, parallel_env
from drive_env.machine import processor
from drive_env.spaces import action_space

IGNORE_EVENTS = cases.IGNORE_EVENTS.replace(max_trials=2)
"""No agent leaves, so the dicts of every step hold all agents."""

STEPS, WARM_UP_STEPS = 180, 10
"""Steps of an episode, fewer than those of a trial, and how many at its start are not timed: they fill the caches."""

COAST = int(action_space(IGNORE_EVENTS).n) // 2
"""The discrete action of no acceleration and no steering."""


def measure(agents: int, copy: bool, episodes: int) -> tuple[float, float]:
    """Median us per step of the PettingZoo env and of the core alone."""
    scene = generate_scene("town", seed=0, agents=agents)
    env = parallel_env([scene], IGNORE_EVENTS, copy=copy)
    batch = Batch([scene], config=IGNORE_EVENTS, threads=1)
    batch.actions[...] = COAST
    api_us, core_us = [], []
    for seed in range(episodes):
        env.reset(seed=seed)
        batch.reset(seed=seed)
        actions = dict.fromkeys(env.agents, COAST)
        for step in range(STEPS):
            begin = time.perf_counter()
            env.step(actions)
            middle = time.perf_counter()
            batch.step(batch.actions)
            end = time.perf_counter()
            if step >= WARM_UP_STEPS:
                api_us.append((middle - begin) * 1e6)
                core_us.append((end - middle) * 1e6)
    return statistics.median(api_us), statistics.median(core_us)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=64, help="agents in the world, 1 to 64 (default 64)")
    parser.add_argument("--episodes", type=int, default=20, help=f"episodes of {STEPS} steps (default 20)")
    choices = parser.parse_args()
    print(f"{processor()}, Python {platform.python_version()}, {choices.agents} agents, discrete actions")
    for copy in (False, True):
        api, core = measure(choices.agents, copy, choices.episodes)
        print(f"copy={copy!s:5}  API {api:6.1f} us  core {core:6.1f} us  overhead {api - core:5.1f} us per step")


if __name__ == "__main__":
    main()
