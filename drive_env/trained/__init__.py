"""How does a trained policy drive without torch? From one file, which the trainer exports, computed by numpy."""

from __future__ import annotations

from .network import ROTARY_BASE, SetBlock, Shape, needed_weights
from .packaged import PACKAGED, is_packaged
from .policy import policy_of
from .policy_file import (
    SUFFIX, PolicyFile, cause_of_other_observations, difference_of_actions, meaning_of_actions,
    meaning_of_observations, read_policy, write_policy)
from .trained_policy import Act, MakeAct, TrainedPolicy, bound, with_reset

__all__ = ["PACKAGED", "ROTARY_BASE", "SUFFIX", "Act", "MakeAct", "PolicyFile", "SetBlock", "Shape", "TrainedPolicy",
           "bound", "cause_of_other_observations", "difference_of_actions", "is_packaged", "meaning_of_actions",
           "meaning_of_observations", "needed_weights", "policy_of", "read_policy", "with_reset", "write_policy"]
