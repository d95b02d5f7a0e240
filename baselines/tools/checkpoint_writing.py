"""How is a checkpoint written? Under a temporary name, and renamed, so that it is complete or absent."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save as safetensors_bytes
from safetensors.torch import save_file
from torch import Tensor

from ..config import TrainConfig
from ..policy.model import Policy
from ..rollout.collector import Collector
from .checkpoint_config import OPTIMIZER, RANDOM, SCHEMA, WEIGHTS, rank_file
from .checkpoint_files import reason, sha256
from .checkpoint_folder import checkpoints, delete, path_of, update_of
from .checkpoint_semantics import semantics
from .dist import Ranks


def save(folder: Path, config: TrainConfig, policy: Policy, optimizer: torch.optim.Optimizer, counters: dict[str, int],
         collector: Collector, ranks: Ranks, keep: int, best: int | None = None) -> Path:
    """Writes the checkpoint of an update and deletes all but the newest `keep` and that of the update `best`; every
    rank calls it.

    Raises:
        OSError: a file cannot be written, as on a full disk; earlier checkpoints are unchanged.
    """
    path = path_of(folder, counters["update"])
    temporary = folder / f".{path.name}.unfinished"

    def write_policy() -> None:
        delete(temporary)
        temporary.mkdir()
        _write(policy.state_dict(), temporary / WEIGHTS)
        _write(_optimizer_tensors(optimizer), temporary / OPTIMIZER)

    def write_rollout() -> None:
        if ranks.device.type == "cpu":
            state = collector.state() | {RANDOM: torch.get_rng_state()}
            _write(state, temporary / rank_file(ranks.rank))

    def finish() -> None:
        # config.json is last, since it has the hashes of all other files; the rename makes the checkpoint appear.
        batch = collector.batches[0]
        about = {"schema": SCHEMA, "config": config.to_dict(), "counters": counters,
                 "semantics": semantics(config, batch.observation_layout(), batch.single_action_space),
                 "ranks": ranks.count, "precision": policy.precision,
                 "files": {file.name: sha256(file) for file in sorted(temporary.iterdir())}}
        (temporary / "config.json").write_text(json.dumps(about, indent=1))
        for file in temporary.iterdir():
            _flush(file)
        delete(path)
        os.replace(temporary, path)
        _flush(folder)

    def delete_older() -> None:
        for old in checkpoints(folder)[:-keep]:
            if update_of(old) != best:
                delete(old)

    try:
        # The main rank writes weights and optimiser, then every rank its rollout.
        ranks.on_main(write_policy)
        ranks.on_all(write_rollout)
        ranks.on_main(finish)
    except OSError as error:
        raise OSError(f"checkpoint {os.fspath(path)!r} cannot be written: {reason(error)}; earlier checkpoints are "
                      "unchanged") from None
    finally:
        if ranks.is_main:
            _discard(temporary)
    ranks.on_main(delete_older)
    return path


def weights_sha256(policy: Policy) -> str:
    """The hash that the file of the weights has in a checkpoint."""
    return hashlib.sha256(safetensors_bytes(_on_cpu(policy.state_dict()))).hexdigest()


def _discard(temporary: Path) -> None:
    """Deletes an unfinished checkpoint; its own error must not replace the one that left the checkpoint unfinished."""
    try:
        delete(temporary)
    except OSError:
        pass


def _write(tensors: Mapping[str, Tensor], path: Path) -> None:
    try:
        save_file(_on_cpu(tensors), path)
    except SafetensorError as error:  # of a write that fails; it cannot be sent to other ranks
        raise OSError(str(error)) from None


def _on_cpu(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
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
