"""Which inputs crash the core? libFuzzer searches for them, guided by the code that each input covers.

`python tests/fuzz/fuzzing.py [--runs N] [--folder FOLDER] [HARNESS ...]` runs the harnesses, the C files beside this
one. The folder keeps the corpus and the input of a fault, which `FOLDER/HARNESS INPUT` runs again.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "helpers"))

import build_core  # noqa: E402
from drv_writer import bare_scene, drv_file, full_scene, listed_scene, raised_scene  # noqa: E402
from small_scene import small_scene  # noqa: E402

HARNESSES = {"fuzz_file": 6144, "fuzz_scene": 512}
"""Name of a harness to the largest input worth trying, bytes."""

MISSING = "libFuzzer is not installed: it needs clang and its runtime (on Debian clang and libclang-rt-14-dev)"


class Fuzzed(NamedTuple):
    """Result of a run: inputs tried, edges of the code covered, files and bytes of the corpus."""

    inputs: int
    edges: int
    corpus: str
    seconds: int


def seeds(harness: str) -> dict[str, bytes]:
    """The first inputs, small and valid."""
    if harness == "fuzz_file":
        scenes = {"full": full_scene(), "raised": raised_scene(), "listed": listed_scene(),
                  "bare": bare_scene(), "long": bare_scene(frames=9), "small": small_scene()}
        return {f"{name}.drv": drv_file(scene) for name, scene in scenes.items()}
    source = random.Random(1)
    return {str(length): source.randbytes(length) for length in (16, 64, 256, 512)}


def fuzz(harness: str, runs: int, folder: Path, seed: int = 1,
         sources: tuple[Path, ...] = build_core.SOURCES) -> Fuzzed:
    """Tries `runs` inputs; the same seed and folder try the same ones.

    Raises:
        AssertionError: an input crashed the core or broke a law; it is kept in the folder, the text has the output.
    """
    program = build_core.fuzz_program(HERE / f"{harness}.c", sources)
    corpus, faults = folder / "corpus" / harness, folder / "faults"
    for made in (corpus, faults):
        made.mkdir(parents=True, exist_ok=True)
    for name, data in seeds(harness).items():
        (corpus / name).write_bytes(data)
    shutil.copy(program, folder / harness)
    done = subprocess.run(
        [program, f"-runs={runs}", f"-seed={seed}", f"-max_len={HARNESSES[harness]}", "-timeout=20",
         "-rss_limit_mb=2048", f"-artifact_prefix={faults}/{harness}-", "-close_fd_mask=1",
         str(corpus)],
        capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stderr[-8000:]
    last = re.findall(r"DONE +cov: (\d+) .* corp: (\S+)", done.stderr)[-1]
    inputs, seconds = re.findall(r"^Done (\d+) runs in (\d+) second", done.stderr, re.MULTILINE)[-1]
    return Fuzzed(int(inputs), int(last[0]), last[1], int(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000, help="inputs for each harness")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"), help="where corpus and faults are kept")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("harnesses", nargs="*", metavar="HARNESS", help=f"default: {', '.join(HARNESSES)}")
    chosen = parser.parse_args()
    if not build_core.fuzzer_works():
        print(f"skipped: {MISSING}")
        return
    os.makedirs(chosen.folder, exist_ok=True)
    for harness in chosen.harnesses or HARNESSES:
        found = fuzz(harness, chosen.runs, chosen.folder.resolve(), chosen.seed)
        print(f"{harness}: {found.inputs:,} inputs in {found.seconds} s, {found.edges} edges, corpus {found.corpus}",
              flush=True)


if __name__ == "__main__":
    main()
