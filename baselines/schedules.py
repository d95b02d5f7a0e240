"""Which learning rate and entropy weight does an update have? They change over the agent-steps of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .config import PPOConfig


def scheduled(config: PPOConfig, counters: Mapping[str, int]) -> PPOConfig:
    """The config with the learning rate and the entropy weight of the next update.

    The learning rate is the product of a warm-up over updates and the annealing over agent-steps.
    """
    progress = min(counters["agent_steps"] / config.agent_steps, 1)
    annealing = 1 - progress if config.anneal else 1.0
    warm_up = min((counters["update"] + 1) / config.warmup_updates, 1) if config.warmup_updates else 1.0
    weight, final = config.entropy_weight, config.final_entropy_weight
    return replace(config, learning_rate=config.learning_rate * annealing * warm_up,
                   entropy_weight=weight if final is None else (1 - progress) * weight + progress * final)


def jump(then: PPOConfig, now: PPOConfig, counters: Mapping[str, int]) -> str | None:
    """A warning if a run that is resumed with other `agent_steps` continues with another learning rate, else None."""
    before, after = (scheduled(config, counters).learning_rate for config in (then, now))
    if then.agent_steps == now.agent_steps or before == after:
        return None
    return (f"ppo.agent_steps is {now.agent_steps}, {then.agent_steps} before; the learning rate, which is annealed "
            f"over them, continues with {after:.3g} instead of {before:.3g}")
