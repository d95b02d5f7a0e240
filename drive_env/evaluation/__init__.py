"""How well does a policy drive? Figures with intervals, from episodes that are each played once."""

from .base import Evaluator
from .config import EVALUATORS, evaluator_of, load_sections, resolved_section
from .episodes import Episode, Probe, first_episodes
from .figures import Figure
from .human_replay import HumanReplay
from .multi_scenario import MultiScenario
from .result import Coverage, EvalResult, Failure, load_result, merge
from .settings import EvaluatorConfig
from .sources import Source

__all__ = [
    "EVALUATORS", "Coverage", "Episode", "EvalResult", "Evaluator", "EvaluatorConfig", "Failure", "Figure", "HumanReplay",
    "MultiScenario", "Probe", "Source", "evaluator_of", "first_episodes", "load_result", "load_sections",
    "merge", "resolved_section",
]
