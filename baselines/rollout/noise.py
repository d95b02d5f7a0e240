"""How long does an agent keep the noise by which its actions are sampled? The option `ppo.noise_correlation`.

An action is a function of the policy's output and of noise (policy/heads.py). With independent noise, a policy without
a preference changes its action in almost every step, and long runs of equal actions practically never occur. In the
task `hidden_exit`, driving to another exit takes some ten of them in a row. Noise that is kept for some steps repeats
the action, as coloured noise does for continuous actions (Eberhard et al. 2023).

For fixed outputs of the policy, each action by itself has the distribution whose log-probability PPO uses. Given the
actions before it, it has another one, since kept noise repeats them. PPO's gradient ignores this and is biased, so the
correlation should be as low as exploration allows.
"""

from __future__ import annotations

import torch
from torch import Tensor


class CorrelatedNoise:
    """The noise of many agents, each kept from step to step with a fixed probability.

    Args:
        correlation: that probability, which is the correlation of the noise of consecutive steps. agents: how many.
        size: numbers per agent.

    Attributes:
        current: (agents, size), updated in place so that captured graphs stay valid.
    """

    def __init__(self, correlation: float, agents: int, size: int, device: torch.device):
        self.correlation = correlation
        self.current = torch.zeros(agents, size, device=device)

    def advance(self, fresh: Tensor, starts: Tensor) -> Tensor:
        """The noise of the next step.

        Args:
            fresh: (agents, size) independent noise. starts: (agents,) bool, whose trial starts: their noise is fresh.
        """
        kept = (torch.rand(len(fresh), device=fresh.device) < self.correlation) & ~starts
        return self.current.copy_(torch.where(kept[:, None], self.current, fresh))
