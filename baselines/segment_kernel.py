"""How does a GPU attend to whole segments, forwards and backwards? It reads the prefix where it stands (Triton).

One program takes a block of one agent's queries that share a head of keys, as the lines of one matrix. It starts from
each query's own key, goes in blocks over the tokens that the earliest of its steps sees, those in the ring and then
those of the segment, and keeps the softmax running (Milakov and Gimelshein 2018). The way back computes the weights
again from the logarithms of the softmax's sums (FlashAttention-2, Dao 2023): one kernel for the gradients of the
queries, one for those of the segment's keys and values; the prefix is constant. Sums are in float32 and in one order:
no two programs write to one place.

A step that waits is seen by itself alone: its own terms are apart from the products of blocks, where 0 x NaN is NaN.

Shapes: (R, T, H, D) queries, (R, T, K, D) keys and values, (N, K, S, D) rings of one layer; R x T x H lines.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from .cache import Prefix, Sight

BLOCK = {torch.bfloat16: 64, torch.float32: 32}
"""Queries, and tokens, that meet at once: 64 fill a product of the tensor cores, which float32 does without."""

LOG2_E = tl.constexpr(1.4426950408889634)
"""Scores are in powers of 2, the exponential that a GPU has."""


# ---- forwards ----


@triton.jit
def _attend(query, keys, values, ring_keys, ring_values, agents, head, token, oldest, kept, answers, log_sums, parts,
            steps, slots, agent_stride, head_stride, scale, groups: tl.constexpr, shared: tl.constexpr,
            size: tl.constexpr, block: tl.constexpr):
    agent, group, part = _share(parts, groups)
    first = agent * steps
    there, step, line = _queries(part * block, agent, group, steps, groups, shared, block)
    at, mask = _vectors(line, there, size)
    asked = tl.load(query + at, mask, other=0.0)
    own, _ = _vectors((first + step) * groups + group, there, size)
    own_key = tl.load(keys + own, mask, other=0.0).to(tl.float32)
    most = tl.sum(asked.to(tl.float32) * own_key, 1) * (scale * LOG2_E)
    total = tl.full([block], 1.0, tl.float32)
    answer = tl.load(values + own, mask, other=0.0).to(tl.float32)

    upto = tl.load(token + first + step, there, other=0).to(tl.int32)
    since = tl.load(oldest + first + step, there, other=0).to(tl.int32)
    start = tl.load(oldest + first + part * block // shared).to(tl.int32)  # later steps see nothing older
    ring, next_slot = _ring_of(agents, head, agent, group, slots, agent_stride, head_stride)
    for at_token in range(start, 0, block):
        key, value, visible = _of_ring(ring_keys + ring, ring_values + ring, at_token, next_slot, slots, since, size,
                                       block)
        most, total, answer = _take_in(asked, key, value, visible, most, total, answer, scale)
    last = tl.minimum((part * block + block - 1) // shared, steps - 1)
    for at_step in range(tl.maximum(start, 0), last, block):  # token n stands at step n or later
        key, value, visible = _of_segment(keys, values, token, kept, first, at_step, steps, since, upto, group, groups,
                                          size, block)
        most, total, answer = _take_in(asked, key, value, visible, most, total, answer, scale)
    tl.store(answers + at, (answer / total[:, None]).to(answers.dtype.element_ty), mask)
    tl.store(log_sums + line, most + tl.log2(total), there)


@triton.jit
def _take_in(asked, key, value, visible, most, total, answer, scale):
    """The running softmax with one block more."""
    score = tl.dot(asked, tl.trans(key), input_precision="ieee") * (scale * LOG2_E)
    score = tl.where(visible, score, float("-inf"))
    highest = tl.maximum(most, tl.max(score, 1))
    weight = tl.exp2(score - highest[:, None])
    faded = tl.exp2(most - highest)
    answer = tl.dot(weight.to(value.dtype), value, answer * faded[:, None], input_precision="ieee")
    return highest, total * faded + tl.sum(weight, 1), answer


# ---- backwards, to the queries ----


@triton.jit
def _query_gradients(query, keys, values, ring_keys, ring_values, agents, head, token, oldest, kept, answers, log_sums,
                     answer_gradients, gradients, deltas, parts, steps, slots, agent_stride, head_stride, scale,
                     groups: tl.constexpr, shared: tl.constexpr, size: tl.constexpr, block: tl.constexpr):
    agent, group, part = _share(parts, groups)
    first = agent * steps
    there, step, line = _queries(part * block, agent, group, steps, groups, shared, block)
    at, mask = _vectors(line, there, size)
    asked = tl.load(query + at, mask, other=0.0)
    answer_gradient = tl.load(answer_gradients + at, mask, other=0.0)
    delta = tl.sum(tl.load(answers + at, mask, other=0.0).to(tl.float32) * answer_gradient.to(tl.float32), 1)
    tl.store(deltas + line, delta, there)
    log_sum = tl.load(log_sums + line, there, other=0.0)
    own, _ = _vectors((first + step) * groups + group, there, size)
    own_key = tl.load(keys + own, mask, other=0.0).to(tl.float32)
    own_value = tl.load(values + own, mask, other=0.0).to(tl.float32)
    _, own_score_gradient = _own_terms(asked, answer_gradient, own_key, own_value, log_sum, delta, scale)
    gradient = own_score_gradient[:, None] * own_key

    upto = tl.load(token + first + step, there, other=0).to(tl.int32)
    since = tl.load(oldest + first + step, there, other=0).to(tl.int32)
    start = tl.load(oldest + first + part * block // shared).to(tl.int32)
    ring, next_slot = _ring_of(agents, head, agent, group, slots, agent_stride, head_stride)
    for at_token in range(start, 0, block):
        key, value, visible = _of_ring(ring_keys + ring, ring_values + ring, at_token, next_slot, slots, since, size,
                                       block)
        gradient = _take_back(asked, answer_gradient, key, value, visible, log_sum, delta, gradient, scale)
    last = tl.minimum((part * block + block - 1) // shared, steps - 1)
    for at_step in range(tl.maximum(start, 0), last, block):
        key, value, visible = _of_segment(keys, values, token, kept, first, at_step, steps, since, upto, group, groups,
                                          size, block)
        gradient = _take_back(asked, answer_gradient, key, value, visible, log_sum, delta, gradient, scale)
    tl.store(gradients + at, (gradient * scale).to(gradients.dtype.element_ty), mask)


@triton.jit
def _take_back(asked, answer_gradient, key, value, visible, log_sum, delta, gradient, scale):
    """The queries' gradients with what one block adds."""
    score = tl.dot(asked, tl.trans(key), input_precision="ieee") * (scale * LOG2_E)
    weight = tl.where(visible, tl.exp2(score - log_sum[:, None]), 0.0)
    weight_gradient = tl.dot(answer_gradient, tl.trans(value), input_precision="ieee")
    score_gradient = weight * (weight_gradient - delta[:, None])
    return tl.dot(score_gradient.to(key.dtype), key, gradient, input_precision="ieee")


@triton.jit
def _own_terms(asked, answer_gradient, key, value, log_sum, delta, scale):
    """The weights that queries give to their own steps, and the gradients of those scores."""
    score = tl.sum(asked.to(tl.float32) * key.to(tl.float32), 1) * (scale * LOG2_E)
    weight = tl.exp2(score - log_sum)
    return weight, weight * (tl.sum(answer_gradient.to(tl.float32) * value.to(tl.float32), 1) - delta)


# ---- backwards, to the segment's keys and values ----


@triton.jit
def _key_gradients(query, keys, values, token, oldest, kept, log_sums, answer_gradients, deltas, key_gradients,
                   value_gradients, parts, steps, scale, groups: tl.constexpr, shared: tl.constexpr,
                   size: tl.constexpr, block: tl.constexpr):
    agent, group, part = _share(parts, groups)
    first = agent * steps
    step = part * block + tl.arange(0, block)
    there = step < steps
    line = (first + step) * groups + group
    at, mask = _vectors(line, there, size)
    key, value = tl.load(keys + at, mask, other=0.0), tl.load(values + at, mask, other=0.0)
    number = tl.load(token + first + step, there, other=0).to(tl.int32)
    is_token = tl.load(kept + first + step, there, other=0) != 0
    key_gradient = tl.zeros([block, size], tl.float32)
    value_gradient = tl.zeros([block, size], tl.float32)
    for member in tl.static_range(shared):
        key_gradient, value_gradient = _from_own_query(
            query, answer_gradients, log_sums, deltas, line * shared + member, there, key, value, key_gradient,
            value_gradient, scale, size)
    for start in range(part * block * shared, steps * shared, block):
        key_gradient, value_gradient = _from_later_queries(
            query, answer_gradients, log_sums, deltas, token, oldest, start, agent, group, steps, key, value, number,
            is_token, key_gradient, value_gradient, scale, groups, shared, size, block)
    tl.store(key_gradients + at, (key_gradient * scale).to(key_gradients.dtype.element_ty), mask)
    tl.store(value_gradients + at, value_gradient.to(value_gradients.dtype.element_ty), mask)


@triton.jit
def _from_own_query(query, answer_gradients, log_sums, deltas, line, there, key, value, key_gradient, value_gradient,
                    scale, size: tl.constexpr):
    """The gradients of keys and values with what one query of each key's own step adds."""
    at, mask = _vectors(line, there, size)
    asked = tl.load(query + at, mask, other=0.0)
    answer_gradient = tl.load(answer_gradients + at, mask, other=0.0)
    log_sum, delta = tl.load(log_sums + line, there, other=0.0), tl.load(deltas + line, there, other=0.0)
    weight, score_gradient = _own_terms(asked, answer_gradient, key, value, log_sum, delta, scale)
    return (key_gradient + score_gradient[:, None] * asked.to(tl.float32),
            value_gradient + weight[:, None] * answer_gradient.to(tl.float32))


@triton.jit
def _from_later_queries(query, answer_gradients, log_sums, deltas, token, oldest, start, agent, group, steps, key, value,
                        number, is_token, key_gradient, value_gradient, scale, groups: tl.constexpr,
                        shared: tl.constexpr, size: tl.constexpr, block: tl.constexpr):
    """The gradients of keys and values with what a block of queries adds. Scores lie on their side: keys are lines."""
    there, step, line = _queries(start, agent, group, steps, groups, shared, block)
    at, mask = _vectors(line, there, size)
    asked, answer_gradient = tl.load(query + at, mask, other=0.0), tl.load(answer_gradients + at, mask, other=0.0)
    log_sum, delta = tl.load(log_sums + line, there, other=0.0), tl.load(deltas + line, there, other=0.0)
    upto = tl.load(token + agent * steps + step, there, other=0).to(tl.int32)
    since = tl.load(oldest + agent * steps + step, there, other=0).to(tl.int32)
    visible = is_token[:, None] & (number[:, None] >= since[None, :]) & (number[:, None] < upto[None, :])
    visible = visible & (log_sum < float("inf"))[None, :]  # not so where a step's own key is NaN
    score = tl.dot(key, tl.trans(asked), input_precision="ieee") * (scale * LOG2_E)
    weight = tl.where(visible, tl.exp2(score - log_sum[None, :]), 0.0)
    weight_gradient = tl.dot(value, tl.trans(answer_gradient), input_precision="ieee")
    score_gradient = tl.where(visible, weight * (weight_gradient - delta[None, :]), 0.0)
    return (tl.dot(score_gradient.to(asked.dtype), asked, key_gradient, input_precision="ieee"),
            tl.dot(weight.to(asked.dtype), answer_gradient, value_gradient, input_precision="ieee"))


# ---- what all of them read ----


@triton.jit
def _share(parts, groups):
    """This program's agent, head of keys and part of it; parts of one prefix are read one after the other."""
    program = tl.program_id(0)
    return (program // (parts * groups)).to(tl.int64), program // parts % groups, program % parts


@triton.jit
def _queries(start, agent, group, steps, groups: tl.constexpr, shared: tl.constexpr, block: tl.constexpr):
    """A block of the queries that share a head of keys, step by step: which exist, their steps and their lines."""
    place = start + tl.arange(0, block)
    step = place // shared
    return place < steps * shared, step, ((agent * steps + step) * groups + group) * shared + place % shared


@triton.jit
def _vectors(line, there, size: tl.constexpr):
    """Places and mask of whole vectors."""
    return line[:, None] * size + tl.arange(0, size)[None, :], there[:, None]


@triton.jit
def _ring_of(agents, head, agent, group, slots, agent_stride, head_stride):
    """Where an agent's ring begins, and the slot of token 0."""
    return tl.load(agents + agent) * agent_stride + group * head_stride, (tl.load(head + agent) % slots).to(tl.int32)


@triton.jit
def _of_ring(keys, values, start, next_slot, slots, since, size: tl.constexpr, block: tl.constexpr):
    """A block of the prefix's tokens, and which query sees which."""
    number = start + tl.arange(0, block)
    slot = next_slot + number
    slot = tl.where(slot < 0, slot + slots, slot)
    at, mask = _vectors(slot, number < 0, size)
    visible = (number < 0)[None, :] & (number[None, :] >= since[:, None])
    return tl.load(keys + at, mask, other=0.0), tl.load(values + at, mask, other=0.0), visible


@triton.jit
def _of_segment(keys, values, token, kept, first, start, steps, since, upto, group, groups: tl.constexpr,
                size: tl.constexpr, block: tl.constexpr):
    """A block of the segment's steps, and which query sees which beside its own."""
    step = start + tl.arange(0, block)
    is_token = tl.load(kept + first + step, step < steps, other=0) != 0
    number = tl.load(token + first + step, step < steps, other=0).to(tl.int32)
    at, mask = _vectors((first + step) * groups + group, is_token, size)
    visible = is_token[None, :] & (number[None, :] >= since[:, None]) & (number[None, :] < upto[:, None])
    return tl.load(keys + at, mask, other=0.0), tl.load(values + at, mask, other=0.0), visible


# ---- as one function that can be differentiated ----


SIZES = (16, 32, 64)
"""Numbers a head. The tensor cores multiply no fewer than 16, and blocks of 128 are more than small GPUs hold."""

OLDEST_CAPABILITY = (8, 0)
"""The first GPUs that multiply bfloat16."""


def fits(query: Tensor, ring_keys: Tensor) -> bool:
    """Whether the kernels can. A segment of one step made Triton 3.6's assembler (ptxas) crash on an H200."""
    size = query.shape[-1]
    return (query.shape[1] > 1 and query.dtype in BLOCK and query.dtype == ring_keys.dtype and size in SIZES
            and ring_keys.stride()[-2:] == (size, 1)
            and (not query.is_cuda or torch.cuda.get_device_capability(query.device) >= OLDEST_CAPABILITY))


def attend_segment(query: Tensor, keys: Tensor, values: Tensor, prefix: Prefix, layer: int, seen: Sight) -> Tensor:
    """As `attention.attend_segment`."""
    close = (part.contiguous() for part in (prefix.agents, prefix.head, seen.token, seen.oldest, seen.kept))
    return _Attention.apply(query.contiguous(), keys.contiguous(), values.contiguous(), prefix.keys[layer],
                            prefix.values[layer], *close)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, keys, values, ring_keys, ring_values, agents, head, token, oldest, kept):
        answers = torch.empty_like(query)
        log_sums = torch.empty(query.shape[:3], dtype=torch.float32, device=query.device)
        read = (query, keys, values, ring_keys, ring_values, agents, head, token, oldest, kept, answers, log_sums)
        grid, parts, compiled_for = _launch(query, keys, query.shape[1] * query.shape[2] // keys.shape[2])
        _attend[grid](*read, parts, query.shape[1], ring_keys.shape[2], *ring_keys.stride()[:2], query.shape[3]**-0.5,
                      **compiled_for)
        ctx.save_for_backward(*read)
        return answers

    @staticmethod
    @once_differentiable
    def backward(ctx, answer_gradients):
        query, keys, values, ring_keys, _, _, _, token, oldest, kept, _, log_sums = ctx.saved_tensors
        answer_gradients = answer_gradients.contiguous()
        of_query, of_keys, of_values = (torch.empty_like(part) for part in (query, keys, values))
        deltas = torch.empty_like(log_sums)
        steps, scale = query.shape[1], query.shape[3]**-0.5
        grid, parts, compiled_for = _launch(query, keys, steps * query.shape[2] // keys.shape[2])
        _query_gradients[grid](*ctx.saved_tensors, answer_gradients, of_query, deltas, parts, steps, ring_keys.shape[2],
                               *ring_keys.stride()[:2], scale, **compiled_for)
        grid, parts, compiled_for = _launch(query, keys, steps)
        _key_gradients[grid](query, keys, values, token, oldest, kept, log_sums, answer_gradients, deltas, of_keys,
                             of_values, parts, steps, scale, **compiled_for)
        return of_query, of_keys, of_values, *[None] * 7


def _launch(query: Tensor, keys: Tensor, lines: int):
    """The grid for so many lines of each agent and head of keys, its parts of them, and the constants of a kernel."""
    agents, _, heads, size = query.shape
    groups, block = keys.shape[2], BLOCK[query.dtype]
    parts = triton.cdiv(lines, block)
    return (agents * groups * parts,), parts, {"groups": groups, "shared": heads // groups, "size": size, "block": block,
                                             "num_warps": 4, "num_stages": 2}
