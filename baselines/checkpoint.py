"""What must be kept to go on, or to play again for ever? Weights, optimiser, config, and what they mean.

A checkpoint is a folder:

    config.json             schema version, config, semantics, counters
    weights.safetensors     of the policy
    optimizer.safetensors   of the optimiser
    rank-0.safetensors ...  memory and random state of each rank's rollout (on CPUs)
    rank-0.batches ...      its batches, pickled: load only what you trust (on CPUs)

It is written beside its place and moved there, so that it is whole or not there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pickle
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from safetensors.torch import load_file, save_file
from torch import Tensor

from drive_env import Batch, DriveConfig, Feature, RewardConfig

from .config import EnvConfig, ModelConfig, PPOConfig, RunConfig, TrainConfig
from .dist import Ranks
from .model import ROTARY_BASE, Policy
from .rollout import Collector

SCHEMA = 1

FROZEN = {1: Path(__file__).parent / "schema" / "1.json"}
"""What a key meant where a file of that version lacks it; never today's default. A key that is new today is added to
the files of old versions with the value that says what they did."""

KEYS = ("schema", "config", "counters", "semantics")
"""What the config.json of every version has."""

POSITIONS = f"rotary by kept tokens of the episode, pairs (i, i + half), base {ROTARY_BASE:g}"


class CheckpointError(ValueError):
    """A checkpoint is not there, damaged, of another version, or made for other observations."""


# ---- what weights mean ----


def layout_hash(layout: Mapping[str, Feature]) -> str:
    """The same for layouts in which every float means the same."""
    table = [(f.name, f.offset, f.slots, f.stride, f.scale, f.low) for f in layout.values()]
    return hashlib.sha256(json.dumps(table).encode()).hexdigest()


def semantics(config: TrainConfig, layout: Mapping[str, Feature], space: spaces.Space) -> dict[str, Any]:
    """What the weights were trained to take their inputs and outputs for."""
    return {
        "positions": POSITIONS, "context": config.model.context, "credit": config.ppo.credit,
        "gamma_trial": config.ppo.gamma_trial, "layout_hash": layout_hash(layout),
        "layout": [dataclasses.asdict(feature) for feature in layout.values()],
        "actions": action_semantics(config.env.drive, space)}


def action_semantics(drive: DriveConfig, space: spaces.Space) -> dict[str, Any]:
    """What an action does."""
    return {"space": space_to_json(space), "type": drive.action_type,
            "max_acceleration_mps2": drive.max_acceleration_mps2, "max_steering_rad": drive.max_steering_rad}


def space_to_json(space: spaces.Space) -> dict[str, Any]:
    if isinstance(space, spaces.Discrete):
        return {"discrete": [int(space.n)]}
    if isinstance(space, spaces.MultiDiscrete):
        return {"multi_discrete": [int(n) for n in space.nvec]}
    return {"box": [float(space.low.min()), float(space.high.max()), *space.shape]}


def space_from_json(found: dict[str, Any]) -> spaces.Space:
    (kind, numbers), = found.items()
    if kind == "discrete":
        return spaces.Discrete(numbers[0])
    if kind == "multi_discrete":
        return spaces.MultiDiscrete(numbers)
    return spaces.Box(numbers[0], numbers[1], tuple(numbers[2:]))


def config_to_json(config: TrainConfig) -> dict[str, Any]:
    return config.to_dict()


def config_from_json(found: dict[str, Any], version: int) -> TrainConfig:
    """A config from a file of that version; what the file lacks is what it meant then.

    Raises:
        CheckpointError: the version is unknown, or a key is.
    """
    if version not in FROZEN:
        raise CheckpointError(f"schema is {version!r}; this version reads {', '.join(map(str, FROZEN))}")
    frozen = json.loads(FROZEN[version].read_text())

    def build(kind, path, found, frozen):
        known = {field.name for field in dataclasses.fields(kind)}
        for name in found:
            if name not in known:
                raise CheckpointError(f"config has {path}{name}, which this version does not know")
        parts = {}
        for name in known:
            if name not in found and name not in frozen:
                raise CheckpointError(f"config lacks {path}{name}, and schema {version} does not say what it was")
            value = found[name] if name in found else frozen[name]
            if name in _PARTS:
                value = build(_PARTS[name], f"{path}{name}.", found.get(name, {}), frozen.get(name, {}))
            parts[name] = tuple(value) if isinstance(value, list) else value
        return kind(**parts)

    return build(TrainConfig, "", found, frozen)


_PARTS = {"env": EnvConfig, "model": ModelConfig, "ppo": PPOConfig, "run": RunConfig, "drive": DriveConfig,
          "reward": RewardConfig}


# ---- writing ----


def save(folder: Path, config: TrainConfig, policy: Policy, optimizer: torch.optim.Optimizer, counters: dict[str, int],
         collector: Collector, ranks: Ranks, keep: int) -> Path:
    """Writes the checkpoint of an update and drops all but the newest `keep`; every rank calls it."""
    name = f"update-{counters['update']:08d}"
    place, beside = folder / name, folder / f".{name}.unfinished"
    if ranks.leads:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        batch = collector.batches[0]
        about = {"schema": SCHEMA, "config": config_to_json(config), "counters": counters,
                 "semantics": semantics(config, batch.observation_layout(), batch.single_action_space),
                 "ranks": ranks.count, "precision": policy.precision}
        (beside / "config.json").write_text(json.dumps(about, indent=1))
        save_file(_plain(policy.state_dict()), beside / "weights.safetensors")
        save_file(_plain(_optimizer_tensors(optimizer)), beside / "optimizer.safetensors")
    ranks.wait()
    if ranks.device.type == "cpu":
        state = collector.state() | {"random": torch.get_rng_state()}
        save_file(_plain(state), beside / f"rank-{ranks.rank}.safetensors")
        (beside / f"rank-{ranks.rank}.batches").write_bytes(
            pickle.dumps([pickle.dumps(batch) for batch in collector.batches]))
    ranks.wait()
    if ranks.leads:
        for file in beside.iterdir():
            _flush(file)
        shutil.rmtree(place, ignore_errors=True)
        os.replace(beside, place)
        _flush(folder)
        for old in checkpoints(folder)[:-keep]:
            shutil.rmtree(old)
    ranks.wait()
    return place


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {f"{index}.{name}": torch.as_tensor(value)
            for index, state in optimizer.state_dict()["state"].items() for name, value in state.items()}


# ---- reading ----


def checkpoints(folder: Path) -> list[Path]:
    """The whole checkpoints of a folder, the oldest first."""
    return sorted(path.parent for path in Path(folder).glob("update-*/config.json"))


def newest(folder: Path) -> Path:
    found = checkpoints(folder)
    if not found:
        raise CheckpointError(f"there is no checkpoint in {os.fspath(folder)!r}")
    return found[-1]


def named(place: Path) -> Path:
    """The checkpoint that a user names: by its own folder, or by that of its run, whose newest it then is."""
    own = (Path(place) / "config.json").is_file()
    return place if own or not checkpoints(place) else newest(place)


def about(place: Path) -> dict[str, Any]:
    """The config.json of a checkpoint."""
    try:
        found = json.loads((Path(place) / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{os.fspath(place)!r} is no checkpoint, and no folder of a run with one: {error}"
                              ) from None
    lacks = [key for key in KEYS if not isinstance(found, dict) or key not in found]
    if lacks:
        raise CheckpointError(f"{os.fspath(place)!r} is no checkpoint: its config.json has no {lacks[0]!r}")
    return found


def load_policy(place: Path, device: torch.device | str = "cpu",
                precision: str | None = None) -> tuple[Policy, TrainConfig]:
    """The policy of a checkpoint as it was trained, and its config.

    Args:
        precision: to compute in; None: as it was trained.
    """
    found = about(place)
    config = config_from_json(found["config"], found["schema"])
    meant = found["semantics"]
    if meant["positions"] != POSITIONS:
        raise CheckpointError(f"positions are {meant['positions']!r}; this version has {POSITIONS!r}")
    layout = {feature["name"]: Feature(**feature) for feature in meant["layout"]}
    policy = Policy(layout, space_from_json(meant["actions"]["space"]), config.model,
                    precision or found.get("precision", "float32"))
    policy.load_state_dict(load_file(Path(place) / "weights.safetensors"))
    return policy.to(device), config


def check_fits(place: Path, batch: Batch) -> None:
    """A CheckpointError unless the batch's observations and actions mean what the weights were trained on."""
    meant = about(place)["semantics"]
    if meant["layout_hash"] != layout_hash(batch.observation_layout()):
        raise CheckpointError(f"{os.fspath(place)!r} was trained on other observations than this batch shows")
    for name, value in action_semantics(batch.config, batch.single_action_space).items():
        if meant["actions"][name] != value:
            raise CheckpointError(f"{os.fspath(place)!r} was trained with actions of {name} "
                                  f"{meant['actions'][name]!r}; this batch has {value!r}")


def _differences(name: str, one, other) -> Iterator[tuple[str, Any, Any]]:
    """What two configs of a kind do not have alike: the dotted name of each field, and both values."""
    for field in dataclasses.fields(one):
        was, now = getattr(one, field.name), getattr(other, field.name)
        if dataclasses.is_dataclass(was) and type(was) is type(now):
            yield from _differences(f"{name}.{field.name}", was, now)
        elif was != now:
            yield f"{name}.{field.name}", was, now


def resumable(place: Path, config: TrainConfig) -> dict[str, int]:
    """The counters of a checkpoint that this config can go on from.

    Raises:
        CheckpointError: its model is another, so the weights do not fit; or its worlds, so the rollout does not.
    """
    found = about(place)
    then = config_from_json(found["config"], found["schema"])
    drive = then.env.drive.replace(road_memory_mib=config.env.drive.road_memory_mib)
    then = then.changed(env={"threads": config.env.threads, "drive": drive})  # these change no result
    for part in ("model", "env"):
        for name, was, now in _differences(part, getattr(then, part), getattr(config, part)):
            raise CheckpointError(f"{os.fspath(place)!r} has {name} {was!r}, this config {now!r}; "
                                  "to go on they must be alike")
    return found["counters"]


def load_weights(place: Path, policy: Policy, optimizer: torch.optim.Optimizer) -> None:
    """Weights and optimiser of a checkpoint into what stands here."""
    policy.load_state_dict(load_file(Path(place) / "weights.safetensors"))
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in load_file(Path(place) / "optimizer.safetensors").items():
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def load_rollout(place: Path, ranks: Ranks) -> tuple[list[bytes], dict[str, Tensor]] | None:
    """The pickled batches of this rank and its collector's state; None where the checkpoint has none for it."""
    batches = Path(place) / f"rank-{ranks.rank}.batches"
    if ranks.device.type != "cpu" or not batches.is_file() or about(place)["ranks"] != ranks.count:
        return None
    return pickle.loads(batches.read_bytes()), load_file(Path(place) / f"rank-{ranks.rank}.safetensors")
