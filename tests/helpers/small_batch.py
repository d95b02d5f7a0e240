"""Which small batch do tests of calls use? How it is made, driven and hashed, and how a refusal is checked."""

import copy
import hashlib

import numpy as np
import pytest
from golden import OUTPUTS
from scripted_scenes import ACCELERATION_BINS, ACTION_COUNT, STEERING_BINS

from drive_env import Batch, CallError, DriveConfig, DriveError, generate_scene

ACTION_TYPES = ("discrete", "multi_discrete", "continuous")
SCENE = generate_scene("intersection", seed=0, agents=4)
NAMES = ("actions", *OUTPUTS)


def state_of(batch):
    """A hash of the state block and of every array but the actions."""
    digest = hashlib.sha256(batch._core.block.tobytes())
    for name in OUTPUTS:
        digest.update(getattr(batch, name).tobytes())
    return digest.hexdigest()


def draw(batch, rng):
    if batch.config.action_type == "discrete":
        return rng.integers(0, ACTION_COUNT, batch.num_agents)
    if batch.config.action_type == "multi_discrete":
        return np.stack([rng.integers(0, bins, batch.num_agents) for bins in (ACCELERATION_BINS, STEERING_BINS)], 1)
    return rng.uniform(-1, 1, (batch.num_agents, 2)).astype(np.float32)


def rollout(batch, steps, seed=0):
    """Steps a batch with seeded actions, after a first reset if it needs one; returns the hash of its state."""
    rng = np.random.default_rng(seed)
    if batch._core.state["episode"][0, 0] < 0:
        batch.reset()
    for _ in range(steps):
        batch.step(draw(batch, rng))
    return state_of(batch)


def make(num_worlds=3, threads=1, scenes=(SCENE,), **choices):
    return Batch(scenes=list(scenes), num_worlds=num_worlds, threads=threads, seed=5,
                 config=DriveConfig(**{"max_trials": 2, "trial_steps": 15, **choices}))


def refused(batch, call, kind=CallError):
    """The call raises and changes nothing, and the batch continues as if it had not been called; returns the error."""
    before, other = state_of(batch), copy.deepcopy(batch)
    with pytest.raises(kind) as raised:
        call()
    assert isinstance(raised.value, DriveError) and state_of(batch) == before
    assert rollout(batch, 25) == rollout(other, 25)
    return str(raised.value)
