"""How does a GPU attend to whole segments, forward and backward? The prefix is read in place, in the ring (Triton).

Forward: one program computes a block of query rows: consecutive steps of one agent, with the query heads that share a
KV head as adjacent rows of one matrix. The online softmax (Milakov and Gimelshein 2018) starts from each row's own key,
then iterates over blocks of tokens from the oldest that the block's earliest step attends to, first those in the ring,
then those of the segment. Backward (FlashAttention-2, Dao 2023): weights are recomputed from the stored log-sum-exp;
one kernel computes dq, another dk and dv of the segment; the prefix is constant. Sums are in float32 and in a fixed
order, and no two programs write to one address, so results are bit-equal between runs.

A step that is not a token is attended to by itself alone. The terms of a step with itself are computed apart from the
products of blocks, in which 0 x NaN is NaN.

Shapes: q (R, T, H, D), k and v (R, T, K, D), rings of one layer (N, K, S, D); R x T x H rows. The letters are
FlashAttention's: m, l, acc, alpha as in ring_attention.py, lse the log-sum-exp of a row, p the weights, ds the gradient
of the scores, delta the row sums of out * do.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..kv_cache import AttentionMask, Prefix

BLOCK = {torch.bfloat16: 64, torch.float32: 32}
"""Query rows, and tokens, of a block: 64 fill the tensor cores, which float32 does not use."""

LOG2_E = tl.constexpr(1.4426950408889634)
"""Scores are scaled to exponents of 2, since GPUs have an instruction for exp2."""


# ---- forward ----


@triton.jit
def _forward(q_ptr, k_ptr, v_ptr, ring_k, ring_v, agents, written, token, oldest, valid_token, out_ptr, lse_ptr, parts,
             steps, slots, agent_stride, head_stride, scale, kv_heads: tl.constexpr, q_per_kv: tl.constexpr,
             size: tl.constexpr, block: tl.constexpr):
    agent, head, part = _program(parts, kv_heads)
    first = agent * steps

    # The queries of the block; the softmax starts from each one's own key and value.
    row_mask, step, row = _query_rows(part * block, agent, head, steps, kv_heads, q_per_kv, block)
    offset, mask = _vectors(row, row_mask, size)
    q = tl.load(q_ptr + offset, mask, other=0.0)
    own, _ = _vectors((first + step) * kv_heads + head, row_mask, size)
    own_k = tl.load(k_ptr + own, mask, other=0.0).to(tl.float32)
    m = tl.sum(q.to(tl.float32) * own_k, 1) * (scale * LOG2_E)
    l = tl.full([block], 1.0, tl.float32)  # noqa: E741
    acc = tl.load(v_ptr + own, mask, other=0.0).to(tl.float32)

    # The tokens of the prefix, in the ring.
    end = tl.load(token + first + step, row_mask, other=0).to(tl.int32)
    begin = tl.load(oldest + first + step, row_mask, other=0).to(tl.int32)
    start = tl.load(oldest + first + part * block // q_per_kv).to(tl.int32)  # later steps reach no further back
    ring, next_slot = _ring(agents, written, agent, head, slots, agent_stride, head_stride)
    for at_token in range(start, 0, block):
        k, v, mask_kv = _load_ring(ring_k + ring, ring_v + ring, at_token, next_slot, slots, begin, size, block)
        m, l, acc = _accumulate(q, k, v, mask_kv, m, l, acc, scale)

    # The tokens of the segment; token n is at step n or later.
    last = tl.minimum((part * block + block - 1) // q_per_kv, steps - 1)
    for at_step in range(tl.maximum(start, 0), last, block):
        k, v, mask_kv = _load_segment(k_ptr, v_ptr, token, valid_token, first, at_step, steps, begin, end, head,
                                      kv_heads, size, block)
        m, l, acc = _accumulate(q, k, v, mask_kv, m, l, acc, scale)
    tl.store(out_ptr + offset, (acc / l[:, None]).to(out_ptr.dtype.element_ty), mask)
    tl.store(lse_ptr + row, m + tl.log2(l), row_mask)


@triton.jit
def _accumulate(q, k, v, mask, m, l, acc, scale):  # noqa: E741
    """The online softmax after one more block of tokens."""
    score = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * LOG2_E)
    score = tl.where(mask, score, float("-inf"))
    m_new = tl.maximum(m, tl.max(score, 1))
    p = tl.exp2(score - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
    return m_new, l * alpha + tl.sum(p, 1), acc


# ---- backward: dq ----


@triton.jit
def _backward_q(q_ptr, k_ptr, v_ptr, ring_k, ring_v, agents, written, token, oldest, valid_token, out_ptr, lse_ptr,
                do_ptr, dq_ptr, delta_ptr, parts, steps, slots, agent_stride, head_stride, scale,
                kv_heads: tl.constexpr, q_per_kv: tl.constexpr, size: tl.constexpr, block: tl.constexpr):
    agent, head, part = _program(parts, kv_heads)
    first = agent * steps

    # The queries of the block, and delta, which the other kernel reads too.
    row_mask, step, row = _query_rows(part * block, agent, head, steps, kv_heads, q_per_kv, block)
    offset, mask = _vectors(row, row_mask, size)
    q = tl.load(q_ptr + offset, mask, other=0.0)
    do = tl.load(do_ptr + offset, mask, other=0.0)
    delta = tl.sum(tl.load(out_ptr + offset, mask, other=0.0).to(tl.float32) * do.to(tl.float32), 1)
    tl.store(delta_ptr + row, delta, row_mask)
    lse = tl.load(lse_ptr + row, row_mask, other=0.0)

    # Each step's own key.
    own, _ = _vectors((first + step) * kv_heads + head, row_mask, size)
    own_k = tl.load(k_ptr + own, mask, other=0.0).to(tl.float32)
    own_v = tl.load(v_ptr + own, mask, other=0.0).to(tl.float32)
    _, own_ds = _own_terms(q, do, own_k, own_v, lse, delta, scale)
    dq = own_ds[:, None] * own_k

    # The tokens of the prefix, then those of the segment, as in the forward kernel.
    end = tl.load(token + first + step, row_mask, other=0).to(tl.int32)
    begin = tl.load(oldest + first + step, row_mask, other=0).to(tl.int32)
    start = tl.load(oldest + first + part * block // q_per_kv).to(tl.int32)
    ring, next_slot = _ring(agents, written, agent, head, slots, agent_stride, head_stride)
    for at_token in range(start, 0, block):
        k, v, mask_kv = _load_ring(ring_k + ring, ring_v + ring, at_token, next_slot, slots, begin, size, block)
        dq = _accumulate_dq(q, do, k, v, mask_kv, lse, delta, dq, scale)
    last = tl.minimum((part * block + block - 1) // q_per_kv, steps - 1)
    for at_step in range(tl.maximum(start, 0), last, block):
        k, v, mask_kv = _load_segment(k_ptr, v_ptr, token, valid_token, first, at_step, steps, begin, end, head,
                                      kv_heads, size, block)
        dq = _accumulate_dq(q, do, k, v, mask_kv, lse, delta, dq, scale)
    tl.store(dq_ptr + offset, (dq * scale).to(dq_ptr.dtype.element_ty), mask)


@triton.jit
def _accumulate_dq(q, do, k, v, mask, lse, delta, dq, scale):
    """dq after one more block of tokens."""
    score = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * LOG2_E)
    p = tl.where(mask, tl.exp2(score - lse[:, None]), 0.0)
    dp = tl.dot(do, tl.trans(v), input_precision="ieee")
    ds = p * (dp - delta[:, None])
    return tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")


@triton.jit
def _own_terms(q, do, k, v, lse, delta, scale):
    """p and ds of queries with the keys of their own steps."""
    score = tl.sum(q.to(tl.float32) * k.to(tl.float32), 1) * (scale * LOG2_E)
    p = tl.exp2(score - lse)
    return p, p * (tl.sum(do.to(tl.float32) * v.to(tl.float32), 1) - delta)


# ---- backward: dk and dv of the segment ----


@triton.jit
def _backward_kv(q_ptr, k_ptr, v_ptr, token, oldest, valid_token, lse_ptr, do_ptr, delta_ptr, dk_ptr, dv_ptr, parts,
                 steps, scale, kv_heads: tl.constexpr, q_per_kv: tl.constexpr, size: tl.constexpr,
                 block: tl.constexpr):
    agent, head, part = _program(parts, kv_heads)
    first = agent * steps

    # The block's keys and values.
    step = part * block + tl.arange(0, block)
    step_mask = step < steps
    row = (first + step) * kv_heads + head
    offset, mask = _vectors(row, step_mask, size)
    k, v = tl.load(k_ptr + offset, mask, other=0.0), tl.load(v_ptr + offset, mask, other=0.0)
    number = tl.load(token + first + step, step_mask, other=0).to(tl.int32)
    is_token = tl.load(valid_token + first + step, step_mask, other=0) != 0
    dk = tl.zeros([block, size], tl.float32)
    dv = tl.zeros([block, size], tl.float32)

    # The queries of each key's own step, then those of later steps.
    for member in tl.static_range(q_per_kv):
        dk, dv = _accumulate_own(q_ptr, do_ptr, lse_ptr, delta_ptr, row * q_per_kv + member, step_mask, k, v, dk, dv,
                                 scale, size)
    for start in range(part * block * q_per_kv, steps * q_per_kv, block):
        dk, dv = _accumulate_later(q_ptr, do_ptr, lse_ptr, delta_ptr, token, oldest, start, agent, head, steps, k, v,
                                   number, is_token, dk, dv, scale, kv_heads, q_per_kv, size, block)
    tl.store(dk_ptr + offset, (dk * scale).to(dk_ptr.dtype.element_ty), mask)
    tl.store(dv_ptr + offset, dv.to(dv_ptr.dtype.element_ty), mask)


@triton.jit
def _accumulate_own(q_ptr, do_ptr, lse_ptr, delta_ptr, row, row_mask, k, v, dk, dv, scale, size: tl.constexpr):
    """dk and dv after one query of each key's own step."""
    offset, mask = _vectors(row, row_mask, size)
    q = tl.load(q_ptr + offset, mask, other=0.0)
    do = tl.load(do_ptr + offset, mask, other=0.0)
    lse, delta = tl.load(lse_ptr + row, row_mask, other=0.0), tl.load(delta_ptr + row, row_mask, other=0.0)
    p, ds = _own_terms(q, do, k, v, lse, delta, scale)
    return dk + ds[:, None] * q.to(tl.float32), dv + p[:, None] * do.to(tl.float32)


@triton.jit
def _accumulate_later(q_ptr, do_ptr, lse_ptr, delta_ptr, token, oldest, start, agent, head, steps, k, v, number,
                      is_token, dk, dv, scale, kv_heads: tl.constexpr, q_per_kv: tl.constexpr, size: tl.constexpr,
                      block: tl.constexpr):
    """dk and dv after a block of later queries. Scores are transposed: keys are rows, queries columns."""
    row_mask, step, row = _query_rows(start, agent, head, steps, kv_heads, q_per_kv, block)
    offset, mask = _vectors(row, row_mask, size)
    q, do = tl.load(q_ptr + offset, mask, other=0.0), tl.load(do_ptr + offset, mask, other=0.0)
    lse, delta = tl.load(lse_ptr + row, row_mask, other=0.0), tl.load(delta_ptr + row, row_mask, other=0.0)
    end = tl.load(token + agent * steps + step, row_mask, other=0).to(tl.int32)
    begin = tl.load(oldest + agent * steps + step, row_mask, other=0).to(tl.int32)
    mask_kv = is_token[:, None] & (number[:, None] >= begin[None, :]) & (number[:, None] < end[None, :])
    mask_kv = mask_kv & (lse < float("inf"))[None, :]  # false where the own key of a query's step is NaN
    score = tl.dot(k, tl.trans(q), input_precision="ieee") * (scale * LOG2_E)
    p = tl.where(mask_kv, tl.exp2(score - lse[None, :]), 0.0)
    dp = tl.dot(v, tl.trans(do), input_precision="ieee")
    ds = tl.where(mask_kv, p * (dp - delta[None, :]), 0.0)
    return (tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee"),
            tl.dot(p.to(q.dtype), do, dv, input_precision="ieee"))


# ---- addresses and loads ----


@triton.jit
def _program(parts, kv_heads):
    """This program's agent, KV head and block. Blocks that read one prefix are adjacent."""
    program = tl.program_id(0)
    return (program // (parts * kv_heads)).to(tl.int64), program // parts % kv_heads, program % parts


@triton.jit
def _query_rows(start, agent, head, steps, kv_heads: tl.constexpr, q_per_kv: tl.constexpr, block: tl.constexpr):
    """A block of the queries that share a KV head, in order of steps: mask, steps, and rows in the array of queries."""
    index = start + tl.arange(0, block)
    step = index // q_per_kv
    return index < steps * q_per_kv, step, ((agent * steps + step) * kv_heads + head) * q_per_kv + index % q_per_kv


@triton.jit
def _vectors(row, row_mask, size: tl.constexpr):
    """Offsets and mask of whole vectors."""
    return row[:, None] * size + tl.arange(0, size)[None, :], row_mask[:, None]


@triton.jit
def _ring(agents, written, agent, head, slots, agent_stride, head_stride):
    """Offset of an agent's ring, and the slot of token 0."""
    ring = tl.load(agents + agent) * agent_stride + head * head_stride
    return ring, (tl.load(written + agent) % slots).to(tl.int32)


@triton.jit
def _load_ring(k_ptr, v_ptr, start, next_slot, slots, begin, size: tl.constexpr, block: tl.constexpr):
    """A block of the prefix's tokens, and the mask of queries by tokens."""
    number = start + tl.arange(0, block)
    slot = next_slot + number
    slot = tl.where(slot < 0, slot + slots, slot)
    offset, mask = _vectors(slot, number < 0, size)
    mask_kv = (number < 0)[None, :] & (number[None, :] >= begin[:, None])
    return tl.load(k_ptr + offset, mask, other=0.0), tl.load(v_ptr + offset, mask, other=0.0), mask_kv


@triton.jit
def _load_segment(k_ptr, v_ptr, token, valid_token, first, start, steps, begin, end, head, kv_heads: tl.constexpr,
                  size: tl.constexpr, block: tl.constexpr):
    """A block of the segment's steps, and the mask of queries by steps, their own left out."""
    step = start + tl.arange(0, block)
    is_token = tl.load(valid_token + first + step, step < steps, other=0) != 0
    number = tl.load(token + first + step, step < steps, other=0).to(tl.int32)
    offset, mask = _vectors((first + step) * kv_heads + head, is_token, size)
    mask_kv = is_token[None, :] & (number[None, :] >= begin[:, None]) & (number[None, :] < end[:, None])
    return tl.load(k_ptr + offset, mask, other=0.0), tl.load(v_ptr + offset, mask, other=0.0), mask_kv


# ---- the autograd function ----


SIZES = (16, 32, 64)
"""Floats a head. The tensor cores multiply at least 16; blocks of 128 exceed the shared memory of small GPUs."""

OLDEST_CAPABILITY = (8, 0)
"""The first GPUs that multiply bfloat16."""


def fits(q: Tensor, ring_k: Tensor) -> bool:
    """Whether the kernels can compute these. At one step, Triton 3.6's assembler (ptxas) crashed on an H200."""
    size = q.shape[-1]
    return (q.shape[1] > 1 and q.dtype in BLOCK and q.dtype == ring_k.dtype and size in SIZES
            and ring_k.stride()[-2:] == (size, 1)
            and (not q.is_cuda or torch.cuda.get_device_capability(q.device) >= OLDEST_CAPABILITY))


def attend_segment(q: Tensor, k: Tensor, v: Tensor, prefix: Prefix, layer: int, mask: AttentionMask) -> Tensor:
    """As `attention.attend_segment`."""
    index = (part.contiguous() for part in (prefix.agents, prefix.written, mask.token, mask.oldest, mask.valid_token))
    return _Attention.apply(q.contiguous(), k.contiguous(), v.contiguous(), prefix.keys[layer], prefix.values[layer],
                            *index)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, ring_k, ring_v, agents, written, token, oldest, valid_token):
        out = torch.empty_like(q)
        lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
        tensors = (q, k, v, ring_k, ring_v, agents, written, token, oldest, valid_token, out, lse)
        grid, parts, constants = _launch(q, k, q.shape[1] * q.shape[2] // k.shape[2])
        _forward[grid](*tensors, parts, q.shape[1], ring_k.shape[2], *ring_k.stride()[:2], q.shape[3]**-0.5,
                       **constants)
        ctx.save_for_backward(*tensors)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, do):
        q, k, v, ring_k, _, _, _, token, oldest, valid_token, _, lse = ctx.saved_tensors
        do = do.contiguous()
        dq, dk, dv = (torch.empty_like(part) for part in (q, k, v))
        delta = torch.empty_like(lse)
        steps, scale = q.shape[1], q.shape[3]**-0.5
        grid, parts, constants = _launch(q, k, steps * q.shape[2] // k.shape[2])
        _backward_q[grid](*ctx.saved_tensors, do, dq, delta, parts, steps, ring_k.shape[2], *ring_k.stride()[:2], scale,
                          **constants)
        grid, parts, constants = _launch(q, k, steps)
        _backward_kv[grid](q, k, v, token, oldest, valid_token, lse, do, delta, dk, dv, parts, steps, scale,
                           **constants)
        return dq, dk, dv, *[None] * 7


def _launch(q: Tensor, k: Tensor, rows: int):
    """The grid for this many rows of each agent and KV head, the number of blocks, and the constants of a kernel."""
    agents, _, heads, size = q.shape
    kv_heads, block = k.shape[2], BLOCK[q.dtype]
    parts = triton.cdiv(rows, block)
    return (agents * kv_heads * parts,), parts, {"kv_heads": kv_heads, "q_per_kv": heads // kv_heads, "size": size,
                                                 "block": block, "num_warps": 4, "num_stages": 2}
