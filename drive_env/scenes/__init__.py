"""Where do scenes come from? From files, from generators, or made by hand; all are a `Scene`."""

from .expert_actions import ExpertActions
from .generate import compose, generate_scene
from .load import load_scene
from .resolve import Scenes, SceneSource, resolve_scenes
from .save import save_scene
from .scene import (
    CONTROL_KINDS, LIGHT_STATES, OBJECT_KINDS, ROAD_KINDS, GoalLists, LaneGraph, Objects, Provenance, Report, Roads,
    Scene, Scripts, TrafficControls)

__all__ = [
    "CONTROL_KINDS", "LIGHT_STATES", "OBJECT_KINDS", "ROAD_KINDS", "ExpertActions", "GoalLists", "LaneGraph",
    "Objects", "Provenance", "Report", "Roads", "Scene", "SceneSource", "Scenes", "Scripts", "TrafficControls",
    "compose", "generate_scene", "load_scene", "resolve_scenes", "save_scene",
]
