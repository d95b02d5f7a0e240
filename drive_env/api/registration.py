"""Registration with Gymnasium and PettingZoo; the entry points are strings, imported when an env is made."""

from __future__ import annotations

import gymnasium
import pettingzoo

ENV_ID = "drive_env/Drive-v0"


def register() -> None:
    """Registers the env with Gymnasium, and with PettingZoo from 1.27 on; `import drive_env` calls this."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(ENV_ID, entry_point="drive_env.api.gym:DriveEnv",
                           vector_entry_point="drive_env.api.gym:DriveVectorEnv")
    if not hasattr(pettingzoo, "register"):
        return
    for kind, registry in (("parallel", pettingzoo.parallel_registry), ("aec", pettingzoo.aec_registry)):
        if ENV_ID not in registry:
            pettingzoo.register(kind, ENV_ID, f"drive_env.api.parallel:{kind}_env")
