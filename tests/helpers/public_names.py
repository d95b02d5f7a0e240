"""What is public? The names in `__all__` of these modules, and the public members of classes among them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator

MODULES = ("drive_env", "drive_env.drivers", "drive_env.api.gym", "drive_env.behaviours",
           "drive_env.evaluation", "drive_env.evaluation.scores", "drive_env.index_observations", "drive_env.playing",
           "drive_env.policies", "drive_env.realism", "drive_env.render", "drive_env.replay", "drive_env.scenes",
           "drive_env.tasks")

WITH_EXTRAS = ("drive_env.api.sb3", "drive_env.api.sb3_masked")
"""Modules that cannot be imported without their extra."""


def public_objects(modules: Iterable[str] = MODULES) -> dict[str, object]:
    """Every public name by its dotted path; a name that two modules offer comes by the shorter one."""
    found: dict[str, object] = {}
    for module in modules:
        for name in importlib.import_module(module).__all__:
            offered = getattr(importlib.import_module(module), name)
            if not any(offered is known for known in found.values()):
                found[f"{module}.{name}"] = offered
    return found


def public_classes(modules: Iterable[str] = MODULES) -> dict[str, type]:
    return {path: found for path, found in public_objects(modules).items() if inspect.isclass(found)}


def public_callables(modules: Iterable[str] = MODULES) -> Iterator[tuple[str, Callable, str]]:
    """Path, function and the docstring that documents it: that of the class for a constructor, else its own.

    Generated constructors of dataclasses are left out: their arguments are fields, which are checked by themselves.
    """
    for path, found in public_objects(modules).items():
        if inspect.isfunction(found):
            yield path, found, inspect.getdoc(found) or ""
        if not inspect.isclass(found):
            continue
        for name, member in _members(found).items():
            function = member.fget if isinstance(member, property) else member
            if not inspect.isfunction(function) or (name.startswith("_") and name != "__init__"):
                continue
            if name != "__init__":
                yield f"{path}.{name}", function, inspect.getdoc(function) or ""
            elif name in vars(found) and not dataclasses.is_dataclass(found):
                yield f"{path}.{name}", function, inspect.getdoc(found) or ""


def _members(found: type) -> dict[str, object]:
    """The members of a class and those that it inherits within the package from a class that is not public."""
    parents = [one for one in reversed(found.__mro__) if one.__module__.startswith("drive_env")]
    return {name: member for one in parents for name, member in vars(one).items()}
