"""What does a step of the optimiser minimise? Every sum is over valid agent-steps, divided by the count of all ranks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .config import PPOConfig
from .dist import Ranks


def masked_mean(x: Tensor, kept: Tensor, count: Tensor | float) -> Tensor:
    """This rank's part of the mean over the kept entries of all ranks, of which there are `count`.

    What is not kept may be NaN: it is left out, not multiplied by 0.
    """
    return torch.where(kept, x, 0.0).sum() / count


def normalised(advantages: Tensor, kept: Tensor, ranks: Ranks) -> tuple[Tensor, Tensor, Tensor]:
    """Advantages with mean 0 and spread 1 over the kept entries of all ranks, and that mean and spread."""
    wide = torch.where(kept, advantages, 0.0).double()
    count, total = ranks.sum(torch.stack([kept.sum().double(), wide.sum()]))
    mean = total / count.clamp(min=1)
    square = ranks.sum(torch.where(kept, (wide - mean).square(), 0.0).sum())
    spread = (square / count.clamp(min=1)).sqrt()
    scaled = ((wide - mean) / (spread + 1e-8)).to(advantages.dtype)
    return torch.where(kept, scaled, 0.0), mean.float(), spread.float()


class Losses(NamedTuple):
    """Parts of this rank: their sums over all ranks are the figures."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    kl: Tensor
    """Approximate KL from the policy that played: mean of ratio - 1 - log ratio (Schulman 2020)."""
    clipped: Tensor
    """Share of ratios outside the clip range."""


def ppo_losses(log_probs: Tensor, entropy: Tensor, values: Tensor, old_log_probs: Tensor, advantages: Tensor,
               returns: Tensor, kept: Tensor, count: Tensor | float, config: PPOConfig) -> Losses:
    """All (agents, steps); `count` is the number of kept entries of all ranks.

    Entries that are not kept may be NaN or infinite: they change neither a loss nor a gradient.
    """
    # Before any arithmetic: behind it, the gradient of `where` through a NaN that is left out is 0 * NaN.
    log_probs, entropy, values, old_log_probs, advantages, returns = (
        torch.where(kept, x, 0.0) for x in (log_probs, entropy, values, old_log_probs, advantages, returns))
    log_ratio = log_probs - old_log_probs
    ratio = log_ratio.exp()
    surrogate = torch.minimum(ratio * advantages, ratio.clamp(1 - config.clip, 1 + config.clip) * advantages)
    policy = masked_mean(-surrogate, kept, count)
    value = masked_mean(0.5 * (values - returns).square(), kept, count)
    mean_entropy = masked_mean(entropy, kept, count)
    total = policy + config.value_weight * value - config.entropy_weight * mean_entropy
    with torch.no_grad():
        kl = masked_mean(ratio - 1 - log_ratio, kept, count)
        clipped = masked_mean(((ratio - 1).abs() > config.clip).float(), kept, count)
    return Losses(total, policy, value, mean_entropy, kl, clipped)
