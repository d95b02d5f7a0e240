"""How long does the realism score of a scene take? 32 rollouts of 128 objects over 80 steps, on a synthetic town.

All objects are evaluated, more than in any scene of the challenge. Run it on a quiet machine:

    python benchmarks/realism.py
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time

import numpy as np

from drive_env.machine import processor
from drive_env.realism import LoggedScene, Poses, Signals, realism_score

LOG_STEPS, CURRENT_STEP = 91, 10
BLOCK_M, BLOCKS, LANE_M = 80.0, 5, 4.0
"""Streets of two lanes in a square grid: distance and number of streets in each direction, width of a lane."""

POINT_SPACING_M = 0.5
"""Of polylines in the Waymo Open Motion Dataset."""

NOISE_M, NOISE_RAD = 1.0, 0.05
"""Standard deviations of how far a rollout is from the log at its end."""


def street_line(start_m: tuple[float, float], end_m: tuple[float, float]) -> np.ndarray:
    """A straight polyline (p, 3) in a plane."""
    points = int(np.hypot(end_m[0] - start_m[0], end_m[1] - start_m[1]) / POINT_SPACING_M) + 1
    return np.concatenate([np.linspace(start_m, end_m, points), np.zeros((points, 1))], axis=1)


def road_edges() -> list[np.ndarray]:
    """The four sides of every block between streets, clockwise, so that the street is on their left."""
    lines = []
    for column in range(-1, BLOCKS):
        for row in range(-1, BLOCKS):
            low_x, low_y = column * BLOCK_M + LANE_M, row * BLOCK_M + LANE_M
            high_x, high_y = low_x + BLOCK_M - 2 * LANE_M, low_y + BLOCK_M - 2 * LANE_M
            corners = [(low_x, low_y), (low_x, high_y), (high_x, high_y), (high_x, low_y), (low_x, low_y)]
            lines += [street_line(*ends) for ends in zip(corners[:-1], corners[1:], strict=True)]
    return lines


def lanes() -> dict[int, np.ndarray]:
    """The two lanes of each street, west to east and south to north and back."""
    length_m, found = (BLOCKS - 1) * BLOCK_M, []
    for street in range(BLOCKS):
        for side in (1, -1):
            ends = (0.0, length_m)[::side]
            aside = street * BLOCK_M + side * LANE_M / 2
            below = street * BLOCK_M - side * LANE_M / 2
            found += [street_line((ends[0], below), (ends[1], below)), street_line((aside, ends[0]), (aside, ends[1]))]
    return dict(enumerate(found))


def synthetic_scene(objects: int, rollouts: int, seed: int = 0) -> tuple[LoggedScene, Poses]:
    """A log of vehicles that drive along lanes at constant speeds, and rollouts that drift away from it."""
    rng, centre_lines = np.random.default_rng(seed), lanes()
    poses = np.zeros((4, objects, LOG_STEPS))
    for index in range(objects):
        line = centre_lines[int(rng.integers(len(centre_lines)))]
        speed_mps = rng.uniform(0.0, 12.0)
        at = rng.integers(len(line) // 2) + speed_mps * 0.1 * np.arange(LOG_STEPS) / POINT_SPACING_M
        along = line[-1] - line[0]
        for axis in range(2):
            poses[axis, index] = np.interp(at, np.arange(len(line)), line[:, axis])
        poses[2:, index] = [[0.75], [np.arctan2(along[1], along[0])]]
    drift = np.linspace(0, 1, LOG_STEPS - 1 - CURRENT_STEP) * rng.standard_normal((4, rollouts, objects, 1))
    drift *= np.reshape([NOISE_M, NOISE_M, 0.0, NOISE_RAD], (4, 1, 1, 1))
    simulated = poses[:, None, :, CURRENT_STEP + 1 :] + drift
    signals = Signals(np.arange(len(centre_lines)), np.full((LOG_STEPS, len(centre_lines)), 4), np.broadcast_to(
        np.array([line[len(line) // 2, :2] for line in centre_lines.values()]), (LOG_STEPS, len(centre_lines), 2)))
    scene = LoggedScene(
        Poses(*poses), np.ones((objects, LOG_STEPS), bool), np.ones(objects, np.int64),
        np.tile([4.5, 1.9, 1.5], (objects, 1)), np.ones(objects, bool), road_edges(), centre_lines, signals)
    return scene, Poses(*simulated)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollouts", type=int, default=32)
    parser.add_argument("--objects", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    choices = parser.parse_args()
    scene, simulated = synthetic_scene(choices.objects, choices.rollouts)
    spent_s = []
    for _ in range(choices.rounds):
        begin = time.perf_counter()
        score = realism_score(scene, simulated)
        spent_s.append(time.perf_counter() - begin)
    segments = sum(len(line) - 1 for line in scene.road_edges)
    print(f"{processor()}, Python {platform.python_version()}, numpy {np.__version__}")
    print(f"{choices.rollouts} rollouts x {choices.objects} objects x {scene.simulated_steps} steps, "
          f"{segments} segments of road edges: {statistics.median(spent_s):.2f} s a scene, median of {choices.rounds} "
          f"({min(spent_s):.2f} to {max(spent_s):.2f}); realism {score.realism:.4f}")


if __name__ == "__main__":
    main()
