"""Do the modules of the package form layers? No import circle, lazy imports included, and no import upwards."""

import ast
from pathlib import Path

import pytest

import drive_env

ROOT = Path(drive_env.__file__).parent

LAYERS = (
    ("errors", "machine", "version", "whole_file"),
    ("imported", "names", "outputs"),
    ("binding", "config", "fields"),
    ("action_array", "arrays", "native_config", "per_world"),
    ("scenes",),
    ("roles",),
    ("expert_actions", "native"),
    ("action_space", "dict_observation", "index_observations", "layout", "native_batch", "own_reward", "routes",
     "spaces"),
    ("reports", "state", "state_ranges", "sub_batch", "trial_records", "world_range", "world_state"),
    ("batch",),
    ("drivers", "tasks", "trained"),
    ("policies",),
    ("playing",),
    ("realism",),
    ("behaviours",),
    ("render",),
    ("replay",),
    ("evaluation",),
    ("api",),
    ("gallery",),
    ("", "cli"),
    ("__main__",),
)
"""Modules and folders of the package, the lowest first; "" is the package itself. A layer imports lower ones alone, and
within its own layer without a circle."""


def modules() -> dict[str, Path]:
    """Every module by its dotted name within the package."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports_of(name: str) -> set[str]:
    """The modules that a module imports, at the top, in functions or for types, with the packages around each."""
    path, found = MODULES[name], set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            found |= {one.partition(".")[2] for one in names if one.split(".")[0] == "drive_env"}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                parts = package.split(".") if package else []
                base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
            elif node.module and node.module.split(".")[0] == "drive_env":
                base = node.module.partition(".")[2]
            else:
                continue
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                found.add(inner if inner in MODULES else base)
    around = {".".join(one.split(".")[:count]) for one in found for count in range(1, one.count(".") + 1)}
    own = {".".join(name.split(".")[:count]) for count in range(name.count(".") + 2)}
    return {one for one in found | (around - own) if one in MODULES and one not in {"_core", name}}


IMPORTS = {name: imports_of(name) for name in MODULES}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The names along one circle of the graph; none where there is no circle."""
    done: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name):], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if found := search(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := search(name, []))), [])


def layer_of(name: str) -> int:
    return next(index for index, layer in enumerate(LAYERS) if name.partition(".")[0] in layer)


def test_no_module_imports_itself_through_others():
    assert circle(IMPORTS) == []


def test_every_module_has_a_layer():
    assert {name.partition(".")[0] for name in MODULES} == {name for layer in LAYERS for name in layer}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_lower_layers_alone(name):
    folder = name.partition(".")[0]
    assert {other for other in IMPORTS[name]
            if layer_of(other) > layer_of(name) or other.partition(".")[0] == "" != folder} == set()


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_two_test_modules_have_one_name():
    """Pytest imports them by name alone: the second one would not be collected."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
