"""Policies without training: `LaneDriver` follows lanes by rule, `RandomDriver` samples actions uniformly."""

from .lane import LaneDriver
from .random import RandomDriver

__all__ = ["LaneDriver", "RandomDriver"]
