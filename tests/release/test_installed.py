"""Does the installed package work? In empty environments, away from the checkout.

`make wheel` compiles the wheel from the sdist in an environment that has the packages of `build-system` alone: that the
wheel works shows that the sdist compiles.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]

CLOSURE = {"pip", "setuptools", "drive-env", "numpy", "cffi", "pycparser", "gymnasium", "pettingzoo", "cloudpickle",
           "farama-notifications", "typing_extensions"}
"""The four packages, their dependencies, and the packages of an empty environment."""


def pythons() -> list[str]:
    """The oldest CPython of this machine that the wheel says it fits, and the newest."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    folders += sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin"))
    found = {}
    for python in (folder / f"python3.{minor}" for minor in range(10, 30) for folder in folders):
        if python.name not in found and python.is_file() and _runs(python):
            found[python.name] = str(python)
    every = list(found.values())
    return sorted({every[0], every[-1]})


def _runs(python) -> bool:
    """A launcher may exist without the Python that it launches, and a Python without venv."""
    return subprocess.run([python, "-c", "import ensurepip, venv"], check=False, capture_output=True).returncode == 0


PYTHONS = pythons() if "DRIVE_ENV_DIST" in os.environ else [sys.executable]


def installed(folder, python, *what) -> dict:
    """The findings of installed_checks.py after this Python installed the file into an empty environment."""
    environment = folder / "environment"
    _run(folder, python, "-m", "venv", environment)
    own = environment / "bin" / "python"
    _run(folder, own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)
    _run(folder, own, "-m", "pip", "--disable-pip-version-check", "check")
    return json.loads(_run(folder, own, "-W", "error", ROOT / "tests" / "release" / "installed_checks.py",
                           ROOT / "tests" / "helpers"))


def _run(folder, *command) -> str:
    settings = ("PYTHON", "PIP_C", "PIP_NO_COMPILE", "VIRTUAL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    done = subprocess.run([str(part) for part in command], cwd=folder, env=clean, check=False, capture_output=True,
                          text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def check_what_was_found(found, folder):
    assert found["file"].startswith(str(folder))
    assert found["imported_extras"] == []
    assert {name.replace("-", "_") for name in found["installed"]} <= {name.replace("-", "_") for name in CLOSURE}
    for extra, message in zip(("render", "sb3", "cli"), found["missing_extras"], strict=True):
        assert f'pip install "drive-env[{extra}]"' in message
    assert found["replay_page_bytes"] > 100_000
    assert found["logged_frames"] == 201


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: Path(python).name)
def test_the_wheel_works_with_the_four_packages_alone(wheel, tmp_path, python):
    check_what_was_found(installed(tmp_path, python, "--only-binary=:all:", wheel), tmp_path)


def test_the_oldest_packages_it_asks_for_are_new_enough(wheel, tmp_path):
    """On the oldest Python at hand that has wheels of them: numpy 1.26.0 has none for Python 3.13 and later."""
    requirements = pytest.importorskip("packaging.requirements")
    with ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(metadata).decode().splitlines()
    required = [requirements.Requirement(line.partition(": ")[2]) for line in lines
                if line.startswith("Requires-Dist: ")]
    lowest = [f"{one.name}=={next(iter(one.specifier)).version}.0" for one in required if one.marker is None]
    assert len(lowest) == 4
    found = installed(tmp_path, PYTHONS[0], "--only-binary=:all:", wheel, *lowest)
    check_what_was_found(found, tmp_path)
    versions = {name: found["installed"][name] for name in ("numpy", "cffi", "gymnasium", "pettingzoo")}
    assert versions == {one.partition("==")[0]: one.partition("==")[2] for one in lowest}
