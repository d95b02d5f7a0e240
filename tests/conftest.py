"""What do many tests share? The real scene files, a browser, the options --slow and --seeds, processes for xdist."""

import signal

import pytest
from browser import chromium  # noqa: F401  # a fixture
from samples import sample

CORE_BUILDS = {"test_c.py", "test_builds.py", "test_core_symbols.py", "test_drv_faults.py", "test_drv_hostile.py",
               "test_hostile_files.py"}
"""Files whose tests link the same builds of the core: in one process no build is made twice at the same time."""

LONGEST = ("core builds", "test_fuzzing", "test_instructions", "test_small_files", "test_ways", "test_oracle_rollouts",
           "test_train", "test_memory", "test_cli", "test_dist")
"""The groups that begin first, with `--no-loadscope-reorder`, so that no process waits for the other at the end."""


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # As in the background of a script; commands under test inherit it and could not be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run tests that take minutes (docs/robustness.md)")
    parser.addoption("--seeds", type=int, help="seeds of each generator whose roads are checked (default: 200)")


def pytest_collection_modifyitems(config, items):
    """With `--dist loadgroup` the tests of a file run in one process, and those of `CORE_BUILDS` in one for all."""
    if config.pluginmanager.hasplugin("xdist"):
        group = {item: "core builds" if item.path.name in CORE_BUILDS else item.path.stem for item in items}
        for item in items:
            item.add_marker(pytest.mark.xdist_group(group[item]))
        items.sort(key=lambda item: LONGEST.index(group[item]) if group[item] in LONGEST else len(LONGEST))


@pytest.fixture
def sample_path():
    """A function from a name such as `pufferdrive/map_942.bin` to its path; skips where the file is missing."""
    return sample
