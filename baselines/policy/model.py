"""What does the policy compute? A set encoder, a transformer over the steps of an episode, and two heads.

`forward` (whole segments, in training) and `step` (one step, in rollout) compute the same function; they differ only in
where keys and values are read from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from gymnasium import spaces
from torch import Tensor, nn

from drive_env import Feature
from drive_env.trained import ROTARY_BASE, SetBlock

from ..config import ModelConfig
from .attention import attend_ring, attend_segment
from .heads import action_head
from .kv_cache import CacheRows, KVCache, Prefix, attention_mask

OWN_BLOCKS = ("ego", "trial")
"""Blocks of an observation that describe the agent itself; every other block is a set of slots."""

PRESENCE = "kind"
"""The feature of a slot that is above 0 where the slot is filled."""


def blocks_of(layout: Mapping[str, Feature]) -> tuple[int, list[SetBlock]]:
    """The number of floats at the start of an observation that describe the agent itself, and the sets after them."""
    names = dict.fromkeys(name.partition("/")[0] for name in layout)
    own = 1 + max(feature.offset for name, feature in layout.items() if name.partition("/")[0] in OWN_BLOCKS)
    sets = []
    for block in names:
        features = [feature for name, feature in layout.items() if name.startswith(f"{block}/")]
        if block in OWN_BLOCKS or not features[0].slots:
            continue
        start = min(feature.offset for feature in features)
        sets.append(SetBlock(block, start, features[0].slots, features[0].stride,
                             layout[f"{block}/{PRESENCE}"].offset - start))
    return own, sets


class Norm(nn.LayerNorm):
    """Layer normalisation in float32 for any input type."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.float())


class Encoder(nn.Module):
    """One vector per observation: an MLP of the agent's own floats, and for each set the maximum over the MLPs of its
    filled slots, which does not depend on their order (Zaheer et al. 2017)."""

    def __init__(self, layout: Mapping[str, Feature], object_width: int, width: int):
        super().__init__()
        self.own, self.sets = blocks_of(layout)
        mlp = lambda size: nn.Sequential(nn.Linear(size, object_width), Norm(object_width), nn.ReLU(),
                                         nn.Linear(object_width, object_width))
        self.ego = mlp(self.own)
        self.objects = nn.ModuleDict({block.name: mlp(block.size) for block in self.sets})
        self.out = nn.Linear(object_width * (1 + len(self.sets)), width)

    def forward(self, observations: Tensor) -> Tensor:
        observations = observations.float()  # half floats, if that is the config's observation.type
        parts = [self.ego(observations[..., : self.own])]
        for block in self.sets:
            flat = observations[..., block.start : block.start + block.slots * block.size]
            slots = flat.unflatten(-1, (block.slots, block.size))
            filled = slots[..., block.presence, None] > 0
            encoded = self.objects[block.name](slots).masked_fill(~filled, -torch.inf).amax(-2)
            parts.append(torch.where(filled.any(-2), encoded, 0.0))
        return self.out(F.relu(torch.cat(parts, -1)))


Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""From a layer's index and its q, k and v, (R, T, heads, D) each, the attention output, shaped like q."""


class Layer(nn.Module):
    """A pre-norm transformer layer; with 0 heads, its feed-forward half alone."""

    def __init__(self, width: int, heads: int, kv_heads: int, kv_dtype: torch.dtype):
        super().__init__()
        self.heads, self.kv_heads, self.kv_dtype = heads, kv_heads, kv_dtype
        if heads:
            self.size = width // heads
            self.attention_norm = Norm(width)
            self.qkv_proj = nn.Linear(width, (heads + 2 * kv_heads) * self.size, bias=False)
            self.out_proj = nn.Linear(width, width, bias=False)
        self.mlp_norm = Norm(width)
        self.mlp_in = nn.Linear(width, 4 * width)
        self.mlp_out = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor] | None, attend: Attend, index: int) -> Tensor:
        if self.heads:
            return self.residual(x, attend(index, *self.qkv(x, rotation)))
        return self.residual(x, None)

    def qkv(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v, rotated, and rounded to the cache's type in training as in rollout."""
        projected = self.qkv_proj(self.attention_norm(x)).unflatten(-1, (-1, self.size))
        q, k, v = projected.split([self.heads, self.kv_heads, self.kv_heads], -2)
        q, k = (rotate(part, rotation).to(self.kv_dtype) for part in (q, k))
        return q, k, v.to(self.kv_dtype)

    def residual(self, x: Tensor, attended: Tensor | None) -> Tensor:
        """The layer's output from its input and its attention output."""
        if attended is not None:
            x = x + self.out_proj(attended.flatten(-2))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.mlp_norm(x))))


def rotary(position: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine of each pair's angle at (R, T) positions, (R, T, 1, size / 2) float32 (RoPE, Su et al. 2021)."""
    pairs = torch.arange(size // 2, device=position.device, dtype=torch.float32)
    angle = position[..., None, None].float() * ROTARY_BASE ** (-2.0 * pairs / size)
    return angle.cos(), angle.sin()


def rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Rotates each pair (i, i + size / 2) of a head's floats by its angle; float32."""
    one, other = x.float().chunk(2, -1)
    cos, sin = rotation
    return torch.cat([one * cos - other * sin, other * cos + one * sin], -1)


class Trunk(nn.Module):
    """Encoder and transformer: features of a step that depend on the earlier steps of its episode."""

    def __init__(self, layout: Mapping[str, Feature], config: ModelConfig, kv_dtype: torch.dtype):
        super().__init__()
        self.encoder = Encoder(layout, config.object_width, config.width)
        heads = config.heads if config.memory == "transformer" else 0
        self.layers = nn.ModuleList(
            Layer(config.width, heads, config.kv_heads or config.heads, kv_dtype) for _ in range(config.layers))
        self.norm = Norm(config.width)

    def forward(self, observations: Tensor, embedding: Tensor | float, rotation: tuple[Tensor, Tensor] | None,
                attend: Attend, first_layer: int) -> Tensor:
        """Features of observations.

        Args:
            embedding: of the previous actions, added to the encoded observations. rotation: of `rotary`.
            first_layer: index, in the KV cache, of the trunk's first layer.
        """
        x = self.encoder(observations) + embedding
        for index, layer in enumerate(self.layers):
            x = layer(x, rotation, attend, first_layer + index)
        return self.norm(x)


class Policy(nn.Module):
    """Actor and critic over one shared trunk, or over a trunk each.

    Args:
        layout: of `Batch.observation_layout`. space: of one agent's actions. precision: "float32" or "bfloat16".
    """

    def __init__(self, layout: Mapping[str, Feature], space: spaces.Space, config: ModelConfig,
                 precision: str = "float32"):
        super().__init__()
        self.config = config
        self.precision = precision
        self.kv_dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        trunks = 2 if config.critic == "separate" else 1
        self.trunks = nn.ModuleList(Trunk(layout, config, self.kv_dtype) for _ in range(trunks))
        self.actor = action_head(space, config.width)
        self.critic = nn.Linear(config.width, 1)
        nn.init.orthogonal_(self.critic.weight, 1.0)
        nn.init.zeros_(self.critic.bias)
        self.has_memory = config.memory == "transformer"
        self.context = config.context if self.has_memory else 1

    def compile_parts(self) -> None:
        """Compiles everything but attention, once per shape. Parameters and their names do not change."""
        once = {"dynamic": False}
        for trunk in self.trunks:
            trunk.encoder.compile(**once)
            for layer in trunk.layers:
                layer.qkv, layer.residual = torch.compile(layer.qkv, **once), torch.compile(layer.residual, **once)

    def make_cache(self, agents: int, rollout_steps: int, device: torch.device | str) -> KVCache:
        """An empty KV cache; without memory it has no layers and only counts positions."""
        config = self.config
        layers = config.layers * len(self.trunks) if self.has_memory else 0
        return KVCache(layers, agents, config.kv_heads or config.heads, config.width // config.heads, self.context,
                       rollout_steps, self.kv_dtype, device)

    def forward(self, observations: Tensor, previous_actions: Tensor, first: Tensor, valid_token: Tensor,
                prefix: Prefix, used: Tensor | None = None,
                kv_out: list[tuple[Tensor, Tensor]] | None = None) -> tuple[Tensor, Tensor]:
        """Whole segments of R agents and T steps.

        Args:
            observations: (R, T, O). previous_actions: (R, T, A), of the last valid token of the episode.
            first, valid_token: (R, T) bool; a step is a valid token where the agent does not wait.
            prefix: the tokens before the segment.
            used: (R, T) bool; observations and previous actions of other steps, which may be NaN, are replaced by
                zeros. None: all are used.
            kv_out: a list to which every layer's keys and values are appended, (R, T, K, D) each.

        Returns:
            The actor's parameters (R, T, ...) and the values (R, T), float32.
        """
        if used is not None:
            observations = torch.where(used[..., None], observations, 0.0)
            previous_actions = torch.where(used[..., None], previous_actions, 0)
        mask = attention_mask(first, valid_token, prefix.position, self.context)

        def attend(layer, q, k, v):
            if kv_out is not None:
                kv_out.append((k, v))
            return attend_segment(q, k, v, prefix, layer, mask)

        return self._compute(observations, previous_actions, mask.position, attend)

    def step(self, observations: Tensor, previous_actions: Tensor, valid_token: Tensor | None,
             cache: KVCache | CacheRows,
             on_query: Callable[[Tensor, int, Tensor, Tensor], None] | None = None) -> tuple[Tensor, Tensor]:
        """One step of R agents against the KV cache.

        Args:
            observations: (R, O). previous_actions: (R, A).
            valid_token: (R,) bool, the agents whose step is kept in the cache. None: no agent, to compute a value only.
            on_query: called for every layer with q (R, H, D), the layer's index, and the agents' slots and lengths.

        Returns:
            The actor's parameters (R, ...) and the values (R,), float32.
        """
        slot, length = cache.slot, cache.length

        def attend(layer, q, k, v):
            cache.write(layer, k[:, 0], v[:, 0])
            if on_query is not None:
                on_query(q[:, 0], layer, slot, length)
            return attend_ring(q[:, 0], cache.keys[layer], cache.values[layer], slot, length, cache.rows)[:, None]

        parameters, value = self._compute(observations[:, None], previous_actions[:, None], cache.position[:, None],
                                          attend)
        if valid_token is not None:
            cache.advance(valid_token)
        return parameters[:, 0], value[:, 0]

    def _compute(self, observations: Tensor, previous_actions: Tensor, position: Tensor,
                 attend: Attend) -> tuple[Tensor, Tensor]:
        device = observations.device.type
        # Without gradients, autocast's weight cache is off: a captured graph must round the weights at each replay.
        with torch.autocast(device, torch.bfloat16, self.precision == "bfloat16", torch.is_grad_enabled()):
            embedding = 0.0
            if self.config.previous_action:  # an episode's first token has none
                exists = position[..., None] > 0
                embedding = torch.where(exists, self.actor.embed(torch.where(exists, previous_actions, 0)), 0.0)
            rotation = rotary(position, self.config.width // self.config.heads) if self.has_memory else None
            features = [trunk(observations, embedding, rotation, attend, index * self.config.layers)
                        for index, trunk in enumerate(self.trunks)]
        return self.actor(features[0]), self.critic(features[-1])[..., 0]
