"""How well does a policy drive on many scenes? It drives all agents, as in training."""

from __future__ import annotations

from .base import Evaluator


class MultiScenario(Evaluator):
    """Drives all agents of a list of scenes; by default of towns with held-out seeds, which `Batch("town")` lacks."""

    type = "multi_scenario"
