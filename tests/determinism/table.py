"""Are the bytes the same everywhere? Plays every play of golden.py in every build and every way; lists differences.

`python tests/determinism/table.py [--ways] [--builds]`, or `make determinism`; exits with 1 where a byte differs.
Builds and ways that this machine cannot run are listed with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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
    """Hash of all plays together; "" where none was played."""
    said: str
    bad: bool = False


def digest_of(found) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]


# ---- builds ----


def judge_build(hashes: dict[str, dict[str, str] | None]) -> Verdict:
    """Compares the hashes of a build with the golden ones."""
    known = json.loads(golden.FILE.read_text())
    played = {play: found for play, found in hashes.items() if found}
    wrong = [f"{play}: {part}" for play, found in played.items() for part in golden.PARTS
             if found[part] != known[play][part]]
    return Verdict(digest_of(played), f"differs in {', '.join(wrong)}" if wrong else "equal", bool(wrong))


def try_build(build, hashes) -> Verdict:
    reason = build.why_not()
    if reason:
        return Verdict("", f"not tried: {reason}")
    try:
        return judge_build(hashes(build, list(golden.PLAYS)))
    except Exception as error:
        return Verdict("", f"failed: {error}", True)


def build_rows():
    """(cells, verdict) of every build, in order."""
    known = json.loads(golden.FILE.read_text())
    here = {play for play in golden.PLAYS if golden.begin(play)}
    yield ("golden.json", "", ""), Verdict(digest_of({play: known[play] for play in known if play in here}),
                                           f"{len(here)} plays")
    # Two at a time: compiling uses several processes, playing only one.
    with ThreadPoolExecutor(2) as pool:
        kinds = [(build, builds.hashes_of_build, (build.compiler, build.level, build.instruction_set))
                 for build in builds.BUILDS]
        kinds += [(foreign, builds.hashes_of_foreign, (foreign.compiler, foreign.level, foreign.platform))
                  for foreign in builds.FOREIGN]
        verdicts = [(cells, pool.submit(try_build, build, hashes)) for build, hashes, cells in kinds]
        for cells, verdict in verdicts:
            yield cells, verdict.result()


# ---- ways ----


def try_way(name: str) -> Verdict:
    """One way, over all plays."""
    way, found, wrong = ways.WAYS[name], {}, []
    for play in golden.PLAYS:
        try:
            hashes = way.play(play)
        except ways.NotHere as reason:
            if not play.startswith("map_"):
                return Verdict("", f"not tried: {reason}")
            continue
        except Exception as error:
            return Verdict("", f"failed in {play}: {error}", True)
        wrong += [f"{play}, {what}" for what in ways.differences(hashes, ways.alone(play), way.parts)]
        found[play] = {world: [hashes.worlds[world][part] for part in ("shown", "state")]
                       for world in golden.WORLD_IDS if world in hashes.worlds}
    return Verdict(digest_of(found), f"differs in {'; '.join(wrong)}" if wrong else "equal", bool(wrong))


def way_rows():
    yield ("one thread, a fresh batch",), Verdict(
        digest_of({play: {world: [parts[part] for part in ("shown", "state")]
                          for world, parts in ways.alone(play).worlds.items()}
                   for play in golden.PLAYS if golden.begin(play)}), "the measure")
    for name in ways.WAYS:
        yield (name,), try_way(name)


# ---- the table ----


def show(head: tuple[str, ...], widths: tuple[int, ...], rows) -> bool:
    """Prints each row when it is ready; returns whether one of them is bad."""
    bad = False
    print("  ".join(cell.ljust(width) for cell, width in zip((*head, "hash", ""), (*widths, 12, 0), strict=True)))
    for cells, verdict in rows:
        line = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        print("  ".join([*line, (verdict.digest or "-").ljust(12), verdict.said]), flush=True)
        bad |= verdict.bad
    print()
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--builds", action="store_true", help="builds of the core alone")
    parser.add_argument("--ways", action="store_true", help="ways to play alone")
    chosen = parser.parse_args()
    both = chosen.builds == chosen.ways
    began = time.monotonic()
    print(f"{processor()}, {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
          f"numpy {np.__version__}\n")
    bad = False
    if both or chosen.builds:
        bad |= show(("compiler", "level", "instruction set"), (26, 5, 15), build_rows())
    if both or chosen.ways:
        bad |= show(("way to play; the hash is of the four worlds where all of them take part",), (72,), way_rows())
    print(f"{'NOT the same bytes everywhere' if bad else 'the same bytes everywhere'}, "
          f"{time.monotonic() - began:.0f} s")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
