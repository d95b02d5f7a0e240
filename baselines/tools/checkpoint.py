"""What does a checkpoint contain, and how is it read? Weights, optimiser, config, and their meaning.

A checkpoint is a folder:

    config.json             schema version, config, semantics, counters, and a hash of every other file
    weights.safetensors     the policy's parameters
    optimizer.safetensors   the optimiser's moments
    rank-0.safetensors ...  batches, KV cache and random state of each rank (on CPUs)

Its files are data: reading them executes no code.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from drive_env import Batch, CallError, ConfigError, DriveConfig, Feature
from drive_env.trained import cause_of_other_observations, difference_of_actions, meaning_of_actions

from ..config import TrainConfig
from ..policy.model import Policy
from ..rollout.collector import Collector
from .checkpoint_config import FROZEN, OPTIMIZER, RANDOM, SCHEMA, WEIGHTS, config_from_json, rank_file, read_about
from .checkpoint_files import CheckpointError, DamagedError, check_tensors, damaged, printable, read_tensors
from .checkpoint_folder import checkpoint_at, checkpoints, newest, path_of, update_of
from .checkpoint_semantics import layout_of, space_of
from .checkpoint_values import check_values, moment_ranges, rollout_ranges
from .checkpoint_writing import save
from .dist import Ranks

__all__ = ["FROZEN", "SCHEMA", "CheckpointError", "about", "check_fits", "check_like", "checkpoint_at", "checkpoints",
           "config_from_json", "config_of", "differences", "load_policy", "load_rollout", "load_weights", "newest",
           "path_of", "rescaled", "resumable", "save", "trained_layout", "update_of"]

T = TypeVar("T", bound=Callable[..., Any])


# ---- damage ----


def suggests_another(read: T) -> T:
    """Decorates a reader of checkpoints: the error about a damaged one names the newest intact checkpoint."""
    @wraps(read)
    def reader(path, *args, **options):
        try:
            return read(Path(path), *args, **options)
        except DamagedError as error:
            raise CheckpointError(f"{error}{_suggestion(Path(path))}") from None
    return reader


def _suggestion(path: Path) -> str:
    """The end of the error of a damaged checkpoint; empty where it is in no folder of a run."""
    if update_of(path) is None:
        return ""
    for other in reversed(checkpoints(path.parent)):
        try:
            if other.name == path.name:
                continue
            _check_whole(other)
        except CheckpointError:
            continue
        return (f"; the newest intact checkpoint of the run is {os.fspath(other)!r}, from which --run.resume continues "
                "once newer ones are moved away")
    return "; the run has no intact checkpoint"


def _check_whole(path: Path) -> None:
    """Raises a CheckpointError unless every file of a checkpoint can be read."""
    found = read_about(path)
    _weights(path, found)
    for name, digest in found["files"].items():
        if name != WEIGHTS:
            read_tensors(path, name, digest)


def _weights(path: Path, found: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights, checked against the policy that config.json describes."""
    tensors = read_tensors(path, WEIGHTS, found["files"][WEIGHTS])
    layers = config_from_json(found["config"], found["schema"], path).model.layers
    if layers > len(tensors):  # checked first: building a policy with so many layers could take forever
        raise damaged(path, f"{WEIGHTS} has {len(tensors)} tensors; config.model.layers is {layers}")
    check_tensors(path, WEIGHTS, tensors, _policy(path, found, "meta").state_dict())
    check_values(path, WEIGHTS, tensors)
    return tensors


# ---- reading ----


@suggests_another
def about(path: Path) -> dict[str, Any]:
    """The config.json of a checkpoint, every field checked.

    Raises:
        CheckpointError: it is missing, damaged, of another version, or has another position encoding.
    """
    return read_about(path)


@suggests_another
def config_of(path: Path) -> TrainConfig:
    """The config of a checkpoint.

    Raises:
        CheckpointError: its config.json is missing, damaged or of another version.
    """
    found = read_about(path)
    return config_from_json(found["config"], found["schema"], path)


@suggests_another
def load_policy(path: Path, device: torch.device | str = "cpu",
                precision: str | None = None) -> tuple[Policy, TrainConfig]:
    """The policy of a checkpoint, and its config.

    Args:
        precision: to compute in; None: that of the training.

    Raises:
        CheckpointError: the checkpoint is missing, damaged, or of another version.
    """
    found = read_about(path)
    tensors = _weights(path, found)
    policy = _policy(path, found, "cpu", precision)
    policy.load_state_dict(tensors)
    return policy.to(device), config_from_json(found["config"], found["schema"], path)


def _policy(path: Path, found: Mapping[str, Any], device: str, precision: str | None = None) -> Policy:
    """A policy of the shape that config.json describes; on the device "meta" without allocating its parameters."""
    config, meant = config_from_json(found["config"], found["schema"], path), found["semantics"]
    layout, space = layout_of(path, meant), space_of(path, meant)
    try:
        with torch.device(device):
            return Policy(layout, space, config.model, precision or found["precision"])
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise damaged(path, f"config.json: config.model and semantics.layout make no policy: {printable(str(error))}"
                      ) from None


def _filled(layout: Mapping[str, Feature]) -> dict[str, Feature]:
    """Without the features that have no slots: a later version may have further sets, which are empty by default."""
    return {name: feature for name, feature in layout.items() if feature.slots}


def check_fits(path: Path, batch: Batch, but_scale_of: Sequence[str] = ()) -> None:
    """Raises a CheckpointError unless observations and actions of the batch mean the same as those of the training.

    Args:
        but_scale_of: features whose scale may differ.
    """
    if names := [name for name in rescaled(path, batch) if name not in but_scale_of]:
        raise CheckpointError(f"{os.fspath(path)!r} was trained on other observations than those of this batch: "
                              f"{names[0]!r} has another scale"
                              + cause_of_other_observations(config_of(path).env.drive, batch.config))


@suggests_another
def rescaled(path: Path, batch: Batch) -> list[str]:
    """The features that have another scale or lower bound in the batch than in the training of a checkpoint.

    Raises:
        CheckpointError: anything else about observations or actions differs.
    """
    found = read_about(path)
    meant, config = found["semantics"], config_from_json(found["config"], found["schema"], path)
    return _rescaled(repr(os.fspath(path)), layout_of(path, meant), config.env.drive, batch)


@suggests_another
def trained_layout(path: Path) -> dict[str, Feature]:
    """The layout of the observations that the policy of a checkpoint was trained on.

    Raises:
        CheckpointError: its config.json is missing, damaged or of another version.
    """
    return layout_of(path, read_about(path)["semantics"])


def check_like(trained: Batch, batch: Batch) -> None:
    """Raises a ConfigError unless observations and actions of a batch mean the same as those of one in training."""
    try:
        names = _rescaled("the policy", trained.observation_layout(), trained.config, batch)
    except CheckpointError as error:
        raise ConfigError(str(error)) from None
    if names:
        raise ConfigError("the policy was trained on other observations than those of this batch: "
                          f"{names[0]!r} has another scale{cause_of_other_observations(trained.config, batch.config)}")


def _rescaled(name: str, layout: Mapping[str, Feature], config: DriveConfig, batch: Batch) -> list[str]:
    """`rescaled` for a policy with a name for errors, and with the layout and the config of its training."""
    then, now = _filled(layout), _filled(batch.observation_layout())
    unscaled = lambda layout: [dataclasses.replace(feature, meaning="", scale=0.0, low=0.0)
                               for feature in layout.values()]
    if unscaled(then) != unscaled(now):
        raise CheckpointError(f"{name} was trained on other observations than those of this batch"
                              + cause_of_other_observations(config, batch.config))
    if difference := difference_of_actions(meaning_of_actions(config), meaning_of_actions(batch.config)):
        raise CheckpointError(f"{name} was trained with {difference}")
    return [one for one in now if (then[one].scale, then[one].low) != (now[one].scale, now[one].low)]


def differences(name: str, one, other) -> Iterator[tuple[str, Any, Any]]:
    """The fields in which two configs differ: dotted name and both values."""
    for field in dataclasses.fields(one):
        was, now = getattr(one, field.name), getattr(other, field.name)
        if dataclasses.is_dataclass(was) and type(was) is type(now):
            yield from differences(f"{name}.{field.name}", was, now)
        elif was != now:
            yield f"{name}.{field.name}", was, now


@suggests_another
def resumable(path: Path, config: TrainConfig) -> dict[str, int]:
    """The counters of a checkpoint from which this config can resume.

    Raises:
        CheckpointError: the checkpoint is damaged or of another version, or its model, env or partners differ.
    """
    _check_whole(path)
    found = read_about(path)
    then = config_from_json(found["config"], found["schema"], path)
    drive = then.env.drive.replace(observation={"road_memory_mib": config.env.drive.observation.road_memory_mib})
    then = then.changed(env={"threads": config.env.threads, "drive": drive})  # they do not change results
    for part in ("model", "env", "partners"):
        for name, was, now in differences(part, getattr(then, part), getattr(config, part)):
            raise _unequal(path, name, was, now)
    return found["counters"]


def _unequal(path: Path, name: str, was: Any, now: Any) -> CheckpointError:
    return CheckpointError(
        f"{os.fspath(path)!r} has {name} {was!r}, this config {now!r}; to resume they must be equal")


@suggests_another
def load_weights(path: Path, policy: Policy, optimizer: torch.optim.Optimizer) -> None:
    """Loads the weights and the optimiser state of a checkpoint.

    Raises:
        CheckpointError: one of the files is damaged, or does not fit.
    """
    files = read_about(path)["files"]
    weights = read_tensors(path, WEIGHTS, files[WEIGHTS])
    check_tensors(path, WEIGHTS, weights, policy.state_dict())
    check_values(path, WEIGHTS, weights)
    tensors = read_tensors(path, OPTIMIZER, files[OPTIMIZER])
    check_tensors(path, OPTIMIZER, tensors, _expected_moments(tensors, optimizer))
    check_values(path, OPTIMIZER, tensors, moment_ranges(tensors))
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = tensor
    policy.load_state_dict(weights)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _expected_moments(found: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The tensors that AdamW keeps for each parameter that it has updated, which are those indexed in `found`."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    updated = {int(key[1]) for key in map(re.compile(r"([0-9]{1,9})\..*", re.DOTALL).fullmatch, found) if key}
    return {f"{index}.{name}": parameters[index] if name != "step" else torch.empty((), dtype=torch.float32)
            for index in updated if index < len(parameters) for name in ("step", "exp_avg", "exp_avg_sq")}


@suggests_another
def load_rollout(path: Path, collector: Collector, ranks: Ranks) -> bool:
    """Loads this rank's batches, KV cache and random state, so that the rollout continues bit for bit.

    Returns:
        False, and nothing is changed, where the checkpoint has no state of this rank: after training on a GPU, or on
        another number of ranks.

    Raises:
        CheckpointError: the file is damaged, or was written with other scenes or settings of the rollout.
    """
    # A file for this rank, written by as many ranks.
    found, name = read_about(path), rank_file(ranks.rank)
    if ranks.device.type != "cpu" or name not in found["files"] or found["ranks"] != ranks.count:
        return False

    # Settings and scenes are compared before shapes, which depend on them.
    tensors = read_tensors(path, name, found["files"][name])
    own = collector.state()
    _check_settings(path, found, collector)
    _check_scenes(path, tensors, own)
    _check_partners(path, tensors, own)
    check_tensors(path, name, tensors, own | {RANDOM: torch.get_rng_state()})
    check_values(path, name, tensors, rollout_ranges(tensors, collector, found["counters"]["env_steps"]))

    # The values are checked once more by the batches and by torch.
    try:
        collector.load(tensors)
    except CallError as error:
        raise damaged(path, f"{name}: {error}") from None
    try:
        torch.set_rng_state(tensors[RANDOM])
    except RuntimeError as error:
        raise damaged(path, f"{name}: {RANDOM!r} is no state of torch's random number generator: {error}") from None
    return True


def _check_settings(path: Path, found: Mapping[str, Any], collector: Collector) -> None:
    """Raises a CheckpointError if a setting differs that the state of a rollout depends on."""
    then = config_from_json(found["config"], found["schema"], path).ppo
    for name, was, now in (
            ("ppo.rollout_steps", then.rollout_steps, collector.rollout_steps),
            ("ppo.recompute_context", then.recompute_context, collector.history is not None),
            ("ppo.noise_correlation", then.noise_correlation, collector.noise_correlation),
            ("run.precision", found["precision"], collector.policy.precision)):
        if was != now:
            raise _unequal(path, name, was, now)


def _check_scenes(path: Path, tensors: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Raises a CheckpointError if hashes of scenes differ; checked before shapes, which depend on scenes."""
    for key in own:
        if key.endswith("/scenes") and key in tensors and tensors[key].dtype == own[key].dtype \
                and tensors[key].shape == own[key].shape and not torch.equal(own[key], tensors[key]):
            raise CheckpointError(f"{os.fspath(path)!r} was written with other scenes than this config now has; "
                                  "to resume they must be equal")


def _check_partners(path: Path, tensors: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Raises a CheckpointError if the weights of a partner are others; a run among the partners may have gone on."""
    for key in own:
        if key.endswith(".partners.weights") and key in tensors and tensors[key].shape == own[key].shape \
                and not torch.equal(own[key], tensors[key]):
            raise CheckpointError(f"{os.fspath(path)!r} was written with other weights of the partners than "
                                  "partners.checkpoints now have; to resume they must be equal, so name the "
                                  "checkpoints that the line `start` of the log has")
