"""Where do scenes come from? From files, from generators, or made by hand; all are a `Scene`."""

from .build import Vehicle, build_scene
from .expert_actions import ExpertActions
from .generate import compose, generate_scene
from .load import load_scene
from .resolve import Scenes, SceneSource, resolve_scenes
from .road import Road
from .save import save_scene
from .scene import (
    CONTROL_KINDS, LIGHT_STATES, OBJECT_KINDS, ROAD_KINDS, GoalLists, LaneGraph, Objects, Provenance, Report, Roads,
    Scene, Scripts, TrafficControls)

__all__ = [
    "CONTROL_KINDS", "LIGHT_STATES", "OBJECT_KINDS", "ROAD_KINDS", "ExpertActions", "GoalLists", "LaneGraph",
    "Objects", "Provenance", "Report", "Road", "Roads", "Scene", "SceneSource", "Scenes", "Scripts", "TrafficControls",
    "Vehicle", "build_scene", "compose", "generate_scene", "load_scene", "resolve_scenes", "save_scene",
]
