"""How are actions distributed? One head per kind of action space, in float32."""

from __future__ import annotations

import math

import torch
from gymnasium import spaces
from torch import Tensor, nn

ACTOR_GAIN = 0.01
"""Of the orthogonal initial weights: so small that the first policy hardly depends on the observation, as is usual for
PPO."""

EMBEDDING_STD = 0.02
"""Of the initial embeddings of actions, as in GPT-2."""

INITIAL_LOG_STD = -0.5
"""Of continuous actions: of a Gaussian around 0, nine samples in ten are inside the bounds -1 and 1."""

LEAST_UNIFORM = 1e-20
"""Smaller samples are raised to it, since the logarithm of 0 is infinite."""


def action_head(space: spaces.Space, width: int) -> DiscreteHead | GaussianHead:
    """The head for an action space of one agent.

    Raises:
        ValueError: the space is none of Discrete, MultiDiscrete and a one-dimensional Box.
    """
    if isinstance(space, spaces.Discrete):
        return DiscreteHead(width, [int(space.n)])
    if isinstance(space, spaces.MultiDiscrete):
        return DiscreteHead(width, [int(n) for n in space.nvec])
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return GaussianHead(width, space.shape[0], float(space.low.min()), float(space.high.max()))
    raise ValueError(f"action space is {space}; it must be Discrete, MultiDiscrete or a one-dimensional Box")


class DiscreteHead(nn.Module):
    """Independent categorical distributions, one per component. Actions are (..., components) int64.

    The parameters are the log-probabilities of all components, concatenated.
    """

    dtype = torch.int64

    def __init__(self, width: int, sizes: list[int]):
        super().__init__()
        self.sizes, self.components, self.noise_size = sizes, len(sizes), sum(sizes)
        self.linear = nn.Linear(width, sum(sizes))
        self.embeddings = nn.ModuleList(nn.Embedding(size, width) for size in sizes)
        for embedding in self.embeddings:
            nn.init.normal_(embedding.weight, std=EMBEDDING_STD)
        nn.init.orthogonal_(self.linear.weight, ACTOR_GAIN)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor) -> Tensor:
        logits = self.linear(features.float()).split(self.sizes, -1)
        return torch.cat([part.log_softmax(-1) for part in logits], -1)

    def noise(self, logits: Tensor) -> Tensor:
        """Independent noise, shaped like the logits, from the Gumbel distribution."""
        return -(-torch.rand_like(logits).clamp_(min=LEAST_UNIFORM).log()).log()

    def sample(self, logits: Tensor, noise: Tensor | None = None) -> Tensor:
        """By the Gumbel-max trick, without host synchronisation or checks: entries of waiting agents may be NaN.

        Args:
            noise: of `noise`; None: drawn here.
        """
        return self.mode(logits + (self.noise(logits) if noise is None else noise))

    def quantile(self, logits: Tensor, shares: Tensor) -> Tensor:
        """The actions at which the cumulative probabilities of the components exceed `shares`, (..., components) from 0
        to 1: samples where the shares are uniform."""
        return torch.stack([_quantile(part, share) for part, share in zip(
            logits.split(self.sizes, -1), shares.unsqueeze(-1).unbind(-2))], -1)

    def mode(self, logits: Tensor) -> Tensor:
        """The most probable actions."""
        return torch.stack([part.argmax(-1) for part in logits.split(self.sizes, -1)], -1)

    def log_prob(self, logits: Tensor, actions: Tensor) -> Tensor:
        """(...) log-probabilities of actions, summed over components."""
        parts = logits.split(self.sizes, -1)
        return sum(part.gather(-1, actions[..., i : i + 1])[..., 0] for i, part in enumerate(parts))

    def divergence(self, target: Tensor, logits: Tensor) -> Tensor:
        """KL(target || logits), the expected log ratio under the target's distribution."""
        return (target.exp() * (target - logits)).sum(-1)

    def entropy(self, logits: Tensor) -> Tensor:
        """(...) entropies in nats, summed over components."""
        return -(logits * logits.exp()).sum(-1)

    def embed(self, actions: Tensor) -> Tensor:
        """(..., width) embeddings of actions, as an input of the policy."""
        return sum(embedding(actions[..., i]) for i, embedding in enumerate(self.embeddings))

    def to_env(self, actions: Tensor) -> Tensor:
        """Actions in the shape that the env expects."""
        return actions[..., 0] if self.components == 1 else actions


def _quantile(logits: Tensor, share: Tensor) -> Tensor:
    """(...) the first index whose cumulative probability is above `share`, (..., 1)."""
    cumulative = logits.exp().cumsum(-1)
    return (cumulative[..., :-1] <= share * cumulative[..., -1:]).sum(-1)


class GaussianHead(nn.Module):
    """A diagonal Gaussian with a state-independent standard deviation. Actions are (..., components) float32.

    The parameters are the means and the logarithms of the standard deviations. Methods are those of `DiscreteHead`;
    `to_env` clips actions to the bounds of the space; log-probabilities are those of the unclipped actions.
    """

    dtype = torch.float32

    def __init__(self, width: int, components: int, low: float, high: float):
        super().__init__()
        self.components = self.noise_size = components
        self.low, self.high = low, high
        self.linear = nn.Linear(width, components)
        self.log_std = nn.Parameter(torch.full((components,), INITIAL_LOG_STD))
        self.embedding = nn.Linear(components, width, bias=False)
        nn.init.normal_(self.embedding.weight, std=EMBEDDING_STD)
        nn.init.orthogonal_(self.linear.weight, ACTOR_GAIN)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor) -> Tensor:
        mean = self.linear(features.float())
        return torch.cat([mean, self.log_std.float().expand_as(mean)], -1)

    def noise(self, parameters: Tensor) -> Tensor:
        """(..., components) independent noise from the standard normal distribution."""
        return torch.randn_like(parameters.chunk(2, -1)[0])

    def sample(self, parameters: Tensor, noise: Tensor | None = None) -> Tensor:
        """The mean plus `noise`, which is drawn here if it is None, in standard deviations."""
        mean, log_std = parameters.chunk(2, -1)
        return mean + (self.noise(parameters) if noise is None else noise) * log_std.exp()

    def quantile(self, parameters: Tensor, shares: Tensor) -> Tensor:
        """`shares` are above 0 and below 1."""
        return self.sample(parameters, torch.special.ndtri(shares))

    def mode(self, parameters: Tensor) -> Tensor:
        return parameters.chunk(2, -1)[0]

    def log_prob(self, parameters: Tensor, actions: Tensor) -> Tensor:
        mean, log_std = parameters.chunk(2, -1)
        z = (actions - mean) * (-log_std).exp()
        return (-0.5 * z.square() - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)

    def divergence(self, target: Tensor, parameters: Tensor) -> Tensor:
        """KL(target || parameters), the expected log ratio under the target's distribution."""
        (target_mean, target_log_std), (mean, log_std) = target.chunk(2, -1), parameters.chunk(2, -1)
        z = (target_mean - mean) * (-log_std).exp()
        ratio = (2 * (target_log_std - log_std)).exp()
        return (log_std - target_log_std + 0.5 * (ratio + z.square() - 1)).sum(-1)

    def entropy(self, parameters: Tensor) -> Tensor:
        return (parameters.chunk(2, -1)[1] + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)

    def embed(self, actions: Tensor) -> Tensor:
        return self.embedding(actions)

    def to_env(self, actions: Tensor) -> Tensor:
        return actions.clamp(self.low, self.high)
