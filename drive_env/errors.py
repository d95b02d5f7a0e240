"""One family of exceptions; each message is one sentence with the value found and the range allowed.

After the exceptions: formatting of such messages, and checks of arguments that several modules share.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np


class DriveError(Exception):
    """Base of every exception that this package raises itself."""


class ConfigError(DriveError, ValueError):
    """An argument or config field is out of its range, has a wrong type, or has an unknown name."""


class ArgumentError(ConfigError, TypeError):
    """An argument or field has an unknown name, or was passed without its name; also a `TypeError`, as in Python."""


class SceneError(DriveError, ValueError):
    """A scene or scene file is damaged, hostile, or cannot be used with this config.

    The message is `sentence` with unprintable characters, such as those of a file's name, written as escapes.
    """

    def __init__(self, sentence: str = "") -> None:
        super().__init__(printable(sentence))


class ActionError(DriveError, ValueError):
    """An action is out of range, not finite, or of the wrong shape or type. No world has advanced."""


class CallError(DriveError, RuntimeError):
    """A call out of order, such as `step` before `reset` or after `close`, or with an array that does not fit."""


class DriveMemoryError(DriveError, MemoryError):
    """A batch or scene needs more memory than is available or allowed."""


class MissingExtraError(DriveError, ImportError):
    """A package of an extra is not installed."""


class UnknownNameError(DriveError, KeyError):
    """A report has no metric of that name; the message lists those that it has."""

    __str__ = Exception.__str__  # a KeyError shows the repr of its message


def printable(text: str) -> str:
    """The text with control sequences and other unprintable characters written as escapes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def value_text(value: Any) -> str:
    """A value for a message, in one line: its repr, truncated to 100 characters, or its type if `repr` fails."""
    try:
        text = " ".join(map(str.strip, repr(value).split("\n")))  # that of an array can have several lines
    except Exception:  # an int of thousands of digits, or an object whose `__repr__` raises
        text = f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 100 else f"{text[:97]}..."


def a_type(kind: type) -> str:
    """The name of a type with its article, for a message."""
    return with_article(kind.__name__)


def with_article(word: str) -> str:
    """A word with "a" or "an", for a message; spoken, ndarray begins with a vowel, and uint8 does not."""
    return f"{'an' if word.startswith((*'AEIOaeio', 'ndarray')) else 'a'} {word}"


def bound_text(bound: float) -> str:
    """A bound in digits that parse to the bound itself."""
    text = f"{bound:g}"
    return text if float(text) == bound else repr(float(bound))


def outside_text(value: float, low: float, high: float) -> str:
    """A rejected value with the fewest digits (6, 9 or 17) with which it is still outside [low, high]; NaN as nan."""
    for digits in (6, 9, 17):
        text = f"{float(value):.{digits}g}"
        if not low <= float(text) <= high:
            break
    return text


BUILT_IN: dict[type, Callable[[Any], Any]] = {int: int.__int__, float: float.__float__, str: str.__str__}
"""For each type the conversion of instances of its subclasses, which none of these can override."""


def plain(value: Any) -> Any:
    """A numpy, torch or similar scalar as a Python number: the shortest one that rounds to it in its own precision.

    float32(0.1) becomes 0.1, not the double 0.10000000149. An instance of a subclass of int, float or str, such
    as a member of an `IntEnum`, becomes one of that type. Any other value is returned unchanged.
    """
    if getattr(value, "ndim", None) != 0 or not hasattr(value, "item"):
        return _built_in(value)
    number = value.item()
    if isinstance(number, np.floating):  # a long double, which has no Python number of its own
        number = float(number)
    if not isinstance(number, float):
        return number
    at_its_precision = getattr(value, "new_tensor", None) or value.dtype.type
    with np.errstate(over="ignore"):  # fewer digits may round the largest number up
        shorter = (float(f"{number:.{digits}e}") for digits in range(17))
        return next((short for short in shorter if float(at_its_precision(short)) == number), number)


def _built_in(value: Any) -> Any:
    """An instance of a subclass of int, float or str as an instance of that type; any other value unchanged."""
    if isinstance(value, bool):
        return value
    for kind, convert in BUILT_IN.items():
        if isinstance(value, kind):
            return convert(value)
    return value


def checked_int(name: str, value: Any, low: int, high: int, error: type[DriveError] = ConfigError) -> int:
    """`value` as a plain int.

    Args:
        name: of the argument, for the message.
        value: of any integer type of Python or numpy, but not bool.
        low, high: the range allowed.
        error: the exception to raise.

    Raises:
        DriveError: of type `error`: it is not a whole number from `low` to `high`.
    """
    try:
        is_scalar = not isinstance(value, bool) and getattr(value, "ndim", 0) == 0
        found = operator.index(value) if is_scalar else None
    except TypeError:
        found = None
    if found is None or not low <= found <= high:
        raise error(f"{name} is {value_text(value)}; it must be a whole number from {low} to {high}")
    return found


def checked_path(path: str | os.PathLike, extensions: tuple[str, ...]) -> str:
    """The path of a file to be written, as text; checked before the work that produces the file.

    Args:
        path: to check.
        extensions: those allowed, in lower case, such as ".html".

    Raises:
        ConfigError: it is not a path, has another extension, is not that of a file, or its folder does not exist.
    """
    try:
        path = os.fspath(path)
        os.fsencode(path)
    except TypeError:
        raise ConfigError(f"path is {value_text(path)}; it must be a str or os.PathLike") from None
    except UnicodeEncodeError:
        raise ConfigError(f"path is {value_text(path)}; it has a character that no file name can have") from None
    if not isinstance(path, str) or not path.lower().endswith(extensions):
        raise ConfigError(f"path is {value_text(path)}; it must end in {' or '.join(extensions)}")
    if "\0" in path or os.path.exists(path) and not os.path.isfile(path):
        raise ConfigError(f"path is {value_text(path)}; it must be that of a regular file, "
                          "not of a folder, a pipe or a device, and without NUL")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise ConfigError(f"path is {value_text(path)}; there is no folder {folder!r}")
    return path
