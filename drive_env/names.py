"""Checks of argument and field names: an unknown name raises an error of the family that suggests similar ones."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from .errors import ArgumentError, DriveError, value_text

P = ParamSpec("P")
T = TypeVar("T")

NEAR = 0.75
"""Similarity (`difflib`) from which a name is suggested: a letter or two are wrong or swapped."""


def check_names(owner: str, given: Iterable[Any], known: Mapping[str, str] | Iterable[str], noun: str = "field",
                error: type[DriveError] = ArgumentError) -> None:
    """Rejects names that `owner` does not have.

    Args:
        owner: the callable or config, for the message.
        given: names to check.
        known: the names that it has; or a mapping that also holds aliases, from each name to its path. The names that
            it has are those that equal their path.
        noun: what is named, for the message.
        error: the exception to raise.

    Raises:
        DriveError: of type `error`: the first unknown name, with similar names, or with all names if none is similar.
    """
    paths = known if isinstance(known, Mapping) else {name: name for name in known}
    for name in given:
        if name not in paths or paths[name] != name:
            raise error(unknown_name(owner, name, paths, noun))


def own_names(paths: Mapping[str, str]) -> list[str]:
    """The names that are no aliases."""
    return [name for name, path in paths.items() if name == path]


def unknown_name(owner: str, name: object, paths: Mapping[str, str], noun: str) -> str:
    """The sentence of such an error; `paths` maps names and aliases to paths, as of `check_names`."""
    return f"{owner} has no {noun} {value_text(name)}; {names_hint(name, paths)}"


def names_hint(name: object, paths: Mapping[str, str]) -> str:
    """What follows an unknown name in an error: similar names, or all names if none is similar."""
    text = name if isinstance(name, str) and name else "?"
    near = [text] if text in paths else (
        difflib.get_close_matches(text, paths, cutoff=NEAR) or [one for one in paths if text in one])
    found = list(dict.fromkeys(paths[one] for one in near))[:3]
    return f"did you mean {' or '.join(found)}?" if found else f"it has {', '.join(own_names(paths)) or 'none'}"


def named_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Decorates a public callable: an unknown keyword argument raises an `ArgumentError` with similar names.

    The error begins with Python's own words: Gymnasium and TorchRL search for them to find out which arguments an env
    takes.
    """
    known = {name: name for name in inspect.signature(function).parameters if name != "self"}

    @functools.wraps(function)
    def checked(*values: P.args, **choices: P.kwargs) -> T:
        for name in choices:
            if name not in known:
                raise ArgumentError(f"{function.__qualname__}() got an unexpected keyword argument {value_text(name)}; "
                                    + names_hint(name, known))
        return function(*values, **choices)

    return checked
