"""Is every unreadable path an error that names the file and the reason?"""

from __future__ import annotations

import dataclasses
import gzip
import os
import sys
from pathlib import Path

import pytest
from bin_writer import small_file
from json_writer import small_json
from small_scene import small_scene

from drive_env.errors import SceneError
from drive_env.scenes import load, load_scene, resolve_scenes, save_scene
from drive_env.scenes.readers import READERS, Reader, pufferdrive, source
from drive_env.scenes.readers.drv.write import drv_bytes


def refusal(path):
    with pytest.raises(SceneError) as caught:
        load_scene(path)
    return str(caught.value)


@pytest.mark.parametrize(("name", "content", "stored"), [
    ("scene.json", small_file(), None), ("scene.bin", small_json(), None),
    ("scene.bin", drv_bytes(small_scene()), small_scene())], ids=["bin", "json", "drv"])
def test_content_decides_not_the_name(tmp_path, name, content, stored):
    """A `.drv` stores name and source, too."""
    path = tmp_path / name
    path.write_bytes(content)
    for either in (path, str(path)):
        scene = load_scene(either)
        assert (scene.name, scene.source, scene.objects.count) == (
            ("scene", str(path), 3) if stored is None else (stored.name, stored.source, stored.objects.count))


@pytest.mark.skipif(sys.platform == "win32", reason="file names are text there")
@pytest.mark.parametrize("content", [small_file(), small_json()])
def test_a_file_of_any_name_is_a_scene_that_a_file_can_hold(tmp_path, content):
    path = os.fsencode(tmp_path) + b"/\xffa\x1b[1m\nb\xc3\xa4.bin"
    with open(path, "wb") as file:
        file.write(content)
    scene = load_scene(os.fsdecode(path))
    assert scene.name == "\ufffda\ufffd[1m\nbä" and scene.source == f"{tmp_path}/{scene.name}.bin"
    save_scene(scene, tmp_path / "x.drv")
    assert load_scene(tmp_path / "x.drv").name == scene.name


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "nowhere.bin"
    assert str(path) in refusal(path)
    assert "No such file" in refusal(path)


def test_a_directory_is_no_scene(tmp_path):
    assert refusal(tmp_path) == f"{tmp_path}: it is a directory; it must be a file"


def test_an_empty_file_is_no_scene(tmp_path):
    path = tmp_path / "empty.bin"
    path.touch()
    assert f"{path}: it has 0 bytes" in refusal(path)


def test_a_pipe_is_refused_without_waiting(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert "pipe or device" in refusal(path)


def test_a_file_beyond_the_limit_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "large.bin"
    path.write_bytes(bytes(1001))
    monkeypatch.setattr(source, "FILE_LIMIT_BYTES", 1000)
    assert "it must have 1 to 1000" in refusal(path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read every file")
def test_an_unreadable_file_is_named(tmp_path):
    path = tmp_path / "locked.bin"
    path.write_bytes(small_file())
    path.chmod(0)
    assert "Permission denied" in refusal(path)


@pytest.mark.parametrize("length", [300, 5000])
def test_a_long_path_is_an_error_not_an_overflow(length):
    assert "a" * length in refusal("/" + "a" * length)


@pytest.mark.parametrize("path", ["a\0b", "a\udcffb\ud800"])
def test_a_string_that_cannot_be_a_path_is_refused(path):
    refusal(path)


@pytest.mark.parametrize("path", [None, 3, b"scene.bin", ["scene.bin"]])
def test_another_type_than_a_path_is_refused(path):
    assert "it must be a str" in refusal(path)


@pytest.mark.parametrize("content", [b"[]", b"\x8aPNG\r\n\x1a\n" + bytes(100), bytes(500), b"\xff" * 500])
def test_unknown_content_is_refused_with_the_reason_of_every_format(tmp_path, content):
    path = Path(tmp_path / "unknown")
    path.write_bytes(content)
    words = refusal(path)
    assert words.startswith(f"{path}: no known format fits; those that can be read are PufferDrive .bin (")
    assert all(f"{reader.format} (it lacks {reader.signature})" in words for reader in READERS[:2])


def test_json_of_another_format_is_refused_with_the_reason_of_every_format(tmp_path):
    path = tmp_path / "lanes.geojson"
    path.write_bytes(b'{"type": "FeatureCollection", "features": []}')
    words = refusal(path)
    assert "GPUDrive and Nocturne JSON (the document has neither 'objects' nor 'roads')" in words
    assert all(f"{reader.format} (" in words for reader in READERS)


def test_a_damaged_file_with_a_signature_gets_one_reason(tmp_path):
    path = tmp_path / "empty"
    path.write_bytes(b'{"objects": []}')
    assert refusal(path) == f"{path}: read as GPUDrive and Nocturne JSON: the document has no 'roads'"


def test_white_space_before_json_is_skipped_and_utf_16_refused(tmp_path):
    path = tmp_path / "scene"
    path.write_bytes(b"\r\n" * 5000 + small_json())
    assert load_scene(path).objects.count == 3
    path.write_bytes(small_json().decode().encode("utf-16"))
    assert refusal(path) == f"{path}: read as GPUDrive and Nocturne JSON: byte 0: the text is UTF-16; it must be UTF-8"


@pytest.mark.parametrize("content", [small_file(), small_json()])
def test_a_compressed_file_is_read(tmp_path, content):
    path = tmp_path / "scene.gz"
    path.write_bytes(gzip.compress(content))
    scene = load_scene(path)
    assert (scene.objects.count, scene.source) == (3, str(path))


def test_every_truncation_of_a_compressed_file_is_refused(tmp_path):
    path, packed = tmp_path / "cut.gz", gzip.compress(small_file())
    for length in range(len(packed)):
        path.write_bytes(packed[:length])
        words = refusal(path)
        assert str(path) in words
        assert length < 3 or f"it ends within its compressed data, after {length} bytes" in words


@pytest.mark.parametrize(("packed", "words"), [
    (gzip.compress(small_file()) + b"x", "1 bytes are left after its compressed data; none may be"),
    (gzip.compress(small_file())[:-8] + bytes(8), "it cannot be decompressed: Error -3"),
    (b"\x1f\x8b\x08" + bytes(40), "it cannot be decompressed: Error -3"),
    (gzip.compress(gzip.compress(small_file())), "no known format fits")])
def test_a_damaged_compressed_file_is_refused(tmp_path, packed, words):
    path = tmp_path / "damaged.gz"
    path.write_bytes(packed)
    assert words in refusal(path)


def test_a_compressed_file_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(10**6)))
    monkeypatch.setattr(source, "FILE_LIMIT_BYTES", 100_000)
    assert refusal(path) == (
        f"{path}: it has {path.stat().st_size} bytes, decompressed more than 100000; it may have 100000")


def test_content_that_fits_two_formats_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "twice.bin"
    path.write_bytes(small_file())
    early = READERS[-1]
    monkeypatch.setattr(load, "READERS", (early._replace(format="one"), early._replace(format="two")))
    assert "2 formats fit" in refusal(path)


# ---- more scenes in a file, more files for a scene ----


def numbered(source):
    """Reads "many N FIRST": N scenes; FIRST names the file with the first of them."""
    count, first = source.data.split()[1:]
    scene = next(pufferdrive.open(source.sibling(first.decode())))
    for number in range(int(count)):
        if number == 3:
            raise SceneError("record 3: it is damaged")
        yield dataclasses.replace(scene, name=f"{number}")


@pytest.fixture
def many(tmp_path, monkeypatch):
    """A function that writes a file of so many scenes, in a format of its own, and returns its path."""
    (tmp_path / "first.bin").write_bytes(small_file())
    reader = Reader("many", ".many", "its first word", numbered, lambda data: data.startswith(b"many "))
    monkeypatch.setattr(load, "READERS", (*READERS, reader))

    def write(count):
        path = tmp_path / "scenes.many"
        path.write_text(f"many {count} first.bin")
        return path

    return write


def test_a_file_of_many_scenes_resolves_to_all_of_them(many):
    assert [scene.name for scene in resolve_scenes(many(2))] == ["0", "1"]


def test_a_file_of_one_scene_is_loaded_and_one_of_more_is_refused_with_their_count(many):
    assert load_scene(many(1)).name == "0"
    assert refusal(many(2)).endswith("scenes.many: it holds 2 scenes; it must hold one")


def test_a_file_without_scenes_is_refused(many):
    assert refusal(many(0)).endswith("scenes.many: read as many: it holds no scene")


def test_a_fault_after_the_first_scene_names_file_and_format(many):
    path = many(4)
    with pytest.raises(SceneError) as caught:
        resolve_scenes(path)
    assert str(caught.value) == f"{path}: read as many: record 3: it is damaged"


def test_scenes_are_read_when_they_are_requested(many):
    scenes = load.scenes_of(source.read_source(many(4)))
    assert [next(scenes).name for _ in range(3)] == ["0", "1", "2"]


def test_a_missing_sibling_is_named(many, tmp_path):
    (tmp_path / "first.bin").unlink()
    assert "first.bin: No such file" in refusal(many(1))


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "\udcff.json"])
def test_an_error_is_one_printable_line_for_any_name(name):
    with pytest.raises(SceneError) as caught:
        load_scene(name)
    assert str(caught.value).isprintable()
