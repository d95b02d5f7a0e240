"""How well does a policy drive on many scenes? All agents are driven by it, as in training."""

from __future__ import annotations

from .base import Evaluator


class MultiScenario(Evaluator):
    """All agents of a list of scenes, by default of towns with seeds that no training by name has seen."""

    type = "multi_scenario"
