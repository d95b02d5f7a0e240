"""What does an optimiser step minimise? PPO's losses: sums over the loss mask, divided by its count over all ranks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .config import PPOConfig
from .tools.dist import Ranks

EPSILON = 1e-8
"""Added to the standard deviation by which advantages are divided."""


def masked_mean(x: Tensor, loss_mask: Tensor, count: Tensor | float) -> Tensor:
    """This rank's part of the mean over the entries inside the mask, of which there are `count` on all ranks.

    Entries outside the mask may be NaN: `where` replaces them, since 0 * NaN is NaN.
    """
    return torch.where(loss_mask, x, 0.0).sum() / count


def sums_by_bin(x: Tensor, loss_mask: Tensor, bin_of: Tensor, bins: int) -> Tensor:
    """(bins, ...) float64: this rank's sums over the entries of each bin that are inside the mask.

    Args:
        x: (agents, steps, ...). Entries outside the mask may be NaN.
        bin_of: (agents, steps), from 0 to `bins` - 1 inside the mask.
    """
    wide = torch.where(loss_mask.view(*loss_mask.shape, *[1] * (x.ndim - 2)), x, 0.0).double()
    sums = torch.zeros(bins, *x.shape[2:], dtype=torch.float64, device=x.device)
    return sums.index_add_(0, torch.where(loss_mask, bin_of, 0).long().flatten(), wide.flatten(0, 1))


def normalised(advantages: Tensor, loss_mask: Tensor, ranks: Ranks) -> tuple[Tensor, Tensor, Tensor]:
    """Advantages with mean 0 and standard deviation 1 over all ranks' entries inside the mask; and both statistics."""
    wide = torch.where(loss_mask, advantages, 0.0).double()
    count, total = ranks.sum(torch.stack([loss_mask.sum().double(), wide.sum()]))
    mean = total / count.clamp(min=1)
    square = ranks.sum(torch.where(loss_mask, (wide - mean).square(), 0.0).sum())
    std = (square / count.clamp(min=1)).sqrt()
    scaled = ((wide - mean) / (std + EPSILON)).to(advantages.dtype)
    return torch.where(loss_mask, scaled, 0.0), mean.float(), std.float()


def normalised_by_trial(advantages: Tensor, loss_mask: Tensor, trial_index: Tensor, trials: int,
                        ranks: Ranks) -> tuple[Tensor, Tensor, Tensor]:
    """The same over the entries of each trial index alone, inside the mask.

    Later trials, whose returns vary more, then have no larger weight in the policy loss than the first.

    Args:
        advantages, trial_index: (agents, steps). trials: of an episode.

    Returns:
        The advantages, and (trials,) means and standard deviations, NaN for a trial without entries inside the mask.
    """
    trial = torch.where(loss_mask, trial_index, 0).long()
    ones = loss_mask.double()
    count, total = ranks.sum(sums_by_bin(torch.stack([ones, advantages.double()], -1), loss_mask, trial, trials)).T
    mean = total / count
    centred = advantages.double() - mean[trial]
    std = (ranks.sum(sums_by_bin(centred.square(), loss_mask, trial, trials)) / count).sqrt()
    scaled = (centred / (std[trial] + EPSILON)).to(advantages.dtype)
    return torch.where(loss_mask, scaled, 0.0), mean.float(), std.float()


class Losses(NamedTuple):
    """This rank's parts of the losses: their sums over all ranks are the metrics."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    kl: Tensor
    """Approximate KL from the policy that collected: the mean of ratio - 1 - log ratio (Schulman 2020). Here, in
    `policy` and in `clipped`, steps in which an expert drives count as 0."""
    clipped: Tensor
    """Share of ratios outside the clip range."""
    informed: Tensor
    """KL(informed || policy)."""
    imitation: Tensor
    """The negative log-probability of the expert's actions; steps without one count as 0."""


class ExpertPart(NamedTuple):
    """What the losses need where there is an expert, (agents, steps) each.

    Attributes:
        log_probs: of the expert's actions. labelled: the expert has an action.
        on_policy: the policy has sampled the action. valued: the value loss includes the step.
    """

    log_probs: Tensor
    labelled: Tensor
    on_policy: Tensor
    valued: Tensor


def ppo_losses(log_probs: Tensor, entropy: Tensor, values: Tensor, old_log_probs: Tensor, advantages: Tensor,
               returns: Tensor, loss_mask: Tensor, count: Tensor | float, config: PPOConfig,
               divergence: Tensor | None = None, expert: ExpertPart | None = None) -> Losses:
    """The clipped surrogate, value and entropy losses (Schulman et al. 2017), and those of other policies.

    Args:
        log_probs, entropy, values, old_log_probs, advantages, returns: (agents, steps). Entries outside the mask may
            be NaN or infinite: they change neither a loss nor a gradient.
        loss_mask: (agents, steps) bool. count: its number of set entries over all ranks.
        divergence: (agents, steps) from the informed policy's distributions, with `config.informed_weight` alone.
        expert: with `config.imitation_weight` alone.
    """
    # Masked before any arithmetic: the gradient of a later `where` through NaN would be 0 * NaN.
    log_probs, entropy, values, old_log_probs, advantages, returns = (
        torch.where(loss_mask, x, 0.0) for x in (log_probs, entropy, values, old_log_probs, advantages, returns))
    on_policy = loss_mask if expert is None else expert.on_policy
    log_ratio = torch.where(on_policy, log_probs - old_log_probs, 0.0)
    ratio = log_ratio.exp()
    surrogate = torch.minimum(ratio * advantages, ratio.clamp(1 - config.clip, 1 + config.clip) * advantages)
    policy = masked_mean(-surrogate, on_policy, count)
    value = masked_mean(0.5 * (values - returns).square(), loss_mask if expert is None else expert.valued, count)
    mean_entropy = masked_mean(entropy, loss_mask, count)
    informed = policy.new_zeros(()) if divergence is None else masked_mean(divergence, loss_mask, count)
    imitation = policy.new_zeros(()) if expert is None else masked_mean(
        -expert.log_probs, loss_mask & expert.labelled, count)
    total = (policy + config.value_weight * value - config.entropy_weight * mean_entropy
             + config.informed_weight * informed + config.imitation_weight * imitation)
    with torch.no_grad():
        kl = masked_mean(ratio - 1 - log_ratio, loss_mask, count)
        clipped = masked_mean(((ratio - 1).abs() > config.clip).float(), loss_mask, count)
    return Losses(total, policy, value, mean_entropy, kl, clipped, informed, imitation)
