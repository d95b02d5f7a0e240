"""With which weights does a new run start? Those of a parent, a checkpoint of another run (`run.start_from`).

Rewards, scenes, the algorithm and the context may differ from the parent's; the features of observations, actions and
the network may not. The optimiser, counters and schedules start anew. A run that is resumed continues from its own
checkpoint instead.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from drive_env import Batch

from ..policy.model import Policy
from .checkpoint import CheckpointError, about, checkpoint_at, differences, load_policy, rescaled
from .checkpoint_config import WEIGHTS


def load_parent(path: Path, policy: Policy, batch: Batch) -> dict[str, Any]:
    """Loads the weights of a parent into a policy.

    Args:
        path: a checkpoint's folder, or a run's folder for its newest checkpoint.
        batch: of the new run.

    Returns:
        What identifies the parent, for the log: absolute path, update and agent-steps, SHA-256 of its weights; and the
        features whose scale differs from the parent's, as the reward's does with the reward weights.

    Raises:
        CheckpointError: the parent is missing or damaged, or has other features, actions or another network.
    """
    checkpoint = checkpoint_at(path)
    found, names = about(checkpoint), rescaled(checkpoint, batch)
    parent, config = load_policy(checkpoint)
    trained = replace(config.model, context=policy.config.context)  # positions are rotary, so no weight depends on it
    for name, was, now in differences("model", trained, policy.config):
        raise CheckpointError(f"{os.fspath(checkpoint)!r} has {name} {was!r}, this config {now!r}; to start from it "
                              "they must be equal")
    policy.load_state_dict(parent.state_dict())
    return {"parent": os.path.abspath(checkpoint), "parent_update": found["counters"]["update"],
            "parent_agent_steps": found["counters"]["agent_steps"], "parent_sha256": found["files"][WEIGHTS],
            "parent_rescaled": names}
