"""What may a hostile file lead to? An error that names file, place and reason, or a scene that can be stepped.

`FileCheck` reads files and checks this; the generators below write them.
"""

from __future__ import annotations

import hashlib
import random
import re
import signal
import struct
from contextlib import contextmanager

import numpy as np

from drive_env import Batch, DriveConfig, Scene
from drive_env.errors import SceneError
from drive_env.scenes.load import only_scene
from drive_env.scenes.readers.source import Source

NAME = "hostile file"

READ_AS = r"(read as [^:]+: |no known format fits; those that can be read are [^(]+\()?(scene '[^']*': )?"
PLACE = re.compile(
    READ_AS + r"(byte \d|line \d+, column \d|(object|road|traffic control|object of the map) \d"
    r"|(objects|roads|metadata|tl_states|name|scenario_id)\b"
    r"|(lanelet|obstacle|planning problem|traffic light|traffic sign) -?\d|(lanelets|obstacles): "
    r"|the document|\[|its roads have|it has \d+ bytes|it ends within|it cannot be decompressed"
    r"|it is (an? |text that begins |JSON, but ))")
"""A reason begins with the place of the fault, which may be the file as a whole."""

FILE_SECONDS = 20.0
"""Far more than the slowest file takes on a loaded machine; fails an endless loop."""

CONFIG = DriveConfig(control="all", trial_steps=4, max_trials=2, on_goal="ignore", on_collision="ignore",
                     on_offroad="ignore", traffic_controls=True,
                     observation={"partners": 6, "roads": 12, "controls": 2})
"""Every possible agent is one, and no event removes it: everything in a scene moves and is observed."""

STEPS = 7
"""Into the second trial, so that a restart is included."""

SCENES_PER_BATCH = 400


class Hang(Exception):
    pass


@contextmanager
def time_bound(seconds=FILE_SECONDS):
    """Raises `Hang` in a block that takes longer."""
    def on_alarm(*_):
        raise Hang(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class FileCheck:
    """Reads hostile files and steps the scenes in them.

    Attributes:
        refused, read: number of files that raised an error, that held a valid scene.
        played, idle: number of different scenes that were stepped, that had no possible agent.
    """

    def __init__(self):
        self.refused = self.read = self.played = self.idle = 0
        self._fingerprints, self._pending = set(), []

    def run(self, files) -> FileCheck:
        """Reads every file, then steps the remaining scenes."""
        for data in files:
            self.put(data)
        self.play()
        return self

    def put(self, data: bytes) -> None:
        """Any other result than a SceneError of the right form or a valid scene fails the test."""
        try:
            with time_bound():
                scene = only_scene(Source(NAME, bytes(data)))
        except SceneError as error:
            self.refused += 1
            check_message(str(error))
            return
        self.read += 1
        key = fingerprint(scene)
        if key not in self._fingerprints:
            self._fingerprints.add(key)
            self._pending.append(scene)
            if len(self._pending) == SCENES_PER_BATCH:
                self.play()

    def play(self) -> None:
        drivable = [scene for scene in self._pending if scene.objects.valid[0].any()]
        for scene in self._pending:
            if not scene.objects.valid[0].any():
                self.idle += 1
                check_refused(scene)
        self._pending = []
        if drivable:
            with time_bound():
                play(drivable)
            self.played += len(drivable)


def check_message(message: str) -> None:
    """The error must name the file, a place and a reason, in one line."""
    name, _, rest = message.partition(": ")
    assert name == NAME, message
    assert PLACE.match(rest), f"no place in: {message}"
    assert message.isprintable() and len(rest.split()) > 3 and len(message) < 1500, message


def check_refused(scene: Scene) -> None:
    try:
        Batch(scene, config=CONFIG).close()
    except SceneError as error:
        assert "has no object that could drive" in str(error)
    else:
        raise AssertionError("a scene without agents was accepted")


def play(scenes) -> None:
    """Steps all scenes in one batch: all outputs are finite and inside their space."""
    rng = np.random.default_rng(0)
    batch = Batch(scenes, num_worlds=len(scenes), seed=0, threads=1,
                  config=CONFIG.replace(scene_order="cycle"))
    try:
        space = batch.single_observation_space
        batch.reset()
        for _ in range(STEPS):
            check_outputs(batch, space)
            batch.step(rng.integers(0, batch.single_action_space.n, batch.num_agents))
        check_outputs(batch, space)
        assert np.array_equal(np.sort(batch.scene_index), np.arange(len(scenes)))
    finally:
        batch.close()


def check_outputs(batch, space):
    observed = batch.observations
    inside = (observed >= space.low) & (observed <= space.high)
    # NaN compares as False, so it is outside.
    assert inside.all(), f"observation {np.argwhere(~inside)[0]} is {observed[~inside][0]}"
    assert np.isfinite(batch.rewards).all()
    for name, values in batch.vehicles().items():
        assert values.dtype.kind != "f" or np.isfinite(values).all(), f"{name} is not finite"


def fingerprint(scene: Scene) -> bytes:
    """Equal for scenes with equal arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (scene.objects, scene.roads, scene.lanes):
        for name, array in sorted(vars(part).items()):
            digest.update(f"{name}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array))
    return digest.digest()


# ---- any bytes ----


def truncations(data: bytes):
    return (data[:length] for length in range(1, len(data)))


def bit_flips(data: bytes):
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def mutations(data: bytes, count: int, seed: int, hostile_part):
    """Seeded damage of every kind: bits, bytes, cuts, copies, swaps, and `hostile_part`.

    Args:
        hostile_part: a function of (bytearray, random.Random) that damages fields of the format.
    """
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            damage = rng.choice((flip_bits, write_bytes, cut_out, copy_in, swap_parts, cut_off, hostile_part,
                                  hostile_part, hostile_part))
            damage(damaged, rng)
        yield bytes(damaged)


def flip_bits(damaged, rng):
    for _ in range(rng.choice((1, 1, 4, 16))):
        if damaged:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)


def write_bytes(damaged, rng):
    at = rng.randrange(len(damaged) + 1)
    damaged[at : at + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(1, 9))


def cut_out(damaged, rng):
    at = rng.randrange(len(damaged) + 1)
    del damaged[at : at + rng.choice((1, 4, 32, 1000))]


def copy_in(damaged, rng):
    at, end = rng.randrange(len(damaged) + 1), rng.choice((1, 4, 32, 1000))
    damaged[at:at] = damaged[at : at + end]


def swap_parts(damaged, rng):
    size = rng.choice((1, 4, 32, 1000))
    if len(damaged) >= 2 * size:
        a, b = sorted((rng.randrange(len(damaged) - size + 1), rng.randrange(len(damaged) - size + 1)))
        if b - a >= size:
            damaged[a : a + size], damaged[b : b + size] = damaged[b : b + size], damaged[a : a + size]


def cut_off(damaged, rng):
    if rng.random() < 0.2:
        del damaged[rng.randrange(len(damaged) + 1):]


# ---- words of four bytes ----

WORDS = tuple(struct.pack("<i", value) for value in (
    0, 1, -1, 2, 3, 4, 5, 10, 11, 91, 255, 65_535, 65_536, 1_000_001, 2**24, 2**30, 2**31 - 1, -2**31,
    0x01000000)) + tuple(
    struct.pack("<f", value) for value in (
        1.0, -0.0, 0.5, 1e-45, 1e-38, 0.01, 200.0, 201.0, -10_000.0, 50_001.0, 1e9, 3.4e38, -3.4e38, 7.0, 4.0)) + tuple(
    struct.pack("<I", bits) for bits in (0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFBFFFFF))
"""Small and huge counts; zeros, subnormal, large and borderline floats; infinities, quiet and signalling NaN."""


def replaced_words(data: bytes):
    for at in range(0, len(data) - 3, 4):
        for word in WORDS:
            yield data[:at] + word + data[at + 4 :]


def hostile_word(damaged, rng):
    """Replaces a word, often near the start, where the counts are."""
    if len(damaged) >= 8:
        at = 4 * rng.randrange(min(len(damaged), 4000 if rng.random() < 0.3 else len(damaged)) // 4)
        damaged[at : at + 4] = rng.choice(WORDS)


# ---- JSON tokens ----

TOKENS = (
    b"null", b"true", b"false", b"0", b"-0.0", b"1", b"-1", b"0.5", b"2147483648", b"9223372036854775808",
    b"-9223372036854775809", b"1" * 400, b"1e400", b"1e308", b"-1e308", b"1e-320", b"NaN", b"-Infinity", b"-10000.0",
    b"6.2832", b"719.5", b"721", b"200.0000001", b'""', b'"vehicle"', b'"unset"', b'"lane"', b'"road_edge"',
    b'"\\ud800"', b'"\\u0000"', b'"' + b"a" * 300 + b'"', b"[]", b"{}", b"[" * 300 + b"]" * 300,
    b'{"x":1,"y":2,"z":3}', b'{"x":1e308,"y":-1e308}', b'[{"x":0,"y":0}]', b"[0,0,0,0]", b"[true,true,true,true]",
    b"[false,false,false,false]", b'[{"track_index":0}]', b"[70]")
"""Replacements of values: every type, bounds of every range, and tokens that are not JSON."""

SCALAR = re.compile(rb"-?\d[\d.eE+-]*|true|false|null")


def values_of(document, path=()):
    """(path, value) of the whole document and of every value in it."""
    yield path, document
    inner = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(
        document, list) else ()
    for key, value in inner:
        yield from values_of(value, (*path, key))


def hostile_token(damaged, rng):
    """Replaces a number, true, false or null, half the time by a plausible number."""
    start = rng.randrange(len(damaged) + 1)
    found = SCALAR.search(damaged, start) or SCALAR.search(damaged)
    if not found:
        return
    token = rng.choice(TOKENS)
    if rng.random() < 0.5 and found[0][:1] in b"-0123456789":
        try:
            token = repr(float(found[0]) * rng.choice((-1.0, 0.0, 0.5, 1.0001, 1.5, 3.0, 10.0, 100.0))).encode()
        except ValueError:  # damaged before
            pass
    damaged[found.start() : found.end()] = token
