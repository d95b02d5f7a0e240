"""Does every tutorial run? Its cells, one after another, as a notebook runs them.

`make docs` runs them in Jupyter and shows their results; here they are a script.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs/tutorials").glob("*.md"))
SMALLER = {"train_and_watch": ("GENERATIONS = 10\n", "GENERATIONS = 1\n")}
"""A line of a page that makes it slow, and the one that replaces it."""


def script(page: str) -> str:
    """The code of all cells, in the lines in which the page has it; all other lines are empty."""
    lines, in_cell = [], False
    for line in page.splitlines():
        if line.startswith("```"):
            in_cell, line = line == "```{code-cell}", ""
        lines.append(line if in_cell else "")
    return "\n".join(lines) + "\n"


def test_a_script_has_the_cells_alone_each_line_at_its_place():
    page = "# Title\n\n```{code-cell}\na = 1\n```\n\n```python\nb = 2\n```\n    c = 3\n```{code-cell}\n\nd = 4\n```\n"
    assert script(page) == "\n\n\na = 1\n\n\n\n\n\n\n\n\nd = 4\n\n"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_cells_of_a_tutorial_run(path, tmp_path):
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    pytest.importorskip("matplotlib", reason="the extra [render] is not installed")
    code = script(path.read_text())
    slow, fast = SMALLER.get(path.stem, ("", ""))
    assert code.count(slow) == 1 or not slow
    (tmp_path / "page.py").write_text(code.replace(slow, fast) if slow else code)
    ignored = ("ignore:FigureCanvasAgg is non-interactive", "ignore::ResourceWarning")  # shown pictures stay open
    done = subprocess.run(
        [sys.executable, *(f"-W{filter}" for filter in ("error", *ignored)), "page.py"], cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_tutorial_is_a_notebook_of_the_site(path):
    """Without this front matter the site would show the cells and not run them."""
    text = path.read_text()
    assert re.match(r"---\nfile_format: mystnb\nkernelspec:\n  name: python3\n", text)
    assert "```{code-cell}\n" in text and "```python\n" not in text
