"""Which classes of behaviour are there? A table of their names, meanings and predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import lane_motion, roadside, speed, stopping, turning
from .episode import Episode
from .tracks import Track

Predicate = Callable[[Episode, Track], bool]
"""Whether a vehicle shows a behaviour in an episode."""

PREDICATES: dict[str, Predicate] = {
    predicate.__name__: predicate
    for predicate in (
        speed.hard_stop, speed.highway_straight, lane_motion.lane_change, turning.unprotected_left,
        turning.unprotected_right, lane_motion.merge, turning.roundabout, stopping.stop_sign, stopping.traffic_light,
        roadside.parked_cars, roadside.pedestrian_crossing, lane_motion.cut_in, lane_motion.overtaking,
        roadside.narrow_passage, turning.u_turn, roadside.pull_out)}
"""By the name of the class."""
