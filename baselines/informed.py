"""What would the policy do if it observed its goal? A second pass over the same steps returns it.

Where a task hides the goal, exploration is what fails: a policy drives to an exit at which it has failed before, and
no reward shows that another exit is better. The informed policy, which observes the goal, drives to the right one. A
policy that is pulled towards it, and does not observe the goal, learns to act as the informed one does on average over
the goals that are still possible; so it does not try a goal again that it has ruled out (informed policy
regularisation, Kamienny et al. 2020, arXiv 2005.02934). Here both are the same network: the informed pass observes the
goal that `critic_observations` contain.
"""

from __future__ import annotations

import torch
from torch import Tensor

from drive_env import Batch

GOAL_FEATURES = ("goal_x", "goal_y", "goal_direction_x", "goal_direction_y", "goal_distance")
"""The features of the agent's own goal: `ego/...` in its observation, `critic/...` in the critic's, on equal scales."""


def goal_columns(batch: Batch, of: str, device: torch.device) -> Tensor:
    """(G,) the columns of the goal in `batch.observations`, of "ego", or `batch.critic_observations`, of "critic"."""
    layout = batch.observation_layout() if of == "ego" else batch.critic_layout()
    return torch.tensor([layout[f"{of}/{name}"].offset for name in GOAL_FEATURES], device=device)


def with_goal(observations: Tensor, goal: Tensor, columns: Tensor) -> Tensor:
    """A copy of observations (..., O) in which the goal, (..., G), is observed."""
    return observations.index_copy(-1, columns, goal.to(observations.dtype))
