"""How do the cars of generated scenes fare with a policy without training? One trial in the scene of each seed."""

from __future__ import annotations

import numpy as np
from certificates import POLICIES, first_trials

from drive_env import DriveConfig, generate_scene

NAMED = {"lane": "together", "constant": "constant", "random": "random"}
"""Name of a policy here to its name in benchmarks/certificates.py."""


def played(name, seeds, policy, agents=None, steps=200, on_step=None, **parameters):
    """The trial records of all agents.

    Args:
        policy: "lane", "random", or "constant": wheels straight, and no acceleration; or a function that makes one from
            the batch, as `LaneDriver.act_all`.
        on_step: called after every step with the batch.
    """
    scenes = [generate_scene(name, seed=seed, agents=agents, **parameters) for seed in seeds]
    count = int((~scenes[0].objects.marked_expert).sum())
    config = DriveConfig(action_type="continuous", trial_steps=steps, agents_per_world=count, traffic_controls=True)
    make_act = policy if callable(policy) else POLICIES[NAMED[policy]].make_act
    records = first_trials(scenes, make_act, config, on_step)
    assert len(records) == len(scenes) * count
    return records


def goal_share(*arguments, **settings):
    """The share of the agents that reach their goals."""
    return float(played(*arguments, **settings)["goal"].mean())


def agents_of(batch):
    """x, y, heading, speed and length of all agents, (agents,) float64 each."""
    worlds = [batch.vehicles(world) for world in range(batch.num_worlds)]
    return [np.concatenate([np.asarray(cars[name][:batch.agents_per_world], float) for cars in worlds])
            for name in ("x_m", "y_m", "heading_rad", "speed_mps", "length_m")]


def towards(batch, target_m, speed_mps):
    """Actions that steer every agent at a point by pure pursuit, and bring it to a speed.

    Args:
        target_m: (agents, 2) some 10 m ahead.
        speed_mps: (agents,)
    """
    x_m, y_m, heading_rad, speed, length_m = agents_of(batch)
    step = target_m - np.stack([x_m, y_m], axis=1)
    angle = np.arctan2(step[:, 1], step[:, 0]) - heading_rad
    curvature_per_m = 2.0 * np.sin(angle) / np.maximum(np.hypot(*step.T), 1.0)
    steering_rad = np.arctan(0.6 * length_m * curvature_per_m)
    return np.clip(np.stack([(speed_mps - speed) / 4.0, steering_rad / 0.6], axis=1), -1.0, 1.0).astype(np.float32)


def ahead_on(line_m, xy_m, ahead_m):
    """The point of a polyline so far ahead of its point nearest to a place."""
    step_m = np.linalg.norm(np.diff(line_m, axis=0), axis=1)
    fine_m = np.concatenate([[0.0], np.cumsum(step_m)])
    at_m = np.arange(0.0, fine_m[-1], 0.5)
    points = np.stack([np.interp(at_m, fine_m, line_m[:, axis]) for axis in (0, 1)], axis=1)
    nearest = int(np.linalg.norm(points - xy_m, axis=1).argmin())
    return points[min(nearest + round(2 * ahead_m), len(points) - 1)]
