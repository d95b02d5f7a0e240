"""How do a batch's arrays get onto the device, and its actions back? On a CPU they are the same memory."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch

SHOWN = ("observations", "rewards", "terminations", "truncations", "trial_ended", "truncation", "invalid_step", "first",
         "waits", "trial_index", "scene_index")
"""What training reads of a step."""

ALIGNMENT_BYTES = 64


class Mirror:
    """The arrays of a batch as tensors of the CPU: the memory that the core writes into.

    Attributes:
        now: tensors by name, of the last step or reset. actions: where the policy puts actions, in the env's form.
    """

    def __init__(self, batch: Batch):
        self.device = torch.device("cpu")
        self.now: dict[str, Tensor] = {name: torch.from_numpy(getattr(batch, name)) for name in SHOWN}
        self.actions: Tensor = torch.from_numpy(batch.bound_actions)
        self._restarts = np.empty_like(batch.observations)

    def show(self) -> None:
        """Makes `now` what the batch shows."""

    def send_actions(self) -> None:
        """Starts to make the batch's actions those of `actions`."""

    def await_actions(self) -> None:
        """Returns when the batch has them."""

    def restart_observations(self, batch: Batch) -> Tensor:
        return torch.from_numpy(batch.restart_observations(self._restarts))


class PinnedMirror(Mirror):
    """The arrays on a GPU: the core writes into pinned memory, and one copy a step takes all of it across.

    Copies run on a stream of their own, so that those of one batch overlap the work for another.
    """

    def __init__(self, batch: Batch, host: PinnedArrays, device: torch.device):
        self.device = device
        self._host = host
        self._block = torch.empty_like(host.block, device=device, pin_memory=False)
        self.now = {name: host.view(self._block, name) for name in SHOWN}
        self.actions = torch.zeros_like(host.actions, device=device, pin_memory=False)
        self._restarts_host = torch.empty_like(self.now["observations"], device="cpu", pin_memory=True)
        self._restarts = torch.empty_like(self._restarts_host, device=device, pin_memory=False)
        self._stream = torch.cuda.Stream(device)
        self._sent = torch.cuda.Event()

    def show(self) -> None:
        # Whatever read the block before is over: it came before the actions that were awaited.
        with torch.cuda.stream(self._stream):
            self._block.copy_(self._host.block, non_blocking=True)
        torch.cuda.current_stream(self.device).wait_stream(self._stream)

    def send_actions(self) -> None:
        self._host.actions.copy_(self.actions, non_blocking=True)
        self._sent.record(torch.cuda.current_stream(self.device))

    def await_actions(self) -> None:
        self._sent.synchronize()

    def restart_observations(self, batch: Batch) -> Tensor:
        torch.cuda.current_stream(self.device).synchronize()  # the copy before may still read the pinned memory
        batch.restart_observations(self._restarts_host.numpy())
        return self._restarts.copy_(self._restarts_host, non_blocking=True)


class PinnedArrays:
    """Pinned memory for a batch's arrays: what is shown in one block, the actions beside it.

    Args:
        like: a batch of one world with the same config and scenes. worlds: of the batch to be.
    """

    def __init__(self, like: Batch, num_worlds: int):
        self._places, used = {}, 0
        for name in SHOWN:
            array = getattr(like, name)
            shape = (len(array) * num_worlds, *array.shape[1:])
            self._places[name] = (used, shape, torch.from_numpy(array[:0]).dtype)
            used += -(-math.prod(shape) * array.itemsize // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        self.block = torch.zeros(used, dtype=torch.uint8, pin_memory=True)
        actions = like.bound_actions
        self.actions = torch.zeros((len(actions) * num_worlds, *actions.shape[1:]),
                                   dtype=torch.from_numpy(actions[:0]).dtype, pin_memory=True)

    def view(self, block: Tensor, name: str) -> Tensor:
        start, shape, dtype = self._places[name]
        return block[start : start + math.prod(shape) * dtype.itemsize].view(dtype).view(shape)

    def for_batch(self) -> dict[str, np.ndarray]:
        """What `Batch(arrays=...)` takes."""
        return {name: self.view(self.block, name).numpy() for name in SHOWN} | {"actions": self.actions.numpy()}
