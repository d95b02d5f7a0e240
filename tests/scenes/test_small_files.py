"""How much memory does a small file take? Less than 100 MB for any content, refused or read."""

from __future__ import annotations

import gzip
import json
import struct
import tracemalloc

import numpy as np
import pytest
from bin_writer import file_bytes, object_bytes, road_bytes
from json_writer import car, small_json
from samples import sample
from small_scene import changed, small_scene

from drive_env.errors import SceneError
from drive_env.scenes import json_text, load_scene
from drive_env.scenes.readers import source
from drive_env.scenes.readers.drv import write
from drive_env.scenes.readers.drv.write import drv_bytes

SMALL_FILE_BYTES = 900_000
MEMORY_BYTES = 100_000_000
MANY = 64 * 2**20


def document(roads):
    return f'{{"objects":[{json.dumps(car())}],"roads":{roads}}}'.encode()


def array_of(unit, count):
    return document("[" + ",".join([unit] * count) + "]")


def object_of(member, count):
    """`#` in a member is replaced by its index."""
    return document("{" + ",".join(member.replace("#", f"{number:x}") for number in range(count)) + "}")


def many_roads(count, points):
    head = struct.pack("<ii", 1, count)
    return head + object_bytes() + road_bytes(4, points) * count + b"x"


def long_drv():
    scene = small_scene()
    names = ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps", "valid")
    return drv_bytes(changed(scene, objects={
        name: np.zeros((400_000, 1), getattr(scene.objects, name).dtype) for name in names}))


ONE_POINT = '{"type":"lane","geometry":[{"x":1.5,"y":1.5}]}'
BOMBS = {
    "empty arrays": lambda: array_of("[]", MANY // 3), "empty arrays, few": lambda: array_of("[]", 790_000),
    "arrays of one": lambda: array_of("[1]", 740_000), "empty objects": lambda: array_of("{}", 430_000),
    "numbers": lambda: array_of("1.5", 1_100_000), "texts": lambda: array_of('"aa"', 1_000_000),
    "points": lambda: array_of('{"x":1.5,"y":1.5,"z":1.5}', 140_000),
    "roads of one point": lambda: array_of(ONE_POINT, 70_000),
    "keys": lambda: object_of('"#":1', 260_000), "keys and texts": lambda: object_of('"#":"#"', 190_000),
    "keys and objects": lambda: object_of('"#":{"a#":1}', 125_000),
    "keys that end like those of points": lambda: object_of('"#\\"x":1', 250_000),
    "a key that stands twice": lambda: object_of('"#":1', 250_000)[:-2] + b',"0":1}}',
    "a long text": lambda: document('"' + "a" * (16 * 2**20 - 1000) + '"'),
    "a long wide text": lambda: document('"' + "a" * (8 * 2**20) + '\U0001f600"'),
    "a long whole number": lambda: document("9" * (16 * 2**20 - 1000)),
    "a long fraction": lambda: document("0." + "9" * (16 * 2**20 - 1000)),
    "escapes": lambda: document('"' + "\\u0041" * 350_000 + '"'),
    "deep arrays": lambda: document("[" * 800_000), "deep objects": lambda: document('{"x":' * 400_000),
    "zeros": lambda: bytes(256 * 2**20 - 1), "spaces": lambda: b"{" + b" " * (16 * 2**20 - 10) + b"}",
    "roads without points": lambda: many_roads(400_000, []), "roads": lambda: many_roads(50_000, [(0, 0), (1, 1)]),
    "long roads": lambda: file_bytes([object_bytes()], [road_bytes(4, [(0, y), (40_000, y)]) for y in range(4000)]),
    "as long roads as may be": lambda: file_bytes(
        [object_bytes()], [road_bytes(4, [(0, 10 * y), (40_000, 10 * y)]) for y in range(131)]),
    "a long log": long_drv, "a long log, cut": lambda: long_drv()[:-8],
    "states": lambda: file_bytes([object_bytes(frames=100, valid=[1] * 100)] * 2550
                                 + [object_bytes(frames=100, valid=[1] * 100, x=1e8)], []),
}


ALIKE = {"empty arrays, few", "texts", "keys and texts", "keys and objects", "deep objects", "long roads",
         "a long fraction", "points"}
"""Files for `--slow`, each of which takes the way of another one through the reader."""


def pytest_generate_tests(metafunc):
    if "bomb" in metafunc.fixturenames:
        every = metafunc.config.getoption("--slow")
        metafunc.parametrize("bomb", [name for name in BOMBS if every or name not in ALIKE])


def test_the_names_of_files_alike_are_names_of_files():
    assert ALIKE < BOMBS.keys()


def test_a_small_file_takes_little_memory(tmp_path, bomb):
    path = tmp_path / "bomb"
    packed = gzip.compress(BOMBS[bomb](), 6)
    assert len(packed) < SMALL_FILE_BYTES
    path.write_bytes(packed)
    tracemalloc.start()
    try:
        load_scene(path)
    except SceneError as error:
        assert len(str(error)) < 1500
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MEMORY_BYTES


LARGEST_BYTES = source.BINARY_SHARE * (SMALL_FILE_BYTES - 1)
"""Of a binary format, decompressed from a small file."""


def padded(content):
    """A gzip member just below the size of a small file: the rest is a file name in its header."""
    packed = gzip.compress(content, 6)
    name = b"a" * (SMALL_FILE_BYTES - 2 - len(packed)) + b"\0"
    return packed[:3] + b"\x08" + packed[4:10] + name + packed[10:]


def serpentine(count):
    """Points on lines 10 m apart, 39 m from one to the next: four segments per point, the most that a file may have."""
    line, place = np.divmod(np.arange(count), 2400)
    return np.where(line % 2, 2399 - place, place) * 39.0 - 46_800, line * 10.0


def laps(count):
    """The same 1,200 points again and again."""
    return tuple(np.resize(values, count) for values in serpentine(1200))


def same_point(count):
    return np.zeros(count), np.zeros(count)


def points_bin(places, roads):
    """A `.bin` of the largest size allowed with points on `roads` roads; `places(n)` returns x and y of n points."""
    points = (LARGEST_BYTES - 1000 - 36 * roads) // 12 // roads
    xyz = np.zeros((3, roads, points), "<f4")
    xyz[0].flat, xyz[1].flat = places(roads * points)
    return struct.pack("<ii", 1, roads) + object_bytes() + b"".join(
        struct.pack("<ii", 4, points) + xyz[:, road].tobytes() + bytes(28) for road in range(roads))


def points_drv(places, roads):
    points = (LARGEST_BYTES - 5000 - 30 * roads) // 8 // roads
    x_m, y_m = (at_m.astype(np.float32) for at_m in places(roads * points))
    zeros = np.zeros(roads, np.float32)
    return drv_bytes(changed(
        small_scene(), lanes=dict(start=np.zeros(roads + 1, np.int32), successor=np.zeros(0, np.int32)), roads=dict(
            id=np.arange(roads), kind=np.ones(roads, np.uint8), start=np.arange(roads + 1, dtype=np.int32) * points,
            x_m=x_m, y_m=y_m, width_m=zeros, speed_limit_mps=zeros)))


@pytest.mark.parametrize("written", [points_bin, points_drv])
@pytest.mark.parametrize(("places", "roads"), [
    (serpentine, 1), (serpentine, 10), (same_point, 39_000), (laps, 99_000)])
def test_a_small_file_of_as_many_points_as_may_be_takes_little_memory(tmp_path, monkeypatch, written, places, roads):
    monkeypatch.setattr(write, "validate_scene", lambda scene: scene)  # what a hostile writer would leave out
    path = tmp_path / "bomb"
    path.write_bytes(padded(written(places, roads)))
    assert path.stat().st_size < SMALL_FILE_BYTES
    tracemalloc.start()
    try:
        load_scene(path)
    except SceneError as error:
        assert "segments" in str(error) or "lanes start" in str(error)  # it is read to its end
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MEMORY_BYTES


@pytest.mark.parametrize("name", ["pufferdrive/map_000.bin", "pufferdrive/map_942.bin"])
def test_a_real_binary_file_is_far_below_the_limit(name):
    data = sample(name).read_bytes()
    for copies in (1, 11, 50):
        packed = len(gzip.compress(data, 9)) * copies
        assert 1.4 * copies * len(data) < max(source.BINARY_BYTES, source.BINARY_SHARE * packed)


@pytest.mark.parametrize("unit", [
    "[]", "[1]", "{}", "1.5", '"aa"', '{"x":"a"}', '{"x":1.5,"y":1.5,"z":1.5}', "[[],[]]"])
def test_parsing_takes_no_more_than_its_bound(unit):
    text = array_of(unit, 5_000)
    tracemalloc.start()
    json_text.read_json(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak + len(text) < json_text.parsed_bytes_at_most(text)


@pytest.mark.parametrize("member", ['"#":1', '"#":"#"', '"#":{}', '"#":[1]', '"#":{"a#":1}', '"#\\"x":1'])
@pytest.mark.parametrize("count", [3_750, 5_625])  # a hash table that has just grown, and one about to grow
def test_parsing_an_object_takes_no_more_than_its_bound(member, count):
    text = object_of(member, count)
    tracemalloc.start()
    json_text.read_json(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak + len(text) < json_text.parsed_bytes_at_most(text)


def test_a_file_beyond_its_share_of_memory_is_refused_with_both_sizes(tmp_path, monkeypatch):
    path, packed = tmp_path / "scene.json.gz", gzip.compress(small_json())
    path.write_bytes(packed)
    load_scene(path)
    needed = json_text.parsed_bytes_at_most(small_json())
    monkeypatch.setattr(source, "PARSED_BYTES", needed - 1)
    monkeypatch.setattr(source, "PARSED_SHARE", 1)
    with pytest.raises(SceneError, match=f"it has {len(packed)} bytes, decompressed {len(small_json())}, which may "
                                         f"take {needed} in memory once parsed; at most {needed - 1} are allowed"):
        load_scene(path)
    monkeypatch.setattr(source, "DECOMPRESSED_BYTES", 100)
    monkeypatch.setattr(source, "DECOMPRESSED_SHARE", 2)
    with pytest.raises(SceneError, match=f"it has {len(packed)} bytes, decompressed more than {2 * len(packed)}; "):
        load_scene(path)


@pytest.mark.parametrize("name", ["gpudrive/test.json", "gpudrive/tfrecord-00000-of-01000_325.json"])
def test_a_real_file_is_far_below_the_limits(name):
    data = sample(name).read_bytes()
    for copies in (1, 11):  # eleven copies are as long as the largest public scene
        packed = len(gzip.compress(data)) * copies
        needed = copies * json_text.parsed_bytes_at_most(data)
        assert 1.5 * needed < max(source.PARSED_BYTES, source.PARSED_SHARE * packed)
        assert 2 * needed < json_text.MEMORY_LIMIT_BYTES
