"""With which actions do the agents of a batch replay their logs?"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from .config import DriveConfig
from .roles import Roles
from .scenes import ExpertActions
from .scenes.expert_actions import expert_actions

TRACKS = ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps", "valid")


def agents_expert_actions(roles: Roles, config: DriveConfig, steps: int, slots: int) -> ExpertActions:
    """The expert actions of a world of that scene.

    Args:
        roles: of the scene's objects.
        config: of the batch.
        steps: how many; those after the log are not valid.
        slots: agents of a world; those for which the scene has no object are not valid.
    """
    agents = roles.objects[: roles.num_agents]
    frames = min(steps + 1, len(roles.frames.valid))
    tracks = {}
    for name in TRACKS:
        track = getattr(roles.frames, name)
        tracks[name] = np.zeros((steps + 1, slots), track.dtype)
        tracks[name][:frames, : len(agents)] = track[:frames, agents]
    length_m = np.ones(slots, np.float32)
    length_m[: len(agents)] = roles.scene.objects.length_m[agents]
    return expert_actions(config, roles.dt_s, length_m, SimpleNamespace(**tracks))
