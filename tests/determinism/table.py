"""Are the bytes the same everywhere? Runs every rollout of golden.py in every build and every way; lists differences.

`python tests/determinism/table.py [--ways] [--builds] [--share N]`, or `make determinism`; exits with 1 where a byte
differs. With --share N, each way runs every Nth rollout, and the next one starts with the rollout after: all rollouts
run, but not in every way. Compiling a build takes longer than running it, so only a third of the builds are compiled,
which have every pair of compiler, level and instruction set, and each runs four times as many rollouts.
Builds and ways that this machine cannot run are listed with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "helpers"), str(Path(__file__).resolve().parent)]

import builds
import golden
import numpy as np
import ways
import ways_of_calling  # noqa: F401  # enters its ways
import ways_of_processes  # noqa: F401

from drive_env.machine import processor


class Verdict(NamedTuple):
    """The result of one row of the table."""

    digest: str
    """Hash of all rollouts together; "" where none was run."""
    result: str
    differs: bool = False


NOT_COMPARABLE = {"digest": ""}
"""Replaces the hash of a row of some of the rollouts: the hashes of two rows would differ."""


def digest_of(found) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]


def rollouts_of(row: int, share: int) -> list[str]:
    """The rollouts of a row of the table: one in `share`; the next row has the ones after them."""
    return list(golden.ROLLOUTS)[row % share :: share]


# ---- builds ----


def builds_of(share: int) -> list[tuple]:
    """(build, its rollouts) of every build that the table has with this share."""
    chosen = builds.BUILDS if share == 1 else builds.FEW_BUILDS
    return [(build, rollouts_of(row, max(share // 4, 1))) for row, build in enumerate((*chosen, *builds.CROSS_BUILDS))]


def compare_build(hashes: dict[str, dict[str, str] | None]) -> Verdict:
    """Compares the hashes of a build with the golden ones."""
    known = json.loads(golden.FILE.read_text())
    hashed = {rollout: found for rollout, found in hashes.items() if found}
    wrong = [f"{rollout}: {part}" for rollout, found in hashed.items() for part in golden.PARTS
             if found[part] != known[rollout][part]]
    return Verdict(digest_of(hashed), f"differs in {', '.join(wrong)}" if wrong else "equal", bool(wrong))


def try_build(build, hashes, rollouts) -> Verdict:
    reason = build.skip_reason()
    if reason:
        return Verdict("", f"not tried: {reason}")
    try:
        return compare_build(hashes(build, rollouts))
    except Exception as error:
        return Verdict("", f"failed: {error}", True)


def build_rows(share):
    """(cells, verdict) of every build, in order."""
    known = json.loads(golden.FILE.read_text())
    here = {rollout for rollout in golden.ROLLOUTS if golden.begin(rollout)}
    yield ("golden.json", "", ""), Verdict(digest_of({rollout: known[rollout] for rollout in known if rollout in here}),
                                           f"{len(here)} rollouts")
    # Two at a time: compiling uses several processes, running one only.
    with ThreadPoolExecutor(2) as pool:
        verdicts = []
        for build, rollouts in builds_of(share):
            is_cross = isinstance(build, builds.CrossBuild)
            hashes = builds.hashes_of_cross_build if is_cross else builds.hashes_of_build
            cells = build.compiler, build.level, build.platform if is_cross else build.instruction_set
            verdicts.append((cells, pool.submit(try_build, build, hashes, rollouts)))
        for cells, verdict in verdicts:
            yield cells, verdict.result()._replace(**({} if share == 1 else NOT_COMPARABLE))


# ---- ways ----


def try_way(name: str, rollouts: list[str]) -> Verdict:
    """One way of stepping, over these rollouts."""
    way, found, wrong = ways.WAYS[name], {}, []
    for rollout in rollouts:
        try:
            hashes = way.run(rollout)
        except ways.Unavailable as reason:
            if not rollout.startswith("map_"):
                return Verdict("", f"not tried: {reason}")
            continue
        except Exception as error:
            return Verdict("", f"failed in {rollout}: {error}", True)
        wrong += [f"{rollout}, {what}" for what in ways.differences(hashes, ways.alone(rollout), way.parts)]
        found[rollout] = {world: [hashes.worlds[world][part] for part in ("outputs", "state")]
                          for world in golden.WORLD_IDS if world in hashes.worlds}
    return Verdict(digest_of(found), f"differs in {'; '.join(wrong)}" if wrong else "equal", bool(wrong))


def way_rows(share):
    yield ("one thread, a fresh batch",), Verdict(
        digest_of({rollout: {world: [parts[part] for part in ("outputs", "state")]
                             for world, parts in ways.alone(rollout).worlds.items()}
                   for rollout in golden.ROLLOUTS if golden.begin(rollout)}), "the reference")
    # Processes of their own: a way may replace settings of the whole process.
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        shares = [rollouts_of(row, share) for row in range(len(ways.WAYS))]
        for name, verdict in zip(ways.WAYS, pool.map(try_way, ways.WAYS, shares)):
            yield (name,), verdict._replace(**({} if share == 1 else NOT_COMPARABLE))


# ---- the table ----


def show(head: tuple[str, ...], widths: tuple[int, ...], rows) -> bool:
    """Prints each row when it is ready; returns whether the bytes of any row differ."""
    differs = False
    print("  ".join(cell.ljust(width) for cell, width in zip((*head, "hash", ""), (*widths, 12, 0), strict=True)))
    for cells, verdict in rows:
        line = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        print("  ".join([*line, (verdict.digest or "-").ljust(12), verdict.result]), flush=True)
        differs |= verdict.differs
    print()
    return differs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--builds", action="store_true", help="builds of the core alone")
    parser.add_argument("--ways", action="store_true", help="ways of stepping alone")
    parser.add_argument("--share", type=int, default=1, metavar="N",
                        help="run one rollout in N in each way, one in N/4 in a third of the builds (default: 1, all)")
    chosen = parser.parse_args()
    if not 1 <= chosen.share <= len(golden.ROLLOUTS):
        parser.error(f"--share is {chosen.share}; it must be from 1 to {len(golden.ROLLOUTS)}")
    both = chosen.builds == chosen.ways
    began = time.monotonic()
    print(f"{processor()}, {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
          f"numpy {np.__version__}\n")
    differs = False
    if both or chosen.builds:
        differs |= show(("compiler", "level", "instruction set"), (26, 5, 15), build_rows(chosen.share))
    if both or chosen.ways:
        head = ("way of stepping; the hash is of the four worlds where all of them take part",)
        differs |= show(head, (72,), way_rows(chosen.share))
    print(f"{'NOT the same bytes everywhere' if differs else 'the same bytes everywhere'}, "
          f"{time.monotonic() - began:.0f} s")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
