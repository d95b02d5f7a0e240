"""Which process is this, and what do all of them sum to? One process, or many by torchrun."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process among its like. Alone, every call leaves things as they are."""

    rank: int
    count: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this process speaks, writes and evaluates."""
        return self.rank == 0

    def share(self, name: str, value: int) -> int:
        """This process' part of a global number.

        Raises:
            ValueError: it does not divide.
        """
        if value % self.count:
            raise ValueError(f"{name} is {value}; it must divide by the {self.count} processes")
        return value // self.count

    def sum(self, tensor: Tensor) -> Tensor:
        """In place, over all ranks."""
        if self.count > 1:
            dist.all_reduce(tensor)
        return tensor

    def max(self, tensor: Tensor) -> Tensor:
        """In place, over all ranks."""
        if self.count > 1:
            dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return tensor

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Losses are divided by global counts, so the gradient of all is the sum, not the mean."""
        if self.count == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = self.sum(torch.cat([gradient.flatten() for gradient in gradients]))
        for gradient, part in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(part.view_as(gradient))

    def same(self, module: nn.Module) -> None:
        """Gives every rank the weights of the leader."""
        if self.count > 1:
            for tensor in module.state_dict().values():
                dist.broadcast(tensor, 0)

    def lead(self, call: Callable[[], T]) -> T:
        """Calls a function on the leader alone; every rank returns what it returned, or raises what it raised."""
        found = [None, None]
        if self.leads:
            try:
                found[0] = call()
            except Exception as error:  # noqa: BLE001  the others would wait for a result for ever
                found[1] = error
        if self.count > 1:
            dist.broadcast_object_list(found, 0, device=self.device)
        if found[1] is not None:
            raise found[1]
        return found[0]

    def wait(self) -> None:
        """Returns when all have come here."""
        if self.count > 1:
            dist.barrier()


def join(device: str = "auto") -> Ranks:
    """Joins the ranks that torchrun started, NCCL between GPUs and gloo between CPUs; alone without torchrun.

    They stay together until the process ends: a second group would meet the remains of the first.

    Raises:
        ValueError: torch knows no such device, or it is a GPU and there is none.
    """
    rank, count = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ValueError(f"device is {device!r}; it must be 'auto' or what torch calls one, as 'cpu' or 'cuda:1'"
                         ) from None
    if chosen.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"device is {device!r}, but torch finds no GPU")
        if chosen.index is None:
            chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(chosen)
    if count > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
        atexit.register(dist.destroy_process_group)
    return Ranks(rank, count, chosen)

