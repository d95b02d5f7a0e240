"""How fast is the core? The measured parts of docs/performance.md, for the machine that this runs on.

    python benchmarks/core.py [--map SCENE] [--seconds S] [--only headline|overlap] [--write docs/performance.md]
    python benchmarks/core.py --options [--seconds S] [--write docs/performance.md]
                                                         the cost of each option of a config (options.py)

The cases of a table are interleaved, round after round, so that load from elsewhere falls on all of them; a figure is
the median over the rounds. Sweeps, which vary one number, take the better of two rounds. Ratios are to the plain
simulator of reference.c in the same round. Without `--map` the scene is a generated town of 14 agents.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from cases import DRAWS, IGNORE_EVENTS, ROUNDS, Case, draws_for, interleaved, of_batch
from goals import put_goals
from open_scenes import opening_s
from options import BUSY, busy_batch, busy_rate, costs
from pages import put_measured, table
from pettingzoo_dicts import measure as of_pettingzoo_dicts
from reference import Reference

from drive_env import Batch, DriveError, Scene, generate_scene, load_scene
from drive_env.machine import processor, usable_threads

CALLS = 20_000
"""Calls that are timed together where one takes less than a microsecond."""

RESTART_WARM_UP_STEPS = 100
"""Steps before the first timed restart."""


def of_reference(batch: Batch) -> Case:
    """The plain simulator of reference.c on the worlds of a batch."""
    reference = Reference(batch)
    agents = batch.num_agents
    return Case("reference", reference.step, batch, reference.close, lambda: agents)


@contextlib.contextmanager
def instruction_set(name: str | None) -> Iterator[None]:
    """Batches made in this context use these instructions; None: the best of the machine."""
    before = os.environ.get("DRIVE_ENV_ISA")
    if name:
        os.environ["DRIVE_ENV_ISA"] = name
    try:
        yield
    finally:
        os.environ.pop("DRIVE_ENV_ISA", None) if before is None else os.environ.__setitem__("DRIVE_ENV_ISA", before)


def copies(scene: Scene, count: int) -> list[Scene]:
    """Scenes that differ in their name alone, so that each is loaded separately."""
    return [dataclasses.replace(scene, name=f"{scene.name} {copy}") for copy in range(count)]


def headline(scene: Scene, seconds: float) -> list[tuple[str, float, float]]:
    """Name, agent-steps per second, ratio to the reference."""
    def batch(threads=1, scenes=None, num_worlds=64, **config):
        return Batch(scenes or [scene], num_worlds=num_worlds, config=IGNORE_EVENTS.replace(**config), threads=threads)

    # The default config, with each instruction set that this machine has.
    best = batch()
    cases = [of_reference(best), of_batch(f"31 + 128 slots, float32 ({best.instruction_set})", best)]
    for isa in ("v3", "baseline"):
        if isa != best.instruction_set:
            with contextlib.suppress(DriveError), instruction_set(isa):
                cases.append(of_batch(f"the same, {isa} instructions", batch()))

    # Other observations, with more slots or many scenes; and threads.
    more = batch(observation={"partners": 63, "roads": 200})
    larger = of_reference(more)
    larger.name = "reference, 63 + 200"
    many = copies(scene, 400)
    cases += [of_batch("near roads", batch(observation={"road_selection": "near"})),
              of_batch("float16 observations", batch(observation={"type": "float16"})),
              of_batch("index observations", batch(observation={"type": "index"})),
              of_batch("index observations, near roads",
                       batch(observation={"type": "index", "road_selection": "near"})),
              larger, of_batch("63 + 200 slots", more),
              of_batch("63 + 200 slots, near roads",
                       batch(observation={"partners": 63, "roads": 200, "road_selection": "near"})),
              of_batch("400 distinct scenes, 400 worlds", batch(scenes=many, num_worlds=400, scene_order="cycle")),
              of_batch("400 distinct scenes, near roads",
                       batch(scenes=many, num_worlds=400, scene_order="cycle", observation={"road_selection": "near"}))]
    if usable_threads() > 1:
        cases.append(of_batch("two threads", batch(threads=2)))

    # Ratios to the reference with observations of the same size.
    rates = interleaved(cases, seconds)
    lines = []
    for name, found in rates.items():
        against = "reference, 63 + 200" if "63 + 200" in name else "reference"
        ratio = statistics.median(a / b for a, b in zip(found, rates[against]))
        lines.append((name, statistics.median(found), ratio))
    return lines


def sweep(make: Callable[[int], Batch], values: list[int], seconds: float) -> list[tuple[int, float]]:
    """(value, agent-steps per second); the better of two rounds, since a sweep has many points."""
    points = []
    for value in values:
        case = of_batch(str(value), make(value))
        case.run(seconds / 4)
        points.append((value, max(case.run(seconds / 2) for _ in range(2))))
        case.close()
    return points


def sweeps(scene: Scene, seconds: float) -> dict[str, list[tuple[int, float]]]:
    """By what is varied, each of its values with the agent-steps per second."""
    def town(agents):
        return [generate_scene("town", seed=0, agents=agents)]

    def many(count):
        return Batch(copies(scene, count), num_worlds=max(count, 16), threads=1,
                     config=IGNORE_EVENTS.replace(scene_order="cycle"))

    threads = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= usable_threads()]
    return {
        # Agents, worlds and scenes.
        "agents of a town, 16 worlds": sweep(
            lambda agents: Batch(town(agents), 16, IGNORE_EVENTS.replace(agents_per_world=agents), threads=1),
            [1, 2, 4, 8, 16, 32, 64], seconds),
        "worlds of the map": sweep(
            lambda num_worlds: Batch([scene], num_worlds=num_worlds, config=IGNORE_EVENTS, threads=1),
            [1, 4, 16, 64, 256, 1024, 4096], seconds),
        "distinct scenes of the map's size": sweep(many, [1, 4, 16, 64, 200, 400], seconds),
        # Slots of the observation, and threads.
        "road slots": sweep(
            lambda roads: Batch([scene], num_worlds=64, threads=1,
                                config=IGNORE_EVENTS.replace(observation={"roads": roads})),
            [0, 16, 32, 64, 128, 256], seconds),
        "partner slots": sweep(
            lambda partners: Batch([scene], num_worlds=64, threads=1,
                                   config=IGNORE_EVENTS.replace(observation={"partners": partners})),
            [0, 8, 16, 31, 63], seconds),
        "threads, 64 worlds": sweep(
            lambda count: Batch([scene], num_worlds=64, config=IGNORE_EVENTS, threads=count), threads, seconds),
    }


def phases(scene: Scene, seconds: float) -> list[tuple[str, float]]:
    """Nanoseconds per agent-step of each phase."""
    batch = Batch([scene], num_worlds=64, config=IGNORE_EVENTS, seed=0, threads=1)
    case = of_batch("phases", batch)
    case.run(seconds / 4)
    batch.phase_times(True)
    agent_steps = case.run(seconds)
    spent = batch.phase_times(False)
    case.close()
    total = sum(spent.values())
    return [(name, 1e9 / agent_steps * share / total) for name, share in spent.items()]


def rule_based(seconds: float) -> float:
    """Steps of rule-based vehicles per second of the phase that moves them: 64 beside 64 agents in a town."""
    batch = busy_batch(lights=False)
    case = of_batch("rule-based vehicles", batch)
    case.run(seconds / 4)
    batch.phase_times(True)
    vehicle_steps_per_s = case.run(seconds) * batch.roles[0].rule_based_count / batch.agents_per_world
    spent = batch.phase_times(False)
    case.close()
    return vehicle_steps_per_s * sum(spent.values()) / spent["traffic_plan"]


def boundary(scene: Scene) -> list[tuple[str, float]]:
    """Microseconds of one call on the smallest batch, minus the time of the core's phases."""
    # One agent, and no slots.
    small = generate_scene("intersection", seed=0, agents=1, arm_length_m=24.0)
    config = IGNORE_EVENTS.replace(observation={"partners": 0, "roads": 0})
    batch = Batch([small], num_worlds=1, config=config, seed=0, threads=1)
    batch.reset()
    other_array = batch.actions.copy()

    def median_us(call: Callable[[], None]) -> float:
        times = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            times.append((time.perf_counter() - begin) / CALLS * 1e6)
        return statistics.median(times)

    # Whole calls, the loop around them, and the phases.
    bound = median_us(lambda: batch.step(batch.actions))
    copied = median_us(lambda: batch.step(other_array))
    empty = median_us(lambda: None)
    batch.phase_times(True)
    for _ in range(CALLS):
        batch.step(batch.actions)
    core = sum(batch.phase_times(False).values()) / CALLS * 1e6
    batch.close()
    return [("`batch.step(batch.actions)`, phases of the core excluded", max(bound - empty - core, 0.0)),
            ("`batch.step(other_array)`, likewise", max(copied - empty - core, 0.0))]


def pettingzoo_dicts_us(copy: bool) -> float:
    """Microseconds that a step of the PettingZoo env with 64 agents takes beyond the core."""
    api_us, core_us = of_pettingzoo_dicts(64, copy, episodes=10)
    return api_us - core_us


def restart_us(scene: Scene) -> float:
    """Median time of a step in which the only world restarts on a scene that is already loaded."""
    batch = Batch([scene], num_worlds=1, config=IGNORE_EVENTS.replace(max_trials=2, trial_steps=2), seed=0, threads=1)
    batch.reset()
    times = []
    for step in range(3000):
        restarts = bool(batch.trial_ended.all())
        begin = time.perf_counter()
        batch.step(batch.actions)
        if restarts and step >= RESTART_WARM_UP_STEPS:
            times.append(time.perf_counter() - begin)
    batch.close()
    return statistics.median(times) * 1e6


def overlaps(scene: Scene, seconds: float) -> list[tuple[str, float]]:
    """Time of a step that overlaps a learner's work, over the time of both in sequence; 0.5 is the lower bound.

    The learner takes as long as a step and uses no processor, like one that waits for a GPU.
    """
    # Three ways to step and to learn; the learner sleeps.
    batch = Batch([scene], num_worlds=64, config=IGNORE_EVENTS, seed=0, threads=1, parts=2)
    batch.reset()
    first, second = batch.parts
    draws = draws_for(batch)

    def in_sequence(actions: np.ndarray) -> None:
        batch.step(actions)
        time.sleep(step_s)

    def whole_in_flight(actions: np.ndarray) -> None:
        batch.step_async(actions)
        time.sleep(step_s)
        batch.wait()

    def half_by_half(actions: np.ndarray) -> None:
        """Computes for one part while the step of the other part is in flight."""
        for begins, ends in ((second, first), (first, second)):
            time.sleep(step_s / 2)
            begins.step_async(actions[begins.agent_slice])
            ends.wait()

    def mean_s(take: Callable[[np.ndarray], None]) -> float:
        steps, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            for actions in draws:
                take(actions)
            steps += DRAWS
        return (time.perf_counter() - begin) / steps

    # Each way in each round, after a warm-up; the learner takes as long as a step in the same round.
    mean_s(batch.step)
    ratios: dict[str, list[float]] = {"the whole batch in flight": [], "by halves": []}
    for _ in range(ROUNDS):
        step_s = mean_s(batch.step)
        sequence_s = mean_s(in_sequence)
        in_flight_s = mean_s(whole_in_flight)
        first.step_async(draws[0][first.agent_slice])
        halves_s = mean_s(half_by_half)
        first.wait()
        for found, spent_s in zip(ratios.values(), (in_flight_s, halves_s)):
            found.append(spent_s / sequence_s)
    batch.close()
    return [(name, statistics.median(found)) for name, found in ratios.items()]


# Run in a process of its own, whose memory is that of the batch alone.
MEMORY = """
import dataclasses, resource, sys
from pathlib import Path
from drive_env import Batch, DriveConfig, generate_scene, load_scene
path = sys.argv[1]
scene = load_scene(path) if path else generate_scene("town", seed=0, agents=14)
scenes = [dataclasses.replace(scene, name=str(copy)) for copy in range(1000)]

def resident():  # not ru_maxrss, which a child inherits from its parent
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

before = resident()
batch = Batch(scenes, num_worlds=1024, config=DriveConfig())
batch.reset()
batch.step(batch.actions)
print(resident() - before)
"""


def memory_mb(path: str | None) -> float:
    """Resident memory of 1,024 worlds on 1,000 scenes, observations included, in a fresh process."""
    found = subprocess.run([sys.executable, "-c", MEMORY, path or ""], check=True, capture_output=True, text=True)
    return int(found.stdout) / 2**20


def import_s() -> float:
    """Median seconds that `import drive_env` takes in a fresh process."""
    code = "import time; t = time.perf_counter(); import drive_env; print(time.perf_counter() - t)"
    return statistics.median(float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                                                  text=True).stdout) for _ in range(ROUNDS))


def measured_on() -> str:
    """Date, processor and Python of this run, as the beginning of a sentence."""
    return (f"Measured {time.strftime('%Y-%m-%d')} on {processor()}, {usable_threads()} usable threads, Python "
            f"{platform.python_version()}; one thread")


def options_part(seconds: float) -> str:
    """The part of docs/performance.md about options."""
    rows = [(name, base, f"{ratio:.2f}") for name, base, ratio in costs(seconds)]
    return "\n\n".join([
        textwrap.fill(f"{measured_on()}, a town of 14 agents, 16 worlds.", 120),
        table(("option", "compared with", "time of a step, over that without it"), rows),
        f"{BUSY}: {rate(busy_rate(seconds))} agent-steps/s."])


def rate(value: float) -> str:
    """A rate as text, in thousands or millions."""
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k"


def page(found: dict) -> str:
    """The measured part of docs/performance.md."""
    fast = [(name, rate(value), f"{ratio:.2f}") for name, value, ratio in found["headline"]]
    parts = [
        textwrap.fill(f"{found['measured']} unless said otherwise, {found['scene']}, 64 worlds.", 120),
        table(("case", "agent-steps/s", "ratio to the plain reference"), fast),
        table(("phase", "ns per agent-step"), [(f"`{name}`", f"{ns:.0f}") for name, ns in found["phases"]]),
        table(("also", "measured"), [(name, value) for name, value in found["also"]]),
        *(f"{name}: " + ", ".join(f"{value}: {rate(speed)}" for value, speed in points) + "."
          for name, points in found["sweeps"].items()),
    ]
    return "\n\n".join(parts)


def draw(found: dict, path: Path) -> None:
    """Draws the sweeps, one panel each."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(12, 6.5), layout="constrained")
    for axis, (name, points) in zip(axes.flat, found["sweeps"].items()):
        values, speeds = zip(*points)
        axis.plot(values, [speed / 1e6 for speed in speeds], marker="o")
        axis.set(xlabel=name, ylabel="M agent-steps/s", ylim=(0, None))
        if min(values) > 0:
            axis.set_xscale("log", base=2)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=80)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--map", help="scene file that every case uses (default: a generated town of 14 agents)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each case in each round (default 1)")
    parser.add_argument("--only", choices=["headline", "overlap", "all"], default="all",
                        help="measure one table alone, print it and write nothing")
    parser.add_argument("--options", action="store_true", help="measure the cost of each option of a config, alone")
    parser.add_argument("--write", type=Path, help="page whose measured part is replaced, with its plot; with "
                                                     "--options, its part about options")
    choices = parser.parse_args()

    # The cost of options is a part of the page by itself.
    if choices.options:
        part = options_part(choices.seconds)
        print(part)
        if choices.write:
            put_measured(choices.write, part, "options")
        return

    # Single tables on request.
    scene = load_scene(choices.map) if choices.map else generate_scene("town", seed=0, agents=14)
    overlap_rows = [
        (f"a step overlapped with a learner of the same length, {name}: time over that of both in sequence",
         f"{ratio:.2f}")
        for name, ratio in (overlaps(scene, choices.seconds) if choices.only != "headline" else [])]
    if choices.only == "overlap":
        print(table(("also", "measured"), overlap_rows))
        return
    found = {"measured": measured_on(), "scene": scene.name, "headline": headline(scene, choices.seconds)}
    print(table(("case", "agent-steps/s", "ratio"),
                [(name, rate(value), f"{ratio:.2f}") for name, value, ratio in found["headline"]]))
    if choices.only == "headline":
        return

    # Everything, as a page and as JSON.
    found |= {"phases": phases(scene, choices.seconds), "sweeps": sweeps(scene, choices.seconds), "also": [
        *((name, f"{us:.2f} us") for name, us in boundary(scene)),
        ("PettingZoo's dicts for 64 agents, beyond the core", f"{pettingzoo_dicts_us(copy=False):.1f} us"),
        ("the same with copies of the observations", f"{pettingzoo_dicts_us(copy=True):.1f} us"),
        ("a step in which the one world restarts", f"{restart_us(scene):.0f} us"),
        ("rule-based vehicles moved per second, 64 beside 64 agents in a town", rate(rule_based(choices.seconds))),
        ("memory of 1,024 worlds on 1,000 scenes of this size", f"{memory_mb(choices.map):.0f} MB"),
        ("1,000 `.drv` scenes of this size opened", f"{statistics.median(opening_s(scene, 1000)[0]):.2f} s"),
        ("`import drive_env`", f"{import_s():.2f} s"),
        *overlap_rows]}
    print(page(found))
    print(json.dumps(found))
    if choices.write:
        put_measured(choices.write, page(found))
        put_goals(choices.write)
        draw(found, choices.write.with_suffix(".png"))


if __name__ == "__main__":
    main()
