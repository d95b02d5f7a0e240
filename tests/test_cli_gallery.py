"""Does `drive-env gallery` write a page of films, and errors in one sentence?"""

import subprocess
import sys

import pytest
from command import cells, exit_of, run

from drive_env import ConfigError
from drive_env.scenes.generate import GENERATORS

WITHOUT = ("import sys; sys.modules['cv2'] = None; sys.argv[1:] = ['gallery', '--out', 'here']\n"
           "from drive_env.cli import main; main()")


def needs_render():
    pytest.importorskip("cv2", reason="the extra [render] is not installed")


def test_the_command_writes_a_film_and_a_page_for_each_scene_named(tmp_path):
    needs_render()
    folder = tmp_path / "new" / "gallery"
    output = run("gallery", "--out", str(folder), "--scenes", "narrow", "--scenes", "exits", "--seeds", "1",
                 "--size", "160")
    assert {path.name for path in folder.iterdir()} == {"index.html", "narrow.gif", "exits.gif"}
    assert cells(output, "narrow") == ["100%"] and "optimum with memory: 1/3, 2/3, 1" in cells(output, "exits")[0]
    page = (folder / "index.html").read_text()
    assert [name for name in GENERATORS if f'id="{name}"' in page] == ["exits", "narrow"]
    assert page.index("narrow.gif") < page.index("exits.gif")  # in the order of the command line


def test_other_seeds_are_other_films(tmp_path):
    needs_render()
    for seed in "0", "1":
        run("gallery", "--out", str(tmp_path / seed), "--scenes", "u_turn", "--seed", seed, "--seeds", "1", "--size",
            "160")
    first, second = ((tmp_path / seed / "u_turn.gif").read_bytes() for seed in "01")
    assert first != second


def test_an_unknown_scene_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match="^--scenes is 'moon'; it must be one of 'town', "):
        run("gallery", "--out", str(tmp_path / "new"), "--scenes", "moon")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error_before_anything_is_played(tmp_path, monkeypatch, capsys):
    needs_render()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("")
    (tmp_path / "folder" / "index.html").mkdir(parents=True)
    for folder, reason in (("taken", "--out is 'taken', which exists and is no folder; it must be a folder"),
                           ("folder", "--out is 'folder/index.html'; it must be that of a regular file, not of a "
                                      "folder, a pipe or a device, and without NUL")):
        assert exit_of(monkeypatch, capsys, "gallery", "--out", folder) == (1, "", f"drive-env: {reason}\n")


def test_without_the_extra_a_sentence_names_it(tmp_path):
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("drive-env: drawing needs opencv") and done.stderr.count("\n") == 1
    assert done.stderr.endswith('pip install "drive-env[render]"\n')
