"""Does every path that is no scene end in a sentence that names the file and the reason?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bin_writer import small_file

from drive_env.errors import SceneError
from drive_env.scenes import load, load_scene


def refusal(path):
    with pytest.raises(SceneError) as caught:
        load_scene(path)
    return str(caught.value)


def test_content_decides_not_the_name(tmp_path):
    path = tmp_path / "scene.json"
    path.write_bytes(small_file())
    for given in (path, str(path)):
        scene = load_scene(given)
        assert (scene.name, scene.source, scene.objects.count) == ("scene", str(path), 3)


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


def test_a_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert "pipe or device" in refusal(path)


def test_a_file_without_end_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "large.bin"
    path.write_bytes(bytes(1001))
    monkeypatch.setattr(load, "FILE_LIMIT_BYTES", 1000)
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
def test_a_string_that_is_no_path_is_refused(path):
    refusal(path)


@pytest.mark.parametrize("path", [None, 3, b"scene.bin", ["scene.bin"]])
def test_what_is_no_path_at_all_is_refused(path):
    assert "it must be a str" in refusal(path)


@pytest.mark.parametrize("content", [b"{}", b"\x89PNG\r\n\x1a\n" + bytes(100), bytes(500), b"\xff" * 500])
def test_unknown_content_is_refused_with_the_reason_of_every_format(tmp_path, content):
    path = Path(tmp_path / "unknown")
    path.write_bytes(content)
    words = refusal(path)
    assert str(path) in words
    assert all(layout in words for layout in load.IMPORTERS)


def test_content_that_fits_two_formats_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "twice.bin"
    path.write_bytes(small_file())
    read = next(iter(load.IMPORTERS.values()))
    monkeypatch.setattr(load, "IMPORTERS", {"one": read, "two": read})
    assert "2 formats fit" in refusal(path)
