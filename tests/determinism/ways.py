"""In which ways can a play be run with the same bytes? What a way is, and what it is compared with.

A way runs a play in its own manner and returns the hashes, to be compared with those of the same worlds alone on one
thread; worlds outside the play are not compared. `NotHere` gives the reason why this machine cannot run a way. The ways
are in ways_of_calling.py and ways_of_processes.py.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import golden
from golden import Hashes, Look

CROWD = tuple(range(16))


class NotHere(Exception):
    """This machine cannot run the way; the text gives the reason."""


class Way(NamedTuple):
    play: object
    """Function of the name of a play; returns its Hashes."""
    parts: tuple[str, ...] = golden.PARTS
    """The parts that must be equal; a report survives the reset of a used batch."""


WAYS: dict[str, Way] = {}


def way(name: str, parts=golden.PARTS):
    def keep(function):
        WAYS[name] = Way(function, parts)
        return function
    return keep


def differences(found: Hashes, alone: Hashes, parts=golden.PARTS) -> list[str]:
    """Differences from the play of the same worlds alone, as sentences."""
    names = [f"world {world}: {part}" for world in alone.worlds if world in found.worlds for part in parts
             if found.worlds[world][part] != alone.worlds[world][part]]
    if set(found.worlds) == set(alone.worlds) and "told" in parts and found.report != alone.report:
        names.append("the report")
    return names


def opened(play: str, *arguments, **choices):
    batch = golden.begin(play, *arguments, **choices)
    if batch is None:
        raise NotHere("the real sample map_942.bin is missing; DRIVE_SAMPLES may name its folder")
    batch.reset()
    return batch


@functools.cache
def alone(play: str) -> Hashes:
    """Hashes of the worlds of a play on one thread."""
    return golden.hashes_of(opened(play))


@functools.cache
def crowd_alone(play: str) -> Hashes:
    return golden.hashes_of(opened(play, CROWD))


def kept(looks) -> list[Look]:
    """Copies of the looks, which the next step does not overwrite."""
    return [Look(*([array.copy() for array in part] if isinstance(part, list) else part for part in look))
            for look in looks]
