"""Policies without training: `LaneDriver` follows lanes by rule, `ParkingDriver` parks, `RandomDriver` samples actions
uniformly."""

from .lane import LaneDriver
from .parking import ParkingDriver
from .random import RandomDriver

__all__ = ["LaneDriver", "ParkingDriver", "RandomDriver"]
