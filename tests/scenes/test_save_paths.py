"""Where may a scene file go? A link keeps leading to it, its permissions stay, and what is no file is refused."""

import os
import stat

import pytest

from drive_env import ConfigError, generate_scene, load_scene, save_scene

SCENE = generate_scene("intersection", agents=2)


def test_a_link_still_leads_to_the_new_version(tmp_path):
    save_scene(SCENE, tmp_path / "a.drv")
    (tmp_path / "link.drv").symlink_to(tmp_path / "a.drv")
    other = generate_scene("intersection", seed=5, agents=2)
    save_scene(other, tmp_path / "link.drv")
    assert (tmp_path / "link.drv").is_symlink()
    assert (load_scene(tmp_path / "a.drv").objects.x_m == other.objects.x_m).all()


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_file_that_was_private_stays_private(tmp_path):
    path = tmp_path / "a.drv"
    save_scene(SCENE, path)
    path.chmod(0o600)
    save_scene(SCENE, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "folder.drv").mkdir()
    for path in (tmp_path / "folder.drv", f"{tmp_path}/nul\0.drv"):
        with pytest.raises(ConfigError, match="it must be that of a file"):
            save_scene(SCENE, path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.drv"]
