"""Configs in the core's own form."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .binding import ffi, lib, table, text
from .config import DriveConfig
from .fields import flat_values

__all__ = ["native_config"]


class _Member(NamedTuple):
    """A member of the core's config: its name, the number that encodes None, and the names of its codes or bits."""

    name: str
    none: float
    choices: tuple[str, ...]

    def coded(self, value: Any) -> Any:
        """The number by which the core represents a value."""
        if isinstance(value, tuple):
            return sum(1 << self.choices.index(name) for name in value)
        if self.choices:
            return self.choices.index(value)
        return self.none if value is None else value


def _member(field: Any) -> _Member:
    """The member that the core describes. Its number for None is NaN where there must be a value."""
    none = int(field.none) if text(field.type).startswith("i") and not math.isnan(field.none) else field.none
    return _Member(text(field.name), none, tuple(text(field.choices).split()))


_MEMBERS = tuple(_member(field) for field in table(lib.drv_config_fields, "drv_config_field"))

_ENDS = ("_low", "_high")
"""The two members of the core's config that are one range in Python end on these."""

_RANGES = {member.name.removesuffix(_ENDS[0]) for member in _MEMBERS if member.name.endswith(_ENDS[0])}


def native_config(config: DriveConfig, restart: str = "auto"):
    """The config as a drv_config pointer."""
    values = {**flat_values(config), "restart": restart}
    for name in _RANGES:
        values |= zip((name + end for end in _ENDS), values[name] or (None, None))
    return ffi.new("drv_config *", {member.name: member.coded(values[member.name]) for member in _MEMBERS})
