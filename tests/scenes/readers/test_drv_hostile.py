"""Is a damaged or hostile `.drv` refused with place and reason, without invalid memory accesses?

Every file is read twice: by the package, and by the same core under the address and undefined behaviour sanitizers,
with the same error.
"""

from __future__ import annotations

import random
import struct
from itertools import islice

import pytest
from drv_outcomes import DATA, INF, NAN, at, outcomes
from drv_writer import (
    bare_scene,
    drv_file,
    with_checksums,
)
from hostile import bit_flips

from drive_env import SceneError, load_scene
from drive_env.scenes.readers.drv.write import drv_bytes


def test_every_truncation_is_refused():
    assert len(DATA) < 4096
    for length, words in enumerate(outcomes([DATA[:length] for length in range(len(DATA))])):
        assert words.startswith("header"), length


def test_every_flipped_bit_is_refused():
    """Every byte has a required value or a checksum."""
    assert all(outcomes(list(bit_flips(DATA))))


def test_every_flipped_bit_with_good_checksums_is_refused_or_leaves_a_valid_scene(request):
    """Without `--slow` every fifth one, which reaches every byte."""
    stride = 1 if request.config.getoption("--slow") else 5
    found = outcomes([with_checksums(flipped) for flipped in islice(bit_flips(DATA), 0, None, stride)])
    assert 0.2 < sum(words == "" for words in found) / len(found) < 0.8


def mutated(data, source):
    """One to three changes of any kind, often in the header and the table."""
    whole, data = data, bytearray(data)
    for _ in range(source.randrange(1, 4)):
        in_head = source.random() < 0.4
        place = source.randrange(min(len(data), at("metadata")) if in_head else len(data))
        change = source.randrange(5)
        # A bit, a byte, an integer, a float, or bytes inserted or removed.
        if change == 0:
            data[place] ^= 1 << source.randrange(8)
        elif change == 1:
            data[place] = source.randrange(256)
        elif change == 2:
            width = source.choice((4, 8))
            place -= place % width
            low = -(2 ** (8 * width - 1))
            number = source.choice((0, 1, -1, low, ~low, source.randrange(low, -low)))
            data[place : place + width] = number.to_bytes(width, "little", signed=True)
        elif change == 3:
            place -= place % 4
            number = source.choice((NAN, INF, -INF, -0.0, 1e-45, 50_000.0, -50_000.01, 3.4e38))
            data[place : place + 4] = struct.pack("<f", number)
        else:
            size = source.randrange(1, 65)
            if source.random() < 0.5:
                del data[place : place + size]
            else:
                data[place:place] = source.randbytes(size)
            data[16:24] = struct.pack("<Q", len(data))
    return bytes(data) if data != whole else mutated(whole, source)


@pytest.mark.parametrize("name", ["map_942.bin", "map_000.bin"])
def test_mutations_of_a_real_scene_are_refused_or_leave_a_valid_one(name, tmp_path, sample_path):
    path = tmp_path / "real.drv"
    path.write_bytes(drv_bytes(load_scene(sample_path(f"pufferdrive/{name}"))))
    data, source = path.read_bytes(), random.Random(name)
    found = outcomes([mutated(data, source) for _ in range(500)])
    assert all(found)
    found = outcomes([with_checksums(mutated(data, source)) for _ in range(500)])
    assert 20 < sum(words == "" for words in found) < 480
    path.write_bytes(mutated(data, source))
    with pytest.raises(SceneError, match=str(path)):
        load_scene(path)


def test_mutations_of_a_small_scene_are_refused_or_leave_a_valid_one():
    source = random.Random(11)
    found = outcomes([with_checksums(mutated(DATA, source)) for _ in range(5000)])
    assert 200 < sum(words == "" for words in found) < 4800


def test_no_objects_over_many_frames_are_no_elements():
    assert outcomes([drv_file(bare_scene(frames=frames)) for frames in (1, 5, 10**6)]) == ["", "", ""]


def test_random_bytes_behind_a_valid_head_are_refused():
    source = random.Random(12)
    files = [with_checksums(DATA[:cut] + source.randbytes(len(DATA) - cut))
             for cut in (source.randrange(24, len(DATA) - 200) for _ in range(1000))]
    assert all(outcomes(files))
