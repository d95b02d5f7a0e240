"""Which worlds does this process play? Scenes by name, world ids that no other rank has, arrays on the device."""

from __future__ import annotations

import torch

from drive_env import Batch, Scene, resolve_scenes

from .config import EnvConfig
from .dist import Ranks
from .mirror import Mirror, PinnedArrays, PinnedMirror


def scenes_of(env: EnvConfig) -> list[Scene]:
    """Every scene that the config names: the seeds of generators, files, and all files of folders."""
    return list(resolve_scenes(env.scenes, env.drive.agents_per_world, range(env.scene_count), env.scene_agents,
                               env.scene_parameters))


def fleet_count(env: EnvConfig, device: torch.device) -> int:
    return env.fleets or (2 if device.type == "cuda" else 1)


def open_batches(env: EnvConfig, scenes: list[Scene], ranks: Ranks, seed: int) -> tuple[list[Batch], list[Mirror]]:
    """This rank's batches and their mirrors.

    Raises:
        ValueError: the worlds do not divide by ranks and fleets, or observations are index observations.
    """
    if env.drive.observation_type == "index":
        raise ValueError("observation_type is 'index'; the policy reads floats, so it must be 'float32' or 'float16'")
    fleets = fleet_count(env, ranks.device)
    worlds = ranks.share("num_worlds", env.num_worlds)
    if worlds % fleets:
        raise ValueError(f"num_worlds is {env.num_worlds}, {worlds} for this process; it must divide by its {fleets} fleets")
    batches, mirrors = [], []
    for fleet in range(fleets):
        start = ranks.rank * worlds + fleet * (worlds // fleets)
        chosen = {"scenes": scenes, "num_worlds": worlds // fleets, "config": env.drive, "seed": seed,
                  "threads": env.threads, "world_ids": range(start, start + worlds // fleets)}
        if ranks.device.type == "cuda":
            with Batch(**{**chosen, "num_worlds": 1, "world_ids": None}) as like:
                host = PinnedArrays(like, worlds // fleets)
            batches.append(Batch(**chosen, arrays=host.for_batch()))
            mirrors.append(PinnedMirror(batches[-1], host, ranks.device))
        else:
            batches.append(Batch(**chosen))
            mirrors.append(Mirror(batches[-1]))
    return batches, mirrors
