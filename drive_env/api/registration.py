"""Registration with Gymnasium and PettingZoo; the entry points are strings, imported when an env is made."""

from __future__ import annotations

from typing import Any

import gymnasium
import pettingzoo

from .ladder import LADDER
from .scene_envs import SCENE_ENVS

ENV_ID = LADDER[0].id

ENV_ARGUMENTS: dict[str, dict[str, Any]] = {
    **{level.id: level.kwargs for level in LADDER},
    **{env.id: {"scenes": env.scenes, "defaults": env.defaults} for env in SCENE_ENVS}}
"""The arguments of each Gymnasium env, by its id."""


def register() -> None:
    """Registers the envs with Gymnasium, and the first with PettingZoo from 1.27 on; `import drive_env` calls this."""
    for env_id, kwargs in ENV_ARGUMENTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point="drive_env.api.gym:DriveEnv",
                               vector_entry_point="drive_env.api.gym:DriveVectorEnv", kwargs=kwargs)
    if not hasattr(pettingzoo, "register"):
        return
    for kind, registry in (("parallel", pettingzoo.parallel_registry), ("aec", pettingzoo.aec_registry)):
        if ENV_ID not in registry:
            pettingzoo.register(kind, ENV_ID, f"drive_env.api.parallel:{kind}_env")
