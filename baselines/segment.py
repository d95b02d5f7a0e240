"""What does a rollout leave for learning? One segment of every agent, written in place and used again."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from .gae import Steps


@dataclass
class Segment:
    """R agents of T steps. Beside observation t stands what describes it, behind it what came of action t."""

    # Of the observation.
    observations: Tensor
    """(R, T, O)."""
    previous: Tensor
    """(R, T, A) action of the last kept agent of the episode; anything at its start."""
    first: Tensor
    waits: Tensor
    trial_index: Tensor
    steps_left: Tensor
    """(R, T) driving steps until the time limit of the trial."""

    # Of the policy.
    actions: Tensor
    """(R, T, A)."""
    log_probs: Tensor
    values: Tensor

    # Of the step.
    rewards: Tensor
    invalid: Tensor
    terminations: Tensor
    truncations: Tensor
    truncation: Tensor
    trial_ended: Tensor

    # (R,) before the first step.
    start_head: Tensor
    start_position: Tensor

    # (R,) behind the last step: what `gae.Steps` says of them.
    last_value: Tensor
    last_waits: Tensor
    last_first: Tensor
    restart_value: Tensor

    @classmethod
    def empty(cls, agents: int, steps: int, observations: Tensor, components: int, action_dtype: torch.dtype) -> Segment:
        """Room for segments whose observations are like these, (any, O)."""
        types = {name: torch.bool for name in (
            "first", "waits", "invalid", "terminations", "truncations", "truncation", "trial_ended", "last_waits",
            "last_first")}
        types |= {"trial_index": torch.int32, "steps_left": torch.int32, "start_head": torch.int64,
                  "start_position": torch.int64, "actions": action_dtype, "previous": action_dtype,
                  "observations": observations.dtype}
        widths = {"observations": observations.shape[1:], "actions": (components,), "previous": (components,)}
        of_agent = ("start_head", "start_position", "last_value", "last_waits", "last_first", "restart_value")
        return cls(**{
            field.name: torch.zeros((agents,) if field.name in of_agent else (agents, steps, *widths.get(field.name, ())),
                                    dtype=types.get(field.name, torch.float32), device=observations.device)
            for field in fields(cls)})

    def agents(self, chosen: slice | Tensor) -> Segment:
        """Some agents: a view for a slice, a copy for a tensor of indices."""
        return Segment(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    @property
    def kept(self) -> Tensor:
        """(R, T) steps that a loss may use."""
        return ~self.invalid

    @property
    def read(self) -> Tensor:
        """(R, T) observations that matter: of valid agent-steps, and those right behind a `truncation`, whose value is the
        bootstrap."""
        behind = torch.nn.functional.pad(self.truncation[:, :-1], (1, 0))
        return self.kept | behind

    def steps(self) -> Steps:
        return Steps(**{name: getattr(self, name) for name in Steps._fields})
