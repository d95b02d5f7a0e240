"""Are the values in a checkpoint's tensors possible? Ranges of optimiser and rollout; every float is finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from ..rollout.collector import Collector
from .checkpoint_files import damaged

Bound = float | Tensor
"""Of all entries of a tensor, or one that broadcasts to it."""


def check_values(path: Path, name: str, tensors: Mapping[str, Tensor],
                 ranges: Mapping[str, tuple[Bound, Bound]] | None = None) -> None:
    """Raises a DamagedError unless every float is finite and every tensor named in `ranges` is within its range."""
    for key, tensor in tensors.items():
        if (wrong := ~tensor.isfinite()).any():
            raise damaged(path, f"{name}: {key!r} has {tensor[wrong][0].item()}; every entry must be finite")
    for key, bounds in (ranges or {}).items():
        tensor = tensors[key]
        least, greatest = (torch.as_tensor(bound).expand_as(tensor) for bound in bounds)
        wrong = (tensor < least) | (tensor > greatest)
        if wrong.any():
            found, low, high = (one[wrong][0].item() for one in (tensor, least, greatest))
            raise damaged(path, f"{name}: {key!r} has {found}; it must be from {low} to {high}")


def moment_ranges(tensors: Mapping[str, Tensor]) -> dict[str, tuple[Bound, Bound]]:
    """Ranges of AdamW's state: step counts and averages of squares are not negative."""
    return {key: (0, math.inf) for key in tensors if key.endswith((".step", ".exp_avg_sq"))}


def rollout_ranges(tensors: Mapping[str, Tensor], collector: Collector,
                   env_steps: int) -> dict[str, tuple[Bound, Bound]]:
    """Ranges of the state outside the batches; `Batch.load_state_dict` checks that of the batches.

    Args:
        env_steps: of the run so far: no agent has written more tokens.
    """
    ranges: dict[str, tuple[Bound, Bound]] = {}
    for key in tensors:
        if key.endswith(".written"):
            position = f"{key.removesuffix('written')}position"
            ranges |= {key: (0, env_steps), position: (0, tensors[key])}
    for index, group in enumerate(collector.groups):
        ranges[f"group{index}.clock"] = (0, int(group.trial_steps.max()))
        if group.partners:
            partners = f"group{index}.partners."
            ranges |= {f"{partners}step": (0, env_steps),  # the others are -1 before the first episode
                       f"{partners}episodes": (-1, env_steps),
                       f"{partners}trial": (-1, group.batch.config.max_trials - 1)}
    sizes = getattr(collector.policy.actor, "sizes", None)  # continuous actions have no bounds
    for key in tensors if sizes else ():
        if key.endswith(".previous_actions"):
            ranges[key] = (0, torch.tensor(sizes) - 1)
    return ranges
