"""Which behaviours does traffic show, such as a lane change? Those of a trial, and scenes that have one for sure."""

from .classify import classify
from .recipes import Recipe
from .registry import BEHAVIOURS, Behaviour
from .sampling import behaviour_scenes
from .trial_log import TrialLog, TrialMotion

__all__ = ["BEHAVIOURS", "Behaviour", "Recipe", "TrialLog", "TrialMotion", "behaviour_scenes",
           "classify"]
