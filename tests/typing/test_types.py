"""Is the package clean under mypy's strict rules, and is what a stranger writes against it?"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="mypy is not installed; it comes with the extra [test]")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def mypy(*arguments) -> str:
    done = subprocess.run([sys.executable, "-m", "mypy", *map(str, arguments)], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def strictly(file) -> str:
    """As a stranger's own project would: without this project's settings, all of what is strict."""
    return mypy("--strict", "--config-file=", "--python-version=3.10", file)


def test_the_package_is_clean():
    """By [tool.mypy] of pyproject.toml."""
    assert mypy().startswith("Success")


def test_typed_code_of_a_stranger_is_clean():
    assert strictly(HERE / "user_code.py").startswith("Success")


def test_typed_code_of_a_stranger_runs(tmp_path):
    import user_code

    user_code.main(tmp_path)


def test_wrong_code_of_a_stranger_is_refused():
    wanted = {number: line.partition("# want: ")[2]
              for number, line in enumerate((HERE / "wrong_code.py").read_text().splitlines(), 1) if "# want: " in line}
    said = re.findall(r"wrong_code\.py:(\d+): error: .*\[([a-z-]+)\]$", strictly(HERE / "wrong_code.py"), re.MULTILINE)
    assert {int(number): code for number, code in said} == wanted
