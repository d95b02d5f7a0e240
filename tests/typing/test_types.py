"""Does mypy --strict accept the package and typed user code, and reject wrong user code?"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="mypy is not installed; it comes with the extra [test]")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def errors():
    """(file name, line, code) of every error, from one run: reading numpy's types takes most of its time.

    The package has the settings of pyproject.toml. User code has every strict rule, as in a project of its own.
    Without a cache: the creation of mypy's SQLite cache can fail with an internal error (python/mypy issue 21769).
    """
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "--show-traceback",
                           "-p", "drive_env", "-m", "user_code", "-m", "wrong_code"],
                          cwd=ROOT, check=False, capture_output=True, text=True,
                          env=os.environ | {"MYPYPATH": str(HERE)})
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(r"^(.+?):(\d+): error: .*?(?:\[([a-z-]+)\])?$", done.stdout, re.MULTILINE)
    assert f"Found {len(found)} errors in " in done.stdout, done.stdout
    return [(Path(path).name, int(line), code) for path, line, code in found]


def test_the_package_is_clean(errors):
    assert [error for error in errors if error[0] not in ("user_code.py", "wrong_code.py")] == []


def test_typed_user_code_is_accepted(errors):
    assert [error for error in errors if error[0] == "user_code.py"] == []


def test_typed_user_code_runs(tmp_path):
    import user_code

    user_code.main(tmp_path)


def test_wrong_user_code_is_rejected(errors):
    wanted = {number: line.partition("# want: ")[2]
              for number, line in enumerate((HERE / "wrong_code.py").read_text().splitlines(), 1) if "# want: " in line}
    assert {line: code for name, line, code in errors if name == "wrong_code.py"} == wanted
