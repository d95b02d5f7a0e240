"""Does a short run of every fuzzer find no fault, and does it find one that is put in?"""

from __future__ import annotations

import subprocess

import build_core
import fuzzing
import pytest
from build_core import SOURCES

VALUES_C = build_core.ROOT / "c" / "src" / "scene" / "file_values.c"

pytestmark = pytest.mark.skipif(not build_core.fuzzer_works(), reason=fuzzing.MISSING)


@pytest.mark.parametrize("harness", fuzzing.HARNESSES)
def test_a_short_run_finds_nothing(harness, tmp_path):
    found = fuzzing.fuzz(harness, 10_000, tmp_path)
    assert found.inputs >= 10_000
    # The seeds alone cover half of it: mutations must cover more.
    assert found.edges > 550


def test_every_harness_is_in_the_list():
    assert {path.stem for path in fuzzing.HERE.glob("fuzz_*.c")} == set(fuzzing.HARNESSES)


def test_a_fault_is_found(tmp_path):
    """With a check of numbers that accepts NaN, the fuzzer of files finds a NaN."""
    text = VALUES_C.read_text()
    sound, blind = "!(values[i] >= low) | !(values[i] <= high)", "(values[i] < low) | (values[i] > high)"
    assert sound in text
    broken = tmp_path / VALUES_C.name
    broken.write_text(text.replace(sound, blind))
    sources = tuple(broken if source == VALUES_C else source for source in SOURCES)
    with pytest.raises(AssertionError, match="the reader accepted what the core refuses: .* is -?nan"):
        fuzzing.fuzz("fuzz_file", 200_000, tmp_path, sources=sources)
    (kept,) = (tmp_path / "faults").iterdir()
    again = subprocess.run([tmp_path / "fuzz_file", kept], capture_output=True, check=False)
    assert again.returncode != 0 and b"the reader accepted" in again.stderr
