"""drive-env: a fast, bit-reproducible multi-agent driving environment whose episodes are made of trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .batch import OUTCOMES, Batch
from .config import DriveConfig, RewardConfig
from .env import DriveParallelEnv, aec_env, parallel_env
from .errors import ActionError, CallError, ConfigError, DriveError, DriveMemoryError, MissingExtraError, SceneError
from .layout import Feature
from .registration import register as _register
from .reports import Figure
from .roles import Frames, Roles
from .scenes import Report, Scene, generate_scene, load_scene, resolve_scenes, save_scene
from .sub_batch import BatchPart

_register()

if TYPE_CHECKING:
    from .replay import record

    __version__: str
else:  # hidden, or a type checker would take every name for one that is there

    def __getattr__(name):
        if name == "__version__":  # read when asked: it takes longer than the rest of the import
            from importlib.metadata import version

            return version("drive-env")
        if name == "record":  # a batch alone does not need it
            from .replay import record

            return record
        raise AttributeError(f"module 'drive_env' has no attribute {name!r}")


__all__ = [
    "OUTCOMES", "ActionError", "Batch", "BatchPart", "CallError", "ConfigError", "DriveConfig", "DriveError",
    "DriveMemoryError", "DriveParallelEnv", "Feature", "Figure", "Frames", "MissingExtraError", "Report",
    "RewardConfig", "Roles", "Scene", "SceneError", "aec_env", "generate_scene", "load_scene", "parallel_env", "record",
    "resolve_scenes", "save_scene",
]
