"""By which names do others find the envs? Entry points are strings: nothing is imported before it is made."""

from __future__ import annotations

import gymnasium

ENV_ID = "drive_env/Drive-v0"


def register() -> None:
    """Makes the env known to Gymnasium; importing the package does so."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(ENV_ID, entry_point="drive_env.gym:DriveEnv",
                           vector_entry_point="drive_env.gym:DriveVectorEnv")
