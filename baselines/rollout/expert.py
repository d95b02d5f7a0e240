"""What would the expert do? Its actions in the current states, in which worlds it drives, and where it has none.

In some worlds the expert drives, and the policy learns the actions of the expert in the states that the expert visits
(behaviour cloning). In the others the policy drives, and the expert labels the states that the policy visits: it has an
action for them, which is not performed (DAgger, Ross et al. 2011).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch

Label = Callable[[Tensor], tuple[np.ndarray, np.ndarray]]
"""From the steps since the starts of the agents' trials, (R,), the expert's actions (R, ...) and whether it has one,
(R,) bool."""


def expert_worlds(world_ids: np.ndarray, share: float) -> np.ndarray:
    """(W,) whether the expert drives in a world: the share is kept in any range of ids, and depends on nothing else."""
    below = lambda ids: np.floor(ids * share + 1e-9)
    return below(world_ids + 1) > below(world_ids)


class Expert:
    """The expert of one batch.

    Args:
        label: labels the current states of the batch. drives_share: of the worlds in which it drives.
        components, dtype: of the policy's actions.
        of_logs: its actions are those of logs, which begin with the trials.

    Attributes:
        actions: (R, components) on the device. labelled: (R,) bool, the expert has an action. drives: (R,) bool, its
            actions are performed; it never changes.
    """

    def __init__(self, label: Label, drives_share: float, batch: Batch, device: torch.device, components: int,
                 dtype: torch.dtype, of_logs: bool = False):
        self._label, self.drives_share, self.of_logs = label, drives_share, of_logs
        drives = expert_worlds(batch.world_ids, drives_share)[batch.world_of_agent]
        self.drives = torch.from_numpy(drives).to(device)
        self.actions = torch.zeros(batch.num_agents, components, dtype=dtype, device=device)
        self.labelled = torch.zeros(batch.num_agents, dtype=torch.bool, device=device)

    def act(self, clock: Tensor) -> None:
        """Updates `actions` and `labelled`. `clock`: (R,) steps since the trials' starts."""
        actions, labelled = self._label(clock)
        self.actions.copy_(torch.from_numpy(np.asarray(actions).reshape(self.actions.shape)))
        self.labelled.copy_(torch.from_numpy(labelled))
