"""Are the bytes the same everywhere? For any number of threads, company, instruction set, compiler and level.

The hashes stand in golden.json; golden.py says how they come about and writes them anew.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import build_core
import golden
import pytest
from build_core import ADDRESS, INSTRUCTION_SETS, WARNINGS
from golden import PLAYS, SCENES

from drive_env import ConfigError

GOLDEN = json.loads(golden.FILE.read_text())
ONE_OF_EACH = tuple(PLAYS[4 * i] for i in range(len(SCENES)))
"""Every scene once and every action type once."""

BUILDS = {
    "O1": ("-O1",),
    "O3": WARNINGS,  # the core's own level; test_c.py has these very files compiled already
    **{name: flags for name, (flags, _) in INSTRUCTION_SETS.items()},
}


def begin(play, *arguments, **choices):
    batch = golden.begin(play, *arguments, **choices)
    if batch is None:
        pytest.skip("the real sample map_942.bin is not at hand; DRIVE_SAMPLES may name its folder")
    return batch


def hashes(play, *arguments, **choices):
    batch = begin(play, *arguments, **choices)
    batch.reset()
    return golden.hashes_of(batch)


@pytest.fixture(scope="module")
def alone():
    """A function from a play to the hash of each of its worlds, as one thread gives it."""
    known = {}

    def find(play):
        if play not in known:
            known[play] = hashes(play)
        return known[play]

    return find


def test_every_play_has_its_golden_hash():
    assert set(GOLDEN) == set(PLAYS)
    for scene in SCENES:
        # Two ways to write the same action.
        assert GOLDEN[f"{scene}/discrete"] == GOLDEN[f"{scene}/multi_discrete"]
    assert len(set(GOLDEN.values())) == 2 * len(SCENES)


@pytest.mark.parametrize("play", PLAYS)
def test_a_seeded_play_gives_the_golden_bytes(play):
    begin(play).close()
    assert golden.hash_of(play) == GOLDEN[play]


@pytest.mark.parametrize("threads", (2, 3, 4))
@pytest.mark.parametrize("play", ONE_OF_EACH)
def test_the_number_of_threads_changes_no_byte(play, threads, alone):
    assert hashes(play, threads=threads) == alone(play)


@pytest.mark.parametrize("world_ids", [(3, 2, 1, 0), (2,), (0, 3), (1, 900, 0, 7, 3, 2, 55)])
@pytest.mark.parametrize("play", ONE_OF_EACH)
def test_company_and_order_change_no_byte_of_a_world(play, world_ids, alone):
    found = hashes(play, world_ids, threads=2)
    assert {world: found[world] for world in world_ids if world < 4} == {
        world: alone(play)[world] for world in world_ids if world < 4}
    if play.startswith("town"):
        assert len(set(found.values())) == len(world_ids)


@pytest.mark.parametrize("play", ONE_OF_EACH)
def test_a_used_batch_opens_a_seed_as_a_fresh_one_does(play, alone):
    used = begin(play, threads=2, seed=99)
    used.reset()
    golden.hashes_of(used, steps=37)
    used.reset(seed=golden.SEED)
    assert golden.hashes_of(used) == alone(play)


@pytest.mark.parametrize("play", ONE_OF_EACH)
def test_a_world_follows_its_own_seed_whatever_the_others_follow(play, alone):
    batch = begin(play, seed=1)
    batch.reset(seed=[golden.SEED, 5, golden.SEED, 6])
    found = golden.hashes_of(batch)
    for world in golden.WORLD_IDS:
        same = found[world] == alone(play)[world]
        assert same == (world in (0, 2)) or len(batch.scenes) == 1


def test_another_seed_gives_other_bytes(alone):
    play = ONE_OF_EACH[0]
    assert hashes(play, seed=golden.SEED + 1) != alone(play)


@pytest.mark.parametrize("instruction_set", ("baseline", "v3", "v4"))
@pytest.mark.parametrize("play", ONE_OF_EACH)
def test_the_instruction_set_changes_no_byte(play, instruction_set, alone, monkeypatch):
    wanted = alone(play)
    monkeypatch.setenv("DRIVE_ENV_ISA", instruction_set)
    try:
        batch = begin(play)
    except ConfigError as error:
        if "instruction set" not in str(error):
            raise
        pytest.skip(str(error))
    assert batch.instruction_set == instruction_set
    batch.reset()
    assert golden.hashes_of(batch) == wanted


def hashes_by(library, **variables):
    """What `golden.py` prints for a core built out of tree: one hash for each play of `ONE_OF_EACH`."""
    command = [sys.executable, str(Path(golden.__file__)), "--core", library, *ONE_OF_EACH]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300,
                          env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def is_golden(found):
    return {play: GOLDEN[play] for play, known in found.items() if known} == {
        play: known for play, known in found.items() if known}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("compiler", ("gcc", "clang"))
def test_compilers_and_optimisation_change_no_byte(compiler, build):
    if compiler not in build_core.compilers():
        pytest.skip(f"no {compiler} here")
    if build in INSTRUCTION_SETS and not build_core.runs_here(build):
        pytest.skip(f"this processor does not run {build}")
    assert is_golden(hashes_by(build_core.core_library(compiler, BUILDS[build])))


def test_a_play_touches_no_memory_but_its_own():
    compiler = build_core.working_compiler(ADDRESS)
    if compiler != "gcc":
        pytest.skip("no gcc with the address sanitizer here")
    command = [compiler, "-print-file-name=libasan.so"]
    runtime = subprocess.run(command, check=True, capture_output=True, text=True)
    # What the interpreter keeps to its end is no leak of the core's; test_c.py looks for those.
    found = hashes_by(build_core.core_library(compiler, ADDRESS), LD_PRELOAD=runtime.stdout.strip(),
                      ASAN_OPTIONS="detect_leaks=0")
    assert is_golden(found)
