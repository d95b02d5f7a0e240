"""Which rank is this process, and how do ranks combine their results? One process, or several by torchrun."""

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
    """This process among all ranks. With one rank every method is the identity."""

    rank: int
    count: int
    device: torch.device

    @property
    def is_main(self) -> bool:
        """Whether this rank logs, evaluates and writes checkpoints."""
        return self.rank == 0

    def local_share(self, name: str, value: int) -> int:
        """This rank's part of a global number.

        Raises:
            ValueError: it is not divisible by the number of ranks.
        """
        if value % self.count:
            raise ValueError(f"{name} is {value}; it must be divisible by the {self.count} processes")
        return value // self.count

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all ranks, in place."""
        if self.count > 1:
            dist.all_reduce(tensor)
        return tensor

    def max(self, tensor: Tensor) -> Tensor:
        """The maximum over all ranks, in place."""
        if self.count > 1:
            dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return tensor

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sums, not averages, gradients over ranks: losses are already divided by the global count."""
        if self.count == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = self.sum(torch.cat([gradient.flatten() for gradient in gradients]))
        for gradient, part in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(part.view_as(gradient))

    def broadcast(self, module: nn.Module) -> None:
        """Copies the main rank's weights to all ranks."""
        if self.count > 1:
            for tensor in module.state_dict().values():
                dist.broadcast(tensor, 0)

    def on_main(self, call: Callable[[], T]) -> T:
        """Calls a function on the main rank; every rank returns its result or raises its exception."""
        outcome = [None, None]
        if self.is_main:
            try:
                outcome[0] = call()
            except Exception as error:  # noqa: BLE001  otherwise the other ranks would wait forever
                outcome[1] = error
        if self.count > 1:
            dist.broadcast_object_list(outcome, 0, device=self.device)
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def on_all(self, call: Callable[[], None]) -> None:
        """Calls a function on every rank; if it raises on any, every rank raises the first one's exception."""
        errors: list[Exception | None] = [None] * self.count
        try:
            call()
        except Exception as error:  # noqa: BLE001  as above
            errors[self.rank] = error
        if self.count > 1:
            dist.all_gather_object(errors, errors[self.rank])
        for error in filter(None, errors):
            raise error

    def barrier(self) -> None:
        """Blocks until every rank has called it."""
        if self.count > 1:
            dist.barrier()


def join(device: str = "auto") -> Ranks:
    """Joins the process group of torchrun, NCCL between GPUs and gloo between CPUs; without torchrun, one rank.

    The group exists until the process ends: torch does not reliably create a second one.

    Raises:
        ValueError: torch has no such device, or it is a GPU and there is none.
    """
    rank, count = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ValueError(f"device is {device!r}; it must be 'auto' or a device of torch, such as 'cpu' or 'cuda:1'"
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
