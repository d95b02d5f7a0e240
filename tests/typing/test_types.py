"""Does mypy --strict accept the package and typed user code, and reject wrong user code?"""

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


def strict_mypy(file) -> str:
    """As in a project of a user: every strict rule, without the settings of this project."""
    return mypy("--strict", "--config-file=", "--python-version=3.10", file)


def test_the_package_is_clean():
    """With the settings of pyproject.toml."""
    assert mypy().startswith("Success")


def test_typed_user_code_is_accepted():
    assert strict_mypy(HERE / "user_code.py").startswith("Success")


def test_typed_user_code_runs(tmp_path):
    import user_code

    user_code.main(tmp_path)


def test_wrong_user_code_is_rejected():
    wanted = {number: line.partition("# want: ")[2]
              for number, line in enumerate((HERE / "wrong_code.py").read_text().splitlines(), 1) if "# want: " in line}
    output = strict_mypy(HERE / "wrong_code.py")
    found = re.findall(r"wrong_code\.py:(\d+): error: .*\[([a-z-]+)\]$", output, re.MULTILINE)
    assert {int(number): code for number, code in found} == wanted
