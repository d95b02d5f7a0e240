"""One family of exceptions, each message a sentence with the value found and the range allowed.

Below the family: texts for such messages, and checks that several modules make of their arguments.
"""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np


class DriveError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(DriveError, ValueError):
    """A configuration value is out of its range, or names a choice this version does not offer."""


class SceneError(DriveError, ValueError):
    """A scene or scene file is damaged, hostile, or cannot be played as asked.

    The sentence is one printable line, whatever the file is called.
    """

    def __init__(self, sentence: str = "") -> None:
        super().__init__(printable(sentence))


class ActionError(DriveError, ValueError):
    """An action is out of range, not finite, or of the wrong shape or type. Nothing has moved."""


class CallError(DriveError, RuntimeError):
    """A call came out of order, such as `step` before `reset` or after `close`."""


class DriveMemoryError(DriveError, MemoryError):
    """A batch or scene needs more memory than there is, or than is allowed."""


class MissingExtraError(DriveError, ImportError):
    """A package of an extra is not installed."""


def printable(text: str) -> str:
    """The text with what steers a terminal, or is no letter of any alphabet, written as escapes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def shown(value: Any) -> str:
    """A value as a sentence may hold it: its repr, cut where it is long; its type where it has none."""
    try:
        text = repr(value)
    except Exception:  # a whole number of thousands of digits, or an object that cannot say what it is
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= 100 else f"{text[:97]}..."


def bound_text(bound: float) -> str:
    """A bound in digits that read back as the bound itself."""
    text = f"{bound:g}"
    return text if float(text) == bound else repr(float(bound))


def outside_text(value: float, low: float, high: float) -> str:
    """A refused value in the fewest digits, of 6, 9 and 17, that show it outside of low to high; NaN as nan."""
    for digits in (6, 9, 17):
        text = f"{float(value):.{digits}g}"
        if not low <= float(text) <= high:
            break
    return text


def plain(value: Any) -> Any:
    """A numpy scalar as the Python value that its own precision writes, float32(0.1) as 0.1; anything else as it is."""
    if getattr(value, "ndim", None) != 0 or not hasattr(value, "item"):
        return value
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind == "f":
        scalar: Any = np.asarray(value)[()]
        return float(np.format_float_scientific(scalar))  # the shortest digits, whatever the print options
    return value.item()


def checked_int(name: str, value: Any, low: int, high: int, error: type[DriveError] = ConfigError) -> int:
    """`value` as a plain int from `low` to `high`; anything else is an error that says both."""
    try:
        is_scalar = not isinstance(value, bool) and getattr(value, "ndim", 0) == 0
        found = operator.index(value) if is_scalar else None
    except TypeError:
        found = None
    if found is None or not low <= found <= high:
        raise error(f"{name} is {shown(value)}; it must be a whole number from {low} to {high}")
    return found


def checked_path(path: str | os.PathLike, endings: tuple[str, ...]) -> str:
    """The path as text, if it has one of the endings and its folder is there: asked before anything is played."""
    try:
        path = os.fspath(path)
        os.fsencode(path)
    except TypeError:
        raise ConfigError(f"path is {shown(path)}; it must be a str or os.PathLike") from None
    except UnicodeEncodeError:
        raise ConfigError(f"path is {shown(path)}; it has a letter that no file's name can have") from None
    if not isinstance(path, str) or not path.lower().endswith(endings):
        raise ConfigError(f"path is {shown(path)}; it must end in {' or '.join(endings)}")
    if "\0" in path or os.path.exists(path) and not os.path.isfile(path):
        raise ConfigError(f"path is {shown(path)}; it must be that of a file, "
                          "which a folder, a pipe, a device or a name with a NUL is not")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise ConfigError(f"path is {shown(path)}; there is no folder {folder!r}")
    return path
