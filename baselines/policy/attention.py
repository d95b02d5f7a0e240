"""What does a query attend to, and with which weight? One step against the KV cache, one segment against its prefix.

Both compute softmax(q k / sqrt(D)) v over the step itself and the last tokens of its episode. Shapes: R agents, T
steps, H query heads, K heads of keys and values (H is a multiple of K), D floats a head, S slots of the ring.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .kv_cache import AttentionMask, Prefix

try:  # Triton is a dependency of torch's GPU builds only
    from .kernels import ring_attention, segment_attention
except ImportError:
    ring_attention = segment_attention = None


def attend_ring(q: Tensor, k: Tensor, v: Tensor, slot: Tensor, length: Tensor, rows: Tensor | None = None) -> Tensor:
    """One step: every agent attends to its own slot and to the `length` slots before it.

    Args:
        q: (R, H, D). k, v: (R, K, S, D), those of the step already written.
        slot: (R,) slot of the step. length: (R,) below S.
        rows: (R,) the row of `k` and `v` of each agent, if they have others, too; None: they are in order.

    Returns:
        (R, H, D), of q's type.
    """
    if q.is_cuda and ring_attention is not None and ring_attention.fits(q, k):
        return ring_attention.attend_ring(q, k, v, slot, length, rows)
    return attend_ring_reference(q, k, v, slot, length, rows)


def attend_segment(q: Tensor, k: Tensor, v: Tensor, prefix: Prefix, layer: int, mask: AttentionMask) -> Tensor:
    """Whole segments: every step attends to itself and to what `mask` allows of the segment and of the prefix.

    Args:
        q: (R, T, H, D). k, v: (R, T, K, D), those of the segment. prefix: constant; its `layer` is read.

    Returns:
        (R, T, H, D), of q's type.
    """
    if q.is_cuda and segment_attention is not None and segment_attention.fits(q, prefix.keys):
        return segment_attention.attend_segment(q, k, v, prefix, layer, mask)
    return attend_segment_reference(q, k, v, prefix, layer, mask)


def attend_ring_reference(q: Tensor, k: Tensor, v: Tensor, slot: Tensor, length: Tensor,
                          rows: Tensor | None = None) -> Tensor:
    """`attend_ring` in plain PyTorch, for every device."""
    k, v = (k, v) if rows is None else (k[rows], v[rows])
    slots = k.shape[2]
    age = (slot[:, None] - torch.arange(slots, device=slot.device)) % slots  # 0 is the step itself
    return _softmax_average(q[:, :, None], k, v, (age <= length[:, None])[:, None, None])[:, :, 0]


def attend_segment_reference(q: Tensor, k: Tensor, v: Tensor, prefix: Prefix, layer: int,
                             mask: AttentionMask) -> Tensor:
    """`attend_segment` in plain PyTorch, for every device; the whole score matrix is held in memory."""
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    prefix_k, prefix_v = prefix.of_layer(layer)
    k, v = torch.cat([prefix_k, k], 2), torch.cat([prefix_v, v], 2)
    return _softmax_average(q, k, v, mask.dense[:, None]).transpose(1, 2)


def _softmax_average(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attention in float32 for any input type. Keys and values that no query attends to may be NaN."""
    agents, heads, steps, size = q.shape
    kv_heads = k.shape[1]
    grouped = q.float().reshape(agents, kv_heads, -1, size)  # query heads that share a KV head are adjacent
    with torch.autocast(q.device.type, enabled=False):
        scores = (grouped @ k.float().transpose(2, 3)).view(agents, heads, steps, -1) * size**-0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        attended = mask.any(2).squeeze(1)  # 0 * NaN is NaN, so masked values are zeroed before the product
        v = torch.where(attended[:, None, :, None], v.float(), 0.0)
        average = weights.view(agents, kv_heads, -1, scores.shape[-1]) @ v
    return average.view(agents, heads, steps, size).to(q.dtype)
