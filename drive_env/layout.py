"""Where does a number stand in an observation? The core's table of features, by name."""

from __future__ import annotations

from dataclasses import dataclass

from .binding import ffi, lib
from .config import DriveConfig
from .core import native_config


@dataclass(frozen=True)
class Feature:
    """One feature of an agent, by `name`; `slots` of them, `stride` floats apart, from `offset` on.

    `meaning` says what it is. The value shown is the quantity, in `unit`, times `scale`, clipped to [`low`, 1].
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
        """What picks this feature out of an agent: one float a slot."""
        if not self.slots:
            return slice(0, 0)
        return slice(self.offset, self.offset + (self.slots - 1) * self.stride + 1, self.stride)


def observation_layout(config: DriveConfig) -> dict[str, Feature]:
    """The features of an agent under this config, in order of their place."""
    native = native_config(config)
    count = lib.drv_observation_layout(native, ffi.NULL, 0)
    table = ffi.new("drv_feature[]", count)
    lib.drv_observation_layout(native, table, count)
    features = [
        Feature(
            name=ffi.string(entry.name).decode(), unit=ffi.string(entry.unit).decode(),
            meaning=ffi.string(entry.meaning).decode(), scale=entry.scale, low=entry.low,
            offset=entry.offset, slots=entry.slots, stride=entry.stride)
        for entry in table
    ]
    return {feature.name: feature for feature in features}
