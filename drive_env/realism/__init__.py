"""How realistic are simulated drives? A score by the distributions of features of motion, interaction and map.

It is compatible with the realism meta-metric of the Waymo Open Sim Agents Challenge, 2024 and 2025, and takes plain
arrays, also those of other simulators.
"""

from .features import RealismFeatures, realism_features
from .logged_scene import LoggedScene, Poses, Signals
from .score import RealismScore, realism_score, score_features
from .weights import FEATURES, ScoredFeature

__all__ = ["FEATURES", "LoggedScene", "Poses", "RealismFeatures", "RealismScore", "ScoredFeature", "Signals",
           "realism_features", "realism_score", "score_features"]
