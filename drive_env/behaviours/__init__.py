"""Which behaviours does traffic show, such as a lane change? Those of an episode, and scenes that have one for sure."""

from .classify import classify
from .episode_log import EpisodeLog
from .recipes import Recipe
from .registry import BEHAVIOURS, Behaviour
from .sampling import behaviour_scenes

__all__ = ["BEHAVIOURS", "Behaviour", "EpisodeLog", "Recipe", "behaviour_scenes", "classify"]
