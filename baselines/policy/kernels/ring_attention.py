"""How does one step attend to the KV cache on a GPU? Each token is read once, masked slots not at all (Triton).

One program computes one agent and KV head. It iterates over blocks from the oldest token in the window to the step's
own, with an online softmax (Milakov and Gimelshein 2018) that accumulates in float32.

The letters are FlashAttention's: q, k, v; m the running maximum of the scores, l the running sum of their exponentials,
acc the running output, alpha the factor that rescales l and acc when m grows.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK_TOKENS = 64
"""Tokens loaded at once: 4 KB of keys at 32 bfloat16 numbers a head."""


@triton.jit
def _attend_ring(q_ptr, k_ptr, v_ptr, slot, length, rows, out_ptr, slots, agent_stride, head_stride, scale,
                 has_rows: tl.constexpr, size: tl.constexpr, kv_heads: tl.constexpr, q_per_kv: tl.constexpr,
                 block: tl.constexpr):
    # The program's agent and KV head, and the window of tokens it attends to.
    agent, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    own, window = tl.load(slot + agent), tl.load(length + agent) + 1
    oldest = own - window + 1
    row = tl.load(rows + agent) if has_rows else agent
    ring = row * agent_stride + head * head_stride

    # The queries that share this KV head.
    column = tl.arange(0, size)
    member = tl.arange(0, q_per_kv)
    q_offset = (agent * kv_heads + head) * q_per_kv * size + member[:, None] * size + column[None, :]
    q = tl.load(q_ptr + q_offset).to(tl.float32) * scale

    # The online softmax over the window.
    m = tl.full([q_per_kv], float("-inf"), tl.float32)
    l = tl.zeros([q_per_kv], tl.float32)  # noqa: E741
    acc = tl.zeros([q_per_kv, size], tl.float32)
    for start in range(0, window, block):
        token = start + tl.arange(0, block)
        mask = token < window
        at = oldest + token
        at = tl.where(at < 0, at + slots, at)
        kv_offset = ring + at[:, None] * size + column[None, :]
        k = tl.load(k_ptr + kv_offset, mask=mask[:, None], other=0.0).to(tl.float32)
        score = tl.sum(q[:, None, :] * k[None, :, :], 2)
        score = tl.where(mask[None, :], score, float("-inf"))
        m_new = tl.maximum(m, tl.max(score, 1))
        p = tl.exp(score - m_new[:, None])
        alpha = tl.exp(m - m_new)
        v = tl.load(v_ptr + kv_offset, mask=mask[:, None], other=0.0).to(tl.float32)
        acc = acc * alpha[:, None] + tl.sum(p[:, :, None] * v[None, :, :], 1)
        l = l * alpha + tl.sum(p, 1)  # noqa: E741
        m = m_new
    tl.store(out_ptr + q_offset, (acc / l[:, None]).to(out_ptr.dtype.element_ty))


def fits(q: Tensor, k: Tensor) -> bool:
    """Whether the kernel can compute these: sizes are powers of 2, slots and floats are contiguous."""
    power = lambda n: n & (n - 1) == 0
    return power(q.shape[-1]) and power(q.shape[1] // k.shape[1]) and k.stride()[2:] == (k.shape[3], 1)


def attend_ring(q: Tensor, k: Tensor, v: Tensor, slot: Tensor, length: Tensor, rows: Tensor | None = None) -> Tensor:
    """As `attention.attend_ring`."""
    agents, heads, size = q.shape
    kv_heads, slots = k.shape[1:3]
    q = q.contiguous()
    out = torch.empty_like(q)
    _attend_ring[(agents, kv_heads)](q, k, v, slot, length, slot if rows is None else rows, out, slots, k.stride(0),
                                     k.stride(1), size**-0.5, has_rows=rows is not None, size=size, kv_heads=kv_heads,
                                     q_per_kv=heads // kv_heads, block=BLOCK_TOKENS, num_warps=2)
    return out
