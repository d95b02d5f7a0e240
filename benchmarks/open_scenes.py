"""How long does opening a thousand `.drv` files take on one core?

The scenes are random, with as many objects, frames, roads and points as a typical scene of the Waymo Open Motion
Dataset, or copies of a scene file. They are written to a temporary folder and read once before the timed repeats, so
that the page cache holds them. Run it on a quiet machine:

    python benchmarks/open_scenes.py [SCENE] [--scenes N]
"""

import argparse
import dataclasses
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from cases import use_one_core

from drive_env import Scene, load_scene, save_scene
from drive_env.machine import processor
from drive_env.scenes import LaneGraph, Objects, Roads

OBJECTS, FRAMES, ROADS, POINTS = 79, 91, 608, 3873
"""Of the scene of random numbers."""

REPEATS = 5
"""Timed repeats, after one that is not timed."""


def common_scene() -> Scene:
    """Random numbers, half of the states valid, no lane links."""
    # Objects with states in each frame.
    rng = np.random.default_rng(0)
    valid = rng.random((FRAMES, OBJECTS)) < 0.5

    def track(limit: float) -> np.ndarray:
        return np.where(valid, rng.uniform(-limit, limit, valid.shape), 0).astype(np.float32)

    size_m = np.full(OBJECTS, 2.0, np.float32)
    objects = Objects(
        id=np.arange(OBJECTS), kind=np.ones(OBJECTS, np.uint8), length_m=size_m, width_m=size_m, height_m=size_m,
        goal_m=rng.uniform(-150, 150, (OBJECTS, 2)).astype(np.float32), marked_expert=np.zeros(OBJECTS, bool),
        x_m=track(150), y_m=track(150), heading_rad=track(3), vx_mps=track(10), vy_mps=track(10), valid=valid)

    # Roads of equally many points.
    unknown = np.zeros(ROADS, np.float32)
    roads = Roads(
        id=np.arange(ROADS), kind=np.ones(ROADS, np.uint8), start=np.linspace(0, POINTS, ROADS + 1).astype(np.int32),
        x_m=rng.uniform(-150, 150, POINTS).astype(np.float32), y_m=rng.uniform(-150, 150, POINTS).astype(np.float32),
        width_m=unknown, speed_limit_mps=unknown)
    lanes = LaneGraph(np.zeros(ROADS + 1, np.int32), np.zeros(0, np.int32))
    return Scene(name="common", source="random", generated=False, dt_s=0.1, origin_m=np.zeros(2), objects=objects,
                 roads=roads, lanes=lanes)


def opening_s(scene: Scene, count: int) -> tuple[list[float], int]:
    """Seconds that opening `count` files of the scene takes, one per repeat, and the size of one file in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.drv" for number in range(count)]
        for number, path in enumerate(paths):
            save_scene(dataclasses.replace(scene, name=str(number)), path)
        taken_s = []
        for _ in range(1 + REPEATS):
            begin = time.perf_counter()
            opened = [load_scene(path) for path in paths]
            taken_s.append(time.perf_counter() - begin)
            del opened  # frees these scenes before the next repeat
        return taken_s[1:], paths[0].stat().st_size


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scene", nargs="?", help="a scene file to use instead of random numbers")
    parser.add_argument("--scenes", type=int, default=1000, help="how many files (default 1000)")
    choices = parser.parse_args()
    use_one_core()
    scene = load_scene(choices.scene) if choices.scene else common_scene()
    taken_s, size_bytes = opening_s(scene, choices.scenes)
    print(f"{choices.scenes} scenes of {size_bytes:,} bytes: {statistics.median(taken_s):.3f} s, "
          f"median of {REPEATS}, lowest {min(taken_s):.3f} s, on {processor()}")


if __name__ == "__main__":
    main()
