"""What do tests of scripted events share? Walls, turned stages, rewards that identify events, and onsets."""

import math

import numpy as np
from scripted_scenes import drive

from drive_env import RewardConfig

TURNS = [0.0, 0.7, math.pi / 2, 3.0, -2.2]
"""Rotations of a whole scene: no result may depend on them."""

REWARDS = RewardConfig(goal=1.0, collision=-0.5, offroad=-0.25)
"""Every set of events has a different sum."""


def wall(x_m, half_m=3.0, y_m=0.0):
    """A road edge across the path of a vehicle that drives along +x."""
    return "edge", [(x_m, y_m - half_m), (x_m, y_m + half_m)]


def figures(batch, *names):
    """The values of these metrics."""
    report = batch.metrics()
    return tuple(report[name].value for name in names)


def oscillate(batch, steps=100):
    """Full throttle below x = 2 m and full reverse above it; arrays as of `drive`."""
    parts = []
    for _ in range(steps):
        parts.append(drive(batch, 1, 6 if batch.vehicles()["x_m"][0] < 2.0 else 0))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def begins(claim, at_first=False):
    """The steps in which a condition becomes true."""
    return list(np.flatnonzero(claim & ~np.concatenate([[at_first], claim[:-1]])))
