"""What do many tests share? The real scene files, a browser, the options --slow and --seeds, processes for xdist."""

import gc
import os
import signal
from pathlib import PurePath

# Read by numpy when it is imported: threads of its BLAS that wait for one another, beside other processes, are slow.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from browser import chromium  # noqa: F401  # a fixture
from samples import sample

CORE_BUILDS = {"test_c.py", "test_builds.py", "test_core_symbols.py", "test_drv_faults.py", "test_drv_hostile.py",
               "test_hostile_files.py"}
"""Files whose tests link the same builds of the core: in one process no build is made twice at the same time."""

LONGEST = ("core builds", "test_geometry", "test_examples", "test_fuzzing", "test_small_files", "test_oracle_rollouts",
           "test_generate", "test_cli", "test_memory", "test_train", "test_types", "test_ways", "test_docs",
           "test_dist", "test_certificates", "test_drv", "test_laws_on_scenes", "test_observation_vector", "test_films",
           "test_oracle_and_laws", "test_rule_based", "test_checkpoint_fields", "test_state", "test_scene_envs")
"""The groups that begin first, with `--no-loadscope-reorder`, so that no process waits for the other at the end."""


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # As in the background of a script; commands under test inherit it and could not be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run tests that take minutes (docs/robustness.md)")
    parser.addoption("--seeds", type=int, help="seeds of each generator whose roads (default: 80) and parking trials "
                     "(default: 50 an action type) are checked")
    parser.addoption("--first", type=int, default=0, help="the first of the seeds whose roads are checked (default: 0)")


def group_of(nodeid):
    """The stem of a test's file, or the group of the files that share builds."""
    file = PurePath(nodeid.partition("::")[0])
    return "core builds" if file.name in CORE_BUILDS else file.stem


def pytest_collection_modifyitems(items):
    """Sorts the groups that begin first to the front."""
    rank = {group: index for index, group in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(group_of(item.nodeid), len(LONGEST)))


def pytest_collection_finish():
    """Excludes the 400,000 objects of modules and tests, which stay until the end, from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadgroup` a group runs in one process.

    pytest-xdist 3.8 appends the group of an `xdist_group` mark to a node id that pytest 9.2 no longer reads;
    without this hook every test is a group of its own.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    return GroupScheduling(config, log)


@pytest.fixture
def sample_path():
    """A function from a name such as `pufferdrive/map_942.bin` to its path; skips where the file is missing."""
    return sample
