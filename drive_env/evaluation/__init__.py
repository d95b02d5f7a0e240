"""How well does a policy drive? Figures with confidence intervals, from episodes that are played once each."""

from .adaptation import Adaptation
from .base import Evaluator
from .behaviour_class import BehaviourClass
from .config import EVALUATORS, evaluator_of, load_sections, resolved_section, runnable
from .episodes import Episode, Probe, first_episodes
from .figures import Figure
from .hardness import SceneHardness, hard_scenes, load_hardness, save_hardness, scene_hardness
from .human_replay import HumanReplay
from .manager import EvalManager, Evaluated
from .multi_scenario import MultiScenario
from .per_scene import SceneScores
from .realism import Realism
from .result import Coverage, EvalResult, Failure, Render, load_result, merge
from .robustness import Robustness
from .settings import EvaluatorConfig
from .sources import Source
from .traffic_matrix import TrafficMatrix

__all__ = [
    "EVALUATORS", "Adaptation", "BehaviourClass", "Coverage", "Episode", "EvalManager", "EvalResult", "Evaluated",
    "Evaluator", "EvaluatorConfig", "Failure", "Figure", "HumanReplay", "MultiScenario", "Probe", "Realism", "Render",
    "Robustness", "SceneHardness", "SceneScores", "Source", "TrafficMatrix", "evaluator_of", "first_episodes",
    "hard_scenes", "load_hardness", "load_result", "load_sections", "merge", "resolved_section", "runnable",
    "save_hardness", "scene_hardness",
]
