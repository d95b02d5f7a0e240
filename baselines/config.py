"""What may be chosen in training? One frozen dataclass a concern; the command line is made from them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import Any, Literal, get_type_hints

from drive_env import DriveConfig

from .plain import plain


def _check(name: str, value, fits: bool, allowed: str) -> None:
    if not fits:
        raise ValueError(f"{name} is {value!r}; it must be {allowed}")


@dataclass(frozen=True)
class _Plain:
    """Its fields hold plain data of their annotated types, whatever fitting value was handed over (plain.py)."""

    def __post_init__(self):
        for name, kind in _kinds(type(self)).items():
            value = getattr(self, name)
            if not is_dataclass(kind):
                value = plain(name, value, kind)
            elif isinstance(value, Mapping):
                value = _changed(name, kind(), value)
            elif not isinstance(value, kind):
                raise ValueError(f"{name} is {value!r}; it must be of type {kind.__name__}, or a dict of its fields")
            object.__setattr__(self, name, value)


@cache
def _kinds(config: type) -> dict[str, Any]:
    """The annotated type of every field."""
    return get_type_hints(config)


def _told_from_names(source):
    """A path object of one part with its folder: as a string alone it could be a generator's name."""
    bare = isinstance(source, PurePath) and not os.path.dirname(source)
    return os.path.join(os.curdir, source) if bare else source


@dataclass(frozen=True)
class EnvConfig(_Plain):
    """What is played."""

    scenes: tuple[str, ...] = ("town",)
    """Generators' names, and paths of files and folders; one that is called like a generator is written `./town`."""
    scene_count: int = 64
    """Seeds 0, 1, ... of a generator to play."""
    scene_agents: int | None = None
    """Vehicles in a generated scene; None: as many as `drive.agents_per_world`, at least 32."""
    scene_parameters: dict[str, int | float | tuple[int | float, ...]] = field(default_factory=dict)
    """Further parameters of the generator, such as `arm_length_m`."""
    num_worlds: int = 16
    """Worlds of all ranks together."""
    fleets: int | None = None
    """Batches that take turns, so that the core steps one while the policy thinks for another; None: 2 on a GPU,
    else 1."""
    threads: int = 0
    """Threads that step the worlds of this process; 0: as many as it may use."""
    drive: DriveConfig = field(default_factory=DriveConfig)

    def __post_init__(self):
        if isinstance(self.scenes, (list, tuple)):
            object.__setattr__(self, "scenes", tuple(map(_told_from_names, self.scenes)))
        super().__post_init__()
        _check("scenes", self.scenes, len(self.scenes) > 0, "at least one name or path")
        for name in ("scene_count", "num_worlds", "fleets", "scene_agents"):
            value = getattr(self, name)
            _check(name, value, value is None or value >= 1, "1 or more")
        _check("threads", self.threads, self.threads >= 0, "0 or more")


@dataclass(frozen=True)
class ModelConfig(_Plain):
    """What the policy computes."""

    width: int = 128
    layers: int = 2
    heads: int = 4
    kv_heads: int | None = None
    """Heads of keys and values, which several query heads share; None: as many as `heads`."""
    object_width: int = 64
    """Width of the encoding of one vehicle or road segment."""
    context: int = 128
    """Kept agents of the episode that an agent attends to, itself included."""
    critic: Literal["shared", "separate"] = "shared"
    """One trunk for actor and critic, or a trunk each."""
    memory: Literal["transformer", "none"] = "transformer"
    """`none` is a feed-forward policy: it knows this observation alone."""
    previous_action: bool = True
    """Show the policy its last action in the episode."""

    def __post_init__(self):
        super().__post_init__()
        for name in ("width", "layers", "heads", "object_width", "context"):
            _check(name, getattr(self, name), getattr(self, name) >= 1, "1 or more")
        _check("width", self.width, self.width % (2 * self.heads) == 0, f"a multiple of 2 x heads = {2 * self.heads}")
        shared = self.heads if self.kv_heads is None else self.kv_heads
        _check("kv_heads", self.kv_heads, shared >= 1 and self.heads % shared == 0,
               f"a divisor of heads = {self.heads}")


@dataclass(frozen=True)
class PPOConfig(_Plain):
    """How it learns (Schulman et al. 2017)."""

    agent_steps: int = 20_000_000
    """Kept agents of all ranks together after which training ends."""
    segment: int = 64
    """Steps of every world between updates."""
    epochs: int = 2
    minibatches: int = 4
    """Optimiser steps an epoch; each takes whole segments of some agents."""
    gamma: float = 0.995
    """Discount of a kept step. Over a trial of 201 steps 0.98 leaves 1.7% for the next trial, 0.995 37%."""
    lam: float = 0.95
    credit: Literal["through", "per_trial", "stop"] = "through"
    """Whether credit flows from a trial into the one before it."""
    gamma_trial: float | None = None
    """Discount of a step behind which the trial ends; None: `gamma`."""
    clip: float = 0.2
    value_weight: float = 0.5
    entropy_weight: float = 0.005
    target_kl: float | None = None
    """An epoch whose approximate KL, the mean over its minibatches that hold data, is above it is the last of its
    update."""
    learning_rate: float = 3e-4
    anneal: bool = True
    """Take the learning rate to 0 by the end, linearly."""
    warmup_updates: int = 0
    """Updates over which the learning rate grows to its full size."""
    weight_decay: float = 0.0
    max_grad_norm: float = 0.5
    context_refresh: bool = False
    """After each update, remember the context anew with the new weights."""

    def __post_init__(self):
        super().__post_init__()
        for name in ("agent_steps", "segment", "epochs", "minibatches"):
            _check(name, getattr(self, name), getattr(self, name) >= 1, "1 or more")
        for name in ("gamma", "lam", "gamma_trial"):
            value = getattr(self, name)
            _check(name, value, value is None or 0 <= value <= 1, "from 0 to 1")
        for name in ("clip", "max_grad_norm"):
            _check(name, getattr(self, name), getattr(self, name) > 0, "above 0")
        for name in ("value_weight", "entropy_weight", "learning_rate", "weight_decay", "warmup_updates"):
            _check(name, getattr(self, name), getattr(self, name) >= 0, "0 or more")


@dataclass(frozen=True)
class RunConfig(_Plain):
    """Where it runs and what it leaves behind."""

    folder: str = "runs/default"
    seed: int = 0
    device: str = "auto"
    """auto takes a GPU where there is one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """auto is bfloat16 on a GPU, else float32."""
    torch_threads: int | None = None
    """Threads of torch on a CPU; None leaves it to torch. Small models are fastest with one."""
    compile: bool | None = None
    """Compile model and update; None: on a GPU."""
    minutes: float | None = None
    """Stop after so many minutes, whatever is left."""
    resume: bool = False
    """Go on from the newest checkpoint of the folder."""
    overwrite: bool = False
    """Delete the run that the folder holds, and begin anew."""
    checkpoint_updates: int = 100
    """Updates between checkpoints; 0: only at the end."""
    keep_checkpoints: int = 3
    evaluate_updates: int = 100
    """Updates between evaluations on every scene; 0: only at the end."""
    tensorboard: bool = False
    wandb: bool = False
    progress: bool = True

    def __post_init__(self):
        super().__post_init__()
        for name in ("checkpoint_updates", "evaluate_updates", "seed"):
            _check(name, getattr(self, name), getattr(self, name) >= 0, "0 or more")
        _check("keep_checkpoints", self.keep_checkpoints, self.keep_checkpoints >= 1, "1 or more")
        _check("torch_threads", self.torch_threads, self.torch_threads is None or self.torch_threads >= 1, "1 or more")
        _check("minutes", self.minutes, self.minutes is None or self.minutes > 0, "above 0")
        _check("overwrite", self.overwrite, not (self.overwrite and self.resume), "False where resume is True")


@dataclass(frozen=True)
class TrainConfig(_Plain):
    """Everything."""

    env: EnvConfig = field(default_factory=EnvConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def changed(self, **parts: dict) -> TrainConfig:
        """A copy with fields of its parts changed: `config.changed(ppo={"gamma": 0.9}, env={"drive": {"dt_s": 0.2}})`.

        Raises:
            ValueError: there is no such part or field.
        """
        return _changed("config", self, parts)

    def to_dict(self) -> dict[str, Any]:
        """The config as JSON holds it: `TrainConfig.from_dict(config.to_dict()) == config`."""
        return json.loads(json.dumps(asdict(self), allow_nan=False))

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> TrainConfig:
        """The config of such a dict; fields that it lacks have today's defaults.

        Raises:
            ValueError: there is no such part or field, or a value does not fit.
        """
        return TrainConfig().changed(**found)


def _changed(name: str, config, changes: Mapping[str, Any]):
    """A copy with these fields changed; a dict in the place of a config changes fields of that."""
    known = [one.name for one in fields(config)]
    found = {}
    for key, value in changes.items():
        if key not in known:
            raise ValueError(f"{name} has no {key}; it has {', '.join(known)}")
        was = getattr(config, key)
        found[key] = _changed(key, was, value) if isinstance(value, Mapping) and is_dataclass(was) else value
    return replace(config, **found)
