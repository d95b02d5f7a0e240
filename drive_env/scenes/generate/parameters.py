"""What may be asked of a generator? Named parameters, each with its default, unit, meaning and range."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...errors import SceneError, plain


class Parameter(NamedTuple):
    """One question a generator answers. Its kind is its default's: a float, an int, or a pair of ints."""

    default: float | int | tuple[int, int]
    unit: str
    meaning: str
    low: float | int
    high: float | int

    @property
    def allowed(self) -> str:
        span = f"from {self.low:g} to {self.high:g}"
        if isinstance(self.default, tuple):
            return f"a pair of whole numbers {span}"
        if isinstance(self.default, int):
            return f"a whole number {span}"
        return f"a number {span}, in {self.unit}"


def fill_parameters(generator: str, offered: dict[str, Parameter], given: dict) -> dict:
    """The given values, checked, and the defaults of those not given.

    Raises:
        SceneError: an unknown name, with the list of what is offered; a value out of range, with the range.
    """
    for name in given:
        if name not in offered:
            raise SceneError(f"{generator} has no parameter {name!r}; it has {', '.join(offered)}")
    return {name: _checked(name, parameter, given[name]) if name in given else parameter.default
            for name, parameter in offered.items()}


def _checked(name, parameter, value):
    if isinstance(parameter.default, tuple):
        is_row = isinstance(value, (tuple, list)) or getattr(value, "ndim", 0) == 1
        items = [plain(item) for item in value] if is_row else []
        fits = [_is_whole(item) and parameter.low <= item <= parameter.high for item in items]
        if len(fits) == 2 and all(fits):
            return tuple(items)
    else:
        found = plain(value)
        right_kind = _is_whole(found) if isinstance(parameter.default, int) else _is_real(found)
        if right_kind and parameter.low <= found <= parameter.high:
            return found if isinstance(parameter.default, int) else float(found)
    raise SceneError(f"{name} is {value!r}; it must be {parameter.allowed}")


def _is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _is_real(value):
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))
