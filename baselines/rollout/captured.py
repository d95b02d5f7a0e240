"""How is a function of tensors run without the host? Captured once as a CUDA graph, and replayed; on a CPU, called."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP_RUNS = 3
"""Runs before a capture, in which libraries initialise and kernels are compiled."""


class CapturedFunction:
    """A function of static tensors: called directly on a CPU, captured once and replayed as a CUDA graph on a GPU.

    Args:
        run: reads and writes tensors whose addresses do not change.
        state: tensors that the warm-up runs change and that are restored after them.
    """

    def __init__(self, run: Callable[[], None], device: torch.device, state: list[Tensor]):
        self._call = run
        if device.type != "cuda":
            return
        before = [tensor.clone() for tensor in state]
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP_RUNS):
                run()
        torch.cuda.current_stream(device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        for tensor, value in zip(state, before):
            tensor.copy_(value)
        self._call = graph.replay

    def __call__(self) -> None:
        self._call()
