"""What does a generator make?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..scene import LaneGraph, Objects, Roads, TrafficControls


class Parts(NamedTuple):
    """The parts of a scene, as `Scene` documents them."""

    roads: Roads
    lanes: LaneGraph
    objects: Objects
    candidate_goals_m: np.ndarray = np.zeros((0, 2), np.float32)
    traffic_controls: TrafficControls | None = None
