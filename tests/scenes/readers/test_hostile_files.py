"""Does every hostile file lead to an error, or to a valid scene that plays?

With `pytest --slow` tests on small files are exhaustive; else they take an even share of the files, in which every
byte, word and value is damaged in some way. Figures are in docs/robustness.md.
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from itertools import islice
from pathlib import Path

import build_core
import json_damage
import pytest
from bin_writer import file_bytes, object_bytes, road_bytes, small_file
from build_core import ADDRESS
from commonroad_writer import small_scenario
from hostile import (
    FileCheck,
    bit_flips,
    hostile_token,
    hostile_word,
    mutations,
    replaced_words,
    truncations,
)
from json_writer import json_bytes, old_document, small_document, small_json
from later_bin_writer import LATER, small_release, tails
from samples import sample

SMALL_FILES = {"bin": small_file(), "bin 2025-11": LATER["2025-11"],
               "bin 3.3": small_release("3.3", tails([(0, 0), (-1, -1)], [3.5] * 5)), "json": small_json(),
               "old json": json_bytes(old_document()), "commonroad": small_scenario()}
REAL_FILES = {
    "map_942": ("pufferdrive/map_942.bin", hostile_word), "map_000": ("pufferdrive/map_000.bin", hostile_word),
    "cilab_map_000": ("pufferdrive/cilab_map_000.bin", hostile_word), "test": ("gpudrive/test.json", hostile_token),
    "us101": ("commonroad/USA_US101-3_3_T-1.xml", hostile_token),
    "325": ("gpudrive/tfrecord-00000-of-01000_325.json", hostile_token)}

MUTATIONS = 500
"""Mutations of each real file, one in `REAL_STRIDE` without `--slow`."""

BIT_STRIDE, WORD_STRIDE, TOKEN_STRIDE, REAL_STRIDE = 7, 7, 5, 10
"""One file of so many is read without `--slow`. Each byte has a file for each of its 8 bits, each word one for each
hostile word, each value one for each hostile token. The first three strides are smaller than these numbers and have no
factor in common with them, so every place is damaged, and neighbouring places in different ways."""


@pytest.fixture
def every(request):
    """A function from files and a stride to all of the files with `--slow`, else to one of so many."""
    whole = request.config.getoption("--slow")
    return lambda files, stride: list(islice(files, 0, None, 1 if whole else stride))


def printed(check):
    """The check, after printing its numbers."""
    print(f"refused {check.refused}, read {check.read}, played {check.played}, without agents {check.idle}")
    return check


@pytest.mark.parametrize("name", SMALL_FILES)
def test_the_small_files_are_small_and_play(name):
    assert len(SMALL_FILES[name]) < 4096
    check = FileCheck().run([SMALL_FILES[name]])
    assert (check.read, check.played) == (1, 1)


@pytest.mark.parametrize("name", SMALL_FILES)
def test_every_truncation_is_refused(name):
    check = printed(FileCheck().run(truncations(SMALL_FILES[name])))
    optional = 2 if name == "bin 3.3" else 0  # the sections that it may end before
    assert (check.refused, check.read) == (len(SMALL_FILES[name]) - 1 - optional, optional)


@pytest.mark.parametrize("name", ["bin", "bin 2025-11", "bin 3.3", "json", "commonroad"])
def test_every_flipped_bit_is_refused_or_plays(name, every):
    files = every(bit_flips(SMALL_FILES[name]), BIT_STRIDE)
    check = printed(FileCheck().run(files))
    assert check.refused + check.read == len(files) > len(SMALL_FILES[name])
    assert min(check.refused, check.played) > 100


@pytest.mark.parametrize("name", ["bin", "bin 2025-11", "bin 3.3"])
def test_every_word_of_a_bin_replaced_by_every_hostile_word_is_refused_or_plays(name, every):
    files = every(replaced_words(SMALL_FILES[name]), WORD_STRIDE)
    check = printed(FileCheck().run(files))
    assert check.refused + check.read == len(files) > 5 * (len(SMALL_FILES[name]) // 4)
    assert min(check.refused, check.played) > 100


def test_a_bin_with_reordered_or_repeated_parts_is_refused_or_plays():
    cars = [object_bytes(x=x) for x in (0.0, 10.0)]
    roads = [road_bytes(kind, [(0.0, 3.0), (50.0, 3.0)]) for kind in (4, 6)]
    parts = [cars[0], cars[1], roads[0], roads[1], road_bytes(7, [(1.0, 1.0)]), road_bytes(4, [])]
    files = [file_bytes(parts[:i], parts[j:]) for i in range(len(parts)) for j in range(len(parts))]
    files += [file_bytes(roads, cars), file_bytes(cars * 200, roads), file_bytes(cars, roads * 500),
              file_bytes(cars, [road_bytes(4, [(0.0, 0.0), (1.0, 1.0)] * 3000)])]
    files += [cars[0].join(files), b"".join(files), file_bytes([object_bytes(valid=[0, 1, 1, 1])], roads)]
    check = printed(FileCheck().run(files))
    # Idle are the last file, whose object comes later, and four maps without objects.
    assert check.refused > 20 and check.played > 3 and check.idle == 5


def test_every_value_of_a_json_replaced_by_every_hostile_token_is_refused_or_plays(every):
    files = every(json_damage.replaced_values(small_document()), TOKEN_STRIDE)
    check = printed(FileCheck().run(files))
    assert check.refused + check.read == len(files) > 2000
    assert min(check.refused, check.played) > 100


@pytest.mark.parametrize("document", [small_document(), old_document()], ids=["new", "old"])
@pytest.mark.parametrize("damage", json_damage.EVERY_DAMAGE, ids=lambda damage: damage.__name__)
def test_a_json_with_its_structure_damaged_is_refused_or_plays(damage, document):
    check = printed(FileCheck().run(damage(document)))
    assert check.refused > 0


def test_a_repeated_key_is_refused_everywhere():
    check = printed(FileCheck().run(json_damage.repeated_keys(small_document())))
    assert check.read == 0 and check.refused > 150


@pytest.mark.parametrize("name", REAL_FILES)
def test_mutations_of_a_real_file_are_refused_or_play(name, every):
    path, hostile_part = REAL_FILES[name]
    files = every(mutations(sample(path).read_bytes(), MUTATIONS, 942, hostile_part), REAL_STRIDE)
    check = printed(FileCheck().run(files))
    assert check.refused + check.read == len(files) >= MUTATIONS // REAL_STRIDE
    assert min(check.refused, check.played) > 0


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def bytes_in_use():
    """Bytes that C has allocated and not freed."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        pytest.skip("the C library has no mallinfo2")
    mallinfo.restype = Mallinfo
    gc.collect()
    found = mallinfo()
    return found.uordblks + found.hblkhd


@pytest.mark.parametrize(("name", "hostile_part"), [("bin", hostile_word), ("json", hostile_token)])
def test_hostile_files_leak_no_memory(name, hostile_part):
    def once():
        check = FileCheck().run(mutations(SMALL_FILES[name], 400, 3, hostile_part))
        assert min(check.refused, check.played) > 5
        return bytes_in_use(), sys.getallocatedblocks()

    once()
    before = once()
    for _ in range(3):
        after = once()
    # A leaked scene, or its block, has some ten thousand bytes; a leak per file would be hundreds of them.
    assert after[0] - before[0] < 50_000, before
    assert after[1] - before[1] < 400, before


@pytest.mark.slow
def test_mutated_files_cause_no_invalid_access(request):
    """All tests of this file, with a core that checks every access."""
    if not request.config.getoption("--slow"):
        pytest.skip("takes minutes: run with --slow")
    compiler = build_core.working_compiler(ADDRESS)
    if compiler != "gcc":
        pytest.skip("no gcc with the address sanitizer here")
    runtime = subprocess.run([compiler, "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("hostile_checked.py")),
         build_core.core_library(compiler, ADDRESS)], check=False, capture_output=True, text=True,
        env={"LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0", "PATH": "/usr/bin:/bin"})
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-4000:]
