"""Do all builds of the core give the same bytes? Some of them here, all of them in `make determinism`."""

import json
import shutil
import subprocess

import build_core
import builds
import golden
import numpy as np
import pytest
from build_core import ADDRESS, MEMCHECK, PLAIN, THREAD
from builds import Build

GOLDEN = json.loads(golden.FILE.read_text())
ONE_OF_EACH = ("town/stopped", "intersection/forgetful", "map_942/coarse")

SOME = (Build("clang", "-O1", "no vectors"),)
"""The package itself is GCC's build with `-O3` and every level; tests below run one of GCC with `-O1`. `make
determinism` has the other pairs, and uses this library again."""


def known(hashes):
    """The golden hashes of the rollouts that have hashes."""
    return {rollout: GOLDEN[rollout] for rollout, found in hashes.items() if found}


def without_missing(hashes):
    """The hashes without rollouts whose real file is missing."""
    return {rollout: found for rollout, found in hashes.items() if found}


def test_every_rollout_has_its_golden_hashes():
    assert list(GOLDEN) == list(golden.ROLLOUTS)
    for scene in golden.SCENES:
        # Two encodings of the same action.
        assert GOLDEN[f"{scene}/discrete"] == GOLDEN[f"{scene}/multi_discrete"]
    # The observation type changes no motion.
    assert GOLDEN["town/half"]["state"] == GOLDEN["town/discrete"]["state"]
    assert len({hashes["outputs"] for hashes in GOLDEN.values()}) == len(golden.ROLLOUTS) - len(golden.SCENES)


@pytest.mark.parametrize("rollout", golden.ROLLOUTS)
def test_a_seeded_rollout_gives_the_golden_bytes(rollout):
    found = golden.hash_of(rollout)
    if found is None:
        pytest.skip("the real sample map_942.bin is missing; DRIVE_SAMPLES may name its folder")
    assert found == GOLDEN[rollout]


def test_the_rollouts_have_every_event_and_outcome():
    """Rollouts without events would have the same hash in any core."""
    outcomes, trials, occurred, tiny = set(), 0, set(), 0
    for rollout in golden.ROLLOUTS:
        batch = golden.begin(rollout)
        if batch is None:
            continue
        batch.reset()
        for _ in golden.snapshots_of(batch):
            outcomes |= set(np.unique(batch.outcome).tolist())
            trials = max(trials, int(batch.trial_index.max()) + 1)
            occurred |= {name for name in golden.OUTPUTS if getattr(batch, name).any()}
            average = batch._core.state["average"]
            tiny += int(((average != 0) & (np.abs(average) < np.finfo(average.dtype).tiny)).sum())
        occurred |= {"log_replay_vehicles" for roles in batch.roles if roles.log_replay_count}
        occurred |= {"rule_based_vehicles" for roles in batch.roles if roles.rule_based_count}
        occurred |= {"static_vehicles" for roles in batch.roles if roles.static_count}
    assert outcomes == {0, 1, 2, 3, 4, 5} and trials == 4 and tiny > 0
    assert occurred == {*golden.OUTPUTS, "rule_based_vehicles", "static_vehicles", "log_replay_vehicles"}


@pytest.mark.parametrize("build", SOME, ids=" ".join)
def test_compilers_levels_and_instruction_sets_change_no_byte(build):
    if build.skip_reason():
        pytest.skip(build.skip_reason())
    found = builds.hashes_of_build(build, ONE_OF_EACH)
    assert without_missing(found) == known(found)


@pytest.mark.parametrize("build", SOME, ids=" ".join)
def test_expert_actions_are_the_same_in_every_build(build):
    if build.skip_reason():
        pytest.skip(build.skip_reason())
    assert builds.expert_hash(build_core.core_library(build.compiler, build.flags)) == builds.expert_hash()


def test_a_rollout_touches_no_memory_but_its_own():
    compiler = build_core.working_compiler(ADDRESS)
    if compiler != "gcc":
        pytest.skip("no gcc with the address sanitizer here")
    command = [compiler, "-print-file-name=libasan.so"]
    runtime = subprocess.run(command, check=True, capture_output=True, text=True)
    # The interpreter's own memory at exit is no leak of the core; test_c.py tests for those.
    found = builds.hashes_by_library(build_core.core_library(compiler, ADDRESS), ONE_OF_EACH,
                                     LD_PRELOAD=runtime.stdout.strip(), ASAN_OPTIONS="detect_leaks=0")
    assert without_missing(found) == known(found)


@pytest.mark.parametrize("flags", (ADDRESS, THREAD), ids=("address sanitizer", "thread sanitizer"))
@pytest.mark.parametrize("rollout", ONE_OF_EACH)
def test_a_recorded_rollout_gives_the_golden_bytes_without_python(rollout, flags):
    compiler = build_core.working_compiler(flags)
    if compiler is None:
        pytest.skip("neither gcc nor clang builds programs that run with this sanitizer")
    found = builds.hash_by_program([build_core.test_program(builds.REPLAY_PROGRAM, compiler, flags), "3"], rollout)
    if found is None:
        pytest.skip("the real sample map_942.bin is missing; DRIVE_SAMPLES may name its folder")
    assert found == GOLDEN[rollout]


def test_a_rollout_reads_no_memory_that_was_never_set():
    compiler = build_core.working_compiler(PLAIN)
    if compiler is None or not shutil.which("valgrind"):
        pytest.skip("no valgrind, or no compiler, here")
    program = build_core.test_program(builds.REPLAY_PROGRAM, compiler, PLAIN)
    assert builds.hash_by_program([*MEMCHECK, program, "2"], "town/crowded") == GOLDEN["town/crowded"]


@pytest.mark.parametrize("build", builds.CROSS_BUILDS, ids=lambda build: f"{build.platform} {build.level}")
def test_another_platform_gives_the_same_bytes(build):
    if build.skip_reason():
        pytest.skip(build.skip_reason())
    found = builds.hashes_of_cross_build(build, ONE_OF_EACH)
    assert without_missing(found) == known(found)
