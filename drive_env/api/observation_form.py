"""In which form does an adapter return observations: as flat vectors, images, or dicts?"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy.typing as npt
from gymnasium import spaces

from ..batch import Batch
from ..dict_observation import DictObservation
from ..errors import ConfigError, value_text
from ..spaces import image_space

Observation = Any
"""An observation of an adapter: a flat vector, an image, or the dict of `DictObservation.split`, with the image."""

IMAGE = "image"
"""The name of the image in a dict."""


class ObservationForm:
    """The form of the observations of an adapter.

    Args:
        batch: the batch of the adapter.
        dict_observations: whether observations are dicts.

    Attributes:
        space: the space of one agent's observations.
        is_array: whether they are entries of one array of the batch.

    Raises:
        ConfigError: `dict_observations` is not a bool.
    """

    def __init__(self, batch: Batch, dict_observations: bool) -> None:
        if not isinstance(dict_observations, bool):
            raise ConfigError(f"dict_observations is {value_text(dict_observations)}; it must be True or False")
        self._batch, self._has_images = batch, batch.config.observation.type == "image"
        self._parts = DictObservation(batch.config) if dict_observations else None
        self.is_array = self._parts is None
        images = image_space(batch.config)
        self.space: gymnasium.Space[Any] = images if self._has_images else batch.single_observation_space
        if self._parts:
            added = {IMAGE: images} if self._has_images else {}
            self.space = spaces.Dict({**self._parts.space, **added})

    @property
    def array(self) -> npt.NDArray[Any]:
        """The array of the batch whose entries are observations, where `is_array`."""
        return self._batch.images if self._has_images else self._batch.observations

    def of(self, agents: Any = slice(None), copy: bool = True) -> Observation:
        """The observations of some agents, with the axes that numpy gives to this index.

        Args:
            agents: an index, a slice or indices.
            copy: whether the arrays are copies.
        """
        if self._parts is None:
            return _entries(self.array, agents, copy)
        parts = self._parts.split(_entries(self._batch.observations, agents, copy))
        if self._has_images:
            parts[IMAGE] = _entries(self._batch.images, agents, copy)
        return parts

    def of_vectors(self, vectors: npt.NDArray[Any]) -> Observation:
        """Observations that are not images, from (any, observation size) vectors."""
        return vectors if self._parts is None else self._parts.split(vectors)

    def of_each(self, agents: Any = slice(None), copy: bool = True) -> list[Observation]:
        """One observation for each of these agents, a slice or indices; `copy` as for `of`."""
        if self._parts is None:
            return list(_entries(self.array, agents, copy))
        dicts = self._parts.split_each(_entries(self._batch.observations, agents, copy))
        if self._has_images:
            for one, image in zip(dicts, _entries(self._batch.images, agents, copy)):
                one[IMAGE] = image
        return dicts


def _entries(array: npt.NDArray[Any], agents: Any, copy: bool) -> npt.NDArray[Any]:
    """Some entries of an array; those of an array of indices are copies in any case."""
    return array[agents].copy() if copy and isinstance(agents, (int, slice)) else array[agents]
