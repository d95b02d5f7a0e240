"""How does a GPU read a ring of keys and values? Each token once, and only the tokens that are seen (Triton).

One program an agent and head of keys. It goes from the oldest token that the agent sees to the agent's own, in blocks, and
keeps the softmax running (Milakov and Gimelshein 2018); sums are in float32.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK_TOKENS = 64
"""Tokens read at once: 4 KB of keys at 32 bfloat16 numbers a head."""


@triton.jit
def _attend_ring(query, keys, values, slot, length, out, slots, key_agent_stride, key_head_stride, scale,
                 size: tl.constexpr, groups: tl.constexpr, shared: tl.constexpr, block: tl.constexpr):
    agent, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    own, seen = tl.load(slot + agent), tl.load(length + agent) + 1
    number = tl.arange(0, size)
    member = tl.arange(0, shared)  # the query heads that share this head of keys
    place = (agent * groups + head) * shared * size + member[:, None] * size + number[None, :]
    asked = tl.load(query + place).to(tl.float32) * scale
    ring = agent * key_agent_stride + head * key_head_stride
    oldest = own - seen + 1
    most = tl.full([shared], float("-inf"), tl.float32)
    total = tl.zeros([shared], tl.float32)
    answer = tl.zeros([shared, size], tl.float32)
    for start in range(0, seen, block):
        token = start + tl.arange(0, block)
        at = oldest + token
        at = tl.where(at < 0, at + slots, at)
        there = token < seen
        cell = ring + at[:, None] * size + number[None, :]
        key = tl.load(keys + cell, mask=there[:, None], other=0.0).to(tl.float32)
        score = tl.sum(asked[:, None, :] * key[None, :, :], 2)
        score = tl.where(there[None, :], score, float("-inf"))
        highest = tl.maximum(most, tl.max(score, 1))
        weight = tl.exp(score - highest[:, None])
        faded = tl.exp(most - highest)
        value = tl.load(values + cell, mask=there[:, None], other=0.0).to(tl.float32)
        answer = answer * faded[:, None] + tl.sum(weight[:, :, None] * value[None, :, :], 1)
        total = total * faded + tl.sum(weight, 1)
        most = highest
    tl.store(out + place, (answer / total[:, None]).to(out.dtype.element_ty))


def fits(query: Tensor, keys: Tensor) -> bool:
    """Whether the kernel can: sizes that are powers of 2, and agents that lie close together."""
    power = lambda n: n & (n - 1) == 0
    return power(query.shape[-1]) and power(query.shape[1] // keys.shape[1]) and keys.stride()[2:] == (
        keys.shape[3], 1)


def attend_ring(query: Tensor, keys: Tensor, values: Tensor, slot: Tensor, length: Tensor) -> Tensor:
    """As `attention.attend_ring`."""
    agents, heads, size = query.shape
    groups, slots = keys.shape[1:3]
    query = query.contiguous()
    out = torch.empty_like(query)
    _attend_ring[(agents, groups)](query, keys, values, slot, length, out, slots, keys.stride(0), keys.stride(1),
                                 size**-0.5, size=size, groups=groups, shared=heads // groups, block=BLOCK_TOKENS,
                                 num_warps=2)
    return out
