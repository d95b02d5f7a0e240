"""Who is attended to, and how much? Two functions: one step against the ring, one segment against its prefix.

Both compute softmax(q k / sqrt(D)) v over the agent itself and the last valid agent-steps of its episode. Shapes: R agents, T
steps, H heads, K heads of keys and values (H is a multiple of K), D numbers a head, S slots of the ring.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .cache import Prefix, Sight

try:  # Triton comes with torch where torch is for a GPU
    from . import ring_kernel, segment_kernel
except ImportError:
    ring_kernel = segment_kernel = None


def attend_ring(query: Tensor, keys: Tensor, values: Tensor, slot: Tensor, length: Tensor) -> Tensor:
    """One step: every agent attends to its own slot and to the `length` slots before it.

    Args:
        query: (R, H, D). keys, values: (R, K, S, D), the agent's own already in them.
        slot: (R,) the agent's own slot. length: (R,) below S.

    Returns:
        (R, H, D), of the query's type.
    """
    if query.is_cuda and ring_kernel is not None and ring_kernel.fits(query, keys):
        return ring_kernel.attend_ring(query, keys, values, slot, length)
    return attend_ring_plainly(query, keys, values, slot, length)


def attend_segment(query: Tensor, keys: Tensor, values: Tensor, prefix: Prefix, layer: int, seen: Sight) -> Tensor:
    """Whole segments: every step attends to itself and to what `seen` says of the segment and of the prefix.

    Args:
        query: (R, T, H, D). keys, values: (R, T, K, D), the segment's own. prefix: constant; of it, this `layer`.

    Returns:
        (R, T, H, D), of the query's type.
    """
    if query.is_cuda and segment_kernel is not None and segment_kernel.fits(query, prefix.keys):
        return segment_kernel.attend_segment(query, keys, values, prefix, layer, seen)
    return attend_segment_plainly(query, keys, values, prefix, layer, seen)


def attend_ring_plainly(query: Tensor, keys: Tensor, values: Tensor, slot: Tensor, length: Tensor) -> Tensor:
    """As `attend_ring`, in a few lines for every device."""
    slots = keys.shape[2]
    age = (slot[:, None] - torch.arange(slots, device=slot.device)) % slots  # 0 is the agent itself
    visible = age <= length[:, None]
    return _softmax_average(query[:, :, None], keys, values, visible[:, None, None])[:, :, 0]


def attend_segment_plainly(query: Tensor, keys: Tensor, values: Tensor, prefix: Prefix, layer: int,
                           seen: Sight) -> Tensor:
    """As `attend_segment`, in a few lines for every device; all scores at once are in memory."""
    query, keys, values = (part.transpose(1, 2) for part in (query, keys, values))
    older_keys, older_values = prefix.of_layer(layer)
    keys, values = torch.cat([older_keys, keys], 2), torch.cat([older_values, values], 2)
    return _softmax_average(query, keys, values, seen.visible[:, None]).transpose(1, 2)


def _softmax_average(query: Tensor, keys: Tensor, values: Tensor, visible: Tensor) -> Tensor:
    """In float32 whatever comes in. A key nobody sees may be NaN."""
    agents, heads, steps, size = query.shape
    groups = keys.shape[1]
    grouped = query.float().reshape(agents, groups, -1, size)  # heads that share keys, one after the other
    with torch.autocast(query.device.type, enabled=False):
        scores = (grouped @ keys.float().transpose(2, 3)).view(agents, heads, steps, -1) * size**-0.5
        weights = scores.masked_fill(~visible, -torch.inf).softmax(-1)
        seen = visible.any(2).squeeze(1)  # 0 * NaN is NaN, so nothing unseen may reach the product
        values = torch.where(seen[:, None, :, None], values.float(), 0.0)
        average = weights.view(agents, groups, -1, scores.shape[-1]) @ values
    return average.view(agents, heads, steps, size).to(query.dtype)
