"""Which function does "package.module:name" name? An import, with the working directory first."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

from .errors import ConfigError, value_text


def imported_function(argument: str, path: str, method: str = "__call__") -> Any:
    """The function that a path names; of a class, an instance that is made without arguments.

    Args:
        argument: the name of the argument, for the message.
        path: its value, "package.module:name".
        method: name of a method; an object that has it is accepted, too.

    Raises:
        ConfigError: the text is not such a path, cannot be imported, or names something that is not a function and has
            no such method.
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise ConfigError(f"{argument} is {path!r}; it must name a module and a function in it, as "
                          "'package.module:name'")
    try:
        with searching(""):  # the working directory, which a command does not search by itself
            found = reduce(getattr, name.split("."), importlib.import_module(module))
            found = found() if inspect.isclass(found) else found
    except (Exception, SystemExit) as error:  # anything that the user's module raises; a script may end itself
        raise ConfigError(f"{argument} is {path!r}, which cannot be imported: {type(error).__name__}: "
                          f"{' '.join(str(error).split())}") from error
    if not callable(found) and not callable(getattr(found, method, None)):
        other = "" if method == "__call__" else f" or an object with a method {method}"
        raise ConfigError(f"{argument} is {path!r}, which is {value_text(found)}; it must be a function{other}")
    return found


@contextmanager
def searching(folder: str) -> Iterator[None]:
    """Imports search a folder first; "" is the working directory, also if an import changes it or it is deleted."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:  # a module may change the path itself
            sys.path.remove(folder)
