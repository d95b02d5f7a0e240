"""How are a batch's arrays copied to the device, and actions to the batch? On a CPU both share the core's memory."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch

UPLOADED = ("observations", "rewards", "terminations", "truncations", "trial_ended", "truncation", "invalid_step",
            "first", "waits", "trial_index", "scene_index")
"""The channels of any batch that rollout and training read."""

ALIGNMENT_BYTES = 64
"""Of each channel in the block: a cache line, and a multiple of the size of every type."""


def uploaded(batch: Batch, informed: bool) -> tuple[str, ...]:
    """The channels of this batch that rollout and training read.

    Args:
        informed: training uses the goals that `critic_observations` contain (informed.py); nothing else reads them.
    """
    options = {"coplayer": batch.config.coplayers, "critic_observations": informed}
    return (*UPLOADED, *(name for name, used in options.items() if used))


class DeviceBuffers:
    """The arrays of a batch as tensors on the CPU: views of the memory that the core writes into.

    Args:
        informed: as of `uploaded`.

    Attributes:
        arrays: tensors by channel, of the last step or reset. actions: written by the policy, in the env's format.
    """

    def __init__(self, batch: Batch, informed: bool = False):
        self.device = torch.device("cpu")
        self.arrays: dict[str, Tensor] = {name: torch.from_numpy(getattr(batch, name))
                                          for name in uploaded(batch, informed)}
        self.actions: Tensor = torch.from_numpy(batch.bound_actions)
        self._restarts = np.empty_like(batch.observations)

    def upload(self) -> None:
        """Updates `arrays` to the batch's current ones."""

    def download_actions(self) -> None:
        """Starts to copy `actions` into the batch's."""

    def wait_for_actions(self) -> None:
        """Blocks until the copy of the actions is complete."""

    def restart_observations(self, batch: Batch) -> Tensor:
        """`Batch.restart_observations()` on the device."""
        return torch.from_numpy(batch.restart_observations(self._restarts))


class PinnedDeviceBuffers(DeviceBuffers):
    """The arrays on a GPU: the core writes into pinned memory, and one copy per step transfers all of it.

    Copies run on a stream of their own, so that the copy for one batch overlaps the work on another.
    """

    def __init__(self, batch: Batch, host: PinnedHostArrays, device: torch.device):
        self.device = device
        self._host = host
        self._block = torch.empty_like(host.block, device=device, pin_memory=False)
        self.arrays = {name: host.view(self._block, name) for name in host.names}
        self.actions = torch.zeros_like(host.actions, device=device, pin_memory=False)
        self._restarts_host = torch.empty_like(self.arrays["observations"], device="cpu", pin_memory=True)
        self._restarts = torch.empty_like(self._restarts_host, device=device, pin_memory=False)
        self._stream = torch.cuda.Stream(device)
        self._downloaded = torch.cuda.Event()

    def upload(self) -> None:
        # Kernels that read the block's old contents are complete: they precede the actions, whose copy has ended.
        with torch.cuda.stream(self._stream):
            self._block.copy_(self._host.block, non_blocking=True)
        torch.cuda.current_stream(self.device).wait_stream(self._stream)

    def download_actions(self) -> None:
        self._host.actions.copy_(self.actions, non_blocking=True)
        self._downloaded.record(torch.cuda.current_stream(self.device))

    def wait_for_actions(self) -> None:
        self._downloaded.synchronize()

    def restart_observations(self, batch: Batch) -> Tensor:
        torch.cuda.current_stream(self.device).synchronize()  # the last copy may still read the pinned memory
        batch.restart_observations(self._restarts_host.numpy())
        return self._restarts.copy_(self._restarts_host, non_blocking=True)


class PinnedHostArrays:
    """Pinned memory for a batch's arrays: the uploaded channels in one block, and the actions.

    Args:
        like: a batch of one world with the same config and scenes. num_worlds: of the batch to be made.
        informed: as of `uploaded`.

    Attributes:
        names: of the uploaded channels.
    """

    def __init__(self, like: Batch, num_worlds: int, informed: bool = False):
        self.names = uploaded(like, informed)
        self._offsets, used = {}, 0
        for name in self.names:
            array = getattr(like, name)
            shape = (len(array) * num_worlds, *array.shape[1:])
            self._offsets[name] = (used, shape, torch.from_numpy(array[:0]).dtype)
            used += -(-math.prod(shape) * array.itemsize // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        self.block = torch.zeros(used, dtype=torch.uint8, pin_memory=True)
        actions = like.bound_actions
        self.actions = torch.zeros((len(actions) * num_worlds, *actions.shape[1:]),
                                   dtype=torch.from_numpy(actions[:0]).dtype, pin_memory=True)

    def view(self, block: Tensor, name: str) -> Tensor:
        """The channel `name` within a block laid out like this one, here or on the device."""
        offset, shape, dtype = self._offsets[name]
        return block[offset : offset + math.prod(shape) * dtype.itemsize].view(dtype).view(shape)

    def for_batch(self) -> dict[str, np.ndarray]:
        """The value of `Batch(arrays=...)`."""
        return {name: self.view(self.block, name).numpy() for name in self.names} | {"actions": self.actions.numpy()}
