"""Which batch do tests of parts and steps in flight use? How it is made, driven and compared."""

import numpy as np
from golden import OUTPUTS
from scripted_scenes import ACCELERATION_BINS, IGNORE_ALL, STEERING_BINS

from drive_env import Batch, DriveConfig, generate_scene

SCENES = [generate_scene("town", seed=seed, agents=6) for seed in range(2)]
TIMEOUT_S = 60
ENDLESS = {**IGNORE_ALL, "trial_steps": 10_000}


def make(parts=1, threads=2, num_worlds=7, restart="auto", scenes=SCENES, **choices):
    return Batch(scenes=scenes, num_worlds=num_worlds, threads=threads, parts=parts, seed=5, restart=restart,
                 config=DriveConfig(**{"max_trials": 2, "trial_steps": 9, **choices}))


def opened(*arguments, **choices):
    batch = make(*arguments, **choices)
    batch.reset()
    return batch


def draw(batch, step):
    """Actions of a step, the same for every batch of this size."""
    rng = np.random.default_rng(step)
    if batch.config.action_type == "continuous":
        return rng.uniform(-1, 1, (batch.num_agents, 2)).astype(np.float32)
    pairs = np.stack([rng.integers(0, bins, batch.num_agents) for bins in (ACCELERATION_BINS, STEERING_BINS)], 1)
    return pairs if batch.config.action_type == "multi_discrete" else pairs[:, 0] * STEERING_BINS + pairs[:, 1]


def bytes_of(batch):
    """The bytes of the state block and of every array."""
    return [batch._core.block.tobytes(), *(getattr(batch, name).tobytes() for name in OUTPUTS)]


def steps_of(batch):
    return batch._core.state["clock_steps"][:, 0]


def stepped(steps, **choices):
    """A batch after so many whole steps on one thread."""
    batch = opened(threads=1, **choices)
    for step in range(steps):
        batch.step(draw(batch, step))
    return batch


CALLS = {
    "reset": lambda batch: batch.reset(),
    "reset of some": lambda batch: batch.reset(worlds=np.arange(batch.num_worlds) == 0),
    "step": lambda batch: batch.step(batch.actions),
    "step with others": lambda batch: batch.step(batch.actions.copy()),
    "step_async": lambda batch: batch.step_async(batch.actions),
    "restart_observations": lambda batch: batch.restart_observations(),
}
