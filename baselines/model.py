"""What does the policy compute? An encoder of sets, a transformer over the steps of an episode, two heads.

`forward` (whole segments, in training) and `step` (one step, in rollout) are one function: they differ only in where
keys and values are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from gymnasium import spaces
from torch import Tensor, nn

from drive_env import Feature

from .attention import attend_ring, attend_segment
from .cache import Cache, Prefix, sight
from .config import ModelConfig
from .heads import action_head

ALONE = ("ego", "trial")
"""Blocks of an observation that describe the agent itself; every other block is a set of slots."""

PRESENCE = "kind"
"""The feature of a slot that is above 0 where the slot is filled."""

ROTARY_BASE = 10_000.0


@dataclass(frozen=True)
class Block:
    """A set in an observation: `slots` times `size` floats from `start` on, presence at `presence` of each."""

    name: str
    start: int
    slots: int
    size: int
    presence: int


def blocks_of(layout: Mapping[str, Feature]) -> tuple[int, list[Block]]:
    """How many floats at the start of an agent describe the agent itself, and the sets that follow."""
    names = dict.fromkeys(name.partition("/")[0] for name in layout)
    own = 1 + max(feature.offset for name, feature in layout.items() if name.partition("/")[0] in ALONE)
    sets = []
    for block in names:
        features = [feature for name, feature in layout.items() if name.startswith(f"{block}/")]
        if block in ALONE or not features[0].slots:
            continue
        start = min(feature.offset for feature in features)
        sets.append(Block(block, start, features[0].slots, features[0].stride,
                          layout[f"{block}/{PRESENCE}"].offset - start))
    return own, sets


class Norm(nn.LayerNorm):
    """Layer normalisation in float32 whatever comes in."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.float())


class Encoder(nn.Module):
    """One vector an agent: itself, and the maximum over each of its sets, whatever their order."""

    def __init__(self, layout: Mapping[str, Feature], object_width: int, width: int):
        super().__init__()
        self.own, self.sets = blocks_of(layout)
        part = lambda size: nn.Sequential(nn.Linear(size, object_width), Norm(object_width), nn.ReLU(),
                                          nn.Linear(object_width, object_width))
        self.ego = part(self.own)
        self.objects = nn.ModuleDict({block.name: part(block.size) for block in self.sets})
        self.out = nn.Linear(object_width * (1 + len(self.sets)), width)

    def forward(self, observations: Tensor) -> Tensor:
        observations = observations.float()  # half floats are how they travel
        parts = [self.ego(observations[..., : self.own])]
        for block in self.sets:
            flat = observations[..., block.start : block.start + block.slots * block.size]
            slots = flat.unflatten(-1, (block.slots, block.size))
            present = slots[..., block.presence, None] > 0
            encoded = self.objects[block.name](slots).masked_fill(~present, -torch.inf).amax(-2)
            parts.append(torch.where(present.any(-2), encoded, 0.0))
        return self.out(F.relu(torch.cat(parts, -1)))


Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""Given a layer and its (R, T, heads, D) queries, keys and values: what each agent and step read, like the queries."""


class Layer(nn.Module):
    """A transformer layer with its norms first; without heads, its feed-forward half alone."""

    def __init__(self, width: int, heads: int, kv_heads: int, kv_dtype: torch.dtype):
        super().__init__()
        self.heads, self.kv_heads, self.kv_dtype = heads, kv_heads, kv_dtype
        if heads:
            self.size = width // heads
            self.attention_norm = Norm(width)
            self.project = nn.Linear(width, (heads + 2 * kv_heads) * self.size, bias=False)
            self.mix = nn.Linear(width, width, bias=False)
        self.norm = Norm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor] | None, attend: Attend, index: int) -> Tensor:
        if self.heads:
            return self.answer(x, attend(index, *self.ask(x, turn)))
        return self.answer(x, None)

    def ask(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, rounded alike in both paths before anything is attended."""
        projected = self.project(self.attention_norm(x)).unflatten(-1, (-1, self.size))
        query, keys, values = projected.split([self.heads, self.kv_heads, self.kv_heads], -2)
        query, keys = (rotate(part, turn).to(self.kv_dtype) for part in (query, keys))
        return query, keys, values.to(self.kv_dtype)

    def answer(self, x: Tensor, read: Tensor | None) -> Tensor:
        """What becomes of x with what was read."""
        if read is not None:
            x = x + self.mix(read.flatten(-2))
        return x + self.narrow(F.gelu(self.widen(self.norm(x))))


def rotary(position: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine of each pair's angle at (R, T) positions, (R, T, 1, size / 2) float32 (Su et al. 2021)."""
    pairs = torch.arange(size // 2, device=position.device, dtype=torch.float32)
    angle = position[..., None, None].float() * ROTARY_BASE ** (-2.0 * pairs / size)
    return angle.cos(), angle.sin()


def rotate(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Turns each pair of numbers of a head, (i, i + size / 2), by its angle; float32."""
    one, other = x.float().chunk(2, -1)
    cos, sin = turn
    return torch.cat([one * cos - other * sin, other * cos + one * sin], -1)


class Trunk(nn.Module):
    """From an observation to features that know what happened before in the episode."""

    def __init__(self, layout: Mapping[str, Feature], config: ModelConfig, kv_dtype: torch.dtype):
        super().__init__()
        self.encoder = Encoder(layout, config.object_width, config.width)
        heads = config.heads if config.memory == "transformer" else 0
        self.layers = nn.ModuleList(
            Layer(config.width, heads, config.kv_heads or config.heads, kv_dtype) for _ in range(config.layers))
        self.norm = Norm(config.width)

    def forward(self, observations: Tensor, extra: Tensor | float, turn: tuple[Tensor, Tensor] | None, attend: Attend,
                first_layer: int) -> Tensor:
        x = self.encoder(observations) + extra
        for index, layer in enumerate(self.layers):
            x = layer(x, turn, attend, first_layer + index)
        return self.norm(x)


class Policy(nn.Module):
    """Actor and critic over one trunk, or a trunk each.

    Args:
        layout: of `Batch.observation_layout`. space: one agent's actions. precision: "float32" or "bfloat16".
    """

    def __init__(self, layout: Mapping[str, Feature], space: spaces.Space, config: ModelConfig,
                 precision: str = "float32"):
        super().__init__()
        self.config = config
        self.precision = precision
        self.kv_dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        count = 2 if config.critic == "separate" else 1
        self.trunks = nn.ModuleList(Trunk(layout, config, self.kv_dtype) for _ in range(count))
        self.actor = action_head(space, config.width)
        self.critic = nn.Linear(config.width, 1)
        nn.init.orthogonal_(self.critic.weight, 1.0)
        nn.init.zeros_(self.critic.bias)
        self.remembers = config.memory == "transformer"
        self.context = config.context if self.remembers else 1

    def compile_parts(self) -> None:
        """Compiles what lies between attentions, once for each shape. Weights and their names stay."""
        once = {"dynamic": False}
        for trunk in self.trunks:
            trunk.encoder.compile(**once)
            for layer in trunk.layers:
                layer.ask, layer.answer = torch.compile(layer.ask, **once), torch.compile(layer.answer, **once)

    def make_cache(self, agents: int, segment: int, device: torch.device | str) -> Cache:
        """An empty memory for so many agents and segments of so many steps; a feed-forward policy only counts."""
        config = self.config
        layers = config.layers * len(self.trunks) if self.remembers else 0
        return Cache(layers, agents, config.kv_heads or config.heads, config.width // config.heads, self.context,
                     segment, self.kv_dtype, device)

    def forward(self, observations: Tensor, previous: Tensor, first: Tensor, kept: Tensor, prefix: Prefix,
                read: Tensor | None = None, remember: list | None = None) -> tuple[Tensor, Tensor]:
        """Whole segments of R agents and T steps.

        Args:
            observations: (R, T, O). previous: (R, T, A) action of the last kept agent.
            first, kept: (R, T) bool, of the observations; an agent is kept where it does not wait.
            prefix: what was remembered when the segment began.
            read: (R, T) bool, the steps to look at; observations and previous actions of the others, which may be
                NaN, count as zeros. None: all.
            remember: takes the keys and values of every layer, (R, T, K, D) each.

        Returns:
            The actor's parameters (R, T, ...) and the values (R, T), float32.
        """
        if read is not None:
            observations = torch.where(read[..., None], observations, 0.0)
            previous = torch.where(read[..., None], previous, 0)
        seen = sight(first, kept, prefix.position, self.context)

        def attend(layer, query, keys, values):
            if remember is not None:
                remember.append((keys, values))
            return attend_segment(query, keys, values, prefix, layer, seen)

        return self._compute(observations, previous, seen.position, attend)

    def step(self, observations: Tensor, previous: Tensor, kept: Tensor | None, cache: Cache,
             watch: Callable[[Tensor, int, Tensor, Tensor], None] | None = None) -> tuple[Tensor, Tensor]:
        """One step of R agents against their memory, which keeps the agents that are `kept`; None: a peek, keeps none.

        Args:
            observations: (R, O). previous: (R, A).
            watch: is told every layer's queries (R, H, D), its index, and the agents' slots and lengths.

        Returns:
            The actor's parameters (R, ...) and the values (R,), float32.
        """
        slot, length = cache.slot, cache.length

        def attend(layer, query, keys, values):
            cache.put(layer, keys[:, 0], values[:, 0])
            if watch is not None:
                watch(query[:, 0], layer, slot, length)
            return attend_ring(query[:, 0], cache.keys[layer], cache.values[layer], slot, length)[:, None]

        parameters, value = self._compute(observations[:, None], previous[:, None], cache.position[:, None], attend)
        if kept is not None:
            cache.advance(kept)
        return parameters[:, 0], value[:, 0]

    def _compute(self, observations, previous, position, attend) -> tuple[Tensor, Tensor]:
        device = observations.device.type
        # Weights are rounded anew at each use in rollout: a captured graph must see them as they are then.
        with torch.autocast(device, torch.bfloat16, self.precision == "bfloat16", torch.is_grad_enabled()):
            extra = 0.0
            if self.config.previous_action:  # at the start of an episode there is none
                begun = position[..., None] > 0
                extra = torch.where(begun, self.actor.embed(torch.where(begun, previous, 0)), 0.0)
            turn = rotary(position, self.config.width // self.config.heads) if self.remembers else None
            features = [trunk(observations, extra, turn, attend, index * self.config.layers)
                        for index, trunk in enumerate(self.trunks)]
        return self.actor(features[0]), self.critic(features[-1])[..., 0]
