"""Which worlds does this process step? Scenes of the config, and world ids that are disjoint between ranks."""

from __future__ import annotations

from drive_env import Batch, Scene, resolve_scenes

from ..config import EnvConfig
from ..tools.dist import Ranks
from .device_buffers import DeviceBuffers, PinnedDeviceBuffers, PinnedHostArrays

SEEDS = 2**64
"""Number of the seeds of a generator."""


def scenes_of(env: EnvConfig, first_seed: int = 0) -> list[Scene]:
    """Every scene that the config names: `scene_count` seeds of each generator, files, and all files of folders.

    Args:
        env: names the scenes.
        first_seed: of the generators; if it is at least `seeds_used(env)` of the training, no generated scene is one of
            the training's.

    Raises:
        ValueError: a seed is out of its range, or a scene cannot be read or generated.
    """
    count = seeds_used(env)
    if not 0 <= first_seed <= SEEDS - count:
        raise ValueError(f"first_seed is {first_seed} and scene_count {count}; the seeds must be from 0 to {SEEDS - 1}")
    scenes: list[Scene] = []
    for source in env.scenes:
        seeds = range(first_seed, first_seed + env.count_of(source))
        agents = env.scene_agents_of.get(source, env.scene_agents)
        scenes += resolve_scenes([source], env.drive.agents_per_world, seeds, agents, env.scene_parameters)
    return scenes


def seeds_used(env: EnvConfig) -> int:
    """The largest number of seeds, from the first one on, that a generator of the config uses."""
    return max(map(env.count_of, env.scenes))


def open_batches(env: EnvConfig, scenes: list[Scene], ranks: Ranks, seed: int,
                 informed: bool = False) -> tuple[list[Batch], list[DeviceBuffers]]:
    """This rank's batches, one per env group, and their device buffers.

    Args:
        informed: training uses `critic_observations` (`PPOConfig.informed_weight`).

    Raises:
        ValueError: ranks and env groups do not divide the worlds evenly, or observations are indices or images.
    """
    if (kind := env.drive.observation.type) not in ("float32", "float16"):
        raise ValueError(f"observation.type is {kind!r}; the policy reads vectors, so it must be 'float32' or "
                         "'float16'")
    groups = env.env_groups or (2 if ranks.device.type == "cuda" else 1)
    local_worlds = ranks.local_share("num_worlds", env.num_worlds)
    if local_worlds % groups:
        raise ValueError(f"num_worlds is {env.num_worlds}, {local_worlds} for this process; it must be divisible by "
                         f"its {groups} env groups")
    num_worlds = local_worlds // groups
    batches, buffers = [], []
    for group in range(groups):
        start = ranks.rank * local_worlds + group * num_worlds
        options = {"scenes": scenes, "num_worlds": num_worlds, "config": env.drive, "seed": seed,
                   "threads": env.threads, "world_ids": range(start, start + num_worlds), "reward": env.reward_function}
        if ranks.device.type == "cuda":
            # Pinned memory is allocated before the batch that writes into it, with the shapes of a batch of one world.
            with Batch(**{**options, "num_worlds": 1, "world_ids": None}) as like:
                host = PinnedHostArrays(like, num_worlds, informed)
            batches.append(Batch(**options, arrays=host.for_batch()))
            buffers.append(PinnedDeviceBuffers(batches[-1], host, ranks.device))
        else:
            batches.append(Batch(**options))
            buffers.append(DeviceBuffers(batches[-1], informed))
    return batches, buffers
