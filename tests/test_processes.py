"""Does a test file run in one process, with its module's fixtures made once, when several processes run the suite?"""

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not installed; it comes with the extra [test]")

HERE = Path(__file__).parent
TESTS = """
import os
import pathlib

import pytest

@pytest.mark.parametrize("i", range(4))
def test_process(i):
    pathlib.Path(f"{pathlib.Path(__file__).stem}-{i}-{os.getpid()}").touch()
"""


def test_a_file_runs_in_one_process_and_files_that_share_builds_in_one_for_all(tmp_path):
    files = ("test_a", "test_b", "test_c", "test_builds")  # the last two share builds of the core
    shutil.copy(HERE / "conftest.py", tmp_path)
    for file in files:
        (tmp_path / f"{file}.py").write_text(TESTS)
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "xdist.plugin", "--numprocesses", "2", "--dist",
                           "loadgroup", "--no-loadscope-reorder", "-o", f"pythonpath={HERE / 'helpers'}", "."],
                          cwd=tmp_path, check=False, capture_output=True, text=True,
                          env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""})
    assert done.returncode == 0, done.stdout + done.stderr
    processes, runs = defaultdict(set), 0
    for path in tmp_path.glob("test_*-*-*"):
        file, _, process = path.name.rsplit("-", 2)
        processes[file].add(process)
        runs += 1
    assert runs == 4 * len(files) and all(len(found) == 1 for found in processes.values()), processes
    assert processes["test_c"] == processes["test_builds"]
    assert len(set.union(*processes.values())) == 2
