"""Which paths can a scene be saved to? A link and permissions are kept; what is not a file is refused."""

import errno
import os
import stat

import numpy as np
import pytest

from drive_env import ConfigError, generate_scene, load_scene, save_scene

SCENE = generate_scene("intersection", agents=2)


def test_a_link_is_kept_and_its_target_replaced(tmp_path):
    save_scene(SCENE, tmp_path / "a.drv")
    (tmp_path / "link.drv").symlink_to(tmp_path / "a.drv")
    other = generate_scene("intersection", seed=5, agents=2)
    save_scene(other, tmp_path / "link.drv")
    assert (tmp_path / "link.drv").is_symlink()
    assert (load_scene(tmp_path / "a.drv").objects.x_m == other.objects.x_m).all()


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "a.drv"
    save_scene(SCENE, path)
    path.chmod(0o600)
    save_scene(SCENE, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_path_of_no_file_is_refused(tmp_path):
    (tmp_path / "folder.drv").mkdir()
    for path in (tmp_path / "folder.drv", f"{tmp_path}/nul\0.drv"):
        with pytest.raises(ConfigError, match="it must be that of a regular file"):
            save_scene(SCENE, path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.drv"]


@pytest.mark.skipif(os.name != "posix", reason="pipes and links are POSIX's")
def test_a_pipe_and_a_link_to_itself_are_unchanged(tmp_path):
    os.mkfifo(tmp_path / "pipe.drv")
    with pytest.raises(ConfigError, match="it must be that of a regular file"):
        save_scene(SCENE, tmp_path / "pipe.drv")
    (tmp_path / "loop.drv").symlink_to(tmp_path / "loop.drv")
    with pytest.raises(OSError) as error:
        save_scene(SCENE, tmp_path / "loop.drv")
    assert error.value.filename == str(tmp_path / "loop.drv")
    assert stat.S_ISFIFO((tmp_path / "pipe.drv").stat().st_mode) and (tmp_path / "loop.drv").is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("overwrite", ["no", None, 1, [], np.array([True, False])])
def test_what_is_no_bool_overwrites_nothing(tmp_path, overwrite):
    path = tmp_path / "a.drv"
    path.write_text("mine")
    with pytest.raises(ConfigError, match=r"^overwrite is .*; it must be True or False$"):
        save_scene(SCENE, path, overwrite=overwrite)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("failing", ["open", "fsync", "replace"])
def test_an_error_names_the_target(tmp_path, monkeypatch, failing):
    def fails(*arguments, **named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a.drv"
    monkeypatch.setattr(os, failing, fails)
    with pytest.raises(OSError) as error:
        save_scene(SCENE, path)
    monkeypatch.undo()
    assert (error.value.filename, error.value.filename2, error.value.errno) == (str(path), None, errno.ENOSPC)
    assert list(tmp_path.iterdir()) == []
