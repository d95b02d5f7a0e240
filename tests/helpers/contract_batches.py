"""How do contract tests make and read a batch of integer scenes?"""

import numpy as np
import rollouts
from integer_scenes import Stage, coasting_stage

import drive_env
from drive_env.config import DriveConfig

FEW_SLOTS = DriveConfig(observation={"partners": 2, "roads": 2})
"""Few slots: these tests are not about observations."""

EVENT_RESPONSES = ("ignore", "stop", "remove")


def make_batch(stages, num_worlds=1, *, seed=0, threads=1, restart="auto", world_ids=None, **choices):
    stages = [stages] if isinstance(stages, Stage) else stages
    config = FEW_SLOTS.replace(**choices)
    return drive_env.Batch(
        scenes=[stage.scene() for stage in stages],
        num_worlds=num_worlds,
        config=config,
        seed=seed,
        threads=threads,
        restart=restart,
        world_ids=world_ids,
    )


def step(batch, times=1):
    """Coasts, so that scripted events happen in their scheduled steps."""
    for _ in range(times):
        batch.step(rollouts.idle_actions(batch))


def flags(batch, agent=0):
    """The four end flags of an agent, in the order of the contract's table."""
    names = ("terminations", "truncations", "trial_ended", "truncation")
    return tuple(int(getattr(batch, name)[agent]) for name in names)


def state(batch, agent=0):
    names = [name for name in ("removed", "stopped") if getattr(batch, name)[agent]]
    return names[0] if len(names) == 1 else "driving" if not names else "both"


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_same_arrays(a, b, agents_a=slice(None), agents_b=slice(None)):
    for name in rollouts.ARRAYS:
        left, right = getattr(a, name)[agents_a], getattr(b, name)[agents_b]
        assert same_bits(left, right), f"{name}: {left} against {right}"


def two_trials_of_everything(**choices):
    stages = [coasting_stage([{"goal_step": 3}, {"wall_step": 2}, {"car_step": 4}, {}]),
              coasting_stage([{"goal_step": 5}, {}])]
    return make_batch(stages, 3, max_trials=2, trial_steps=6, **choices)
