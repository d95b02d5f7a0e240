"""What does a rollout contain? A buffer with T steps of every agent, overwritten by the next rollout."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from ..gae import Steps


@dataclass
class RolloutBuffer:
    """R agents of T steps. Index t holds observation t, the action chosen from it, and the result of that action."""

    # Of the observation.
    observations: Tensor
    """(R, T, O)."""
    previous_actions: Tensor
    """(R, T, A) action of the last valid token of the episode; undefined at the episode's start."""
    first: Tensor
    waits: Tensor
    trial_index: Tensor
    steps_left: Tensor
    """(R, T) steps until the time limit of the trial."""
    partner: Tensor
    """(R, T) a partner drives the agent: its steps are no tokens of the policy."""
    expert_drives: Tensor
    """(R, T) the action is the expert's: the step counts in no loss of PPO's policy."""
    expert_actions: Tensor
    """(R, T, A) what the expert would do; A is 0 where there is no expert."""
    labelled: Tensor
    """(R, T) the expert has an action."""
    goal: Tensor
    """(R, T, G) the goal's features, hidden or not (informed.py); G is 0 where nothing reads them."""

    # Of the policy.
    actions: Tensor
    """(R, T, A)."""
    log_probs: Tensor
    values: Tensor

    # Of the step.
    rewards: Tensor
    invalid: Tensor
    """(R, T) the channel `invalid_step`."""
    coplayer: Tensor
    """(R, T) a co-player acted: its steps count in no loss."""
    terminations: Tensor
    truncations: Tensor
    truncation: Tensor
    trial_ended: Tensor

    # (R,) before the first step: the counters of the KV cache.
    start_written: Tensor
    start_position: Tensor

    # (R,) after the last step; `gae.Steps` defines them.
    last_value: Tensor
    last_waits: Tensor
    last_first: Tensor
    restart_value: Tensor

    @classmethod
    def empty(cls, agents: int, steps: int, observations: Tensor, components: int,
              action_dtype: torch.dtype, goal_features: int = 0, has_expert: bool = False) -> RolloutBuffer:
        """A buffer of zeros for observations of the type, width and device of `observations`, (any, O)."""
        types = {name: torch.bool for name in (
            "first", "waits", "partner", "invalid", "coplayer", "terminations", "truncations", "truncation",
            "trial_ended", "last_waits", "last_first", "expert_drives", "labelled")}
        types |= {"trial_index": torch.int32, "steps_left": torch.int32, "start_written": torch.int64,
                  "start_position": torch.int64, "actions": action_dtype, "previous_actions": action_dtype,
                  "expert_actions": action_dtype, "observations": observations.dtype}
        widths = {"observations": observations.shape[1:], "actions": (components,), "previous_actions": (components,),
                  "expert_actions": (components if has_expert else 0,), "goal": (goal_features,)}
        per_agent = ("start_written", "start_position", "last_value", "last_waits", "last_first", "restart_value")
        shape = lambda name: (agents,) if name in per_agent else (agents, steps, *widths.get(name, ()))
        return cls(**{field.name: torch.zeros(shape(field.name), dtype=types.get(field.name, torch.float32),
                                              device=observations.device) for field in fields(cls)})

    def select(self, agents: slice | Tensor) -> RolloutBuffer:
        """Some agents: a view for a slice, a copy for a tensor of indices."""
        return RolloutBuffer(**{field.name: getattr(self, field.name)[agents] for field in fields(self)})

    @property
    def valid_token(self) -> Tensor:
        """(R, T) steps whose keys and values stay in the KV cache: the agent acts on the observation by the policy."""
        return ~(self.waits | self.partner)

    @property
    def loss_mask(self) -> Tensor:
        """(R, T) steps that count in losses and statistics: those of the agents that learn."""
        return ~(self.invalid | self.coplayer)

    @property
    def on_policy(self) -> Tensor:
        """(R, T) steps of the loss mask whose action the policy has sampled."""
        return self.loss_mask & ~self.expert_drives

    @property
    def used(self) -> Tensor:
        """(R, T) steps whose observation the learner evaluates: those of the loss mask, and those right after a
        `truncation`, whose value is the bootstrap."""
        after_truncation = torch.nn.functional.pad(self.truncation[:, :-1], (1, 0))
        return self.loss_mask | after_truncation

    def steps(self) -> Steps:
        """The part that advantages are computed from: the steps of partners are invalid."""
        found = Steps(**{name: getattr(self, name) for name in Steps._fields})
        return found._replace(invalid=self.invalid | self.partner)
