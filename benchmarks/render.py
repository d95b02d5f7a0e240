"""How many frames per second does one core draw? The scene view and the follow view, at 720p and 1080p.

Draws a town of 64 agents under random actions and, with SCENE, that file with an agent for every object that can be
one. Only `frame` is timed. The step is timed before and after the views are made; the two must not differ.
Run it on a quiet machine:

    python benchmarks/render.py [SCENE]
"""

import argparse
import platform
import statistics
import time

from cases import IGNORE_EVENTS, use_one_core

from drive_env import Batch, generate_scene, load_scene
from drive_env.drivers import RandomDriver
from drive_env.machine import processor
from drive_env.render import SceneView
from drive_env.render.canvas import cv2

SIZES = ((1280, 720), (1920, 1080))

LEAST_FRAMES_PER_S = {("scene", 720): 150, ("scene", 1080): 60}
"""Frames per second that the scene view must reach."""

WARM_UP_FRAMES = 5
"""Frames before those that are timed."""


def worlds(path: str | None) -> list[tuple[str, Batch]]:
    """Named batches of one world, reset."""
    config = IGNORE_EVENTS.replace(control="all")
    scenes = [generate_scene("town", seed=0, agents=64)] + ([load_scene(path)] if path else [])
    batches = [(scene.name, Batch([scene], config=config, threads=1)) for scene in scenes]
    for _, batch in batches:
        batch.reset(seed=0)
    return batches


def frame_ms(batch: Batch, view: SceneView, frames: int) -> list[float]:
    """Milliseconds of processor time of each frame, with one step of the world between two frames."""
    driver, spent_ms = RandomDriver(batch), []
    for number in range(WARM_UP_FRAMES + frames):
        batch.step(driver.act_all())
        begin = time.process_time()
        view.frame()
        if number >= WARM_UP_FRAMES:
            spent_ms.append((time.process_time() - begin) * 1e3)
    return spent_ms


def step_us(batch: Batch, steps: int = 2000) -> float:
    """Median microseconds of a step."""
    actions, spent_us = RandomDriver(batch).act_all(), []
    for _ in range(steps):
        begin = time.perf_counter()
        batch.step(actions)
        spent_us.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(spent_us)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scene", nargs="?", help="a scene file to draw besides the town")
    parser.add_argument("--frames", type=int, default=200, help="frames of each measurement (default 200)")
    choices = parser.parse_args()
    cv2.setNumThreads(1)
    use_one_core()
    print(f"{processor()}, one core, Python {platform.python_version()}, OpenCV {cv2.__version__}")
    for name, batch in worlds(choices.scene):
        agents = batch.roles[0].num_agents
        print(f"{name}: {agents} agents and {len(batch.roles[0].objects) - agents} others")
        before_us = step_us(batch)
        for kind in ("scene", "follow"):
            for size in SIZES:
                view = SceneView(batch, size=size, view=kind)
                spent_ms = frame_ms(batch, view, choices.frames)
                median_ms, p95_ms = statistics.median(spent_ms), statistics.quantiles(spent_ms, n=20)[-1]
                least = LEAST_FRAMES_PER_S.get((kind, size[1]))
                met = "met" if least and 1e3 / median_ms >= least else "MISSED"
                verdict = f"  at least {least} required: {met}" if least else ""
                print(f"  {kind:6} {size[0]} x {size[1]:4}  {1e3 / median_ms:6.0f} frames/s  "
                      f"median {median_ms:5.2f} ms  95% {p95_ms:5.2f} ms{verdict}")
        print(f"  a step: {before_us:.1f} us before a view is made, {step_us(batch):.1f} us after")


if __name__ == "__main__":
    main()
