"""What does the trainer import? Public names of the env alone, and its own modules without circles."""

import ast
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import drive_env
import drive_env.cli.evaluation
import drive_env.evaluation
import drive_env.outputs
import drive_env.policies
import drive_env.render
import drive_env.tasks
import drive_env.trained

PUBLIC = {"drive_env": drive_env, "drive_env.evaluation": drive_env.evaluation,
          "drive_env.outputs": drive_env.outputs, "drive_env.policies": drive_env.policies,
          "drive_env.render": drive_env.render,
          "drive_env.tasks": drive_env.tasks, "drive_env.trained": drive_env.trained,
          "drive_env.cli.evaluation": drive_env.cli.evaluation}
"""The modules of the env that the trainer may import from: public ones, the form of exported policies, and of the
command the parts that both share."""

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "baselines").rglob("*.py"))


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_by(path):
    """The trainer's modules that a file imports anywhere, in functions too."""
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    modules = {module_of(other) for other in FILES}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = resolve_name("." * node.level + (node.module or ""), package)
            for name in node.names:
                submodule = f"{base}.{name.name}"
                yield submodule if submodule in modules else base


def test_only_public_names_of_the_env_are_used():
    for path in [*FILES, ROOT / "examples" / "train.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not [alias.name for alias in node.names if alias.name.startswith("drive_env.")], path
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "drive_env":
                assert node.module in PUBLIC, f"{path.name} imports {node.module}"
                assert {alias.name for alias in node.names} <= set(PUBLIC[node.module].__all__), path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "batch":
                assert not node.attr.startswith("_"), f"{path.name} reads batch.{node.attr}"


def test_no_import_is_part_of_a_circle():
    graph = {module_of(path): set(imported_by(path)) for path in FILES}
    assert len(graph) > 30 and "baselines.tools.checkpoint" in graph["baselines.run"]
    list(TopologicalSorter(graph).static_order())
