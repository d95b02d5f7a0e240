"""Which parameters does a generator have? Each has a name, default, unit, meaning and range."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...errors import SceneError, plain, value_text
from ...names import check_names


class Parameter(NamedTuple):
    """One parameter, of the type of its default: a float, an int, a bool, or a pair of ints."""

    default: float | int | bool | tuple[int, int]
    unit: str
    meaning: str
    low: float | int
    high: float | int

    @property
    def allowed(self) -> str:
        """The values that the parameter may have, as text."""
        if isinstance(self.default, bool):
            return "True or False"
        span = f"from {self.low:g} to {self.high:g}"
        if isinstance(self.default, tuple):
            return f"a pair of whole numbers {span}"
        if isinstance(self.default, int):
            return f"a whole number {span}"
        return f"a number {span}" + (f", in {self.unit}" if self.unit != "1" else "")


def fill_parameters(generator: str, known: dict[str, Parameter], values: dict, arguments: tuple[str, ...] = ()
                    ) -> dict:
    """`values`, checked, and the defaults of the other parameters.

    Args:
        arguments: names beside the parameters that an unknown one may mean.

    Raises:
        ArgumentError: an unknown name.
        SceneError: a value out of its range, with the range.
    """
    own = {name: name for name in known}
    check_names(generator, values, own | {name: f"the argument {name}" for name in arguments}, "parameter")
    return {name: _checked(name, parameter, values[name]) if name in values else parameter.default
            for name, parameter in known.items()}


def _checked(name, parameter, value):
    if isinstance(parameter.default, tuple):
        is_sequence = isinstance(value, (tuple, list)) or getattr(value, "ndim", 0) == 1
        items = [plain(item) for item in value] if is_sequence else []
        fits = [_is_int(item) and parameter.low <= item <= parameter.high for item in items]
        if len(fits) == 2 and all(fits):
            return tuple(items)
    elif isinstance(parameter.default, bool):
        if isinstance(found := plain(value), bool):
            return found
    else:
        found = plain(value)
        right_kind = _is_int(found) if isinstance(parameter.default, int) else _is_real(found)
        if right_kind and parameter.low <= found <= parameter.high:
            return found if isinstance(parameter.default, int) else float(found)
    raise SceneError(f"{name} is {value_text(value)}; it must be {parameter.allowed}")


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _is_real(value):
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))
