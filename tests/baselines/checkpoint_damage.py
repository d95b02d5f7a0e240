"""How do tests damage a checkpoint, and read the error? Two checkpoints of a run, and a copy of one."""

import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, tiny_config

from baselines.ppo import make_optimizer, make_policy, train
from baselines.rollout.batches import open_batches, scenes_of
from baselines.rollout.collector import Collector
from baselines.tools import checkpoint
from baselines.tools.checkpoint import CheckpointError

FILES = ("config.json", "weights.safetensors", "optimizer.safetensors", "rank-0.safetensors")


class Resume:
    """The objects into which a checkpoint is resumed."""

    def __init__(self, config):
        self.config = config
        batches, device_buffers = open_batches(config.env, scenes_of(config.env), ALONE, 0)
        self.policy = make_policy(config, batches[0], ALONE)
        self.optimizer = make_optimizer(self.policy, config.ppo)
        self.collector = Collector(batches, device_buffers, self.policy, config.ppo.rollout_steps)

    def __call__(self, place):
        counters = checkpoint.resumable(place, self.config)
        checkpoint.load_weights(place, self.policy, self.optimizer)
        assert checkpoint.load_rollout(place, self.collector, ALONE)
        return counters


def two_checkpoints(folder):
    """A run in the folder with two checkpoints: the whole one, the one to be damaged, and what resumes from it."""
    config = tiny_config(folder, ppo={"agent_steps": 1000}, run={"checkpoint_updates": 1})
    train(config)
    older, newest = checkpoint.checkpoints(folder)[-2:]
    resume = Resume(config)
    assert resume(newest)["update"] == resume(older)["update"] + 1
    return older, newest, resume


def copied_to(folder, checkpoint):
    """A copy of a checkpoint, outside of a run."""
    return Path(shutil.copytree(checkpoint, folder / "checkpoint"))


def error_of(read, place, *names):
    """The error message of a damaged checkpoint, which contains all of these."""
    with pytest.raises(CheckpointError) as error:
        read(place)
    sentence = str(error.value)
    assert type(error.value) is CheckpointError and error.value.__cause__ is None
    assert len(sentence.splitlines()) == 1 and sentence.isprintable() and len(sentence) < 1000
    for name in names:
        assert name in sentence, (name, sentence)
    return sentence


class Damage:
    """A file whose bytes are restored at the end of the context."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.whole = self.path.read_bytes()
        return self

    def __exit__(self, *_):
        self.remove()
        self.path.write_bytes(self.whole)

    def remove(self):
        if self.path.is_dir():
            self.path.rmdir()
        self.path.unlink(missing_ok=True)
