"""How does a trained policy leave the checkout? As one file, which `drive_env.load_policy` reads without torch.

    python -m baselines.export runs/generalist generalist.npz --half
"""

from __future__ import annotations

import sys
from pathlib import Path

from drive_env import DriveError
from drive_env.outputs import checked_file
from drive_env.trained import (
    SUFFIX, PolicyFile, Shape, meaning_of_actions, meaning_of_observations, needed_weights, write_policy)

from .evaluate import identity_of, scene_settings
from .policy.heads import DiscreteHead
from .policy.model import Policy
from .tools.checkpoint import about, checkpoint_at, load_policy
from .tools.checkpoint_config import WEIGHTS


def exported(checkpoint: Path) -> PolicyFile:
    """The content of the file for a checkpoint: its actor, and what its inputs and outputs mean.

    Args:
        checkpoint: its folder, or that of a run for its newest one.

    Raises:
        ValueError: there is no checkpoint, or it is damaged.
    """
    path = checkpoint_at(checkpoint)
    found = about(path)
    policy, config = load_policy(path, "cpu", "float32")
    shape, object_width, drive = shape_of(policy), config.model.object_width, config.env.drive
    state = policy.state_dict()
    weights = {name: state[name].numpy() for name in needed_weights(shape, object_width)}
    identity = identity_of(path, found["files"][WEIGHTS], found["counters"])
    identity["path"] = "/".join(path.resolve().parts[-2:])  # others who get the file need no folders of this machine
    return PolicyFile(shape, object_width, weights, drive, meaning_of_observations(drive), meaning_of_actions(drive),
                      identity, scene_settings(config.env))


def shape_of(policy: Policy) -> Shape:
    """The shape of the actor of a policy."""
    config, encoder, actor = policy.config, policy.trunks[0].encoder, policy.actor
    heads = config.heads if policy.has_memory else 0
    is_discrete = isinstance(actor, DiscreteHead)
    return Shape(
        own=encoder.own, sets=tuple(encoder.sets), width=config.width,
        layers=config.layers, heads=heads, kv_heads=(config.kv_heads or config.heads) if heads else 0,
        context=policy.context, previous_action=config.previous_action,
        sizes=tuple(actor.sizes) if is_discrete else (), components=actor.components,
        bounds=(0.0, 0.0) if is_discrete else (actor.low, actor.high))


def main() -> None:
    """The command: `python -m baselines.export CHECKPOINT FILE`."""
    import tyro

    def run(checkpoint: Path, file: Path, half: bool = False) -> None:
        """Writes the policy of a checkpoint as a file that `drive_env.load_policy` reads without torch.

        Args:
            checkpoint: a checkpoint's folder, or a run's folder for its newest checkpoint.
            file: to write, ending with .npz.
            half: store the weights in half precision (float16), which halves the file.
        """
        try:
            checked_file("FILE", file, (SUFFIX,))
            write_policy(file, exported(checkpoint), half)
        except (DriveError, ValueError) as error:  # the message is one sentence
            sys.exit(f"baselines.export: {error}")
        print(f"policy: {file} ({file.stat().st_size:,} bytes)")

    tyro.cli(run, prog="python -m baselines.export", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
