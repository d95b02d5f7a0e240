"""Observations as dicts: the agent's own features, and each set of slots as an array with a mask."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .config import DriveConfig
from .errors import ConfigError, value_text
from .layout import observation_layout, observation_sets
from .names import named_arguments
from .spaces import vector_type

MASK = "_mask"
"""Appended to the name of a set, it names the mask of the set."""

FILLED_BY = "kind"
"""The feature of a set that is above 0 where a slot is filled."""


class _Entry(NamedTuple):
    """Where an entry is in an observation vector, and its features; with `slots` 0 it has no axis of slots."""

    offset: int
    slots: int
    features: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.slots, len(self.features)) if self.slots else (len(self.features),)

    @property
    def slice(self) -> slice:
        return slice(self.offset, self.offset + max(self.slots, 1) * len(self.features))


class DictObservation:
    """Splits observation vectors into a dict of arrays by name, without a copy.

    The entries are the groups of `observation_layout`, in its order:

    * "ego", "trial" and, where the config has them, "hidden" and "reward": (..., features).
    * Each set that has slots, such as "partners": (..., slots, features).
    * The mask of each set, such as "partners_mask": (..., slots) int8, 1 where the slot is filled, else 0.

    All but the masks are views of the vectors.

    Args:
        config: that of the batch or env. With index observations, the vectors are those of
            `Batch.float_observations`.

    Attributes:
        space: the Gymnasium space of the dict of one agent.
        features: the names of the features of each entry but the masks, in the order of its last axis.

    Raises:
        ConfigError: `config` is not a `DriveConfig`.
    """

    @named_arguments
    def __init__(self, config: DriveConfig) -> None:
        if not isinstance(config, DriveConfig):
            raise ConfigError(f"config is {value_text(config)}; it must be a DriveConfig")
        self._entries = _entries_of(config)
        self._size = max(entry.slice.stop for entry in self._entries.values())
        self.features: dict[str, tuple[str, ...]] = {name: entry.features for name, entry in self._entries.items()}
        dtype = vector_type(config)
        members: dict[str, spaces.Space[Any]] = {}
        for name, entry in self._entries.items():
            members[name] = spaces.Box(-1.0, 1.0, entry.shape, dtype)
            if entry.slots:
                members[name + MASK] = spaces.MultiBinary(entry.slots)
        self.space: spaces.Dict = spaces.Dict(members)

    def split(self, observations: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """The entries of some observation vectors, by name.

        Args:
            observations: (..., observation size) floats, such as `Batch.observations`.

        Returns:
            Views of `observations`, with its leading axes, and the masks: (..., features), (..., slots, features) and
            (..., slots) int8.

        Raises:
            ConfigError: `observations` are not vectors of this config.
        """
        shape = getattr(observations, "shape", None)
        if not isinstance(observations, np.ndarray) or not shape or shape[-1] != self._size:
            found = f"of shape {shape}" if isinstance(observations, np.ndarray) else value_text(observations)
            raise ConfigError(f"observations are {found}; they must be an array of shape (..., {self._size})")
        if observations.dtype.kind != "f":
            raise ConfigError(f"observations are of type {observations.dtype}; they must be floats")
        parts = {}
        for name, entry in self._entries.items():
            parts[name] = part = observations[..., entry.slice].reshape(*shape[:-1], *entry.shape)
            if entry.slots:
                parts[name + MASK] = (part[..., entry.features.index(FILLED_BY)] > 0).view(np.int8)
        return parts

    def split_each(self, observations: npt.NDArray[Any]) -> list[dict[str, npt.NDArray[Any]]]:
        """The same, as one dict for each entry of the first axis.

        Args:
            observations: (n, observation size) floats.

        Returns:
            n dicts of views and masks, (features,), (slots, features) and (slots,) int8.

        Raises:
            ConfigError: `observations` are not vectors of this config.
        """
        parts = self.split(observations)
        return [dict(zip(parts, values)) for values in zip(*parts.values())]


def _entries_of(config: DriveConfig) -> dict[str, _Entry]:
    """The groups of features that share the part of their names before the slash; of sets, those that have slots."""
    slots = {one.name: one.slots for one in observation_sets(config)}
    groups: dict[str, list[Any]] = {}
    for feature in observation_layout(config).values():
        groups.setdefault(feature.name.partition("/")[0], []).append(feature)
    return {name: _Entry(group[0].offset, slots.get(name, 0), tuple(one.name.partition("/")[2] for one in group))
            for name, group in groups.items() if slots.get(name, 1)}
