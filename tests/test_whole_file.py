"""Is every file that the package writes the old one or the new one, whatever happens while it is written?"""

import os
import subprocess
import sys

import numpy as np
import pytest

from drive_env import generate_scene, save_scene
from drive_env.evaluation import MultiScenario, save_hardness
from drive_env.render import write_picture, write_video
from drive_env.replay import record
from drive_env.whole_file import whole_file

resource = pytest.importorskip("resource", reason="limits of files and links as here are those of POSIX")

LIMIT_BYTES = 64
"""Of every file in a test: stands for a full disk."""


@pytest.fixture
def full_disk():
    """After its call, no file can have more than `LIMIT_BYTES`."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)  # Python ignores the signal, so that a write raises
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def frames(count, error=None):
    for number in range(count):
        yield np.random.default_rng(number).integers(0, 256, (120, 160, 3), np.uint8)
    if error is not None:
        raise error


def writers():
    """By the name of a file: a function that writes it."""
    result = MultiScenario("some", {"scenes": ["narrow"], "scene_count": 1, "env": {"trial_steps": 3}}).rollout("idm")
    page = record("narrow", "constant", config={"trial_steps": 3})
    return {
        "a.drv": lambda path: save_scene(generate_scene("narrow"), path), "a.html": page.save_html,
        "a.json": result.save, "b.json": lambda path: save_hardness([], path),
        "a.mp4": lambda path: write_video(frames(3), path), "a.gif": lambda path: write_video(frames(3), path),
        "a.png": lambda path: write_picture(next(frames(1)), path)}


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path, full_disk):
    written = writers()
    written.pop("b.json")  # an empty list is shorter than the limit
    for name in written:
        (tmp_path / name).write_text("old")
    full_disk()
    for name, write in written.items():
        with pytest.raises((OSError, ValueError), match="a.episodes.csv" if name == "a.json" else name):
            write(tmp_path / name)
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == dict.fromkeys(written, "old")


def test_what_is_written_replaces_the_target_of_a_link_and_keeps_its_permissions(tmp_path):
    for name, write in writers().items():
        target, link = tmp_path / f"target.{name}", tmp_path / name
        target.write_text("old")
        target.chmod(0o640)
        link.symlink_to(target)
        write(link)
        assert link.is_symlink() and target.read_bytes() != b"old" and target.stat().st_mode & 0o777 == 0o640, name
    assert not [one for one in os.listdir(tmp_path) if one.startswith(".")]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a policy of the user")])
@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_a_film_that_is_not_complete_is_not_written(name, error, tmp_path):
    (tmp_path / name).write_text("old")
    with pytest.raises(type(error)):
        write_video(frames(3, error), tmp_path / name)
    assert os.listdir(tmp_path) == [name] and (tmp_path / name).read_text() == "old"


def test_a_device_is_written_and_not_replaced():
    code = ("from drive_env.whole_file import whole_file\n"
            "with whole_file('/dev/stdout') as path: open(path, 'w').write('x')")
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout == b"x"


def test_an_error_that_is_not_of_the_file_stays_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError) as raised, whole_file(tmp_path / "a.txt"):
        open(tmp_path / "other" / "b.txt")
    assert raised.value.filename == str(tmp_path / "other" / "b.txt") and not os.listdir(tmp_path)
    with pytest.raises(BrokenPipeError) as raised, whole_file(tmp_path / "a.txt"):
        raise BrokenPipeError
    assert raised.value.filename is None
