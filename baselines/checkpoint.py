"""What must be kept to go on, or to play again for ever? Weights, optimiser, config, and what they mean.

A checkpoint is a folder:

    config.json             schema version, config, semantics, counters, and a hash of every other file
    weights.safetensors     of the policy
    optimizer.safetensors   of the optimiser
    rank-0.safetensors ...  batches, memory and random state of each rank's rollout (on CPUs)

It is written beside its place and moved there, so that it is whole or not there. Its files are data: reading them runs
no code.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor

from drive_env import Batch, CallError

from .checkpoint_files import CheckpointError, DamagedError, check_tensors, damaged, printable, read_tensors, sha256
from .config import TrainConfig
from .dist import Ranks
from .model import Policy
from .rollout import Collector
from .saved_config import (
    FROZEN,
    OPTIMIZER,
    SCHEMA,
    WEIGHTS,
    config_from_json,
    config_to_json,
    rank_file,
    read_about,
    update_of,
)
from .semantics import action_semantics, layout_hash, layout_of, semantics, space_of

__all__ = ["FROZEN", "SCHEMA", "CheckpointError", "about", "check_fits", "checkpoints", "config_from_json",
           "config_to_json", "load_policy", "load_rollout", "load_weights", "named", "newest", "resumable", "save"]

T = TypeVar("T", bound=Callable[..., Any])

RANDOM = "random"
"""The state of torch's random numbers, in the file of a rank."""


# ---- writing ----


def save(folder: Path, config: TrainConfig, policy: Policy, optimizer: torch.optim.Optimizer, counters: dict[str, int],
         collector: Collector, ranks: Ranks, keep: int) -> Path:
    """Writes the checkpoint of an update and drops all but the newest `keep`; every rank calls it."""
    name = f"update-{counters['update']:08d}"
    place, beside = folder / name, folder / f".{name}.unfinished"
    if ranks.leads:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        save_file(_plain(policy.state_dict()), beside / WEIGHTS)
        save_file(_plain(_optimizer_tensors(optimizer)), beside / OPTIMIZER)
    ranks.wait()
    if ranks.device.type == "cpu":
        state = collector.state() | {RANDOM: torch.get_rng_state()}
        save_file(_plain(state), beside / rank_file(ranks.rank))
    ranks.wait()
    if ranks.leads:
        batch = collector.batches[0]
        about = {"schema": SCHEMA, "config": config_to_json(config), "counters": counters,
                 "semantics": semantics(config, batch.observation_layout(), batch.single_action_space),
                 "ranks": ranks.count, "precision": policy.precision,
                 "files": {file.name: sha256(file) for file in sorted(beside.iterdir())}}
        (beside / "config.json").write_text(json.dumps(about, indent=1))
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


# ---- which ----


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a folder, the oldest first: whatever has the name of one, whole or damaged."""
    folder = Path(folder)
    found = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    return sorted((path for path in found if update_of(path) is not None), key=update_of)


def newest(folder: Path) -> Path:
    found = checkpoints(folder)
    if not found:
        raise CheckpointError(f"there is no checkpoint in {os.fspath(folder)!r}")
    return found[-1]


def named(place: Path) -> Path:
    """The checkpoint that a user names: by its own folder, or by that of its run, whose newest it then is."""
    own = (Path(place) / "config.json").is_file()
    return place if own or not checkpoints(place) else newest(place)


def offers_another(read: T) -> T:
    """Where the checkpoint that is read is damaged, the sentence also names the newest whole one of its run."""
    @wraps(read)
    def reads(place, *args, **options):
        try:
            return read(Path(place), *args, **options)
        except DamagedError as error:
            raise CheckpointError(f"{error}{_another(Path(place))}") from None
    return reads


def _another(place: Path) -> str:
    if update_of(place) is None:
        return ""
    for other in reversed(checkpoints(place.parent)):
        try:
            if other.name == place.name:
                continue
            _check_whole(other)
        except CheckpointError:
            continue
        return (f"; the newest whole checkpoint of the run is {os.fspath(other)!r}, with which --run.resume goes on "
                "once newer ones are moved away")
    return "; the run has no whole checkpoint"


def _check_whole(place: Path) -> None:
    """A CheckpointError unless this version can read all of a checkpoint."""
    found = read_about(place)
    _weights(place, found)
    for name, digest in found["files"].items():
        if name != WEIGHTS:
            read_tensors(place, name, digest)


def _weights(place: Path, found: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights, once they are those of the policy that config.json describes."""
    tensors = read_tensors(place, WEIGHTS, found["files"][WEIGHTS])
    layers = config_from_json(found["config"], found["schema"], place).model.layers
    if layers > len(tensors):  # before a policy of so many is built to compare with
        raise damaged(place, f"{WEIGHTS} has {len(tensors)} tensors; config.model.layers is {layers}")
    check_tensors(place, WEIGHTS, tensors, _policy(place, found, "meta").state_dict())
    return tensors


# ---- reading ----


@offers_another
def about(place: Path) -> dict[str, Any]:
    """The config.json of a checkpoint, every field checked.

    Raises:
        CheckpointError: it is not there, damaged, of another version, or has other positions.
    """
    return read_about(place)


@offers_another
def load_policy(place: Path, device: torch.device | str = "cpu",
                precision: str | None = None) -> tuple[Policy, TrainConfig]:
    """The policy of a checkpoint as it was trained, and its config.

    Args:
        precision: to compute in; None: as it was trained.

    Raises:
        CheckpointError: the checkpoint is not there, damaged, or of another version.
    """
    found = read_about(place)
    tensors = _weights(place, found)
    policy = _policy(place, found, "cpu", precision)
    policy.load_state_dict(tensors)
    return policy.to(device), config_from_json(found["config"], found["schema"], place)


def _policy(place: Path, found: Mapping[str, Any], device: str, precision: str | None = None) -> Policy:
    """A policy of the form that config.json describes, on "meta" without its memory."""
    config, meant = config_from_json(found["config"], found["schema"], place), found["semantics"]
    layout, space = layout_of(place, meant), space_of(place, meant)
    try:
        with torch.device(device):
            return Policy(layout, space, config.model, precision or found["precision"])
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise damaged(place, f"config.json: config.model and semantics.layout make no policy: {printable(str(error))}"
                      ) from None


@offers_another
def check_fits(place: Path, batch: Batch) -> None:
    """A CheckpointError unless the batch's observations and actions mean what the weights were trained on."""
    meant = read_about(place)["semantics"]
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


@offers_another
def resumable(place: Path, config: TrainConfig) -> dict[str, int]:
    """The counters of a checkpoint that is whole, and that this config can go on from.

    Raises:
        CheckpointError: the checkpoint is damaged or of another version; its model is another, so the weights do not
            fit; or its worlds, so the rollout does not.
    """
    _check_whole(place)
    found = read_about(place)
    then = config_from_json(found["config"], found["schema"], place)
    drive = then.env.drive.replace(road_memory_mib=config.env.drive.road_memory_mib)
    then = then.changed(env={"threads": config.env.threads, "drive": drive})  # these change no result
    for part in ("model", "env"):
        for name, was, now in _differences(part, getattr(then, part), getattr(config, part)):
            raise CheckpointError(f"{os.fspath(place)!r} has {name} {was!r}, this config {now!r}; "
                                  "to go on they must be alike")
    return found["counters"]


@offers_another
def load_weights(place: Path, policy: Policy, optimizer: torch.optim.Optimizer) -> None:
    """Weights and optimiser of a checkpoint into what stands here.

    Raises:
        CheckpointError: one of the files is damaged, or does not fit.
    """
    files = read_about(place)["files"]
    weights = read_tensors(place, WEIGHTS, files[WEIGHTS])
    check_tensors(place, WEIGHTS, weights, policy.state_dict())
    tensors = read_tensors(place, OPTIMIZER, files[OPTIMIZER])
    check_tensors(place, OPTIMIZER, tensors, _optimizer_like(tensors, optimizer))
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = tensor
    policy.load_state_dict(weights)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _optimizer_like(found: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What AdamW keeps of each parameter that it has moved; `found` says which these are."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    moved = {int(key[1]) for key in map(re.compile(r"([0-9]{1,9})\..*", re.DOTALL).fullmatch, found) if key}
    return {f"{index}.{name}": parameters[index] if name != "step" else torch.empty((), dtype=torch.float32)
            for index in moved if index < len(parameters) for name in ("step", "exp_avg", "exp_avg_sq")}


@offers_another
def load_rollout(place: Path, collector: Collector, ranks: Ranks) -> bool:
    """This rank's rollout of a checkpoint into a collector, and torch's random numbers; they go on bit for bit.

    Returns:
        False, and nothing has changed, where the checkpoint has no rollout for this rank: after training on a GPU, on
        another number of ranks, or by a version that pickled its batches.

    Raises:
        CheckpointError: the file is damaged, or of other scenes.
    """
    found, name = read_about(place), rank_file(ranks.rank)
    if ranks.device.type != "cpu" or name not in found["files"] or found["ranks"] != ranks.count:
        return False
    tensors = read_tensors(place, name, found["files"][name])
    own = collector.state()
    check_tensors(place, name, tensors, own | {RANDOM: torch.get_rng_state()})
    for key in own:
        if key.endswith("/scenes") and not torch.equal(own[key], tensors[key]):
            raise CheckpointError(f"{os.fspath(place)!r} was made on other scenes than those of this config are now; "
                                  "to go on they must be alike")
    try:
        collector.load(tensors)
    except CallError as error:
        raise damaged(place, f"{name}: {error}") from None
    try:
        torch.set_rng_state(tensors[RANDOM])
    except RuntimeError as error:
        raise damaged(place, f"{name}: {RANDOM!r} is no state of torch's random numbers: {error}") from None
    return True
