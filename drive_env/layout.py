"""The layout of an observation vector: the core's table of features, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .binding import lib, table, text
from .config import DriveConfig
from .native_config import native_config


@dataclass(frozen=True)
class Feature:
    """One feature of an observation vector: `slots` floats, `stride` floats apart, from `offset` on.

    `meaning` describes the quantity `name`. The observed value is the quantity, in `unit`, times `scale`, clipped to
    [`low`, 1].
    """

    name: str
    unit: str
    meaning: str
    scale: float
    low: float
    offset: int
    slots: int
    stride: int

    @property
    def slice(self) -> slice:
        """Selects this feature from an observation vector: one float per slot."""
        if not self.slots:
            return slice(0, 0)
        return slice(self.offset, self.offset + (self.slots - 1) * self.stride + 1, self.stride)


def observation_layout(config: DriveConfig) -> dict[str, Feature]:
    """The features of an observation vector under this config, in the order of their offsets."""
    return _features(lib.drv_observation_layout, config)


def critic_layout(config: DriveConfig) -> dict[str, Feature]:
    """The features of the observation of a critic under this config, in the order of their offsets."""
    return _features(lib.drv_critic_layout, config)


def _features(function: Any, config: DriveConfig) -> dict[str, Feature]:
    features = [
        Feature(name=text(entry.name), unit=text(entry.unit), meaning=text(entry.meaning), scale=entry.scale,
                low=entry.low, offset=entry.offset, slots=entry.slots, stride=entry.stride)
        for entry in table(function, "drv_feature", native_config(config))
    ]
    return {feature.name: feature for feature in features}


@dataclass(frozen=True)
class ObservationSet:
    """A set of slots in an observation, with one record per slot; the names of its features begin with `name/`.

    `offset` is the index of its first float, `index_offset_bytes` that of its uint16 indices in index observations.
    """

    name: str
    slots: int
    record_floats: int
    offset: int
    index_offset_bytes: int


def observation_sets(config: DriveConfig) -> list[ObservationSet]:
    """The sets of an observation under this config, in order; the features before the first set have no slots."""
    entries = table(lib.drv_observation_sets, "drv_observation_set", native_config(config))
    return [ObservationSet(text(entry.name), entry.slots, entry.record_floats, entry.offset, entry.index_offset_bytes)
            for entry in entries]


SETS = tuple(each.name for each in observation_sets(DriveConfig()))
"""The names of the sets, in order; every config has them, some without slots."""
