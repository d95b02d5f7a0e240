"""What does a generator make?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..scene import LaneGraph, Objects, Roads, Scripts, TrafficControls, no_scripts


class Parts(NamedTuple):
    """The parts of a scene, as `Scene` documents them."""

    roads: Roads
    lanes: LaneGraph
    objects: Objects
    candidate_goals_m: np.ndarray = np.zeros((0, 2), np.float32)
    scripts: Scripts = no_scripts()
    traffic_controls: TrafficControls | None = None
