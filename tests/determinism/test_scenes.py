"""Are generated scenes the same on every platform? Their code calls no function with platform-dependent rounding."""

import ast
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import drive_env
from drive_env import generate_scene
from drive_env.scenes.generate import GENERATORS

PACKAGE = Path(drive_env.__file__).parent
MAKERS = (*sorted((PACKAGE / "scenes" / "generate").rglob("*.py")), PACKAGE / "roles.py")

PLATFORM_DEPENDENT = {
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh",
    "tanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "power", "hypot", "cbrt", "norm", "dot",
    "vdot", "inner", "matmul", "einsum", "tensordot", "random", "default_rng"}
"""Their last digits differ between C libraries, processors, or versions of numpy."""

SCENES = {
    "town": {"blocks": (3, 2)}, "intersection": {"lanes": 1},
    "town wide": {"blocks": (6, 5), "block_m": 83.7, "lane_width_m": 3.3},
    "town lights": {"lights": True}, "town nodes": {"roundabout_probability": 0.5, "stop_probability": 0.3},
    "highway bend": {"bend": True}, "roundabout lanes": {"lanes": 2, "street_lanes": 2, "radius_m": 20.0},
    **{name: {} for name in GENERATORS if name not in ("town", "intersection", "exits")},
}


def platform_dependent_calls(source):
    """(line, name) of every call in a program whose rounding depends on the platform."""
    for node in ast.walk(ast.parse(source)):
        name = node.func if isinstance(node, ast.Call) else None
        if isinstance(name, ast.Attribute) and name.attr in PLATFORM_DEPENDENT:
            yield node.lineno, name.attr
        elif isinstance(name, ast.Name) and name.id == "sum":
            # From Python 3.12 on it adds floats with compensation.
            yield node.lineno, "sum"
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"


@pytest.mark.parametrize("maker", MAKERS, ids=lambda path: path.name)
def test_scene_generation_rounds_the_same_on_every_platform(maker):
    found = list(platform_dependent_calls(maker.read_text()))
    assert found == [], "write the numbers out, or compute them with + - * / and sqrt alone"


def test_platform_dependent_calls_are_detected():
    program = "import math\na = math.sin(1)\nb = sum([0.1])\nc = d @ e\nf = math.fsum([0.1]) + math.sqrt(2) + x.sum()\n"
    assert list(platform_dependent_calls(program)) == [(2, "sin"), (3, "sum"), (4, "@")]


def digests():
    """One hash a scene, over every array of it."""
    found = {}
    for name, parameters in SCENES.items():
        for seed in range(8):
            total = hashlib.sha256()
            generator = name.split()[0]
            scene = generate_scene(generator, seed=seed, agents=min(9, GENERATORS[generator].DEFAULT_AGENTS),
                                   **parameters)
            for part in (scene.objects, scene.roads, scene.lanes, scene.traffic_controls, scene.scripts):
                for array in vars(part).values():
                    total.update(array.tobytes())
            found[f"{name} {seed}"] = total.hexdigest()
    return found


def test_numpy_limited_to_the_baseline_instructions_generates_the_same_scenes():
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__ as extras
    except ImportError:
        pytest.skip("this numpy does not list its instruction sets")
    here = digests()
    assert len(set(here.values())) == len(here)
    done = subprocess.run([sys.executable, __file__], check=True, capture_output=True, text=True,
                          env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(extras)})
    assert json.loads(done.stdout) == here


if __name__ == "__main__":
    print(json.dumps(digests()))
