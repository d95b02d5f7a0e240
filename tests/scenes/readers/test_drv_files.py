"""Is a `.drv` written as a whole or not at all, and only where it may be?"""

from __future__ import annotations

import os
import stat
import sys

import pytest
from small_scene import small_scene

from drive_env import ConfigError, SceneError, load_scene, save_scene
from drive_env.scenes import save
from drive_env.scenes.readers.drv.write import drv_bytes


def test_a_file_is_replaced_atomically(tmp_path, monkeypatch):
    path = tmp_path / "scene.drv"
    path.write_bytes(b"old")
    during = []
    monkeypatch.setattr(save.os, "fsync", lambda _: during.append(path.read_bytes()))
    save_scene(small_scene(), path)
    assert during == [b"old"]
    assert path.read_bytes() == drv_bytes(small_scene())
    assert os.listdir(tmp_path) == ["scene.drv"]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "scene.drv"
    path.write_bytes(b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(save.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_scene(small_scene(), path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["scene.drv"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_a_new_file_has_default_permissions(tmp_path):
    (tmp_path / "other").touch()
    save_scene(small_scene(), tmp_path / "scene.drv")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_an_existing_file_is_kept_if_overwrite_is_false(tmp_path):
    path = tmp_path / "scene.drv"
    path.write_bytes(b"old")
    with pytest.raises(ConfigError, match="it exists"):
        save_scene(small_scene(), path, overwrite=False)
    assert path.read_bytes() == b"old"
    path.unlink()
    save_scene(small_scene(), path, overwrite=False)
    assert load_scene(path).name == "small"


@pytest.mark.parametrize(("path", "words"), [
    ("scene.bin", "it must end in .drv"), ("nowhere/scene.drv", "there is no folder 'nowhere'"), (3, "os.PathLike")])
def test_an_invalid_path_is_refused(path, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=words):
        save_scene(small_scene(), path)


def test_a_name_of_the_largest_length_is_written(tmp_path):
    path = tmp_path / ("x" * 251 + ".drv")
    save_scene(small_scene(), path)
    assert load_scene(path).name == "small"


def test_a_scene_too_large_for_a_file_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(save, "FILE_LIMIT_BYTES", 1000)
    with pytest.raises(SceneError, match=r"its file has \d+ bytes; it may have 1000"):
        save_scene(small_scene(), tmp_path / "scene.drv")
