"""What does a trained network compute in one step? The forward pass of the reference trainer's actor, in numpy.

The computation is that of baselines/policy/model.py: a set encoder, a transformer over the steps of an episode, and a
linear head. Weights have the names that they have there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

NORM_EPSILON = np.float32(1e-5)
"""Added to the variance in a layer normalisation; the default of torch."""

ROTARY_BASE = 10_000.0
"""Of the rotary position encoding (Su et al. 2021)."""

ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
ERF_SCALE = 0.3275911
"""erf(x) = 1 - t (a1 + t (a2 + ...)) exp(-x^2) for x >= 0 with t = 1 / (1 + p x), an error of at most 1.5e-7
(Abramowitz and Stegun 1964, 7.1.26)."""


class SetBlock(NamedTuple):
    """A set in an observation vector: `slots` records of `size` floats from index `start`; `presence` is the index,
    within a record, of the feature that is above 0 where the slot is filled."""

    name: str
    start: int
    slots: int
    size: int
    presence: int


class Shape(NamedTuple):
    """The shape of a network.

    Attributes:
        own: number of floats at the start of an observation that describe the agent itself.
        sets: the sets after them.
        width, layers, heads, kv_heads: of the transformer; 0 heads: feed-forward layers alone.
        context: steps to which a step attends, itself included.
        previous_action: whether the last action is an input.
        sizes: number of values of each component of a discrete action; () for continuous ones.
        components: number of components of an action.
        bounds: of continuous actions.
    """

    own: int
    sets: tuple[SetBlock, ...]
    width: int
    layers: int
    heads: int
    kv_heads: int
    context: int
    previous_action: bool
    sizes: tuple[int, ...]
    components: int
    bounds: tuple[float, float]

    @property
    def head_size(self) -> int:
        """Floats of a head."""
        return self.width // max(self.heads, 1)


class Memory:
    """Keys and values of the last steps of each agent's episode, in one ring buffer per agent.

    Args:
        shape: of the network. agents: R, number of agents of the batch.
    """

    def __init__(self, shape: Shape, agents: int):
        layers = shape.layers if shape.heads else 0
        ring = (layers, agents, shape.kv_heads, shape.context, shape.head_size)
        self.keys, self.values = np.zeros(ring, np.float32), np.zeros(ring, np.float32)
        self.position = np.zeros(agents, np.int64)
        """(R,) number of steps of the episode so far; step i is stored at index i mod `context`."""
        self.previous_actions = np.zeros((agents, shape.components), np.float32)

    def reset(self, first: npt.NDArray[np.bool_]) -> None:
        """Empties the memory of the agents whose episode begins, a (R,) bool mask."""
        self.position[first] = 0


def modes(shape: Shape, weights: Mapping[str, Floats], observations: Floats, memory: Memory, agents: Ints) -> Floats:
    """The most probable actions of some agents, (n, components). Adds their step to the memory.

    Args:
        weights: by name. observations: (n, O) of these agents. agents: (n,) their indices in `memory`.
    """
    # Encoded observation, and the previous action where the episode has one.
    position = memory.position[agents]
    x = _encoded(shape, weights, observations)
    if shape.previous_action:
        x += np.where(position[:, None] > 0, _embedded(shape, weights, memory.previous_actions[agents]), 0)

    # Transformer, with this step written into the memory.
    rotation = _rotation(position, shape.head_size)
    for layer in range(shape.layers):
        x = _layer(shape, weights, layer, x, rotation, memory, agents)
    features = _norm(weights, "trunks.0.norm", x)

    # Actions.
    parameters = _linear(weights, "actor.linear", features)
    if shape.sizes:
        ends = np.cumsum(shape.sizes)[:-1]
        actions = np.stack([part.argmax(-1) for part in np.split(parameters, ends, -1)], -1).astype(np.float32)
    else:
        actions = parameters
    memory.previous_actions[agents] = actions
    memory.position[agents] += 1
    return actions


# ---- parts ----


def _encoded(shape: Shape, weights: Mapping[str, Floats], observations: Floats) -> Floats:
    """(n, width): an MLP of the agent's own floats, and for each set the maximum over the MLPs of its filled slots."""
    encoder = "trunks.0.encoder"
    parts = [_mlp(weights, f"{encoder}.ego", observations[:, :shape.own])]
    for block in shape.sets:
        flat = observations[:, block.start: block.start + block.slots * block.size]
        slots = flat.reshape(len(flat), block.slots, block.size)
        filled = slots[:, :, block.presence] > 0
        counts = filled.sum(1)
        highest = np.zeros((len(flat), parts[0].shape[1]), np.float32)
        if counts.any():
            encoded = _mlp(weights, f"{encoder}.objects.{block.name}", slots[filled])
            starts = np.cumsum(counts) - counts
            highest[counts > 0] = np.maximum.reduceat(encoded, starts[counts > 0], axis=0)
        parts.append(highest)
    return _linear(weights, f"{encoder}.out", np.maximum(np.concatenate(parts, 1), 0))


def _embedded(shape: Shape, weights: Mapping[str, Floats], actions: Floats) -> Floats:
    if not shape.sizes:
        return actions @ weights["actor.embedding.weight"].T
    embedded = np.zeros((len(actions), shape.width), np.float32)
    for i in range(shape.components):
        embedded += weights[f"actor.embeddings.{i}.weight"][actions[:, i].astype(np.int64)]
    return embedded


def _layer(shape: Shape, weights: Mapping[str, Floats], layer: int, x: Floats, rotation: tuple[Floats, Floats],
           memory: Memory, agents: Ints) -> Floats:
    """A pre-norm transformer layer; with 0 heads its feed-forward half alone."""
    name = f"trunks.0.layers.{layer}"
    if shape.heads:
        projected = _norm(weights, f"{name}.attention_norm", x) @ weights[f"{name}.qkv_proj.weight"].T
        heads = projected.reshape(len(x), -1, shape.head_size)
        q, k, v = np.split(heads, np.cumsum([shape.heads, shape.kv_heads]), axis=1)
        attended = _attended(shape, memory, layer, agents, _rotated(q, rotation), _rotated(k, rotation), v)
        x = x + attended.reshape(len(x), -1) @ weights[f"{name}.out_proj.weight"].T
    inner = _gelu(_linear(weights, f"{name}.mlp_in", _norm(weights, f"{name}.mlp_norm", x)))
    return x + _linear(weights, f"{name}.mlp_out", inner)


def _attended(shape: Shape, memory: Memory, layer: int, agents: Ints, q: Floats, k: Floats, v: Floats) -> Floats:
    """(n, heads, D): softmax(q k / sqrt(D)) v over the last `context` steps of the episode, this one included."""
    # Store this step in the ring buffer.
    position = memory.position[agents]
    memory.keys[layer, agents, :, position % shape.context] = k
    memory.values[layer, agents, :, position % shape.context] = v

    # Attend to the indices that hold a step of the episode; their order does not matter.
    filled = np.minimum(position + 1, shape.context)
    longest = int(filled.max())
    keys, values = memory.keys[layer, agents, :, :longest], memory.values[layer, agents, :, :longest]
    grouped = q.reshape(len(q), shape.kv_heads, -1, shape.head_size)  # query heads that share a KV head are adjacent
    scores = grouped @ keys.swapaxes(2, 3) * np.float32(shape.head_size ** -0.5)
    scores[np.broadcast_to((np.arange(longest) >= filled[:, None])[:, None, None], scores.shape)] = -np.inf
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return (scores / scores.sum(-1, keepdims=True) @ values).reshape(q.shape)


def _rotation(position: Ints, size: int) -> tuple[Floats, Floats]:
    """Cosine and sine of each pair's angle at (n,) positions, (n, 1, size / 2)."""
    pairs = np.arange(size // 2, dtype=np.float32)
    angle = position[:, None, None].astype(np.float32) * np.float32(ROTARY_BASE) ** (np.float32(-2) * pairs / size)
    return np.cos(angle), np.sin(angle)


def _rotated(x: Floats, rotation: tuple[Floats, Floats]) -> Floats:
    """The floats of heads, with each pair (i, i + size / 2) rotated by its angle."""
    one, other = np.split(x, 2, -1)
    cos, sin = rotation
    return np.concatenate([one * cos - other * sin, other * cos + one * sin], -1)


def _mlp(weights: Mapping[str, Floats], name: str, x: Floats) -> Floats:
    """Linear, layer normalisation, ReLU, linear."""
    return _linear(weights, f"{name}.3", np.maximum(_norm(weights, f"{name}.1", _linear(weights, f"{name}.0", x)), 0))


def _linear(weights: Mapping[str, Floats], name: str, x: Floats) -> Floats:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _norm(weights: Mapping[str, Floats], name: str, x: Floats) -> Floats:
    """Layer normalisation."""
    centred = x - x.mean(-1, keepdims=True)
    scale = np.sqrt(np.square(centred).mean(-1, keepdims=True) + NORM_EPSILON)
    return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _gelu(x: Floats) -> Floats:
    """GELU: x times the standard normal distribution function of x."""
    scaled = np.abs(x) * np.float32(0.5 ** 0.5)
    t = 1 / (1 + np.float32(ERF_SCALE) * scaled)
    sum_ = np.zeros_like(t)
    for coefficient in reversed(ERF):
        sum_ = (sum_ + np.float32(coefficient)) * t
    erf = np.copysign(1 - sum_ * np.exp(-np.square(scaled)), x)
    return x * (1 + erf) / 2


def needed_weights(shape: Shape, object_width: int) -> dict[str, tuple[int, ...]]:
    """The shapes of all weights of a network, by name.

    Args:
        shape: of the network. object_width: width of the encodings of slots.
    """
    width = shape.width
    found: dict[str, tuple[int, ...]] = {}

    def linear(name: str, outputs: int, inputs: int, bias: bool = True) -> None:
        found[f"{name}.weight"] = (outputs, inputs)
        if bias:
            found[f"{name}.bias"] = (outputs,)

    def norm(name: str, size: int) -> None:
        found[f"{name}.weight"] = found[f"{name}.bias"] = (size,)

    # Encoder.
    encoder = "trunks.0.encoder"
    mlps: Sequence[tuple[str, int]] = [("ego", shape.own), *((f"objects.{one.name}", one.size) for one in shape.sets)]
    for name, size in mlps:
        linear(f"{encoder}.{name}.0", object_width, size)
        norm(f"{encoder}.{name}.1", object_width)
        linear(f"{encoder}.{name}.3", object_width, object_width)
    linear(f"{encoder}.out", width, object_width * len(mlps))

    # Transformer.
    for layer in range(shape.layers):
        name = f"trunks.0.layers.{layer}"
        if shape.heads:
            norm(f"{name}.attention_norm", width)
            linear(f"{name}.qkv_proj", (shape.heads + 2 * shape.kv_heads) * shape.head_size, width, bias=False)
            linear(f"{name}.out_proj", width, width, bias=False)
        norm(f"{name}.mlp_norm", width)
        linear(f"{name}.mlp_in", 4 * width, width)
        linear(f"{name}.mlp_out", width, 4 * width)
    norm("trunks.0.norm", width)

    # Head, and the input of the previous action.
    linear("actor.linear", sum(shape.sizes) or shape.components, width)
    if shape.previous_action and shape.sizes:
        found |= {f"actor.embeddings.{i}.weight": (size, width) for i, size in enumerate(shape.sizes)}
    elif shape.previous_action:
        found["actor.embedding.weight"] = (width, shape.components)
    return found
