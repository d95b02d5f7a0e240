"""drive-env: a fast, bit-reproducible multi-agent driving environment whose episodes are made of trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .api.parallel import DriveParallelEnv, aec_env, parallel_env
from .api.registration import register as _register
from .batch import OUTCOMES, REWARD_TERMS, Batch
from .config import (
    DisturbanceConfig, DriveConfig, DynamicsConfig, HiddenConfig, IDMConfig, ImageConfig, MOBILConfig,
    ObservationConfig, RewardConfig, RewardRanges, SensorConfig)
from .dict_observation import DictObservation
from .errors import (
    ActionError, ArgumentError, CallError, ConfigError, DriveError, DriveMemoryError, MissingExtraError, SceneError,
    UnknownNameError)
from .layout import Feature
from .names import check_names
from .reports import MetricValue, join_metrics
from .roles import Frames, GoalListsInUse, LightLogs, Roles, ScriptsInUse
from .scenes import (
    Report, Road, Scene, Vehicle, build_scene, compose, generate_scene, load_scene, resolve_scenes, save_scene)
from .sub_batch import BatchPart
from .trial_records import trial_metrics

_register()

if TYPE_CHECKING:
    from .policies import load_policy
    from .replay import record

    __version__: str
else:  # hidden from type checkers, which would accept every name otherwise

    def __getattr__(name):
        if name == "__version__":  # lazy: it takes longer than the rest of the import
            from .version import package_version

            return package_version()
        if name == "record":  # lazy: training does not need it
            from .replay import record

            return record
        if name == "load_policy":  # lazy: training does not need it
            from .policies import load_policy

            return load_policy
        if name in ("behaviours", "drivers", "evaluation", "policies", "realism", "replay", "tasks", "trained"):
            from importlib import import_module  # `from . import` would look the name up here, without end

            return import_module(f".{name}", __name__)
        raise AttributeError(f"module 'drive_env' has no attribute {name!r}")


__all__ = [
    "OUTCOMES", "REWARD_TERMS", "ActionError", "ArgumentError", "Batch", "BatchPart", "CallError", "ConfigError",
    "DictObservation", "DisturbanceConfig", "DriveConfig", "DriveError", "DriveMemoryError", "DriveParallelEnv",
    "DynamicsConfig", "Feature", "Frames", "GoalListsInUse", "HiddenConfig", "IDMConfig", "ImageConfig", "LightLogs",
    "MOBILConfig", "MetricValue", "MissingExtraError", "ObservationConfig", "Report", "RewardConfig", "RewardRanges",
    "Road", "Roles", "Scene", "SceneError", "ScriptsInUse", "SensorConfig", "UnknownNameError", "Vehicle", "aec_env",
    "build_scene", "check_names", "compose", "generate_scene", "join_metrics", "load_policy", "load_scene",
    "parallel_env", "record", "resolve_scenes", "save_scene", "trial_metrics",
]
