"""Drivers without a policy: one that follows lanes by rule, one that draws actions at random."""

from .lane import LaneDriver
from .random import RandomDriver

__all__ = ["LaneDriver", "RandomDriver"]
