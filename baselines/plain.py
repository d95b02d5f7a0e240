"""How are values of fields converted? Numpy and torch scalars, paths and lists to plain values of the field's type."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from drive_env import ConfigError

SHOWN_CHARACTERS = 100
"""Of a value in a message."""

WORDS = {bool: "True or False", int: "a whole number", float: "a finite number", str: "a string", NoneType: "None"}
"""What a message requires, by the type of a field."""


def value_text(value: Any) -> str:
    """A value for a message, in one line: its repr, truncated if it is long, or its type if `repr` fails."""
    try:
        text = " ".join(map(str.strip, repr(value).split("\n")))  # that of an array can have several lines
    except Exception:  # an int of thousands of digits, or an object whose `__repr__` raises
        text = f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


def plain(name: str, value: Any, kind: Any) -> Any:
    """The value as bool, int, float, str, None, or tuples and dicts of these, according to the annotation `kind`.

    Raises:
        ConfigError: the value is of another type.
    """
    try:
        return _converted(value, kind)
    except (TypeError, OverflowError):
        raise ConfigError(f"{name} is {value_text(value)}; it must be {_words(kind)}") from None


def _converted(value: Any, kind: Any) -> Any:
    """As `plain`, but raises a TypeError or an OverflowError."""
    value, origin, parts = _unwrapped(value), get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _converted_to_one(value, parts)
    if origin is Literal and isinstance(value, str) and value in parts:
        return str.__str__(value)
    if origin is tuple and isinstance(value, (list, tuple)):
        return tuple(_converted(part, parts[0]) for part in value)
    if origin is dict and isinstance(value, Mapping):
        return {_converted(key, parts[0]): _converted(part, parts[1]) for key, part in value.items()}
    if kind is str and isinstance(value, (str, os.PathLike)) and isinstance(path := os.fspath(value), str):
        return str.__str__(path)
    if kind in (bool, NoneType) and isinstance(value, kind):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if number and (kind is float or kind is int and value == int(value)):
        return kind(value)
    raise TypeError


def _converted_to_one(value: Any, kinds: tuple) -> Any:
    """Converted to the value's own type if it is among `kinds`, else to the first that fits: 1.0 stays a float."""
    for kind in sorted(kinds, key=lambda kind: type(value) is not kind):
        try:
            return _converted(value, kind)
        except (TypeError, OverflowError):
            pass
    raise TypeError


def _unwrapped(value: Any) -> Any:
    """Python's number or list for a scalar or a one-dimensional array of numpy, torch or the like."""
    dimensions = getattr(value, "ndim", None)
    if dimensions == 1:
        return [_unwrapped(part) for part in value]
    return _number(value) if dimensions == 0 and hasattr(value, "item") else value


def _number(scalar: Any) -> Any:
    """The shortest number that rounds to the scalar in its precision, as in `DriveConfig`: np.float32(0.1) is 0.1."""
    number = scalar.item()
    if isinstance(number, np.floating):  # a long double, which has no Python number of its own
        number = float(number)
    if not isinstance(number, float):
        return number
    at_its_precision = getattr(scalar, "new_tensor", None) or scalar.dtype.type
    with np.errstate(over="ignore"):  # fewer digits may round the largest number up
        shorter = (float(f"{number:.{digits}e}") for digits in range(17))
        return next((short for short in shorter if float(at_its_precision(short)) == number), number)


def _words(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(_words(part) for part in parts)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, parts))
    if origin is tuple:
        return f"a list, each entry {_words(parts[0])}"
    if origin is dict:
        return f"a dict, each key {_words(parts[0])}, each value {_words(parts[1])}"
    return WORDS[kind]
