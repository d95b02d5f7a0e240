"""Which clients work with drive-env, in which versions? Installs them into separate environments and tests them.

`python tests/clients/run.py [NAME ...]`, from a Python that has drive-env's build tools; `make test-clients` calls it.
Environments are kept in build/clients and made again when their pins change.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "build" / "clients"


@dataclass(frozen=True)
class Environment:
    """The packages to install, at the versions of `NAME.txt`, and the modules whose tests must not skip."""

    extras: str
    packages: tuple[str, ...]
    promised: tuple[str, ...]
    tests: tuple[str, ...]
    pages: tuple[str, ...]


ADAPTERS = ("tests/api/test_parallel.py", "tests/api/test_parallel_calls.py", "tests/api/test_gym.py",
            "tests/api/test_gym_transitions.py")
"""Tests that the oldest and the newest supported versions must pass."""

RUN_BY_THE_SUITE = ("-k", "not (test_an_example_runs and (behaviour_cloning or cleanrl or recurrent))")
"""Excludes examples that need only torch: `make test` runs them with the same torch."""

ENVIRONMENTS = {
    # The newest of all that agree with one another.
    "newest": Environment(
        "[render,sb3]", ("torch", "sb3-contrib", "supersuit", "torchrl", "tianshou"),
        ("torch", "stable_baselines3", "sb3_contrib", "supersuit", "torchrl", "tensordict", "tianshou", "cv2"),
        (*ADAPTERS, "tests/test_public.py", "tests/clients", "--ignore=tests/clients/test_recurrent.py",  # torch alone
         *RUN_BY_THE_SUITE),
        ("gymnasium", "pettingzoo", "own", "sb3", "supersuit", "torchrl", "tianshou")),
    # RLlib pins Gymnasium 1.2; beside it the oldest PettingZoo and cffi that drive-env takes.
    "oldest": Environment(
        "", ("torch", "ray[rllib]"), ("torch", "ray"),
        (*ADAPTERS, "tests/clients/test_rllib.py", "tests/clients/test_examples.py", *RUN_BY_THE_SUITE),
        ("gymnasium", "pettingzoo", "own", "rllib")),
}

LEFT_OUT = {"AgileRL": "its algorithms do not import after `pip install agilerl`, see docs/clients/others.md"}


def run(output, *command, **how) -> int:
    """The exit status of a command, which writes itself and all that it prints to the file."""
    print("+", *(str(part).replace(f"{ROOT}/", "") for part in command), file=output, flush=True)
    return subprocess.run([str(part) for part in command], check=False, stdout=output, stderr=subprocess.STDOUT,
                          **how).returncode


def wheel() -> Path:
    """The wheel of this checkout: that of `make wheel`, if no file that it is made of is newer."""
    sources = [ROOT / "pyproject.toml", *(ROOT / "c").rglob("*"),
               *(path for path in (ROOT / "drive_env").rglob("*") if "__pycache__" not in str(path))]
    for made in (ROOT / "dist").glob("*.whl"):
        if made.stat().st_mtime > max(path.stat().st_mtime for path in sources):
            return made
    folder = HERE / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    if run(sys.stdout, sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT):
        raise SystemExit("the wheel could not be built")
    return next(folder.glob("*.whl"))


def python_of(name: str, wanted: Environment, package: Path, output) -> Path | None:
    """The Python of an environment with all its packages; None where an install fails."""
    folder, pins = HERE / name, Path(__file__).parent / f"{name}.txt"
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", pins)
    contents = "\n".join((sys.version, wanted.extras, *wanted.packages, pins.read_text()))
    if not stamp.is_file() or stamp.read_text() != contents:
        shutil.rmtree(folder, ignore_errors=True)
        if run(output, sys.executable, "-m", "venv", folder) or \
                run(output, *install, "pytest", *wanted.packages, f"{package}{wanted.extras}") or \
                run(output, python, "-m", "pip", "--disable-pip-version-check", "check"):
            return None
        stamp.write_text(contents)
    elif run(output, *install, "--force-reinstall", "--no-deps", package):
        return None
    return python


def test(name: str, wanted: Environment, package: Path, output) -> str:
    """Installs and tests an environment; returns the line of the report."""
    began = time.monotonic()
    python = python_of(name, wanted, package, output)
    if python is None:
        return "FAILED to install"
    installed = time.monotonic() - began
    pages = [f"tests/test_docs.py::test_every_example_runs_alone[docs/clients/{page}.md]"
             for page in wanted.pages]
    # Not `python -m pytest`, which would find the checkout's drive_env first.
    failed = run(output, python.parent / "pytest", "-rs", "-p", "no:cacheprovider", *wanted.tests, *pages, cwd=ROOT,
                 env=os.environ | {"DRIVE_ENV_CLIENTS": " ".join(wanted.promised), "OMP_NUM_THREADS": "1"})
    took = f"installed in {installed:.0f} s, tested in {time.monotonic() - began - installed:.0f} s"
    return f"{'FAILED' if failed else 'passed'}, {took}\n    {versions(python)}"


def versions(python: Path) -> str:
    """The versions of the packages that matter."""
    of = ("gymnasium", "pettingzoo", "numpy", "cffi", "torch", "stable-baselines3", "supersuit", "torchrl", "tianshou",
          "ray")
    code = (f"from importlib.metadata import distributions as every; found = {{d.metadata['Name'].lower()"
            f".replace('_', '-'): d.version for d in every()}}; "
            f"print(', '.join(f'{{name}} {{found[name]}}' for name in {of!r} if name in found))")
    return subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def tested(name: str, package: Path) -> tuple[str, str]:
    """The line of the report on an environment, and what its commands printed."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        report = test(name, ENVIRONMENTS[name], package, output)
        output.seek(0)
        return report, output.read()


def main() -> None:
    names = sys.argv[1:] or list(ENVIRONMENTS)
    if unknown := [name for name in names if name not in ENVIRONMENTS]:
        raise SystemExit(f"no environment is called {unknown[0]}; there are {', '.join(ENVIRONMENTS)}")
    package = wheel()
    report = {}
    # Side by side, since each installs and tests in one process; what one printed appears when it ends.
    with ThreadPoolExecutor() as pool:
        for name, (line, output) in zip(names, pool.map(lambda name: tested(name, package), names)):
            print(output, end="", flush=True)
            report[name] = line
    print("\nclients:")
    for name, result in report.items():
        print(f"  {name}: {result}")
    for name in ENVIRONMENTS.keys() - set(names):
        print(f"  {name}: left out, not among the names given")
    for client, why in LEFT_OUT.items():
        print(f"  {client}: left out, {why}")
    if any(result.startswith("FAILED") for result in report.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
