"""How many files does one more of a kind touch? Counted on one that exists, without comments and docstrings."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from drive_env.binding import lib

ROOT = Path(__file__).resolve().parents[1]
CORE = (*(ROOT / "c" / "include").rglob("*.h"), *(ROOT / "c" / "src").rglob("*.[ch]"))
SCENES = ROOT / "drive_env" / "scenes"
PACKAGE = (*(ROOT / "drive_env").glob("*.py"), *SCENES.rglob("*.py"))
"""The modules that bind the core, hold batches and read scenes; the other folders only use what these offer."""

STEP = ROOT / "c" / "src" / "step"

CONCEPTS = {
    # Declared in the core's list, written by one phase, declared for type checkers.
    "channel": (r"trial_index", 3, ()),
    "metric": (r"MEAN_SPEED|METRIC_MEAN_SPEED|mean_speed_mps", 1, ()),
    # Declared with its weight, computed from a fact, a field of RewardConfig.
    "reward term": (r"(\w+_)?(PROGRESS|progress_per_m)", 3, ()),
    # A state array, its computation, its range; reward terms and metrics only read it.
    "measure": (r"progress_m", 3, (STEP / "reward.c",)),
    # Declared and called; the file that defines it says `drv_` before its name.
    "phase": (r"metrics_add", 2, ()),
    # Declared in the core's list, from which Python's choices follow, and defined in a file of its own.
    "dynamics model": (r"(drv_)?(bicycle|BICYCLE)(_\w+)?", 2, ()),
    # Declared in the core's list and in DriveConfig; the phase that it affects only uses it.
    "config field": (r"stopped_share_limit", 2, (STEP / "trial.c",)),
    # As one of DriveConfig; the cache that it limits only uses it.
    "nested config field": (r"road_memory_mib", 2, (ROOT / "c" / "src" / "batch" / "lifecycle.c",)),
    # Declared in the core's list, as a section of its file and in the Scene, filled by a reader; the fifth place is the
    # number of sections. Further readers and scenes by hand fill it as well; observations and paths use it.
    "scene array": (r"(road_)?speed_limit_mps|FILE_ROAD_LIMIT", 4, (
        ROOT / "c" / "src" / "view" / "encoding.c", ROOT / "c" / "src" / "scene" / "paths.c", STEP / "lane.c",
        SCENES / "readers" / "commonroad" / "lanelets.py", SCENES / "readers" / "pufferdrive" / "as_scene.py",
        SCENES / "road.py", SCENES / "road_network.py",
        *(SCENES / "generate").rglob("*.py"))),
}
"""Kind to a pattern for the names of an existing one, the number of files it may be in, and files that only use it."""


def without_comments(path):
    """A source file without comments and strings: a name in them is a mention, which needs no change."""
    text = path.read_text()
    if path.suffix != ".py":
        return re.sub(r'/\*.*?\*/|"[^"\n]*"', "", text, flags=re.DOTALL)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return " ".join(token.string for token in tokens if token.type == tokenize.NAME)


@pytest.mark.parametrize("pattern, allowed, users", CONCEPTS.values(), ids=CONCEPTS)
def test_one_more_of_a_kind_touches_few_files(pattern, allowed, users):
    word = re.compile(rf"\b(?:{pattern})\b")
    found = [path.relative_to(ROOT).as_posix() for path in (*CORE, *PACKAGE)
             if path not in users and word.search(without_comments(path))]
    assert 1 <= len(found) <= allowed, found


@pytest.mark.parametrize("limit, others", [
    ("DRV_COORDINATE_LIMIT_M", ()),
    ("DRV_FRAME_LIMIT", ("replay/record_policy.py", "evaluation/settings.py")),  # episodes of a page, steps of a film
])
def test_a_limit_of_the_core_is_typed_nowhere_else(limit, others):
    package = ROOT / "drive_env"
    found = [path.relative_to(package).as_posix() for path in package.rglob("*.py")
             for node in ast.walk(ast.parse(path.read_text()))
             # Only limits in metres may be typed as floats: 1e6 is a factor of units.
             if isinstance(node, ast.Constant) and (type(node.value) is int or limit.endswith("_M"))
             and node.value == getattr(lib, limit)]
    assert set(found) <= set(others)
