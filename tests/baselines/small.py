"""What do the trainer's tests run? A small intersection in which every event occurs, and a small policy."""

from __future__ import annotations

import resource
import runpy
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch

from baselines.config import EnvConfig, ExpertConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig
from baselines.experts import load_experts
from baselines.policy.model import Policy
from baselines.rollout.batches import open_batches, scenes_of
from baselines.rollout.collector import Collector
from baselines.tools.dist import Ranks
from drive_env import DriveConfig

ALONE = Ranks(0, 1, torch.device("cpu"))

BUSY = EnvConfig(
    scenes=("intersection",), scene_count=3, scene_agents=6, num_worlds=6,
    drive=DriveConfig(max_trials=2, trial_steps=24, observation={"partners": 5, "roads": 12}, on_collision="remove",
                      on_offroad="stop", goal_radius_m=20.0, dynamics={"max_acceleration_mps2": 20.0}))
"""Fast cars and large goals: within trials of 24 steps agents are removed and stopped, and time limits are reached."""

LONG = replace(BUSY, drive=BUSY.drive.replace(trial_steps=90))
"""The same with trials so long that many agents finish early and wait."""

TINY = ModelConfig(width=16, layers=2, heads=2, object_width=8, context=20)
"""Its context is shorter than an episode of 48 steps and longer than a rollout of 16."""


def make_policy(batch, model=TINY, precision="float32", seed=1) -> Policy:
    """A policy with weights so large that its outputs depend visibly on its context."""
    torch.manual_seed(seed)
    policy = Policy(batch.observation_layout(), batch.single_action_space, model, precision)
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=1.2 * parameter.shape[1] ** -0.5)
    return policy


def make_collector(env=BUSY, model=TINY, steps=16, precision="float32", seed=1, informed=False,
                   expert=ExpertConfig(), **options) -> Collector:
    """The trainer's own collector on the real env."""
    batches, device_buffers = open_batches(env, scenes_of(env), ALONE, seed, informed)
    policy = make_policy(batches[0], model, precision)
    torch.manual_seed(seed)
    experts = load_experts(expert, batches, ALONE.device, policy)
    return Collector(batches, device_buffers, policy, steps, experts=experts, **options)


def clone(buffer):
    """A copy that the next rollout does not overwrite."""
    return buffer.select(torch.arange(len(buffer.first)))


def log_of(scene, frames):
    """A generated scene as a log in which nothing moves: its trials have frames - 1 steps."""
    tracks = ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps", "valid")
    still = {name: np.repeat(getattr(scene.objects, name), frames, axis=0) for name in tracks}
    return replace(scene, generated=False, objects=replace(scene.objects, **still))


@contextmanager
def files_end_at(size):
    """As on a full disk: a write beyond this size stops there, or fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def tiny_config(folder, **parts) -> TrainConfig:
    """The config of a run of a few updates on the busy intersection."""
    config = TrainConfig(
        env=BUSY, model=TINY,
        ppo=PPOConfig(agent_steps=4 * 36 * 16, rollout_steps=16, epochs=2, minibatches=2),
        run=RunConfig(folder=str(folder), device="cpu", checkpoint_updates=0, evaluate_updates=0, progress=False))
    return config.changed(**parts)


def run_here(monkeypatch, capsys, main, *arguments):
    """The exit code, stdout and stderr of a command in this process, which has made the imports that take seconds."""
    monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
    message, handler = None, signal.getsignal(signal.SIGINT)
    try:
        main()
    except SystemExit as error:
        message = error.code
    finally:
        signal.signal(signal.SIGINT, handler)  # the commands install one of their own
    printed = capsys.readouterr()
    if isinstance(message, str):
        return 1, printed.out, printed.err + message
    return message or 0, printed.out, printed.err


def run_module_here(monkeypatch, capsys, name, *arguments):
    """The same of `python -m NAME`."""
    monkeypatch.delitem(sys.modules, name)  # runpy warns of a module that is imported already
    return run_here(monkeypatch, capsys, lambda: runpy.run_module(name, run_name="__main__"), *arguments)
