"""Which partners does a config name, do they fit the worlds, and how do they drive beside a policy in an evaluation?"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from drive_env import Batch, ConfigError
from drive_env.policies import Act, MakeAct
from drive_env.trained import bound

from ..adaptation.interventions import CURRENT
from ..config import PartnerConfig
from ..tools.checkpoint import CheckpointError, about, check_fits, checkpoint_at, load_policy, trained_layout
from ..tools.checkpoint_config import WEIGHTS
from .driver import Partner, PartnerDriver, Partners

POLICIES_KEPT = 64
"""Policies of partners that stay in memory: an evaluation uses those of the training again."""

CHANNELS = ("observations", "first", "waits", "trial_index")
"""What partners read of a batch."""


def load_partners(config: PartnerConfig, batch: Batch, device: torch.device, precision: str,
                  compiled: bool = False) -> Partners | None:
    """The partners of a config; None where it names none, or the batch has no co-players.

    Args:
        batch: whose co-players they drive. precision: to compute in, "float32" or "bfloat16".
        compiled: whether their policies are compiled.

    Raises:
        CheckpointError: a checkpoint is missing or damaged, or its observations or actions have another meaning than
            those of the batch; the sentence names what differs.
    """
    if not config.checkpoints or not batch.config.coplayers:
        return None
    found = []
    for name in config.checkpoints:
        path = checkpoint_at(Path(name))
        try:
            check_fits(path, batch, but_scale_of=(CURRENT,))
        except CheckpointError as error:
            raise CheckpointError(f"partners.checkpoints has {name!r}: {error}") from None
        written = (path / "config.json").stat().st_mtime_ns
        partner = _loaded(os.path.abspath(path), written, device, precision, compiled)
        then, now = trained_layout(path)[CURRENT], batch.observation_layout()[CURRENT]
        found.append(replace(partner, reward_factor=then.scale / now.scale, reward_low=then.low))
    return Partners(tuple(found), config)


@lru_cache(POLICIES_KEPT)
def _loaded(path: str, written: int, device: torch.device, precision: str, compiled: bool) -> Partner:
    """The partner of a checkpoint, read once for each time at which it was `written`."""
    read = about(Path(path))
    policy, _ = load_policy(Path(path), device, precision)
    policy.eval().requires_grad_(False)
    if compiled:
        policy.compile_parts()
    return Partner(policy, Path(path), read["files"][WEIGHTS], read["counters"]["update"],
                   read["counters"]["agent_steps"])


def described(partners: Partners | None) -> dict[str, Any]:
    """What identifies the partners, for the log: path, update, agent-steps and SHA-256 of the weights of each."""
    return {} if partners is None else {"partners": [
        {"path": os.fspath(one.checkpoint), "update": one.update, "agent_steps": one.agent_steps, "sha256": one.sha256}
        for one in partners.of_run]}


def with_partners(make_act: MakeAct, config: PartnerConfig, device: torch.device, precision: str) -> MakeAct:
    """`make_act`, with the partners of a config for the co-players of a batch, if there are any.

    Its actions are in the form of `batch.actions`. The function raises a `ConfigError` for a batch whose observations
    or actions mean something else to a partner.
    """
    def make(batch: Batch) -> Act:
        act = make_act(batch)
        try:
            partners = load_partners(config, batch, device, precision)
        except CheckpointError as error:
            raise ConfigError(str(error)) from None
        if partners is None:
            return act
        arrays: dict[str, torch.Tensor] = {}
        driver: PartnerDriver | None = None

        def together(batch: Batch) -> np.ndarray:
            nonlocal driver
            arrays.update((name, torch.from_numpy(getattr(batch, name)).to(device)) for name in CHANNELS)
            driver = driver or PartnerDriver(partners, batch, arrays, device)
            actions = np.array(act(batch))
            driver.act()
            is_driven = batch.coplayer
            actions[is_driven] = driver.actions.cpu().numpy()[is_driven]
            return actions

        return together

    return bound(make)
