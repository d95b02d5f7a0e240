"""By which names do others find the envs? Entry points are strings: nothing is imported before it is made."""

from __future__ import annotations

import gymnasium
import pettingzoo

ENV_ID = "drive_env/Drive-v0"


def register() -> None:
    """Makes the env known to Gymnasium, and to PettingZoo from 1.27 on; importing the package does so."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(ENV_ID, entry_point="drive_env.gym:DriveEnv",
                           vector_entry_point="drive_env.gym:DriveVectorEnv")
    if not hasattr(pettingzoo, "register"):
        return
    for face, registry in (("parallel", pettingzoo.parallel_registry), ("aec", pettingzoo.aec_registry)):
        if ENV_ID not in registry:
            pettingzoo.register(face, ENV_ID, f"drive_env.env:{face}_env")
