"""In which ways can a rollout be stepped with the same bytes? What a way is, and what it is compared with.

A way runs a rollout in its own manner and returns the hashes, to be compared with those of the same worlds alone on one
thread; worlds outside the rollout are not compared. `Unavailable` states why this machine cannot run a way. The ways
are in ways_of_calling.py and ways_of_processes.py.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import golden
from golden import Hashes, Snapshot

CROWD = tuple(range(16))
"""The ids of more worlds than a rollout has."""


class Unavailable(Exception):
    """This machine cannot run the way; the text states why."""


class Way(NamedTuple):
    run: object
    """Function of the name of a rollout; returns its Hashes."""
    parts: tuple[str, ...] = golden.PARTS
    """The parts that must be equal; a report survives the reset of a used batch."""


WAYS: dict[str, Way] = {}


def way(name: str, parts=golden.PARTS):
    """Enters a function into `WAYS`."""
    def keep(function):
        WAYS[name] = Way(function, parts)
        return function
    return keep


def differences(found: Hashes, alone: Hashes, parts=golden.PARTS) -> list[str]:
    """Differences from the rollout of the same worlds alone, as sentences."""
    names = [f"world {world}: {part}" for world in alone.worlds if world in found.worlds for part in parts
             if found.worlds[world][part] != alone.worlds[world][part]]
    if set(found.worlds) == set(alone.worlds) and "reports" in parts and found.report != alone.report:
        names.append("the report")
    return names


def opened(rollout: str, *arguments, **choices):
    """The batch of a rollout after its reset; arguments as of `golden.begin`."""
    batch = golden.begin(rollout, *arguments, **choices)
    if batch is None:
        raise Unavailable("the real sample map_942.bin is missing; DRIVE_SAMPLES may name its folder")
    batch.reset()
    return batch


@functools.cache
def alone(rollout: str) -> Hashes:
    """Hashes of the worlds of a rollout on one thread."""
    return golden.hashes_of(opened(rollout))


@functools.cache
def crowd_alone(rollout: str) -> Hashes:
    """Hashes of the worlds of `CROWD` on one thread."""
    return golden.hashes_of(opened(rollout, CROWD))


def copied(snapshots) -> list[Snapshot]:
    """Copies of the snapshots, which the next step does not overwrite."""
    return [Snapshot(*([array.copy() for array in part] if isinstance(part, list) else part for part in snapshot))
            for snapshot in snapshots]
