"""drive-env: a fast, bit-reproducible multi-agent driving environment whose episodes are made of trials."""

from importlib.metadata import version as _version

from .batch import OUTCOMES, Batch, Figure
from .config import DriveConfig, RewardConfig
from .env import DriveParallelEnv, parallel_env
from .errors import ActionError, CallError, ConfigError, DriveError, SceneError
from .gym import register as _register
from .layout import Feature
from .scenes import Report, Scene, generate_scene, load_scene

__version__ = _version("drive-env")

_register()

__all__ = [
    "OUTCOMES", "ActionError", "Batch", "CallError", "ConfigError", "DriveConfig", "DriveError", "DriveParallelEnv", "Feature", "Figure",
    "Report", "RewardConfig", "Scene", "SceneError", "generate_scene", "load_scene", "parallel_env",
]
