"""In which form does an adapter return observations: as flat vectors, or as dicts?"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy.typing as npt

from ..batch import Batch
from ..dict_observation import DictObservation
from ..errors import ConfigError, value_text

Observation = Any
"""An observation of an adapter: a flat vector, or the dict of `DictObservation.split`."""


class ObservationForm:
    """The form of the observations of an adapter.

    Args:
        batch: the batch of the adapter.
        dict_observations: whether observations are dicts.

    Attributes:
        space: the space of one agent's observations.
        is_flat: whether they are the vectors themselves.

    Raises:
        ConfigError: `dict_observations` is not a bool.
    """

    def __init__(self, batch: Batch, dict_observations: bool) -> None:
        if not isinstance(dict_observations, bool):
            raise ConfigError(f"dict_observations is {value_text(dict_observations)}; it must be True or False")
        self._parts = DictObservation(batch.config) if dict_observations else None
        self.is_flat = self._parts is None
        self.space: gymnasium.Space[Any] = self._parts.space if self._parts else batch.single_observation_space

    def of(self, observations: npt.NDArray[Any]) -> Observation:
        """Observation vectors, (..., observation size), in this form."""
        return self._parts.split(observations) if self._parts else observations

    def of_each(self, observations: npt.NDArray[Any]) -> list[Observation]:
        """One observation for each of the vectors, (n, observation size)."""
        return self._parts.split_each(observations) if self._parts else list(observations)
